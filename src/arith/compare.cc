/*!
 * Comparisons of integers. a < b and its relatives become an affine form d >= 0 (or d == 0),
 * reduced by common factors, decided by what is known, and written back with positive coefficients
 * only.
 */
#include <numeric>

#include "graph.h"

namespace tirx {
namespace arith {
namespace {

int64_t ContentOf(const Affine& d) {
  int64_t g = 0;
  for (const Term& t : d.terms) g = t.coeff == INT64_MIN ? 1 : std::gcd(g, t.coeff);
  return g;
}

bool IsEquality(BinOp op) { return op == BinOp::kEQ || op == BinOp::kNE; }
bool IsStrict(BinOp op) { return op == BinOp::kLT || op == BinOp::kGT; }
/*! Whether the form is (right - left), as for < and <=. */
bool IsAscending(BinOp op) { return op == BinOp::kLT || op == BinOp::kLE; }

BinOp Negated(BinOp op) {
  switch (op) {
    case BinOp::kEQ: return BinOp::kNE;
    case BinOp::kNE: return BinOp::kEQ;
    case BinOp::kLT: return BinOp::kGE;
    case BinOp::kLE: return BinOp::kGT;
    case BinOp::kGT: return BinOp::kLE;
    default: return BinOp::kLT;
  }
}

/*! The two sides of d >= 0 (or d == 0), each with positive coefficients. */
struct Sides {
  Affine low, high;  // d + slack = high - low
};

Sides SplitSides(const Affine& d, int64_t slack) {
  Sides s;
  s.low.ok = s.high.ok = !__builtin_add_overflow(d.base, slack, &slack);
  for (const Term& t : d.terms) {
    if (t.coeff > 0)
      s.high.terms.push_back(t);
    else if (t.coeff != INT64_MIN)
      s.low.terms.push_back({t.atom, -t.coeff});
    else
      s.low.ok = false;
  }
  bool on_high = s.high.terms.empty() || (slack > 0 && !s.low.terms.empty());
  if (slack == INT64_MIN)
    s.low.ok = false;
  else
    (on_high ? s.high : s.low).base = on_high ? slack : -slack;
  return s;
}

}  // namespace

/*! x//c + k >= 0 is x + k*c >= 0, and k - x//c >= 0 is k*c + c-1 - x >= 0. */
bool Graph::OpenDigit(Affine* d, bool equality) {
  if (d->terms.size() != 1 || WrapAbs(d->terms[0].coeff) != 1) return false;
  const Node& n = nodes_[d->terms[0].atom];
  if (n.kind != Kind::kDigit || n.value == 1 || n.value2 != 0 || n.unique) return false;
  int64_t c = n.value, base;
  Id x = n.a;
  if (equality || __builtin_mul_overflow(d->base, c, &base)) return false;
  bool positive = d->terms[0].coeff > 0;
  Affine out(base);
  if (!positive) out.AddBase(c - 1);
  AddScaled(&out, x, positive ? 1 : -1);
  if (!out.ok) return false;
  *d = out;
  return true;
}

/*! Divides by the common factor; false when an equality has no integer solution. */
static bool ReduceContent(Affine* d, bool equality) {
  int64_t g = ContentOf(*d);
  if (g < 2) return true;
  if (equality && d->base % g != 0) return false;
  d->base = FloorDivInt(d->base, g);
  for (Term& t : d->terms) t.coeff /= g;
  return true;
}

/*! 1: holds, 0: does not, -1: not decided. */
int Graph::Decide(const Affine& d, bool equality) {
  ConstBound b = BoundOf(d);
  if (equality) {
    if (b.min == 0 && b.max == 0) return 1;
    if (b.min > 0 || b.max < 0) return 0;
    ModularSet m = ModularOf(d);
    if (m.coeff != 0 ? m.base % m.coeff != 0 : m.base != 0) return 0;
    Affine above = d, below;
    above.AddBase(-1);
    AddAffine(&below, d, -1);
    below.AddBase(-1);
    return ProveNonNegative(above) || ProveNonNegative(below) ? 0 : -1;
  }
  if (b.min >= 0) return 1;
  if (b.max < 0) return 0;
  if (ProveNonNegative(d)) return 1;
  Affine opposite;
  AddAffine(&opposite, d, -1);
  opposite.AddBase(-1);
  return ProveNonNegative(opposite) ? 0 : -1;
}

/*! op(a, b) on integers of one dtype. */
Id Graph::MakeCompare(BinOp op, Id a, Id b) {
  bool equality = IsEquality(op);
  Affine d;
  AddScaled(&d, a, equality || !IsAscending(op) ? 1 : -1);
  AddScaled(&d, b, equality || !IsAscending(op) ? -1 : 1);
  if (IsStrict(op)) d.AddBase(-1);
  Recombine(&d);
  if (!d.ok) return MakeBinaryNode(op, a, b, kBool);
  bool truth_of_equal = op != BinOp::kNE;
  bool droppable = !Traps(d);
  bool solvable = ReduceContent(&d, equality);
  while (OpenDigit(&d, equality)) ReduceContent(&d, equality);
  if (droppable) {
    int decided = solvable ? Decide(d, equality) : 0;
    if (decided >= 0) return Const(kBool, (decided == 1) == truth_of_equal);
  }
  return FinishCompare(op, a, b, std::move(d), solvable && !d.terms.empty());
}

/*! Replaces the operands by the sides of d, in the narrowest dtype that fits; else leaves them. */
void Graph::WriteSides(BinOp op, const Affine& d, DType t, Id* a, Id* b) {
  Sides s = SplitSides(d, IsStrict(op) ? 1 : 0);
  if (!s.low.ok || !s.high.ok) return;
  DType own = nodes_[d.terms[0].atom].dtype;
  for (const Term& term : d.terms) {
    if (!(nodes_[term.atom].dtype == own)) own = t;
  }
  for (DType side : {own, t}) {
    Id low = MakeSum(s.low, side, false), high = MakeSum(s.high, side, false);
    if (low == kNone || high == kNone) continue;
    bool high_first = IsEquality(op) ? !s.high.terms.empty() : !IsAscending(op);
    *a = high_first ? high : low;
    *b = high_first ? low : high;
    return;
  }
}

/*! Coefficient of the atom that was made first: fixes the sign of an equality. */
static int64_t LeadingCoefficient(const Affine& d) {
  Term first{INT32_MAX, 1};
  for (const Term& t : d.terms) {
    if (t.atom < first.atom) first = t;
  }
  return first.coeff;
}

Id Graph::FinishCompare(BinOp op, Id a, Id b, Affine d, bool reduced) {
  Node n;
  n.kind = IsEquality(op) ? Kind::kEQ0 : Kind::kGE0;
  n.dtype = kBool;
  n.op = static_cast<uint8_t>(op);
  n.traps = nodes_[a].traps || nodes_[b].traps;
  n.unique = nodes_[a].unique || nodes_[b].unique;
  if (reduced && !n.unique) WriteSides(op, d, nodes_[a].dtype, &a, &b);
  if (IsEquality(op) && LeadingCoefficient(d) < 0) {
    Affine negated;
    AddAffine(&negated, d, -1);
    d = negated;
  }
  n.a = InternForm(d);
  n.b = a;
  n.c = b;
  return Intern(std::move(n), nullptr, 0);
}

Id Graph::MakeNot(Id a) {
  const Node& n = nodes_[a];
  if (n.kind == Kind::kConst) return Const(kBool, n.value == 0);
  if (n.kind == Kind::kNot) return n.a;
  bool compares = n.kind == Kind::kEQ0 || n.kind == Kind::kGE0;
  if (compares) return MakeCompare(Negated(static_cast<BinOp>(n.op)), n.b, n.c);
  Node out;
  out.kind = Kind::kNot;
  out.dtype = kBool;
  out.a = a;
  out.traps = n.traps;
  out.unique = n.unique;
  return Intern(std::move(out), nullptr, 0);
}

}  // namespace arith
}  // namespace tirx
