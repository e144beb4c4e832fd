/*!
 * Affine forms: building, recombining digits, and proving that an emission fits its dtype.
 */
#include "graph.h"

namespace tirx {
namespace arith {
namespace {

constexpr size_t kIndexFrom = 16;

Term* Find(Affine* s, Id atom) {
  if (s->terms.size() < kIndexFrom) {
    for (Term& t : s->terms) {
      if (t.atom == atom) return &t;
    }
    return nullptr;
  }
  if (!s->index) {
    s->index = std::make_unique<std::unordered_map<Id, int>>();
    for (size_t i = 0; i < s->terms.size(); ++i)
      (*s->index)[s->terms[i].atom] = static_cast<int>(i);
  }
  auto it = s->index->find(atom);
  return it == s->index->end() ? nullptr : &s->terms[it->second];
}

void Erase(Affine* s, size_t i) {
  s->terms.erase(i);
  s->index.reset();
}

}  // namespace

bool Graph::Traps(const Affine& s) const {
  for (const Term& t : s.terms) {
    if (nodes_[t.atom].traps) return true;
  }
  return false;
}

void Graph::AddTerm(Affine* s, Id atom, int64_t coeff) {
  const Node& n = nodes_[atom];
  if (coeff == 0) {
    s->ok = s->ok && !n.traps;
    return;
  }
  Term* t = Find(s, atom);
  if (!t) {
    s->terms.push_back({atom, coeff});
    if (s->index) (*s->index)[atom] = static_cast<int>(s->terms.size()) - 1;
    return;
  }
  if (n.unique || __builtin_add_overflow(t->coeff, coeff, &t->coeff)) {
    s->ok = false;
  } else if (t->coeff == 0) {
    s->ok = s->ok && !n.traps;
    Erase(s, t - s->terms.begin());
  }
}

/*! s += k * value of id. opened: an addition that stayed as written (its reordering might overflow)
 *  is still a sum of integers. */
void Graph::AddValue(Affine* s, Id id, int64_t k, bool opened) {
  const Node& n = nodes_[id];
  BinOp op = static_cast<BinOp>(n.op);
  int64_t v;
  if (n.kind == Kind::kConst || (n.kind == Kind::kSum && !n.wraps)) {
    if (__builtin_mul_overflow(n.value, k, &v))
      s->ok = false;
    else
      s->AddBase(v);
    for (int32_t i = 0; i < n.num_terms; ++i) {
      Term t = pool_[n.first_term + i];
      if (__builtin_mul_overflow(t.coeff, k, &v))
        s->ok = false;
      else if (opened && nodes_[t.atom].kind == Kind::kBinary)
        AddValue(s, t.atom, v, true);
      else
        AddTerm(s, t.atom, v);
    }
  } else if (opened && n.kind == Kind::kBinary && (op == BinOp::kAdd || op == BinOp::kSub) &&
             IsSigned(n.dtype) && n.dtype.lanes == 1 && k != INT64_MIN) {
    AddValue(s, n.a, k, true);
    AddValue(s, n.b, op == BinOp::kAdd ? k : -k, true);
  } else {
    AddTerm(s, id, k);
  }
}

Affine Graph::FormOf(Id id) {
  Affine s;
  AddScaled(&s, id, 1);
  if (s.ok) return s;
  Affine atom;
  AddTerm(&atom, id, 1);
  return atom;
}

ConstBound Graph::BoundOf(const Affine& s) {
  ConstBound out{s.base, s.base};
  if (s.terms.empty()) return out;
  for (const Term& t : s.terms) out = AddBound(out, ScaleBound(BoundOf(t.atom), t.coeff));
  return out;
}

// ---- digits ---------------------------------------------------------------------------------

namespace {

/*! One term seen as coeff * ((x // div) % mod); mod 0: none. A plain atom is its own digit. */
struct DigitTerm {
  Id x;
  int64_t div, mod, coeff;
};

DigitTerm AsDigit(const Node& n, Id id, int64_t coeff) {
  if (n.kind == Kind::kDigit) return {n.a, n.value, n.value2, coeff};
  return {id, 1, 0, coeff};
}

bool MulEquals(int64_t a, int64_t b, int64_t product) {
  int64_t v;
  return !__builtin_mul_overflow(a, b, &v) && v == product;
}

/*! high*(x//(d*m)) + low*((x//d)%m) with high == low*m is low*(x//d). */
bool Concatenate(const DigitTerm& hi, const DigitTerm& lo, DigitTerm* out) {
  if (lo.mod == 0 || !MulEquals(lo.div, lo.mod, hi.div) || !MulEquals(lo.coeff, lo.mod, hi.coeff)) {
    return false;
  }
  int64_t mod = 0;
  if (hi.mod != 0 && __builtin_mul_overflow(hi.mod, lo.mod, &mod)) return false;
  *out = {lo.x, lo.div, mod, lo.coeff};
  return true;
}

/*! k*(x//d) - k*f*(x//(d*f)) is k*((x//d)%f). */
bool SubtractHigh(const DigitTerm& whole, const DigitTerm& part, DigitTerm* out) {
  if (part.div % whole.div != 0) return false;
  int64_t f = part.div / whole.div, k;
  if (f < 2 || __builtin_mul_overflow(whole.coeff, -f, &k) || part.coeff != k) return false;
  bool fits = whole.mod == 0 ? part.mod == 0 : MulEquals(part.mod, f, whole.mod);
  *out = {whole.x, whole.div, f, whole.coeff};
  return fits;
}

/*! k*(x//d) - k*((x//d)%m) is k*m*(x//(d*m)). */
bool SubtractLow(const DigitTerm& whole, const DigitTerm& part, DigitTerm* out) {
  if (part.mod == 0 || part.div != whole.div || whole.coeff == INT64_MIN ||
      part.coeff != -whole.coeff)
    return false;
  if (whole.mod != 0 && whole.mod % part.mod != 0) return false;
  *out = {whole.x, 0, whole.mod == 0 ? 0 : whole.mod / part.mod, 0};
  return !__builtin_mul_overflow(whole.div, part.mod, &out->div) &&
         !__builtin_mul_overflow(whole.coeff, part.mod, &out->coeff);
}

bool Combine(const DigitTerm& a, const DigitTerm& b, DigitTerm* out) {
  return a.x == b.x && a.coeff != INT64_MIN && b.coeff != INT64_MIN &&
         (Concatenate(a, b, out) || SubtractHigh(a, b, out) || SubtractLow(a, b, out));
}

}  // namespace

/*! k*S - k*f*(S//f), with the terms of S spread in the sum, is k*(S%f); likewise S - S%m. */
bool Graph::ReplaceWhole(Affine* s, size_t i) {
  Term part = s->terms[i];
  const Node digit = nodes_[part.atom], base = nodes_[digit.a];
  if (base.kind != Kind::kSum || base.wraps || digit.value == 0) return false;
  bool low = digit.value == 1 && digit.value2 != 0;
  if (!low && digit.value2 != 0) return false;
  if (!low && part.coeff % digit.value != 0) return false;
  int64_t k = low ? -part.coeff : -(part.coeff / digit.value);
  if (part.coeff == INT64_MIN || k == 0) return false;
  for (int32_t j = 0; j < base.num_terms; ++j) {
    Term t = TermsOf(base)[j];
    Term* mine = Find(s, t.atom);
    if (!mine || !MulEquals(t.coeff, k, mine->coeff)) return false;
  }
  int64_t shift, coeff = k, step = low ? digit.value2 : 1;
  if (__builtin_mul_overflow(base.value, -k, &shift)) return false;
  if (__builtin_mul_overflow(k, step, &coeff)) return false;
  Erase(s, i);
  for (int32_t j = 0; j < base.num_terms; ++j) {
    Term* mine = Find(s, TermsOf(base)[j].atom);
    Erase(s, mine - s->terms.begin());
  }
  s->AddBase(shift);
  Id fresh = low ? MakeDigit(digit.a, digit.value2, 0) : MakeDigit(digit.a, 1, digit.value);
  AddScaled(s, fresh, coeff);
  return true;
}

bool Graph::RecombineOnce(Affine* s) {
  for (size_t i = 0; i < s->terms.size(); ++i) {
    if (nodes_[s->terms[i].atom].kind != Kind::kDigit) continue;
    DigitTerm a = AsDigit(nodes_[s->terms[i].atom], s->terms[i].atom, s->terms[i].coeff);
    for (size_t j = 0; j < s->terms.size(); ++j) {
      if (j == i) continue;
      DigitTerm b = AsDigit(nodes_[s->terms[j].atom], s->terms[j].atom, s->terms[j].coeff), out;
      if (!Combine(a, b, &out) && !Combine(b, a, &out)) continue;
      Erase(s, std::max(i, j));
      Erase(s, std::min(i, j));
      AddScaled(s, MakeDigit(out.x, out.div, out.mod), out.coeff);
      return true;
    }
    if (ReplaceWhole(s, i)) return true;
  }
  return false;
}

void Graph::Recombine(Affine* s) {
  size_t digits = 0;
  for (const Term& t : s->terms) digits += nodes_[t.atom].kind == Kind::kDigit;
  if (digits == 0 || digits > 32 || s->terms.size() > 64) return;
  while (s->ok && RecombineOnce(s)) {
  }
}

// ---- emission fits --------------------------------------------------------------------------

/*! The order in which a sum is written: positive parts, negative parts, constant. The terms of a
 *  narrower dtype form one part when they are added in that dtype first. */
Graph::Plan Graph::PlanSum(const Term* terms, size_t n, int64_t base, DType t, bool narrow) const {
  Plan plan;
  plan.base = base;
  bool native = false, group_positive = false;
  for (size_t i = 0; i < n; ++i) {
    bool foreign = !(nodes_[terms[i].atom].dtype == t);
    native = native || !foreign;
    if (!narrow || !foreign) continue;
    plan.group.push_back(terms[i]);
    group_positive = group_positive || terms[i].coeff > 0;
  }
  if (narrow && !native) {
    plan.group_base = base;
    plan.base = 0;
    group_positive = group_positive || base > 0;
  }
  int64_t group_sign = group_positive || (narrow && !native) ? 1 : -1;
  for (bool positive : {true, false}) {
    bool group_done = false;
    for (size_t i = 0; i < n; ++i) {
      bool grouped = narrow && !(nodes_[terms[i].atom].dtype == t);
      Term part = grouped ? Term{kGroup, group_sign} : terms[i];
      if ((part.coeff > 0) != positive || (grouped && group_done)) continue;
      group_done = group_done || grouped;
      plan.parts.push_back(part);
    }
  }
  for (Term& g : plan.group) g.coeff *= group_sign;
  return plan;
}

namespace {

struct WideBound {
  Wide lo, hi;
};

Wide ClampWide(Wide v) { return std::min(std::max(v, -kWideLimit), kWideLimit); }

WideBound ScaleWide(const ConstBound& b, int64_t k) {
  Wide x = static_cast<Wide>(b.min) * k, y = static_cast<Wide>(b.max) * k;
  return {ClampWide(std::min(x, y)), ClampWide(std::max(x, y))};
}

/*! Decides whether the steps of a sum stay inside [lo, hi]. */
class SumChecker {
 public:
  explicit SumChecker(DType t) : lo_(MinValue(t)), hi_(MaxValue(t)) {}
  enum Product { kNo, kYes, kNegated };
  void Add(WideBound part, Product product) {
    parts_.push_back({part, product});
    total_ = {ClampWide(total_.lo + part.lo), ClampWide(total_.hi + part.hi)};
  }
  /*! 2: fits; 1: fits if the total does; 0: not proved. */
  uint8_t Result() const {
    bool direct = true, given_total = true;
    WideBound prefix{0, 0};
    for (size_t i = 0; i < parts_.size(); ++i) {
      const WideBound& p = parts_[i].bound;
      prefix = {ClampWide(prefix.lo + p.lo), ClampWide(prefix.hi + p.hi)};
      Check(prefix, 0, &direct, &given_total);
      // A subtracted product is computed with its sign turned: its least value must have a
      // negative.
      if (parts_[i].product != kNo) Check(p, parts_[i].product == kNegated, &direct, &given_total);
    }
    return direct ? 2 : given_total ? 1 : 0;
  }
  bool TotalWithin(Wide lo, Wide hi) const { return total_.lo >= lo && total_.hi <= hi; }

