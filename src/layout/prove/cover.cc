// Surjectivity: intervals that affine outputs cover without gaps, and codomain points they miss.
#include <algorithm>
#include <numeric>

#include "facts.h"

namespace tirx {
namespace layout {
namespace prove {
namespace {

constexpr size_t kMaxCandidates = 512;

/*! How many rows each digit appears in. */
std::vector<int> Uses(const DigitBox& box, const Rows& rows) {
  std::vector<int> uses(box.size(), 0);
  for (const auto& row : rows) {
    for (const AffineTerm& t : row.second->terms) ++uses[t.digit];
  }
  return uses;
}

Wide Size(const AffineTerm& t) { return t.coef < 0 ? -static_cast<Wide>(t.coef) : t.coef; }

/*! Whether the digits that only this row has reach all of [0, extent) while the others stay 0. */
bool Covers(const DigitBox& box, const AffineForm& form, const std::vector<int>& uses,
            int64_t extent) {
  std::vector<AffineTerm> own;
  for (const AffineTerm& t : form.terms) {
    if (uses[t.digit] == 1) own.push_back(t);
  }
  std::sort(own.begin(), own.end(),
            [](const AffineTerm& a, const AffineTerm& b) { return Size(a) < Size(b); });
  Wide low = form.base, reach = 0;
  for (const AffineTerm& t : own) {
    if (Size(t) > reach + 1) break;
    Wide more = Size(t) * (box.InnerExtent(t.digit) - 1);
    reach += more;
    if (t.coef < 0) low -= more;
  }
  return low <= 0 && low + reach >= extent - 1;
}

/*! All terms of an output are multiples of g > 1: only one residue is reached. */
void MissedResidue(const AffineForm& form, int32_t output, Evidence* e) {
  uint64_t g = 0;
  for (const AffineTerm& t : form.terms) g = std::gcd(g, static_cast<uint64_t>(Size(t)));
  if (g == 1 || e->codomain()[output] < 2) return;
  auto reached = [&](int64_t v) {
    Wide off = static_cast<Wide>(v) - form.base;
    return g == 0 ? off == 0 : off % static_cast<Wide>(g) == 0;
  };
  Point y(e->codomain().size(), 0);
  if (reached(0)) y[output] = 1;
  if (!reached(y[output])) e->Missed(y, "values of an output are multiples of one stride apart");
}

/*! Recovers the digits of y in the order of the proof; nothing when no point has this value. */
class Decoder {
 public:
  Decoder(const DigitBox& box, const Rows& rows, const Recovery& recovery)
      : box_(box), rows_(rows), recovery_(recovery), columns_(box.size()) {
    for (size_t r = 0; r < rows.size(); ++r) {
      for (const AffineTerm& t : rows[r].second->terms) columns_[t.digit].push_back({r, t.coef});
    }
  }

  bool Reached(const Point& y) {
    Start(y);
    std::vector<int64_t> digits(box_.size(), 0);
    for (const Recovery::Step& step : recovery_.order) {
      auto digit = Digit(step);
      if (!digit) return false;
      digits[step.digit] = *digit;
      Remove(step.digit, *digit);
    }
    bool all_zero = std::all_of(rest_.begin(), rest_.end(), [](Wide v) { return v == 0; });
    return all_zero && box_.PointOf(digits);
  }

 private:
  void Start(const Point& y) {
    rest_.clear();
    for (const auto& [output, form] : rows_)
      rest_.push_back(static_cast<Wide>(y[output]) - form->base);
    open_.assign(box_.size(), true);
  }

  /*! The one digit value that leaves a rest which the open digits can still make up. */
  std::optional<int64_t> Digit(const Recovery::Step& step) {
    open_[step.digit] = false;
    Wide coef = 0, low = 0, high = 0;
    for (const AffineTerm& t : rows_[step.row].second->terms) {
      if (t.digit == step.digit) coef = t.coef;
      if (!open_[t.digit]) continue;
      Wide reach = static_cast<Wide>(t.coef) * (box_[t.digit].extent - 1);
      (reach < 0 ? low : high) += reach;
    }
    Wide rest = rest_[step.row];
    Wide digit = coef > 0 ? -FloorDivWide(high - rest, coef) : -FloorDivWide(rest - low, -coef);
    Wide left = rest - coef * digit;
    bool fits = digit >= 0 && digit < box_[step.digit].extent && low <= left && left <= high;
    return fits ? std::optional<int64_t>(static_cast<int64_t>(digit)) : std::nullopt;
  }

  void Remove(int32_t digit, int64_t value) {
    for (const auto& [row, coef] : columns_[digit]) rest_[row] -= static_cast<Wide>(coef) * value;
  }

  const DigitBox& box_;
  const Rows& rows_;
  const Recovery& recovery_;
  std::vector<std::vector<std::pair<size_t, int64_t>>> columns_;
  std::vector<Wide> rest_;
  std::vector<char> open_;
};

/*! A constant number of likely gaps: corners, neighbours of values, the first points in order. */
std::vector<Point> Candidates(Evidence* e) {
  const Extents& extents = e->codomain();
  std::vector<Point> out;
  Point zero(extents.size(), 0), top(extents.size());
  for (size_t j = 0; j < extents.size(); ++j) top[j] = extents[j] - 1;
  out.push_back(zero);
  out.push_back(top);
  for (size_t j = 0; j < extents.size() && j < 64; ++j) {
    for (Point p : {zero, top}) {
      p[j] = std::min<int64_t>(1, extents[j] - 1);
      out.push_back(p);
      p[j] = std::max<int64_t>(extents[j] - 2, 0);
      out.push_back(p);
    }
  }
  ForEachPoint(extents, [&](const Point& p) {
    out.push_back(p);
    return out.size() < kMaxCandidates;
  });
  return out;
}

}  // namespace

void CoverCodomain(const DigitBox& box, const Rows& rows, Evidence* e) {
  for (const auto& [output, form] : rows) MissedResidue(*form, output, e);
  if (rows.size() != e->codomain().size()) return;
  std::vector<int> uses = Uses(box, rows);
  for (const auto& [output, form] : rows) {
    if (!Covers(box, *form, uses, e->codomain()[output])) return;
  }
  e->Prove(&e->proof().surjective, "strides without gaps cover each output's extent");
}

void SeekUndecodable(const DigitBox& box, const Rows& rows, const Recovery& recovery, Evidence* e) {
  bool decodes = recovery.Complete() && !recovery.by_rank && !recovery.by_residue;
  if (!decodes || rows.size() != e->codomain().size()) return;
  Decoder decoder(box, rows, recovery);
  for (const Point& y : Candidates(e)) {
    if (!decoder.Reached(y)) return e->Missed(y, "digit recovery finds no point with this value");
  }
}

}  // namespace prove
}  // namespace layout
}  // namespace tirx
