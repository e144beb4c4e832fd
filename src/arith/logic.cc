/*!
 * Logical operators, select, min and max, bit operations and shifts.
 */
#include <bit>

#include "graph.h"

namespace tirx {
namespace arith {

Id Graph::MakeBinaryNode(BinOp op, Id a, Id b, DType result) {
  const Node &x = nodes_[a], &y = nodes_[b];
  if (x.kind == Kind::kConst && y.kind == Kind::kConst) {
    auto v = FoldInt(op, x.dtype, x.value, y.value);
    // A uint64 above INT64_MAX is stored as a negative number, which a constant node must not be.
    if (v && (*v >= 0 || !IsUnsigned(result))) return Const(result, *v);
  }
  Node n;
  n.kind = Kind::kBinary;
  n.op = static_cast<uint8_t>(op);
  n.dtype = result;
  n.a = a;
  n.b = b;
  n.unique = x.unique || y.unique;
  n.traps = x.traps || y.traps;
  bool divides = op >= BinOp::kFloorDiv && op <= BinOp::kTruncMod && IsInteger(result);
  if (divides && !n.traps) {
    ConstBound d = BoundOf(b);
    n.traps = d.min <= 0 && d.max >= 0;
  }
  return Intern(std::move(n), nullptr, 0);
}

/*! a and b, a or b: b is evaluated only when a does not decide. */
Id Graph::MakeLogical(BinOp op, Id a, Id b) {
  int64_t absorbing = op == BinOp::kAnd ? 0 : 1;
  if (nodes_[a].kind == Kind::kConst) return nodes_[a].value == absorbing ? a : b;
  if (nodes_[b].kind == Kind::kConst) {
    if (nodes_[b].value != absorbing) return a;
    if (!nodes_[a].traps) return b;
  }
  if (a == b && !nodes_[a].unique) return a;
  return MakeBinaryNode(op, a, b, kBool);
}

Id Graph::MakeSelect(Id cond, Id t, Id f) {
  const Node& c = nodes_[cond];
  if (c.kind == Kind::kConst) return c.value ? t : f;
  if (t == f && !c.traps) return t;
  if (IsBool(nodes_[t].dtype) && IsConstValue(t, 1) && IsConstValue(f, 0)) return cond;
  if (IsBool(nodes_[t].dtype) && IsConstValue(t, 0) && IsConstValue(f, 1)) return MakeNot(cond);
  Node n;
  n.kind = Kind::kSelect;
  n.dtype = nodes_[t].dtype;
  n.a = cond;
  n.b = t;
  n.c = f;
  n.traps = c.traps || nodes_[t].traps || nodes_[f].traps;
  n.unique = c.unique || nodes_[t].unique || nodes_[f].unique;
  return Intern(std::move(n), nullptr, 0);
}

Id Graph::MakeMinMax(BinOp op, Id a, Id b) {
  DType t = nodes_[a].dtype;
  if (nodes_[a].kind == Kind::kConst) std::swap(a, b);
  Affine ahead, behind;  // b - a and a - b
  AddScaled(&ahead, b, 1);
  AddScaled(&ahead, a, -1);
  AddAffine(&behind, ahead, -1);
  bool min = op == BinOp::kMin;
  if (!nodes_[b].traps && ProveNonNegative(min ? ahead : behind)) return a;
  if (!nodes_[a].traps && ProveNonNegative(min ? behind : ahead)) return b;
  const Node& x = nodes_[a];
  bool nested = x.kind == Kind::kBinary && x.op == static_cast<uint8_t>(op);
  if (nested && nodes_[b].kind == Kind::kConst && nodes_[x.b].kind == Kind::kConst) {
    int64_t u = nodes_[x.b].value, v = nodes_[b].value;
    return MakeMinMax(op, x.a, Const(t, min ? std::min(u, v) : std::max(u, v)));
  }
  return MakeBinaryNode(op, a, b, t);
}

namespace {

/*! k when v == 2^k, else -1. */
int Log2(int64_t v) {
  return v > 0 && std::has_single_bit(static_cast<uint64_t>(v))
             ? std::countr_zero(static_cast<uint64_t>(v))
             : -1;
}

/*! s = high + low, high a multiple of p and 0 <= low < p. */
struct BitSplit {
  Affine high, low;
};

BitSplit SplitAt(const Affine& s, int64_t p) {
  BitSplit out;
  out.low.base = FloorModInt(s.base, p);
  out.high.base = s.base - out.low.base;
  for (const Term& t : s.terms) (t.coeff % p == 0 ? out.high : out.low).terms.push_back(t);
  return out;
}

}  // namespace

/*! x op y where above some bit p only one side has anything: (p*h + l) ^ r = p*h + (l ^ r). */
Id Graph::SplitBits(BinOp op, Id a, Id b, DType t) {
  Affine x = FormOf(a), y = FormOf(b);
  if (!x.ok || !y.ok || x.terms.size() + y.terms.size() > 16) return kNone;
  int64_t tried = INT64_MAX;
  for (size_t round = 0; round < x.terms.size() + y.terms.size(); ++round) {
    int64_t p = 1;  // the next smaller power of two among the coefficients
    for (const Affine* s : {&x, &y}) {
      for (const Term& term : s->terms) {
        uint64_t c = static_cast<uint64_t>(term.coeff);
        int64_t q = static_cast<int64_t>(c & (~c + 1));
        if (q > p && q < tried) p = q;
      }
    }
    if (p == 1) return kNone;
    tried = p;
    BitSplit sx = SplitAt(x, p), sy = SplitAt(y, p);
    bool only_x = sy.high.terms.empty() && sy.high.base == 0;
    bool only_y = sx.high.terms.empty() && sx.high.base == 0;
    if (only_x == only_y) continue;
    if (!Within(BoundOf(sx.low), 0, p - 1) || !Within(BoundOf(sy.low), 0, p - 1)) continue;
    Affine out = only_x ? sx.high : sy.high;
    if (op == BinOp::kBitAnd) {
      if (Traps(out)) continue;
      out = Affine();
    }
    Id l = MakeSum(sx.low, t, false), r = MakeSum(sy.low, t, false);
    if (l == kNone || r == kNone) continue;
    AddScaled(&out, MakeBits(op, l, r, t), 1);
    return MakeSum(out, t, true);
  }
  return kNone;
}

Id Graph::MakeBits(BinOp op, Id a, Id b, DType t) {
  if (nodes_[a].kind == Kind::kConst) std::swap(a, b);
  bool droppable = !nodes_[a].traps && !nodes_[a].unique;
  if (IsConstValue(b, 0)) {
    if (op != BinOp::kBitAnd) return a;
    if (droppable) return b;
  }
  if (a == b && droppable) return op == BinOp::kBitXor ? Const(t, 0) : a;
  const Node& m = nodes_[b];
  if (op == BinOp::kBitAnd && m.kind == Kind::kConst && m.value > 0 && m.value < INT64_MAX) {
    if (Log2(m.value + 1) > 0) {
      Id power = Log2(m.value + 1) < t.bits - IsSigned(t) ? Const(t, m.value + 1) : kNone;
      if (power != kNone) return MakeFloorMod(a, power, t);
    }
  }
  Id split = SplitBits(op, a, b, t);
  return split != kNone ? split : MakeBinaryNode(op, a, b, t);
}

/*! Shifts by a constant are multiplication and floor division by a power of two. */
Id Graph::MakeShift(BinOp op, Id a, Id b, DType t) {
  const Node& s = nodes_[b];
  bool constant =
      s.kind == Kind::kConst && s.value >= 0 && s.value < t.bits - IsSigned(t) && s.value < 62;
  if (!constant) return MakeBinaryNode(op, a, b, t);
  if (s.value == 0) return a;
  int64_t power = int64_t{1} << s.value;
  if (op == BinOp::kShl) return MakeMul(a, Const(t, power), t);
  const Node& x = nodes_[a];
  // (y & m) >> s = (y >> s) & (m >> s)
  if (x.kind == Kind::kBinary && x.op == static_cast<uint8_t>(BinOp::kBitAnd) &&
      nodes_[x.b].kind == Kind::kConst && nodes_[x.b].value >= power) {
    int64_t mask = nodes_[x.b].value >> s.value;
    if (Log2(mask + 1) > 0)
      return MakeBits(BinOp::kBitAnd, MakeShift(op, x.a, b, t), Const(t, mask), t);
  }
  return MakeFloorDiv(a, Const(t, power), t);
}

}  // namespace arith
}  // namespace tirx
