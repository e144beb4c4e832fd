// The exact kernel of a few open columns, when it has at most one dimension.
//
// Differences of two points with equal values are integer vectors of the kernel. If it is spanned
// by one primitive vector v, they are the multiples of v: two points collide exactly when v itself
// fits the extents.
#include <algorithm>
#include <numeric>

#include "facts.h"

namespace tirx {
namespace layout {
namespace prove {
namespace {

constexpr size_t kMaxColumns = 16;
constexpr size_t kMaxEntries = 4096;
constexpr Wide kLimit = Wide{1} << 62;  // entries stay below, so products fit

using Row = std::vector<Wide>;

Wide Gcd(Wide a, Wide b) {
  while (b != 0) std::swap(a %= b, b);
  return a < 0 ? -a : a;
}

/*! Divides a row by the gcd of its entries; false when they are too large to go on. */
bool Reduce(Row* row) {
  Wide g = 0;
  for (Wide v : *row) g = Gcd(g, v);
  for (Wide& v : *row) {
    if (g > 1) v /= g;
    if (v >= kLimit || v <= -kLimit) return false;
  }
  return true;
}

/*! Row-reduces; column c of the result has its pivot in row pivots[c] (-1: none). */
bool Eliminate(std::vector<Row>* m, std::vector<int>* pivots) {
  size_t next = 0;
  for (size_t c = 0; c < pivots->size(); ++c) {
    size_t p = next;
    while (p < m->size() && (*m)[p][c] == 0) ++p;
    if (p == m->size()) continue;
    std::swap((*m)[p], (*m)[next]);
    const Row& pivot = (*m)[next];
    for (size_t r = 0; r < m->size(); ++r) {
      if (r == next || (*m)[r][c] == 0) continue;
      Wide factor = (*m)[r][c];
      for (size_t k = 0; k < pivots->size(); ++k) {
        (*m)[r][k] = (*m)[r][k] * pivot[c] - pivot[k] * factor;
      }
      if (!Reduce(&(*m)[r])) return false;
    }
    (*pivots)[c] = static_cast<int>(next++);
  }
  return true;
}

/*! The primitive vector that solves pivot * v_c + entry * v_free = 0 for every pivot column. */
std::optional<Row> KernelVector(const std::vector<Row>& m, const std::vector<int>& pivots,
                                size_t free) {
  Wide common = 1;
  for (size_t c = 0; c < pivots.size(); ++c) {
    if (c == free) continue;
    const Row& row = m[pivots[c]];
    Wide pivot = row[c] < 0 ? -row[c] : row[c];
    Wide part = pivot / Gcd(pivot, row[free]);
    common = common / Gcd(common, part) * part;
    if (common >= kLimit) return std::nullopt;
  }
  Row v(pivots.size(), common);
  for (size_t c = 0; c < pivots.size(); ++c) {
    if (c == free) continue;
    const Row& row = m[pivots[c]];
    v[c] = -(row[free] * common) / row[c];
  }
  if (!Reduce(&v)) return std::nullopt;
  return v;
}

}  // namespace

void DecideByKernel(const DigitBox& box, const std::vector<int32_t>& open, bool all,
                    const Rows& rows, Evidence* e) {
  auto prove = [&](const char* argument) {
    if (all) e->Prove(&e->proof().injective, argument);
  };
  if (open.empty() || open.size() > kMaxColumns || open.size() * rows.size() > kMaxEntries) return;
  std::vector<Row> m(rows.size(), Row(open.size(), 0));
  for (size_t r = 0; r < rows.size(); ++r) {
    for (const AffineTerm& t : rows[r].second->terms) {
      auto at = std::find(open.begin(), open.end(), t.digit);
      if (at != open.end()) m[r][at - open.begin()] = t.coef;
    }
    if (!Reduce(&m[r])) return;
  }
  std::vector<int> pivots(open.size(), -1);
  if (!Eliminate(&m, &pivots)) return;
  size_t free = std::count(pivots.begin(), pivots.end(), -1);
  if (free == 0) return prove("full column rank over the rationals");
  if (free > 1) return;
  auto v = KernelVector(m, pivots, std::find(pivots.begin(), pivots.end(), -1) - pivots.begin());
  if (!v) return;
  std::vector<int64_t> plus(box.size(), 0), minus(box.size(), 0);
  for (size_t i = 0; i < open.size(); ++i) {
    Wide steps = (*v)[i] < 0 ? -(*v)[i] : (*v)[i];
    if (steps >= box[open[i]].extent) {
      return prove("the one dependency of the strides exceeds an extent");
    }
    ((*v)[i] < 0 ? minus : plus)[open[i]] = static_cast<int64_t>(steps);
  }
  auto p = box.PointOf(plus), q = box.PointOf(minus);
  if (p && q) e->TryCollision(*p, *q, "the one dependency of the strides fits their extents");
}

}  // namespace prove
}  // namespace layout
}  // namespace tirx
