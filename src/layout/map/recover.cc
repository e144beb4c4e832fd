#include "recover.h"

#include <algorithm>

#include "detail.h"

namespace tirx {
namespace layout {
namespace {

using Wide = __int128;

/*! Digits of `output` that are still unknown, largest stride first; nothing when some stride does
 *  not exceed what all smaller ones reach. */
std::optional<PlanGroup> GroupOf(const MixedRadixMapNode& m, const RecoveryPlan& plan,
                                 const std::vector<char>& known, size_t output) {
  auto size = [&](size_t d) {
    Wide s = plan.Stride(m, d, output);
    return s < 0 ? -s : s;
  };
  PlanGroup group{output, {}};
  for (size_t d = 0; d < plan.digits.size(); ++d) {
    if (!known[d] && size(d) != 0) group.digits.push_back(d);
  }
  std::stable_sort(group.digits.begin(), group.digits.end(),
                   [&](size_t a, size_t b) { return size(a) > size(b); });
  Wide reach = 0;
  for (size_t i = group.digits.size(); i-- > 0;) {
    size_t d = group.digits[i];
    if (size(d) <= reach) return std::nullopt;
    reach += size(d) * (plan.digits[d].extent - 1);
  }
  return group;
}

}  // namespace

RecoveryPlan PlanRecovery(const MixedRadixMapNode& m) {
  RecoveryPlan plan;
  for (size_t i = 0; i < m.shape.size(); ++i) {
    int64_t below = 1;
    for (size_t k = 0; k < m.shape[i].size(); ++k) {
      if (m.shape[i][k] > 1) plan.digits.push_back({i, k, m.shape[i][k], below});
      below *= m.shape[i][k];
    }
  }
  std::vector<char> known(plan.digits.size(), 0);
  for (size_t d = 0; d < plan.digits.size(); ++d) {
    bool used = false;
    for (size_t j = 0; j < m.offset.size(); ++j) used = used || plan.Stride(m, d, j) != 0;
    if (used) continue;
    known[d] = 1;
    plan.free.push_back(d);
  }
  for (bool more = true; more;) {
    more = false;
    for (size_t j = 0; j < m.offset.size(); ++j) {
      auto group = GroupOf(m, plan, known, j);
      if (!group || group->digits.empty()) continue;
      for (size_t d : group->digits) known[d] = 1;
      plan.groups.push_back(*group);
      more = true;
    }
  }
  plan.complete = std::find(known.begin(), known.end(), 0) == known.end();
  return plan;
}

namespace {

bool Get(const BitVector& v, size_t i) { return v[i / 64] >> (i % 64) & 1; }
void Set(BitVector* v, size_t i) { (*v)[i / 64] |= uint64_t{1} << (i % 64); }
void XorInto(const BitVector& v, BitVector* to) {
  for (size_t w = 0; w < v.size(); ++w) (*to)[w] ^= v[w];
}
std::optional<size_t> Leading(const BitVector& v) {
  for (size_t w = v.size(); w-- > 0;) {
    if (v[w]) return w * 64 + 63 - __builtin_clzll(v[w]);
  }
  return std::nullopt;
}

}  // namespace

BitVector BitSolver::Pack(const std::vector<int64_t>& value) const {
  return BitVector(value.begin(), value.end());
}

BitSolver::BitSolver(const BitLinearMapNode& m) : map_(m) {
  for (const IntRows& axis : m.basis) inputs_ += axis.size();
  size_t input = 0;
  for (const IntRows& axis : m.basis) {
    for (const Ints& image : axis) {
      Row row{Pack(ToVector(image)), BitVector(inputs_ / 64 + 1, 0)};
      Set(&row.from, input++);
      for (size_t k = 0; k < rows_.size(); ++k) {
        if (!Get(row.value, pivots_[k])) continue;
        XorInto(rows_[k].value, &row.value);
        XorInto(rows_[k].from, &row.from);
      }
      auto lead = Leading(row.value);
      if (!lead) {
        kernel_.push_back(row.from);
        continue;
      }
      for (Row& r : rows_) {
        if (!Get(r.value, *lead)) continue;
        XorInto(row.value, &r.value);
        XorInto(row.from, &r.from);
      }
      rows_.push_back(row);
      pivots_.push_back(*lead);
    }
  }
}

std::optional<BitVector> BitSolver::Solve(const std::vector<int64_t>& value) const {
  BitVector left = Pack(value), from(inputs_ / 64 + 1, 0);
  XorInto(Pack(ToVector(map_.translation)), &left);
  for (size_t k = 0; k < rows_.size(); ++k) {
    if (!Get(left, pivots_[k])) continue;
    XorInto(rows_[k].value, &left);
    XorInto(rows_[k].from, &from);
  }
  if (Leading(left)) return std::nullopt;
  return from;
}

std::vector<BitVector> BitSolver::Kernel() const { return kernel_; }

std::vector<int64_t> BitSolver::Point(const BitVector& bits) const {
  std::vector<int64_t> out;
  size_t input = 0;
  for (const IntRows& axis : map_.basis) {
    int64_t x = 0;
    for (size_t b = 0; b < axis.size(); ++b) x |= static_cast<int64_t>(Get(bits, input++)) << b;
    out.push_back(x);
  }
  return out;
}

std::vector<BitVector> BitSolver::LeftInverse(const std::vector<int>& codomain_bits) const {
  std::vector<BitVector> out;
  for (size_t j = 0; j < codomain_bits.size(); ++j) {
    for (int b = 0; b < codomain_bits[j]; ++b) {
      // Pivot bits select their row; the other bits of an image follow from these.
      auto at = std::find(pivots_.begin(), pivots_.end(), j * 64 + b);
      bool pivot = at != pivots_.end();
      out.push_back(pivot ? rows_[at - pivots_.begin()].from : BitVector(inputs_ / 64 + 1, 0));
    }
  }
  return out;
}

LayoutMap FromDag(const IndexDag& dag, const IndexBox& domain, const IndexBox& codomain) {
  Ints code;
  for (const IndexNode& n : dag.nodes) {
    code.push_back(static_cast<int64_t>(n.op));
    code.push_back(n.a);
    code.push_back(n.b);
    code.push_back(n.c);
  }
  std::vector<int64_t> outputs(dag.outputs.begin(), dag.outputs.end());
  return IndexExpr(domain, codomain, code, ToInts(outputs));
}

}  // namespace layout
}  // namespace tirx
