/*!
 * The analyzer: persistent facts with scopes, and questions answered through a Graph.
 */
#include <tirx/arith/analyzer.h>
#include <tirx/support/diag_code.h>

#include <numeric>
#include <optional>
#include <string>

#include "graph.h"

namespace tirx {
namespace arith {

/*! What Exit has to restore, newest last. */
struct UndoEntry {
  const VarNode* var{nullptr};  // restore bound and modular of this variable
  ConstBound bound{kEverything};
  ModularSet modular{1, 0};
  size_t num_relations{0}, num_atoms{0};
};

class AnalyzerImpl {
 public:
  Facts facts;
  Graph graph{&facts};
  std::vector<UndoEntry> log;

  VarFact& FactOf(const VarNode* v) {
    auto it = facts.vars.find(v);
    if (it == facts.vars.end()) it = facts.vars.emplace(v, VarFact(GetRef<Var>(v))).first;
    return it->second;
  }
  /*! Forgets what an earlier binding of v said, and returns its empty facts. */
  VarFact& Renew(const Var& v) {
    VarFact& f = FactOf(v.get());
    f = VarFact(v);
    return f;
  }
  void AddRelation(const Affine& form);
  /*! The expression of a node. Nothing when it would be deeper than expressions may be, which happens
   *  when a balanced tree of a thousand terms becomes one long sum. */
  std::optional<PrimExpr> TryEmit(Id id, const PrimExprNode* hint = nullptr);
};

std::optional<PrimExpr> AnalyzerImpl::TryEmit(Id id, const PrimExprNode* hint) {
  try {
    return graph.Emit(id, hint);
  } catch (const ffi::Error& e) {
    if (DiagCode(e) != "expression-too-deep") throw;
    return std::nullopt;
  }
}

namespace {

/*! Writes what a condition implies into the analyzer and into the graph it was read from. */
class PersistentSink : public FactSink {
 public:
  explicit PersistentSink(AnalyzerImpl* impl) : impl_(impl) {}
  void OnBound(Id atom, ConstBound bound) override {
    if (const VarNode* v = AsVar(atom)) {
      VarFact& f = impl_->FactOf(v);
      Save(v, f);
      f.bound = Intersect(f.bound, bound);
    } else if (AtomFact* f = NewAtom(atom)) {
      f->bound = bound;
    }
  }
  void OnModular(Id atom, ModularSet modular) override {
    if (const VarNode* v = AsVar(atom)) {
      VarFact& f = impl_->FactOf(v);
      Save(v, f);
      if (modular.coeff > f.modular.coeff) f.modular = modular;
    } else if (AtomFact* f = NewAtom(atom)) {
      f->modular = modular;
    }
  }
  void OnNonNegative(const Affine& form) override { impl_->AddRelation(form); }

 private:
  const VarNode* AsVar(Id atom) const {
    const Node& n = impl_->graph.at(atom);
    bool var = n.kind == Kind::kLeaf && KindOf(n.origin) == ExprKind::kVar;
    return var ? static_cast<const VarNode*>(n.origin) : nullptr;
  }
  void Save(const VarNode* v, const VarFact& f) {
    impl_->log.push_back(
        {v, f.bound, f.modular, impl_->facts.relations.size(), impl_->facts.atoms.size()});
  }
  AtomFact* NewAtom(Id atom) {
    if (impl_->graph.at(atom).kind == Kind::kConst) return nullptr;
    auto e = impl_->TryEmit(atom);
    if (!e) return nullptr;
    impl_->facts.atoms.push_back({*e});
    return &impl_->facts.atoms.back();
  }
  AnalyzerImpl* impl_;
};

constexpr size_t kMaxRelationTerms = 8;
constexpr int kMaxPasses = 4;

}  // namespace

void AnalyzerImpl::AddRelation(const Affine& form) {
  if (form.terms.size() > kMaxRelationTerms) return;
  Relation r{{}, form.base};
  for (const Term& t : form.terms) {
    auto atom = TryEmit(t.atom);
    if (!atom) return;
    r.terms.emplace_back(*atom, t.coeff);
  }
  int index = static_cast<int>(facts.relations.size());
  for (auto& [atom, coeff] : r.terms) {
    if (auto* v = atom.as<VarNode>()) FactOf(v).relations.push_back(index);
  }
  facts.relations.push_back(std::move(r));
}

AnalyzerNode::AnalyzerNode() : impl(std::make_shared<AnalyzerImpl>()) {}
AnalyzerNode::~AnalyzerNode() = default;
Analyzer::Analyzer() : ObjectRef(ffi::make_object<AnalyzerNode>()) {}

namespace {

/*! A question: a fresh graph that is emptied when the answer is known. */
class Question {
 public:
  explicit Question(AnalyzerImpl* impl) : graph_(&impl->graph) { graph_->Reset(); }
  ~Question() { graph_->Reset(); }
  Graph* operator->() { return graph_; }

