// Injectivity of affine outputs: which digits two points with equal values must share.
//
// Let delta be the difference of two such points. |delta_i| <= e_i - 1 for a digit of extent e_i.
// If in some output |a_i| > sum over the other open digits of |a_k| (e_k - 1), a nonzero delta_i
// cannot be cancelled: delta_i = 0. Resolved digits drop out of the sums, which may resolve more.
// If the other open digits change an output by multiples of g, a_i delta_i is a multiple of g too, and
// delta_i one of g / gcd(g, a_i): zero when that is e_i or more.
// What remains open is zero as well if its columns are independent modulo 2^31 - 1: a minor that
// is nonzero modulo a prime is a nonzero integer. Dependent modulo the prime proves nothing.
#include <algorithm>
#include <numeric>

#include "facts.h"

namespace tirx {
namespace layout {
namespace prove {
namespace {

constexpr uint64_t kPrime = (uint64_t{1} << 31) - 1;
constexpr size_t kMaxRankWork = 20'000'000;

uint64_t Size(int64_t coef) {
  return coef < 0 ? -static_cast<uint64_t>(coef) : static_cast<uint64_t>(coef);
}

Wide Reach(const AffineTerm& t, const DigitBox& box) {
  return static_cast<Wide>(Size(t.coef)) * (box[t.digit].extent - 1);
}

bool Larger(const AffineTerm& a, const AffineTerm& b) { return Size(a.coef) > Size(b.coef); }

class Dominance {
 public:
  Dominance(const DigitBox& box, const Rows& rows, Recovery* out) : box_(box), out_(out) {
    rows_of_.resize(box.size());
    for (size_t r = 0; r < rows.size(); ++r) {
      sorted_.push_back(rows[r].second->terms);
      std::sort(sorted_[r].begin(), sorted_[r].end(), Larger);
      open_sum_.push_back(0);
      for (const AffineTerm& t : sorted_[r]) {
        open_sum_[r] += Reach(t, box);
        rows_of_[t.digit].push_back({static_cast<int32_t>(r), t.coef});
      }
    }
    next_.resize(rows.size(), 0);
  }

  void Run() {
    std::vector<int32_t> work;
    for (size_t r = 0; r < sorted_.size(); ++r) work.push_back(static_cast<int32_t>(r));
    do {
      while (!work.empty()) {
        int32_t row = work.back();
        work.pop_back();
        while (ResolveLargest(row, &work)) {
        }
      }
      for (size_t r = 0; r < sorted_.size() && work.empty(); ++r) ResolveByResidue(r, &work);
    } while (!work.empty());
  }

 private:
  /*! The first digit of the row that the residue modulo the other strides determines. */
  void ResolveByResidue(size_t row, std::vector<int32_t>* work) {
    std::vector<AffineTerm> open;
    for (const AffineTerm& t : sorted_[row]) {
      if (!out_->resolved[t.digit]) open.push_back(t);
    }
    std::vector<uint64_t> after(open.size() + 1, 0);  // gcd of the strides from i on
    for (size_t i = open.size(); i-- > 0;) after[i] = std::gcd(after[i + 1], Size(open[i].coef));
    uint64_t before = 0;
    for (size_t i = 0; i < open.size(); ++i) {
      uint64_t size = Size(open[i].coef), g = std::gcd(before, after[i + 1]);
      before = std::gcd(before, size);
      if (g / std::gcd(g, size) < static_cast<uint64_t>(box_[open[i].digit].extent)) continue;
      out_->by_residue = true;
      return Resolve(open[i].digit, static_cast<int32_t>(row), work);
    }
  }

  void Resolve(int32_t digit, int32_t row, std::vector<int32_t>* work) {
    out_->resolved[digit] = true;
    out_->order.push_back({digit, row});
    for (const auto& [other, coef] : rows_of_[digit]) {
      open_sum_[other] -= Reach({digit, coef}, box_);
      work->push_back(other);
    }
  }

