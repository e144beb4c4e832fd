/*!
 * Constant bounds of nodes.
 */
#include <bit>
#include <numeric>

#include "graph.h"

namespace tirx {
namespace arith {
namespace {

/*! The smallest 2^k - 1 that is >= v (v >= 0). */
int64_t MaskOf(int64_t v) {
  int width = std::bit_width(static_cast<uint64_t>(v));
  return width >= 63 ? INT64_MAX : (int64_t{1} << width) - 1;
}

ConstBound CallBound(const Node& n) {
  const ffi::String& op = static_cast<const CallNode*>(n.origin)->op;
  ConstBound all = DTypeBound(n.dtype);
  if (op == "tx.popcount" || op == "tx.clz") return {0, 64};
  bool index = op == "tx.thread_index" || op == "tx.cta_index" || op == "tx.cluster_cta_index" ||
               op == "tx.cluster_cta_rank";
  if (index || (op == "tx.abs" && IsInteger(n.dtype))) return {0, all.max};
  if (op == "tx.cta_extent") return {1, all.max};
  return all;
}

/*! a & b, a | b, a ^ b of non-negative values; a & b also when one side is. */
ConstBound BitsBound(BinOp op, const ConstBound& a, const ConstBound& b, const ConstBound& all) {
  if (op == BinOp::kBitAnd) {
    if (a.min >= 0 && b.min >= 0) return {0, std::min(a.max, b.max)};
    if (a.min >= 0) return {0, a.max};
    return b.min >= 0 ? ConstBound{0, b.max} : all;
  }
  if (a.min < 0 || b.min < 0) return all;
  int64_t lo = op == BinOp::kBitOr ? std::max(a.min, b.min) : 0;
  return {lo, MaskOf(std::max(a.max, b.max))};
}

ConstBound MinMaxBound(BinOp op, const ConstBound& a, const ConstBound& b) {
  if (op == BinOp::kMin) return {std::min(a.min, b.min), std::min(a.max, b.max)};
  return {std::max(a.min, b.min), std::max(a.max, b.max)};
}

/*! C's quotient and remainder for a divisor of known sign that excludes 0. */
ConstBound TruncBound(BinOp op, const ConstBound& a, const ConstBound& b, const ConstBound& all) {
  if (b.min <= 0) return all;
  if (op == BinOp::kTruncDiv) {
    if (a.min >= 0) return FloorDivBound(a, b);
    return {IsNegInf(a.min) ? a.min : a.min / b.min,
            IsPosInf(a.max) ? a.max : std::max(a.max / b.min, int64_t{0})};
  }
  int64_t most = IsPosInf(b.max) ? b.max : b.max - 1;
  return {a.min >= 0 ? 0 : -std::min(most, IsNegInf(a.min) ? INT64_MAX : -a.min),
          a.max <= 0 ? 0 : std::min(most, a.max)};
}

ConstBound ShiftBound(BinOp op, const ConstBound& a, const ConstBound& b, const ConstBound& all) {
  if (b.min < 0 || b.max > 62) return all;
  if (op == BinOp::kShl)
    return a.min >= 0 ? MulBound(a, {int64_t{1} << b.min, int64_t{1} << b.max}) : all;
  return FloorDivBound(a, {int64_t{1} << b.min, int64_t{1} << b.max});
}

/*! a % b with a symbolic divisor. */
ConstBound SymbolicModBound(const ConstBound& a, const ConstBound& b, const ConstBound& all) {
  if (b.min <= 0) return all;
  int64_t most = IsPosInf(b.max) ? b.max : b.max - 1;
  return {0, a.min >= 0 ? std::min(most, a.max) : most};
}

}  // namespace

ConstBound Graph::BinaryBound(const Node& n) {
  ConstBound all = DTypeBound(n.dtype);
  if (!IsInteger(n.dtype) || !IsInteger(nodes_[n.a].dtype)) return all;
  ConstBound a = BoundOf(n.a), b = BoundOf(n.b);
  bool wraps = IsUnsigned(n.dtype);
  BinOp op = static_cast<BinOp>(n.op);
  switch (op) {
    case BinOp::kAdd: return wraps ? all : AddBound(a, b);
    case BinOp::kSub: return wraps ? all : AddBound(a, ScaleBound(b, -1));
    case BinOp::kMul: return wraps ? all : MulBound(a, b);
    case BinOp::kMin:
    case BinOp::kMax: return MinMaxBound(op, a, b);
    case BinOp::kFloorDiv: return FloorDivBound(a, b);
    case BinOp::kFloorMod: return SymbolicModBound(a, b, all);
    case BinOp::kTruncDiv:
    case BinOp::kTruncMod: return TruncBound(op, a, b, all);
    case BinOp::kBitAnd:
    case BinOp::kBitOr:
    case BinOp::kBitXor: return BitsBound(op, a, b, all);
    case BinOp::kShl: return wraps ? all : ShiftBound(op, a, b, all);
    case BinOp::kShr: return ShiftBound(op, a, b, all);
    default: return all;
  }
}

ConstBound Graph::DigitBound(const Node& n) {
  ConstBound q = FloorDivBound(BoundOf(n.a), {n.value, n.value});
  if (n.value2 == 0) return q;
  ConstBound out = FloorModBound(q, n.value2);
  if (n.value != 1) return out;
  // x % m with x = g*k + r and g | m takes only the values r, r + g, ..., m - g + r.
  ModularSet s = ModularOf(n.a);
  int64_t g = std::gcd(s.coeff, n.value2), r = FloorModInt(s.base, g);
  return Intersect(out, {r, n.value2 - g + r});
}

ConstBound Graph::ComputeBound(const Node& n) {
  switch (n.kind) {
    case Kind::kConst: return {n.value, n.value};
    case Kind::kSum: {
      if (n.wraps) return DTypeBound(n.dtype);
      ConstBound out{n.value, n.value};
      for (int32_t i = 0; i < n.num_terms; ++i) {
        Term t = pool_[n.first_term + i];
        out = AddBound(out, ScaleBound(BoundOf(t.atom), t.coeff));
      }
      return out;
    }
    case Kind::kProduct: return MulBound(BoundOf(n.a), BoundOf(n.b));
    case Kind::kDigit: return DigitBound(n);
    case Kind::kBinary: return BinaryBound(n);
    case Kind::kSelect: return UnionBound(BoundOf(n.b), BoundOf(n.c));
    case Kind::kCall: return CallBound(n);
    default: return DTypeBound(n.dtype);
  }
}

ConstBound Graph::BoundOf(Id id) {
  if (nodes_[id].bound_epoch == epochs_.back()) return nodes_[id].bound;
  const Node& n = nodes_[id];  // computing a bound makes no nodes
  ConstBound b = ComputeBound(n);
  if (IsInteger(n.dtype) && n.dtype.bits <= 64) b = Intersect(DTypeBound(n.dtype), b);
  if (n.has_fact) b = Intersect(b, n.fact);
  nodes_[id].bound = b;
  nodes_[id].bound_epoch = epochs_.back();
  return b;
}

}  // namespace arith
}  // namespace tirx