 private:
  struct Part {
    WideBound bound;
    Product product;
  };
  /*! part = total - rest, so a total inside the range bounds every part by what the rest can be. */
  void Check(WideBound part, int slack, bool* direct, bool* given_total) const {
    if (part.lo >= lo_ + slack && part.hi <= hi_) return;
    *direct = false;
    Wide rest_lo = total_.lo - part.lo, rest_hi = total_.hi - part.hi;
    if (part.lo < lo_ + slack && rest_hi + slack > 0) *given_total = false;
    if (part.hi > hi_ && rest_lo < 0) *given_total = false;
  }

  Wide lo_, hi_;
  WideBound total_{0, 0};
  SmallVector<Part, 8> parts_;
};

bool IsWide64(DType t) { return IsUnsigned(t) && t.bits == 64; }

}  // namespace

/*! Whether every value of the node is a value of dtype t. */
bool Graph::ConvertsTo(Id id, DType t) {
  if (nodes_[id].dtype == t) return true;
  ConstBound b = BoundOf(id);
  if (IsWide64(nodes_[id].dtype) && IsPosInf(b.max)) return false;
  return Within(b, MinValue(t), MaxValue(t));
}

/*! Whether writing the plan in dtype t overflows nowhere: 2 yes, 1 if its total fits, 0 unknown. */
uint8_t Graph::Fits(const Plan& plan, DType t) {
  if (proving_) return 2;
  int64_t lo = MinValue(t), hi = MaxValue(t);
  if (!plan.group.empty() && !Within(GroupBound(plan), lo, hi)) return 0;
  SumChecker checker(t);
  bool leading_base = !plan.parts.empty() && plan.parts[0].coeff < 0 && plan.base != 0;
  if (leading_base) checker.Add({plan.base, plan.base}, SumChecker::kNo);
  for (size_t i = 0; i < plan.parts.size(); ++i) {
    Term p = plan.parts[i];
    ConstBound b = p.atom == kGroup ? GroupBound(plan) : BoundOf(p.atom);
    if (p.atom != kGroup && !ConvertsTo(p.atom, t)) return 0;
    if (p.coeff == INT64_MIN || WrapAbs(p.coeff) > hi) return 0;
    bool subtracted = p.coeff < 0 && (i != 0 || leading_base);
    checker.Add(ScaleWide(b, p.coeff), WrapAbs(p.coeff) == 1 ? SumChecker::kNo
                                       : subtracted          ? SumChecker::kNegated
                                                             : SumChecker::kYes);
  }
  if (!leading_base && plan.base != 0) checker.Add({plan.base, plan.base}, SumChecker::kNo);
  if (plan.base < (IsUnsigned(t) ? -hi : lo) || plan.base > hi) return 0;
  if (!IsUnsigned(t)) return checker.Result();
  return checker.TotalWithin(0, hi) && !IsWide64(t) ? 2 : 1;
}

ConstBound Graph::GroupBound(const Plan& plan) {
  ConstBound out{plan.group_base, plan.group_base};
  for (const Term& t : plan.group) out = AddBound(out, ScaleBound(BoundOf(t.atom), t.coeff));
  return out;
}

/*! The one dtype of all terms that are not in t, when adding them there is proved to fit. */
bool Graph::CanNarrow(const Affine& s, DType t) {
  DType other = t;
  for (const Term& term : s.terms) {
    DType d = nodes_[term.atom].dtype;
    if (d == t) continue;
    if (!(other == t) && !(other == d)) return false;
    other = d;
  }
  if (other == t || !IsInteger(other)) return false;
  Plan plan = PlanSum(s.terms.begin(), s.terms.size(), s.base, t, true);
  Plan inner = PlanSum(plan.group.begin(), plan.group.size(), plan.group_base, other, false);
  return Fits(inner, other) == 2;
}

Id Graph::FinishSum(const Affine& s, DType t, bool total_fits, bool wraps, bool narrow) {
  Node n;
  n.kind = Kind::kSum;
  n.dtype = t;
  n.value = s.base;
  n.wraps = wraps;
  n.narrow = narrow;
  n.traps = Traps(s);
  for (const Term& term : s.terms) n.unique = n.unique || nodes_[term.atom].unique;
  Id id = Intern(std::move(n), s.terms.begin(), s.terms.size());
  uint8_t needed = total_fits ? 1 : 2;
  if (nodes_[id].fits < needed || !EpochActive(nodes_[id].fits_epoch)) {
    Plan plan = PlanSum(TermsOf(nodes_[id]), nodes_[id].num_terms, s.base, t, narrow);
    nodes_[id].fits = Fits(plan, t);
    nodes_[id].fits_epoch = epochs_.back();
  }
  return nodes_[id].fits >= needed ? id : kNone;
}

Id Graph::MakeSum(Affine s, DType t, bool total_fits) {
  Recombine(&s);
  if (!s.ok) return kNone;
  if (s.IsSingle() && nodes_[s.terms[0].atom].dtype == t) return s.terms[0].atom;
  ConstBound b = BoundOf(s);
  if (s.terms.empty() || (IsPoint(b) && !Traps(s))) {
    return b.min >= MinValue(t) && b.min <= MaxValue(t) ? Const(t, b.min) : kNone;
  }
  if (CanNarrow(s, t)) {
    Id id = FinishSum(s, t, total_fits, false, true);
    if (id != kNone) return id;
  }
  return FinishSum(s, t, total_fits, false, false);
}

namespace {

/*! The representative of v modulo 2^bits nearest to 0. */
int64_t CenteredModulo(int64_t v, int bits) {
  int64_t m = int64_t{1} << bits, r = FloorModInt(v, m);
  return r >= m / 2 ? r - m : r;
}

void CenterCoefficients(Affine* s, int bits) {
  Affine out(CenteredModulo(s->base, bits));
  for (const Term& t : s->terms) {
    int64_t k = CenteredModulo(t.coeff, bits);
    if (k != 0) out.terms.push_back({t.atom, k});
  }
  *s = out;
}

}  // namespace

/*! The sum modulo 2^bits of unsigned dtype t: exact when bounds say so. kNone: no form. */
Id Graph::MakeWrappingSum(Affine s, DType t) {
  Recombine(&s);
  if (!s.ok) return kNone;
  ConstBound b = BoundOf(s);
  if (t.bits < 63 && !IsNegInf(b.min) && !IsPosInf(b.max) && b.min >> t.bits == b.max >> t.bits) {
    s.AddBase(-(b.min >> t.bits << t.bits));
    b = BoundOf(s);
  }
  if (b.min >= 0 && b.max <= MaxValue(t) && !IsPosInf(b.max)) return MakeSum(s, t, true);
  if (t.bits < 63 && !Traps(s)) CenterCoefficients(&s, t.bits);
  if (s.terms.empty() && t.bits < 63) return Const(t, FloorModInt(s.base, int64_t{1} << t.bits));
  if (s.terms.empty()) return kNone;
  if (s.IsSingle() && nodes_[s.terms[0].atom].dtype == t) return s.terms[0].atom;
  return FinishSum(s, t, true, true, false);
}

Id Graph::InternForm(const Affine& s) {
  Node n;
  n.kind = Kind::kSum;
  n.dtype = kInteger;
  n.value = s.base;
  n.traps = Traps(s);
  for (const Term& term : s.terms) n.unique = n.unique || nodes_[term.atom].unique;
  return Intern(std::move(n), s.terms.begin(), s.terms.size());
}

}  // namespace arith
}  // namespace tirx
