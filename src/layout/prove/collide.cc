// Candidate pairs of points with equal affine values. Each is evaluated before it counts.
#include <algorithm>
#include <numeric>

#include "facts.h"

namespace tirx {
namespace layout {
namespace prove {
namespace {

constexpr size_t kMaxPairs = 4096;
constexpr int kMaxMultiple = 8;
constexpr size_t kMaxUnitColumns = 12;
constexpr int64_t kMinimum = std::numeric_limits<int64_t>::min();

/*! Column of one open digit: (row, coefficient), rows ascending. */
struct Column {
  int32_t digit;
  std::vector<std::pair<int32_t, int64_t>> entries;
};

std::vector<Column> OpenColumns(const DigitBox& box, const Rows& rows, const Recovery& recovery) {
  std::vector<Column> all(box.size());
  for (size_t d = 0; d < box.size(); ++d) all[d].digit = static_cast<int32_t>(d);
  for (size_t r = 0; r < rows.size(); ++r) {
    for (const AffineTerm& t : rows[r].second->terms) {
      all[t.digit].entries.push_back({static_cast<int32_t>(r), t.coef});
    }
  }
  std::erase_if(all, [&](const Column& c) { return recovery.resolved[c.digit] != 0; });
  return all;
}

class Search {
 public:
  Search(const DigitBox& box, Evidence* e) : box_(box), e_(e), delta_(box.size(), 0) {}

  /*! The pair (max(delta, 0), max(-delta, 0)), evaluated. */
  bool Try(const std::string& argument) {
    std::vector<int64_t> plus(delta_.size()), minus(delta_.size());
    for (size_t i = 0; i < delta_.size(); ++i) {
      plus[i] = std::max<int64_t>(delta_[i], 0);
      minus[i] = std::max<int64_t>(-delta_[i], 0);
    }
    std::fill(delta_.begin(), delta_.end(), 0);
    auto p = box_.PointOf(plus), q = box_.PointOf(minus);
    return p && q && e_->TryCollision(*p, *q, argument);
  }

  bool ZeroColumn(const Column& c) {
    if (!c.entries.empty()) return false;
    delta_[c.digit] = 1;
    return Try("points that differ in one digit of a coordinate");
  }

  /*! a*s = b*t on every row for the smallest s and t that work on the first one. */
  bool Parallel(const Column& a, const Column& b) {
    if (a.entries.size() != b.entries.size()) return false;
    int64_t x = a.entries[0].second, y = b.entries[0].second;
    if (x == kMinimum || y == kMinimum) return false;  // std::gcd takes absolute values
    int64_t g = std::gcd(x, y), s = y / g, t = x / g;
    if (!Allowed(a.digit, s) || !Allowed(b.digit, t)) return false;
    for (size_t i = 0; i < a.entries.size(); ++i) {
      Wide left = static_cast<Wide>(a.entries[i].second) * s;
      Wide right = static_cast<Wide>(b.entries[i].second) * t;
      if (a.entries[i].first != b.entries[i].first || left != right) return false;
    }
    delta_[a.digit] = s;
    delta_[b.digit] = -t;
    return Try("two strides with a common multiple inside their extents");
  }

  /*! multiple * (largest stride) written with the smaller ones, as in a mixed-radix carry. */
  bool Carry(const std::vector<Column>& sorted, size_t at, int multiple) {
    if (!Allowed(sorted[at].digit, multiple)) return false;
    Wide rest = static_cast<Wide>(sorted[at].entries[0].second) * multiple;
    delta_[sorted[at].digit] = multiple;
    for (size_t i = at + 1; i < sorted.size() && rest != 0; ++i) {
      Wide limit = box_[sorted[i].digit].extent - 1;
      Wide steps = std::clamp<Wide>(rest / sorted[i].entries[0].second, -limit, limit);
      delta_[sorted[i].digit] = static_cast<int64_t>(-steps);
      rest -= steps * sorted[i].entries[0].second;
    }
    if (rest == 0) return Try("a stride that smaller strides add up to");
    std::fill(delta_.begin(), delta_.end(), 0);
    return false;
  }

  /*! The sum of some steps equals the sum of others. */
  bool Difference(const std::vector<std::pair<int32_t, int64_t>>& plus,
                  const std::vector<std::pair<int32_t, int64_t>>& minus) {
    for (const auto& [digit, step] : plus) delta_[digit] = step;
    for (const auto& [digit, step] : minus) delta_[digit] = -step;
    return Try("strides that add up to the same value");
  }