  // Only the largest coefficient of a row can exceed what the others reach.
  bool ResolveLargest(int32_t row, std::vector<int32_t>* work) {
    const auto& terms = sorted_[row];
    size_t& at = next_[row];
    while (at < terms.size() && out_->resolved[terms[at].digit]) ++at;
    if (at == terms.size()) return false;
    const AffineTerm& t = terms[at];
    if (Size(t.coef) <= open_sum_[row] - Reach(t, box_)) return false;
    Resolve(t.digit, row, work);
    return true;
  }

  const DigitBox& box_;
  Recovery* out_;
  std::vector<std::vector<AffineTerm>> sorted_;
  std::vector<Wide> open_sum_;
  std::vector<size_t> next_;
  std::vector<std::vector<std::pair<int32_t, int64_t>>> rows_of_;
};

uint64_t Mod(int64_t v) {
  int64_t r = v % static_cast<int64_t>(kPrime);
  return static_cast<uint64_t>(r < 0 ? r + static_cast<int64_t>(kPrime) : r);
}

uint64_t Inverse(uint64_t v) {
  uint64_t out = 1;
  for (uint64_t e = kPrime - 2; e > 0; e >>= 1, v = v * v % kPrime) {
    if (e & 1) out = out * v % kPrime;
  }
  return out;
}

using Matrix = std::vector<std::vector<uint64_t>>;

/*! The open columns, densely, modulo the prime. */
Matrix OpenColumns(const Rows& rows, const std::vector<char>& resolved) {
  std::vector<int32_t> column(resolved.size(), -1);
  int32_t open = 0;
  for (size_t d = 0; d < resolved.size(); ++d) {
    if (!resolved[d]) column[d] = open++;
  }
  Matrix m(rows.size(), std::vector<uint64_t>(open, 0));
  for (size_t r = 0; r < rows.size(); ++r) {
    for (const AffineTerm& t : rows[r].second->terms) {
      if (column[t.digit] >= 0) m[r][column[t.digit]] = Mod(t.coef);
    }
  }
  return m;
}

void Eliminate(Matrix* m, size_t pivot, size_t col) {
  uint64_t inverse = Inverse((*m)[pivot][col]);
  for (size_t r = pivot + 1; r < m->size(); ++r) {
    uint64_t factor = (*m)[r][col] * inverse % kPrime;
    if (factor == 0) continue;
    for (size_t c = col; c < (*m)[r].size(); ++c) {
      (*m)[r][c] = ((*m)[r][c] + (kPrime - factor) * (*m)[pivot][c]) % kPrime;
    }
  }
}

bool FullColumnRank(Matrix m) {
  size_t columns = m.empty() ? 0 : m[0].size();
  if (columns > m.size() || columns * columns * m.size() > kMaxRankWork) return false;
  for (size_t c = 0; c < columns; ++c) {
    size_t pivot = c;
    while (pivot < m.size() && m[pivot][c] == 0) ++pivot;
    if (pivot == m.size()) return false;
    std::swap(m[c], m[pivot]);
    Eliminate(&m, c, c);
  }
  return true;
}

}  // namespace

bool Recovery::Complete() const {
  return std::all_of(resolved.begin(), resolved.end(), [](char r) { return r != 0; });
}

Rows AffineRows(const IndexDag& dag, const Analysis& analysis) {
  Rows rows;
  for (size_t j = 0; j < dag.outputs.size(); ++j) {
    const auto& form = analysis.nodes[dag.outputs[j]].affine;
    if (form) rows.push_back({static_cast<int32_t>(j), &*form});
  }
  return rows;
}

Recovery RecoverDigits(const DigitBox& box, const Rows& rows) {
  Recovery out;
  out.resolved.assign(box.size(), false);
  Dominance(box, rows, &out).Run();
  if (out.Complete() || rows.empty()) return out;
  if (FullColumnRank(OpenColumns(rows, out.resolved))) {
    out.by_rank = true;
    out.resolved.assign(box.size(), true);
  }
  return out;
}

}  // namespace prove
}  // namespace layout
}  // namespace tirx