 private:
  Graph* graph_;
};

}  // namespace

void Analyzer::Bind(const Var& v, const Range& range) const {
  AnalyzerImpl* impl = get()->impl.get();
  impl->Renew(v);
  Question q(impl);
  Id lo = q->Convert(range->min), n = q->Convert(range->extent);
  Affine last = q->FormOf(lo);
  q->AddScaled(&last, n, 1);
  last.AddBase(-1);
  ConstBound b{q->BoundOf(lo).min, last.ok ? q->BoundOf(last).max : ConstBound::kPosInf};
  b.max = std::max(b.min, b.max);
  impl->FactOf(v.get()).bound = b;
  bool constant = q->at(lo).kind == Kind::kConst && q->at(n).kind == Kind::kConst;
  if (constant || q->at(lo).unique || q->at(n).unique) return;
  Id self = q->Convert(v);
  Affine above = q->FormOf(self);
  q->AddScaled(&above, lo, -1);
  q->AddScaled(&last, self, -1);
  if (above.ok && above.terms.size() > 1) impl->AddRelation(above);
  if (last.ok && last.terms.size() > 1) impl->AddRelation(last);
}

void Analyzer::Bind(const Var& v, const PrimExpr& value) const {
  AnalyzerImpl* impl = get()->impl.get();
  Question q(impl);
  Id id = q->Convert(value);
  ConstBound bound = q->BoundOf(id);
  ModularSet modular = q->ModularOf(id);
  VarFact& f = impl->Renew(v);
  if (IsInteger(v->dtype) || IsBool(v->dtype)) {
    f.bound = bound;
    f.modular = modular;
  }
  if (!q->at(id).unique) {
    f.value = value;
    impl->facts.has_lets = true;
  }
}

void Analyzer::BindModular(const Var& v, int64_t factor, int64_t residue) const {
  if (factor <= 0) return;
  VarFact& f = get()->impl->FactOf(v.get());
  if (factor > f.modular.coeff && f.modular.coeff != 0) {
    f.modular = {factor, FloorModInt(residue, factor)};
  }
}

int64_t Analyzer::Enter(const PrimExpr& condition) const {
  AnalyzerImpl* impl = get()->impl.get();
  int64_t token = static_cast<int64_t>(impl->log.size());
  UndoEntry mark;
  mark.num_relations = impl->facts.relations.size();
  mark.num_atoms = impl->facts.atoms.size();
  impl->log.push_back(mark);
  Question q(impl);
  PersistentSink sink(impl);
  q->AssumeAll(q->Convert(condition), &sink);
  return token;
}

void Analyzer::Exit(int64_t token) const {
  AnalyzerImpl* impl = get()->impl.get();
  while (static_cast<int64_t>(impl->log.size()) > std::max<int64_t>(token, 0)) {
    const UndoEntry& u = impl->log.back();
    if (u.var) {
      VarFact& f = impl->FactOf(u.var);
      f.bound = u.bound;
      f.modular = u.modular;
    }
    for (; impl->facts.relations.size() > u.num_relations; impl->facts.relations.pop_back()) {
      int last = static_cast<int>(impl->facts.relations.size()) - 1;
      for (auto& [atom, coeff] : impl->facts.relations.back().terms) {
        auto* v = atom.as<VarNode>();
        if (v && !impl->FactOf(v).relations.empty() && impl->FactOf(v).relations.back() == last) {
          impl->FactOf(v).relations.pop_back();
        }
      }
    }
    while (impl->facts.atoms.size() > u.num_atoms) impl->facts.atoms.pop_back();
    impl->log.pop_back();
  }
}

PrimExpr Analyzer::Simplify(const PrimExpr& e) const {
  ExprKind kind = KindOf(e);
  if (kind == ExprKind::kIntImm || kind == ExprKind::kFloatImm || kind == ExprKind::kOther)
    return e;
  // A rewrite can enable another one that was looked for before: repeat until nothing changes.
  PrimExpr out = e;
  for (int pass = 0; pass < kMaxPasses; ++pass) {
    Question q(get()->impl.get());
    auto next = get()->impl->TryEmit(q->Convert(out), out.get());
    if (!next || next->same_as(out)) break;
    out = *next;
  }
  return out;
}

ConstBound Analyzer::Bound(const PrimExpr& e) const {
  AnalyzerImpl* impl = get()->impl.get();
  Question q(impl);
  ConstBound b = Intersect(q->BoundOf(q->Convert(e)), DTypeBound(e->dtype));
  if (!impl->facts.has_lets) return b;
  q->Reset(true);
  return Intersect(b, q->BoundOf(q->Convert(e)));
}

ModularSet Analyzer::Modular(const PrimExpr& e) const {
  AnalyzerImpl* impl = get()->impl.get();
  Question q(impl);
  ModularSet m = q->ModularOf(q->Convert(e));
  if (!impl->facts.has_lets || m.coeff == 0) return m;
  q->Reset(true);
  ModularSet deep = q->ModularOf(q->Convert(e));
  return deep.coeff == 0 || deep.coeff > m.coeff ? deep : m;
}

int64_t Analyzer::Divisor(const PrimExpr& e) const {
  ModularSet m = Modular(e);
  if (m.base == INT64_MIN) return 1;
  return std::gcd(m.coeff, m.base);
}

bool Analyzer::CanProve(const PrimExpr& condition) const {
  Question q(get()->impl.get());
  if (q->IsConstValue(q->Convert(condition), 1)) return true;
  q->Reset(true);
  return q->IsConstValue(q->Convert(condition), 1);
}

bool Analyzer::CanProveEqual(const PrimExpr& a, const PrimExpr& b) const {
  if (a.same_as(b)) return true;
  Question q(get()->impl.get());
  if (q->ProveEqual(a, b)) return true;
  q->Reset(true);
  return q->ProveEqual(a, b);
}

}  // namespace arith
}  // namespace tirx