 private:
  bool Allowed(int32_t digit, int64_t steps) const {
    return steps < box_[digit].extent && -steps < box_[digit].extent;
  }
  const DigitBox& box_;
  Evidence* e_;
  std::vector<int64_t> delta_;
};

bool Steeper(const Column& a, const Column& b) {
  auto size = [](const Column& c) {
    Wide v = c.entries[0].second;
    return v < 0 ? -v : v;
  };
  return size(a) > size(b);
}

bool SeekPairs(const std::vector<Column>& columns, Search* search) {
  size_t tried = 0;
  for (size_t gap = 1; gap < columns.size(); ++gap) {
    for (size_t i = 0; i + gap < columns.size(); ++i) {
      if (search->Parallel(columns[i], columns[i + gap])) return true;
      if (++tried == kMaxPairs) return false;
    }
  }
  return false;
}

bool SeekCarries(const std::vector<Column>& columns, Search* search) {
  for (size_t i = 0; i < columns.size(); ++i) {
    for (int multiple = 1; multiple <= kMaxMultiple; ++multiple) {
      if (search->Carry(columns, i, multiple)) return true;
    }
  }
  return false;
}

/*! All sums of the columns with coefficients -1, 0 and 1, and the coefficients of each. */
class UnitSums {
 public:
  using Steps = std::vector<std::pair<int32_t, int64_t>>;  // (digit, -1 or 1)
  UnitSums(const Column* begin, const Column* end, size_t rows) {
    sums_.push_back({std::vector<Wide>(rows, 0), {}});
    for (const Column* c = begin; c != end; ++c) {
      size_t count = sums_.size();
      for (int64_t step : {-1, 1}) {
        for (size_t i = 0; i < count; ++i) {
          sums_.push_back(sums_[i]);
          for (const auto& [row, coef] : c->entries) {
            sums_.back().first[row] += static_cast<Wide>(coef) * step;
          }
          sums_.back().second.push_back({c->digit, step});
        }
      }
    }
    std::stable_sort(sums_.begin(), sums_.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
  }
  auto begin() const { return sums_.begin(); }
  auto end() const { return sums_.end(); }

 private:
  std::vector<std::pair<std::vector<Wide>, Steps>> sums_;
};

/*! Differences of -1, 0 and 1 that cancel, such as 5 = 3 + 2, meeting in the middle. */
bool SeekUnitSteps(const std::vector<Column>& columns, size_t rows, Search* search) {
  const Column *begin = columns.data(), *end = begin + columns.size();
  const Column* middle = begin + columns.size() / 2;
  UnitSums left(begin, middle, rows), right(middle, end, rows);
  auto a = left.begin(), b = right.begin();
  while (a != left.end() && b != right.end()) {
    if (a->first < b->first) {
      ++a;
    } else if (b->first < a->first) {
      ++b;
    } else if (a->second.empty() && b->second.empty()) {
      bool more = a + 1 != left.end() && (a + 1)->first == b->first;
      ++(more ? a : b);  // two sums of nothing are no difference
    } else {
      return search->Difference(a->second, b->second);
    }
  }
  return false;
}

}  // namespace

void SeekCollision(const DigitBox& box, const Rows& rows, const Recovery& recovery, Evidence* e) {
  std::vector<Column> open = OpenColumns(box, rows, recovery);
  Search search(box, e);
  for (const Column& c : open) {
    if (search.ZeroColumn(c)) return;
  }
  // No affine output tells points apart that differ in these digits: the other digits alone decide
  // nothing, and only an output without affine form could make the map injective.
  size_t zero = std::erase_if(open, [](const Column& c) { return c.entries.empty(); });
  std::sort(open.begin(), open.end(), Steeper);
  if (SeekPairs(open, &search)) return;
  std::vector<int32_t> digits;
  for (const Column& c : open) digits.push_back(c.digit);
  DecideByKernel(box, digits, zero == 0, rows, e);
  if (e->proof().injective.status != Status::kUnknown) return;
  if (open.size() <= kMaxUnitColumns && SeekUnitSteps(open, rows.size(), &search)) return;
  bool one_row = std::all_of(open.begin(), open.end(), [&](const Column& c) {
    return c.entries.size() == 1 && c.entries[0].first == open[0].entries[0].first;
  });
  if (one_row && open.size() <= 64) SeekCarries(open, &search);
}

}  // namespace prove
}  // namespace layout
}  // namespace tirx
