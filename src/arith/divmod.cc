/*!
 * Floor division and modulo of affine forms by constants.
 *
 * All rewrites are identities of mathematical integers with c > 0:
 *   (c*q + r) // c = q + r // c                        (c*q + r) % c = r % c
 *   (g*a + b) // (g*c) = a // c     if 0 <= b < g      (g*a + b) % (g*c) = g*(a % c) + b
 *   ((x // d) % (c*m)) // c = (x // (d*c)) % m         ((x // d) % (c*m)) % c = (x // d) % c
 * A division by a symbolic value cancels factors: (i*n + j) // n = i if 0 <= j < n.
 */
#include <numeric>

#include "graph.h"

namespace tirx {
namespace arith {

/*! The node of (x // div) % mod (mod 0: none), div > 0. */
Id Graph::MakeDigit(Id x, int64_t div, int64_t mod) {
  const Node& n = nodes_[x];
  DType t = n.dtype;
  if (mod == 1 && !n.traps) return Const(t, 0);
  if (n.kind == Kind::kConst) {
    int64_t q = FloorDivInt(n.value, div);
    return Const(t, mod == 0 ? q : FloorModInt(q, mod));
  }
  int64_t d;
  if (n.kind == Kind::kDigit && !__builtin_mul_overflow(n.value, div, &d)) {
    if (n.value2 == 0) return MakeDigit(n.a, d, mod);
    if (n.value2 % div == 0) {
      int64_t left = n.value2 / div;
      if (mod == 0 || left % mod == 0) return MakeDigit(n.a, d, mod == 0 ? left : mod);
      if (mod % left == 0) return MakeDigit(n.a, d, left);
    }
  }
  ConstBound b = BoundOf(x);
  ConstBound q = FloorDivBound(b, {div, div});
  if (IsPoint(q) && !nodes_[x].traps) return Const(t, mod == 0 ? q.min : FloorModInt(q.min, mod));
  if (mod != 0 && Within(q, 0, mod - 1)) mod = 0;
  ModularSet s = ModularOf(x);
  if (div == 1 && mod != 0 && s.coeff % mod == 0 && !nodes_[x].traps) {
    return Const(t, FloorModInt(s.base, mod));
  }
  if (div == 1 && mod == 0) return x;
  if (div > MaxValue(t) || mod > MaxValue(t)) return kNone;
  Node digit;
  digit.kind = Kind::kDigit;
  digit.dtype = t;
  digit.a = x;
  digit.value = div;
  digit.value2 = mod;
  digit.traps = nodes_[x].traps;
  digit.unique = nodes_[x].unique;
  return Intern(std::move(digit), nullptr, 0);
}

/*! A node for r, in the narrowest dtype its atoms have when it fits there. */
Id Graph::NodeOf(const Affine& r, DType t) {
  if (r.IsSingle()) return r.terms[0].atom;
  DType own = r.terms.empty() ? t : nodes_[r.terms[0].atom].dtype;
  for (const Term& term : r.terms) {
    if (!(nodes_[term.atom].dtype == own)) own = t;
  }
  Id id = MakeSum(r, own, false);
  return id == kNone && !(own == t) ? MakeSum(r, t, false) : id;
}

bool Graph::DigitOf(const Affine& r, int64_t div, int64_t mod, DType t, Affine* out) {
  Id x = NodeOf(r, t);
  if (x == kNone) return false;
  const Node& n = nodes_[x];
  int64_t d;
  bool nested = n.kind == Kind::kDigit && n.value2 == 0 && mod == 0;
  if (nested && !__builtin_mul_overflow(n.value, div, &d) && d <= MaxValue(n.dtype)) {
    Affine quotient;
    if (Quotient(FormOf(n.a), d, n.dtype, &quotient)) return AddAffine(out, quotient, 1), out->ok;
  }
  Id digit = MakeDigit(x, div, mod);
  if (digit == kNone) return false;
  AddScaled(out, digit, 1);
  return out->ok;
}

namespace {

bool HasPositive(const Affine& s) {
  if (s.base > 0) return true;
  for (const Term& t : s.terms) {
    if (t.coeff > 0) return true;
  }
  return s.terms.empty();
}

/*! Common factors worth trying, largest first. */
SmallVector<int64_t, 8> FactorsOf(const Affine& r, int64_t c) {
  SmallVector<int64_t, 8> out;
  for (const Term& t : r.terms) {
    int64_t g = t.coeff == INT64_MIN ? 1 : std::gcd(t.coeff, c);
    if (g > 1 && std::find(out.begin(), out.end(), g) == out.end()) out.push_back(g);
  }
  std::sort(out.begin(), out.end(), std::greater<int64_t>());
  return out;
}

}  // namespace

/*! r = factor*high + low with factor > 1 dividing c and 0 <= low < factor. */
bool Graph::SplitByFactor(const Affine& r, int64_t c, Affine* high, Affine* low, int64_t* factor) {
  for (int64_t g : FactorsOf(r, c)) {
    *high = Affine();
    *low = Affine(FloorModInt(r.base, g));
    int64_t quotient = FloorDivInt(r.base, g);
    for (const Term& t : r.terms) {
      if (t.coeff % g == 0)
        high->terms.push_back({t.atom, t.coeff / g});
      else
        low->terms.push_back(t);
    }
    ConstBound b = BoundOf(*low);
    if (IsNegInf(b.min) || IsPosInf(b.max) || FloorDivInt(b.min, g) != FloorDivInt(b.max, g))
      continue;
    int64_t window = FloorDivInt(b.min, g), shift;
    if (__builtin_mul_overflow(window, g, &shift)) continue;
    low->AddBase(-shift);
    high->AddBase(quotient);
    high->AddBase(window);
    *factor = g;
    return low->ok && high->ok;
  }
  return false;
}

/*! out += s // c */
bool Graph::Quotient(Affine s, int64_t c, DType t, Affine* out) {
  Affine r;
  for (const Term& term : s.terms) {
    if (term.coeff % c == 0)
      AddScaled(out, term.atom, term.coeff / c);
    else
      r.terms.push_back(term);
  }
  if (r.terms.empty() || s.base % c == 0)
    out->AddBase(FloorDivInt(s.base, c));
  else
    r.base = s.base;
  if (r.terms.empty()) return out->ok;
  ConstBound q = FloorDivBound(BoundOf(r), {c, c});
  if (IsPoint(q) && !Traps(r)) {
    out->AddBase(q.min);
    return out->ok;
  }
  Affine high, low;
  int64_t g;
  if (SplitByFactor(r, c, &high, &low, &g) && !Traps(low)) {
    return c == g ? (AddAffine(out, high, 1), out->ok) : Quotient(std::move(high), c / g, t, out);
  }
  if (!HasPositive(r)) return false;
  return DigitOf(r, c, 0, t, out);
}

namespace {

void ReduceCoefficients(Affine* r, int64_t m) {
  Affine out(FloorModInt(r->base, m));
  out.ok = r->ok;
  for (const Term& t : r->terms) {
    if (t.coeff % m != 0) out.terms.push_back({t.atom, t.coeff % m});
  }
  *r = out;
}

}  // namespace

/*! out += s % m */
bool Graph::Remainder(Affine s, int64_t m, DType t, Affine* out) {
  Affine r(FloorModInt(s.base, m));
  for (const Term& term : s.terms) {
    int64_t k = term.coeff % m, whole;
    const Node& n = nodes_[term.atom];
    // k*(x % n) with m | k*n is k*x modulo m.
    bool opens = n.kind == Kind::kDigit && n.value == 1 && n.value2 != 0 &&
                 !__builtin_mul_overflow(k, n.value2, &whole) && whole % m == 0;
    if (opens)
      AddScaled(&r, n.a, k);
    else
      AddTerm(&r, term.atom, k);
    if (k == 0 && nodes_[term.atom].traps) return false;
  }
  ReduceCoefficients(&r, m);
  if (!r.ok) return false;
  ConstBound q = FloorDivBound(BoundOf(r), {m, m});
  int64_t shift;
  if (IsPoint(q) && !__builtin_mul_overflow(q.min, -m, &shift)) {
    r.AddBase(shift);
    AddAffine(out, r, 1);
    return out->ok;
  }
  Affine high, low;
  int64_t g;
  if (SplitByFactor(r, m, &high, &low, &g)) {
    Affine digit;
    if (!Remainder(std::move(high), m / g, t, &digit)) return false;
    AddAffine(out, digit, g);
    AddAffine(out, low, 1);
    return out->ok;
  }
  return DigitOf(r, 1, m, t, out);
}

void Graph::AddAffine(Affine* s, const Affine& other, int64_t k) {
  int64_t v;
  s->ok = s->ok && other.ok && !__builtin_mul_overflow(other.base, k, &v);
  if (!s->ok) return;
  s->AddBase(v);
  for (const Term& t : other.terms) {
    if (__builtin_mul_overflow(t.coeff, k, &v))
      s->ok = false;
    else
      AddScaled(s, t.atom, v);
  }
}

// ---- symbolic divisors ----------------------------------------------------------------------

void Graph::ProductFactors(Id id, Terms* out) const {
  const Node& n = nodes_[id];
  if (n.kind != Kind::kProduct || out->size() > 8) return out->push_back({id, 1});
  ProductFactors(n.a, out);
  ProductFactors(n.b, out);
}

/*! atom divided by all of `factors`, 1 when nothing is left, kNone when one is missing. */
Id Graph::WithoutFactors(Id atom, Terms factors, DType t) {
  Terms mine;
  ProductFactors(atom, &mine);
  for (const Term& f : factors) {
    size_t i = 0;
    while (i < mine.size() && mine[i].atom != f.atom) ++i;
    if (i == mine.size()) return kNone;
    mine.erase(i);
  }
  if (mine.empty()) return Const(t, 1);
  Id out = mine[0].atom;
  for (size_t i = 1; i < mine.size(); ++i) out = MakeProduct(out, mine[i].atom, t);
  return out;
}

bool Graph::DivideSymbolic(const Affine& s, Id b, DType t, Affine* quotient, Affine* rest) {
  Affine divisor = FormOf(b);
  bool single = divisor.terms.size() == 1 && divisor.base == 0;
  if (!single || nodes_[b].unique || nodes_[b].traps) return false;
  int64_t c = divisor.terms[0].coeff;
  if (c <= 0 || BoundOf(divisor.terms[0].atom).min < 1) return false;
  Terms factors;
  ProductFactors(divisor.terms[0].atom, &factors);
  rest->base = s.base;
  for (const Term& term : s.terms) {
    Id left = term.coeff % c == 0 ? WithoutFactors(term.atom, factors, t) : kNone;
    if (left == kNone)
      AddScaled(rest, term.atom, term.coeff);
    else
      AddScaled(quotient, left, term.coeff / c);
  }
  Affine room = divisor;  // divisor - 1 - rest
  AddAffine(&room, *rest, -1);
  room.AddBase(-1);
  return quotient->ok && rest->ok && !Traps(*rest) && ProveNonNegative(*rest) &&
         ProveNonNegative(room);
}

Id Graph::DivideForm(const Affine& s, int64_t c, DType t) {
  Affine out;
  return Quotient(s, c, t, &out) ? MakeSum(std::move(out), t, true) : kNone;
}

Id Graph::ModuloForm(const Affine& s, int64_t m, DType t) {
  Affine out;
  return Remainder(s, m, t, &out) ? MakeSum(std::move(out), t, true) : kNone;
}

Id Graph::MakeFloorDiv(Id a, Id b, DType t) {
  const Node& d = nodes_[b];
  if (d.kind == Kind::kConst && d.value > 0) {
    if (d.value == 1) return a;
    Id id = DivideForm(FormOf(a), d.value, t);
    if (id == kNone) id = MakeDigit(a, nodes_[b].value, 0);
    if (id != kNone) return id;
  }
  Affine quotient, rest;
  if (DivideSymbolic(FormOf(a), b, t, &quotient, &rest)) {
    Id id = MakeSum(std::move(quotient), t, true);
    if (id != kNone) return id;
  }
  return MakeBinaryNode(BinOp::kFloorDiv, a, b, t);
}

Id Graph::MakeFloorMod(Id a, Id b, DType t) {
  const Node& d = nodes_[b];
  if (d.kind == Kind::kConst && d.value > 0) {
    Id id = ModuloForm(FormOf(a), d.value, t);
    if (id == kNone) id = MakeDigit(a, 1, nodes_[b].value);
    if (id != kNone) return id;
  }
  Affine quotient, rest;
  if (DivideSymbolic(FormOf(a), b, t, &quotient, &rest)) {
    Id id = MakeSum(std::move(rest), t, true);
    if (id != kNone) return id;
  }
  return MakeBinaryNode(BinOp::kFloorMod, a, b, t);
}

}  // namespace arith
}  // namespace tirx
