/*!
 * Divisibility of nodes. A set {coeff*k + base} with coeff 1 says nothing; coeff 0 is a constant.
 * Every rule is exact on mathematical integers; what leaves int64 becomes "nothing known".
 */
#include <numeric>

#include "graph.h"

namespace tirx {
namespace arith {
namespace {

constexpr ModularSet kNothing{1, 0};

/*! Normalises base into [0, coeff). */
ModularSet Reduced(int64_t coeff, int64_t base) {
  if (coeff == INT64_MIN) return kNothing;
  coeff = std::abs(coeff);
  return {coeff, coeff == 0 ? base : FloorModInt(base, coeff)};
}

int64_t Gcd(int64_t a, int64_t b) {
  if (a == INT64_MIN || b == INT64_MIN) return 1;
  return std::gcd(a, b);
}

ModularSet AddModular(const ModularSet& a, const ModularSet& b) {
  int64_t base;
  if (__builtin_add_overflow(a.base, b.base, &base)) return kNothing;
  return Reduced(Gcd(a.coeff, b.coeff), base);
}

ModularSet ScaleModular(const ModularSet& a, int64_t k) {
  int64_t coeff, base;
  if (__builtin_mul_overflow(a.coeff, k, &coeff) || __builtin_mul_overflow(a.base, k, &base)) {
    return Reduced(k, 0);
  }
  return Reduced(coeff, base);
}

/*! (m*x + r)(n*y + s) = mn*xy + ms*x + rn*y + rs */
ModularSet MulModular(const ModularSet& a, const ModularSet& b) {
  int64_t mn, ms, rn, rs;
  if (__builtin_mul_overflow(a.coeff, b.coeff, &mn) ||
      __builtin_mul_overflow(a.coeff, b.base, &ms) ||
      __builtin_mul_overflow(a.base, b.coeff, &rn) || __builtin_mul_overflow(a.base, b.base, &rs)) {
    return kNothing;
  }
  return Reduced(Gcd(Gcd(mn, ms), rn), rs);
}

ModularSet UnionModular(const ModularSet& a, const ModularSet& b) {
  int64_t diff;
  if (__builtin_sub_overflow(a.base, b.base, &diff)) return kNothing;
  return Reduced(Gcd(Gcd(a.coeff, b.coeff), diff), a.base);
}

ModularSet DigitModular(ModularSet s, int64_t div, int64_t mod) {
  if (div != 1) {
    if (s.coeff % div != 0) return kNothing;
    s = Reduced(s.coeff / div, FloorDivInt(s.base, div));
  }
  if (mod == 0) return s;
  if (s.coeff == 0) return {0, FloorModInt(s.base, mod)};
  return Reduced(Gcd(s.coeff, mod), s.base);
}

int64_t PowerOfTwoFactor(int64_t v) { return v == 0 ? int64_t{1} << 62 : v & -v; }

/*! Low zero bits common to both sides stay zero; a low bit pattern survives a mask below it. */
ModularSet BitsModular(const ModularSet& a, const ModularSet& b) {
  int64_t pa = PowerOfTwoFactor(Gcd(a.coeff, a.base)), pb = PowerOfTwoFactor(Gcd(b.coeff, b.base));
  return {std::min(pa, pb), 0};
}

ModularSet BitAndModular(const ModularSet& a, const ModularSet& b) {
  int64_t pa = PowerOfTwoFactor(Gcd(a.coeff, a.base)), pb = PowerOfTwoFactor(Gcd(b.coeff, b.base));
  return {std::max(pa, pb), 0};
}

/*! Unsigned arithmetic that may wrap keeps only powers of two. */
ModularSet WrapModular(const ModularSet& s, DType t) {
  int64_t p = s.coeff == 0 ? int64_t{1} << 62 : s.coeff & -s.coeff;
  if (t.bits < 63) p = std::min(p, int64_t{1} << t.bits);
  return Reduced(p, s.base);
}

}  // namespace

ModularSet Graph::ModularOf(const Affine& s) {
  ModularSet out{0, s.base};
  for (const Term& t : s.terms) out = AddModular(out, ScaleModular(ModularOf(t.atom), t.coeff));
  return out;
}

ModularSet Graph::BinaryModular(const Node& n) {
  if (!IsInteger(n.dtype) || !IsInteger(nodes_[n.a].dtype)) return kNothing;
  ModularSet a = ModularOf(n.a), b = ModularOf(n.b), out = kNothing;
  switch (static_cast<BinOp>(n.op)) {
    case BinOp::kAdd: out = AddModular(a, b); break;
    case BinOp::kSub: out = AddModular(a, ScaleModular(b, -1)); break;
    case BinOp::kMul: out = MulModular(a, b); break;
    case BinOp::kMin:
    case BinOp::kMax: return UnionModular(a, b);
    case BinOp::kBitAnd: return BitAndModular(a, b);
    case BinOp::kBitOr:
    case BinOp::kBitXor: return BitsModular(a, b);
    case BinOp::kFloorMod: {
      // a - b*(a//b): a common factor of a and b stays.
      return Reduced(Gcd(a.coeff, Gcd(b.coeff, b.base)), a.base);
    }
    default: return kNothing;
  }
  return IsUnsigned(n.dtype) ? WrapModular(out, n.dtype) : out;
}

ModularSet Graph::ComputeModular(const Node& n) {
  switch (n.kind) {
    case Kind::kConst: return {0, n.value};
    case Kind::kSum: {
      ModularSet out{0, n.value};
      for (int32_t i = 0; i < n.num_terms; ++i) {
        Term t = pool_[n.first_term + i];
        out = AddModular(out, ScaleModular(ModularOf(t.atom), t.coeff));
      }
      return n.wraps ? WrapModular(out, n.dtype) : out;
    }
    case Kind::kProduct: return MulModular(ModularOf(n.a), ModularOf(n.b));
    case Kind::kDigit: return DigitModular(ModularOf(n.a), n.value, n.value2);
    case Kind::kBinary: return BinaryModular(n);
    case Kind::kSelect: return UnionModular(ModularOf(n.b), ModularOf(n.c));
    default: return kNothing;
  }
}

ModularSet Graph::ModularOf(Id id) {
  if (nodes_[id].modular_epoch == epochs_.back()) return nodes_[id].modular;
  const Node& n = nodes_[id];  // computing facts makes no nodes
  ModularSet m = ComputeModular(n);
  const ModularSet& fact = n.modular_fact;
  // Two facts at once: keep the stronger one (their intersection is rarely worth computing).
  if (fact.coeff == 0 || (m.coeff != 0 && fact.coeff > m.coeff)) m = fact;
  nodes_[id].modular = m;
  nodes_[id].modular_epoch = epochs_.back();
  return m;
}

}  // namespace arith
}  // namespace tirx
