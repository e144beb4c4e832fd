/*!
 * Known inequalities, and what a condition implies.
 *
 * d >= 0 is proved when d minus a non-negative combination of known forms f >= 0 has a non-negative
 * lower bound. Combinations are searched greedily: each step removes one shared term, at most
 * kMaxSteps deep.
 */
#include "graph.h"

namespace tirx {
namespace arith {
namespace {

constexpr int kMaxSteps = 3;
constexpr size_t kMaxRelations = 64;
constexpr size_t kMaxContexts = 6;
constexpr int kMaxLocalConditions = 24;

const Term* FindTerm(const Affine& s, Id atom) {
  for (const Term& t : s.terms) {
    if (t.atom == atom) return &t;
  }
  return nullptr;
}

/*! k > 0 such that d - k*f has lost a term of f, or 0. */
int64_t Multiplier(const Affine& d, const Affine& f) {
  for (const Term& t : f.terms) {
    const Term* mine = FindTerm(d, t.atom);
    if (!mine || mine->coeff == INT64_MIN || mine->coeff % t.coeff != 0) continue;
    if (mine->coeff / t.coeff > 0) return mine->coeff / t.coeff;
  }
  return 0;
}

}  // namespace

/*! Brings in the persistent relations of the variables that appeared since the last call. */
void Graph::LoadRelations() {
  for (; scanned_ < nodes_.size(); ++scanned_) {
    const Node& n = nodes_[scanned_];
    if (n.kind != Kind::kLeaf || KindOf(n.origin) != ExprKind::kVar) continue;
    auto it = facts_->vars.find(static_cast<const VarNode*>(n.origin));
    if (it == facts_->vars.end()) continue;
    for (int i : it->second.relations) {
      if (std::find(loaded_.begin(), loaded_.end(), i) == loaded_.end()) LoadRelation(i);
    }
  }
}

void Graph::LoadRelation(int i) {
  if (relations_.size() >= kMaxRelations) return;
  loaded_.push_back(i);
  Affine form(facts_->relations[i].base);
  for (const auto& [atom, coeff] : facts_->relations[i].terms)
    AddScaled(&form, Convert(atom), coeff);
  if (form.ok) relations_.push_back(form);
}

bool Graph::ProveWith(const Affine& d, int depth) {
  if (BoundOf(d).min >= 0) return true;
  if (depth == 0) return false;
  for (size_t i = 0; i < relations_.size(); ++i) {
    int64_t k = Multiplier(d, relations_[i]);
    if (k == 0) continue;
    Affine rest = d;
    AddAffine(&rest, relations_[i], -k);
    if (rest.ok && ProveWith(rest, depth - 1)) return true;
  }
  return false;
}

bool Graph::ProveNonNegative(const Affine& d) {
  if (!d.ok) return false;
  if (BoundOf(d).min >= 0) return true;
  if (!facts_->relations.empty()) LoadRelations();
  if (relations_.empty()) return false;
  return ProveWith(d, kMaxSteps) || ProveWithProducts(d);
}

/*! Also with f*x >= 0, for known f >= 0 and the factors x >= 0 of the products in d. */
bool Graph::ProveWithProducts(const Affine& d) {
  Terms factors;
  for (const Term& t : d.terms) {
    if (nodes_[t.atom].kind == Kind::kProduct) ProductFactors(t.atom, &factors);
  }
  size_t known = relations_.size();
  for (size_t j = 0; j < factors.size() && j < 6; ++j) {
    if (BoundOf(factors[j].atom).min < 0) continue;
    for (size_t i = 0; i < known && relations_.size() < kMaxRelations; ++i) {
      Affine scaled, f = relations_[i];
      AddTerm(&scaled, factors[j].atom, f.base);
      for (const Term& t : f.terms) {
        AddScaled(&scaled, MakeProduct(t.atom, factors[j].atom, nodes_[t.atom].dtype), t.coeff);
      }
      if (scaled.ok) relations_.push_back(scaled);
    }
  }
  bool proved = relations_.size() > known && ProveWith(d, kMaxSteps);
  relations_.resize(known);
  return proved;
}

bool Graph::ProveEqual(const PrimExpr& a, const PrimExpr& b) {
  Id x = Convert(a), y = Convert(b);
  if (x == y) return !nodes_[x].unique;
  if (!IsInteger(a->dtype) || !IsInteger(b->dtype) || a->dtype.lanes != 1) return false;
  Affine d = FormOf(x);
  AddScaled(&d, y, -1);
  Recombine(&d);
  if (!d.ok) return false;
  Affine opposite;
  AddAffine(&opposite, d, -1);
  return ProveNonNegative(d) && ProveNonNegative(opposite);
}

// ---- what a condition implies ---------------------------------------------------------------

namespace {

/*! Smallest v with coeff*v + rest >= 0 for some admitted rest <= rest_max (coeff > 0), etc. */
ConstBound ImpliedBound(int64_t coeff, int64_t rest_max) {
  if (IsPosInf(rest_max) || rest_max == INT64_MIN || coeff == INT64_MIN) return kEverything;
  if (coeff > 0) return {-FloorDivInt(rest_max, coeff), ConstBound::kPosInf};
  return {ConstBound::kNegInf, FloorDivInt(rest_max, -coeff)};
}

}  // namespace

/*! form >= 0 bounds each of its atoms by what the others can reach. */
void Graph::AssumeNonNegative(const Affine& form, FactSink* sink) {
  if (form.terms.size() > 8) return;
  for (const Term& t : form.terms) {
    if (nodes_[t.atom].unique) return;
  }
  for (size_t i = 0; i < form.terms.size(); ++i) {
    Affine rest = form;
    rest.terms.erase(i);
    ConstBound b = ImpliedBound(form.terms[i].coeff, BoundOf(rest).max);
    if (b == kEverything) continue;
    AssumeBound(form.terms[i].atom, b, sink);
  }
  if (form.terms.size() > 1) sink->OnNonNegative(form);
}

/*! A bound on x // c is a bound on x; other atoms keep it to themselves. */
void Graph::AssumeBound(Id atom, ConstBound b, FactSink* sink) {
  sink->OnBound(atom, b);
  if (nodes_[atom].kind == Kind::kLeaf && KindOf(nodes_[atom].origin) == ExprKind::kVar) {
    return AssumeLet(static_cast<const VarNode*>(nodes_[atom].origin), b, sink);
  }
  const Node& n = nodes_[atom];
  if (n.kind == Kind::kDigit && n.value2 == 0) {
    int64_t c = n.value, lo, hi;
    ConstBound x = kEverything;
    if (!IsNegInf(b.min) && !__builtin_mul_overflow(b.min, c, &lo)) x.min = lo;
    if (!IsPosInf(b.max) && !__builtin_mul_overflow(b.max, c, &hi) &&
        !__builtin_add_overflow(hi, c - 1, &hi)) {
      x.max = hi;
    }
    if (nodes_[n.a].kind != Kind::kSum) return AssumeBound(n.a, x, sink);
    Affine above = FormOf(n.a), below;
    AddAffine(&below, above, -1);
    if (!IsNegInf(x.min) && x.min != INT64_MIN)
      above.AddBase(-x.min), AssumeNonNegative(above, sink);
    if (!IsPosInf(x.max)) below.AddBase(x.max), AssumeNonNegative(below, sink);
  }
}

/*! A bound on a let is one on its value: `if warp == 0` says that thread // 32 is 0. */
void Graph::AssumeLet(const VarNode* v, ConstBound b, FactSink* sink) {
  auto it = facts_->vars.find(v);
  if (it == facts_->vars.end() || !it->second.value || let_depth_ >= 4) return;
  ++let_depth_;
  Affine above = FormOf(Convert(*it->second.value)), below;
  AddAffine(&below, above, -1);
  if (!IsNegInf(b.min)) {
    above.AddBase(-b.min);
    if (above.ok) AssumeNonNegative(above, sink);
  }
  if (!IsPosInf(b.max)) {
    below.AddBase(b.max);
    if (below.ok) AssumeNonNegative(below, sink);
  }
  --let_depth_;
}

void Graph::AssumeZero(const Affine& form, FactSink* sink) {
  Affine negated;
  AddAffine(&negated, form, -1);
  if (!negated.ok) return;
  AssumeNonNegative(form, sink);
  AssumeNonNegative(negated, sink);
  if (form.terms.size() != 1) return;
  const Node& n = nodes_[form.terms[0].atom];
  if (n.kind != Kind::kDigit || n.value != 1 || n.value2 == 0 || n.unique) return;
  if (WrapAbs(form.terms[0].coeff) != 1 || form.base == INT64_MIN) return;
  int64_t r = form.terms[0].coeff == 1 ? -form.base : form.base;
  if (r >= 0 && r < n.value2) AssumeModular(n.a, {n.value2, r}, sink);
}

/*! x = coeff*k + base. Through x = a + c with constant c it is a fact about a. */
void Graph::AssumeModular(Id x, ModularSet m, FactSink* sink) {
  const Node& n = nodes_[x];
  if (n.kind != Kind::kSum) return sink->OnModular(x, m);
  if (n.wraps || n.num_terms != 1 || TermsOf(n)->coeff != 1) return;
  int64_t base = FloorModInt(m.base - FloorModInt(n.value, m.coeff), m.coeff);
  sink->OnModular(TermsOf(n)->atom, {m.coeff, base});
}

/*! d != 0: an end of the bound that is excluded moves inwards. */
void Graph::AssumeNonZero(const Affine& form, FactSink* sink) {
  ConstBound b = BoundOf(form);
  Affine out;
  if (b.min == 0) {
    out = form;
  } else if (b.max == 0) {
    AddAffine(&out, form, -1);
  } else {
    return;
  }
  out.AddBase(-1);
  if (out.ok) AssumeNonNegative(out, sink);
}

void Graph::Assume(Id id, bool truth, FactSink* sink) {
  const Node& n = nodes_[id];
  if (n.unique || assume_budget_-- <= 0) return;
  if (n.kind == Kind::kNot) return Assume(n.a, !truth, sink);
  if (n.kind == Kind::kBinary && (n.op == static_cast<uint8_t>(truth ? BinOp::kAnd : BinOp::kOr))) {
    Id a = n.a;
    Assume(n.b, truth, sink);
    return Assume(a, truth, sink);
  }
  if (n.kind == Kind::kGE0) {
    Affine form = FormOf(n.a), opposite;
    AddAffine(&opposite, form, -1);
    opposite.AddBase(-1);
    if (form.ok && opposite.ok) AssumeNonNegative(truth ? form : opposite, sink);
  } else if (n.kind == Kind::kEQ0) {
    bool equal = truth == (n.op != static_cast<uint8_t>(BinOp::kNE));
    Affine form = FormOf(n.a);
    if (form.ok) equal ? AssumeZero(form, sink) : AssumeNonZero(form, sink);
  } else if (IsBool(n.dtype) && n.dtype.lanes == 1 && n.kind != Kind::kConst) {
    sink->OnBound(id, {truth, truth});
  }
}

// ---- facts of one arm -----------------------------------------------------------------------

LocalContext::LocalContext(Graph* g, Id cond, bool truth)
    : graph_(g),
      num_relations_(g->relations_.size()),
      num_loaded_(g->loaded_.size()),
      scanned_(g->scanned_),
      active_(g->epochs_.size() < kMaxContexts) {
  if (!active_) return;
  g->epochs_.push_back(++g->last_epoch_);
  g->assume_budget_ = kMaxLocalConditions;
  g->Assume(cond, truth, this);
}

LocalContext::~LocalContext() {
  if (!active_) return;
  for (size_t i = saved_.size(); i-- > 0;) {
    Node& n = graph_->nodes_[saved_[i].atom];
    n.has_fact = saved_[i].has_fact;
    n.fact = saved_[i].fact;
    n.modular_fact = saved_[i].modular_fact;
  }
  graph_->relations_.resize(num_relations_);
  graph_->loaded_.resize(num_loaded_);
  graph_->scanned_ = scanned_;
  graph_->epochs_.pop_back();
}

void LocalContext::OnBound(Id atom, ConstBound bound) {
  Node& n = graph_->nodes_[atom];
  saved_.push_back({atom, n.has_fact, n.fact, n.modular_fact});
  n.fact = Intersect(n.has_fact ? n.fact : kEverything, bound);
  n.has_fact = true;
  graph_->epochs_.back() = ++graph_->last_epoch_;
}

void LocalContext::OnModular(Id atom, ModularSet modular) {
  Node& n = graph_->nodes_[atom];
  saved_.push_back({atom, n.has_fact, n.fact, n.modular_fact});
  if (modular.coeff > n.modular_fact.coeff) n.modular_fact = modular;
  graph_->epochs_.back() = ++graph_->last_epoch_;
}

void LocalContext::OnNonNegative(const Affine& form) {
  if (graph_->relations_.size() < kMaxRelations) graph_->relations_.push_back(form);
}

}  // namespace arith
}  // namespace tirx
