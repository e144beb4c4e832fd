#include <tirx/expr/ops.h>
#include <tirx/scope/conditions.h>
#include <tirx/support/diag.h>

#include "agreement.h"

namespace tirx {
namespace scope {
namespace {

bool IsElect(const PrimExpr& e) {
  auto* call = e.as<CallNode>();
  return call != nullptr && call->op == "cuda.elect_sync";
}

/*! One lane per warp: the lowest active one stands for the elected. */
ActiveSet Elect(const ActiveSet& a, bool negate, const Span& where) {
  ActiveSet out = a;
  out.elected = true;
  if (negate) {
    out.Doubt(Kind::kThread, where);
    return out;
  }
  for (int warp = 0; warp < a.num_threads; warp += kWarpSize) {
    bool found = false;
    for (int t = warp; t < std::min(warp + kWarpSize, a.num_threads); ++t) {
      if (found) out.threads.reset(t);
      found = found || a.threads[t];
    }
  }
  return out;
}

ActiveSet Nobody(const ActiveSet& a) {
  ActiveSet out = a;
  out.threads.reset();
  return out;
}

template <size_t N>
void Keep(std::bitset<N>* set, const std::vector<int64_t>& values, bool negate) {
  for (size_t i = 0; i < values.size(); ++i) {
    if ((values[i] != 0) == negate) set->reset(i);
  }
}

}  // namespace

class Conditions::Impl {
 public:
  Impl(const Stmt& body, const IdTable& ids)
      : ids_(ids), eval_(ids), agreement_(body, &eval_, ids) {}

  AgreementAnalysis& agreement() { return agreement_; }

  ActiveSet Narrow(const ActiveSet& a, const PrimExpr& cond, bool negate, const Span& where,
                   const arith::Analyzer* analyzer) {
    if (auto* n = cond.as<NotNode>()) return Narrow(a, n->a, !negate, where, analyzer);
    if (auto* n = cond.as<BinaryNode>()) {
      if (n->kind() == (negate ? BinOp::kOr : BinOp::kAnd)) {
        ActiveSet first = Narrow(a, n->a, negate, where, analyzer);
        return Narrow(first, n->b, negate, where, analyzer);
      }
    }
    if (auto* v = cond.as<VarNode>()) {
      // A name for a condition; the values behind names are at most a chain of names deep.
      const PrimExpr* value = eval_.LetOf(v);
      bool named = value != nullptr && value->as<VarNode>() == nullptr;
      if (named) return Narrow(a, *value, negate, where, analyzer);
    }
    return NarrowLeaf(a, cond, negate, cond->span.defined() ? cond->span : where, analyzer);
  }

  ActiveSet Filter(const ActiveSet& a, const PrimExpr& cond, const Span& where) {
    if (!IsElect(cond)) CheckFilter(cond, where);
    ActiveSet out = Narrow(a, cond, false, where, nullptr);
    if (!out.Empty()) return out;
    Diag("scope", "filter-empty", where)
        .Message("this filter leaves no thread active")
        .Found("no active thread meets it")
        .Required("a part of the threads that are active here")
        .Throw();
  }

 private:
  ActiveSet NarrowLeaf(const ActiveSet& a, const PrimExpr& cond, bool negate, const Span& where,
                       const arith::Analyzer* analyzer) {
    if (auto v = AsInt(cond)) return (*v != 0) != negate ? a : Nobody(a);
    if (IsElect(cond)) return Elect(a, negate, where);
    ActiveSet out = a;
    uint8_t dep = eval_.DepOf(cond);
    const std::vector<int64_t>* values = nullptr;
    if (a.elected && agreement_.Of(cond) == Kind::kThread) out.Doubt(Kind::kThread, where);
    if (dep == kDepThread && (values = eval_.Eval(cond, kDepThread))) {
      Keep(&out.threads, *values, negate);
    } else if (dep == kDepCta && (values = eval_.Eval(cond, kDepCta))) {
      Keep(&out.ctas, *values, negate);
    } else {
      Assume(&out, cond, negate, where, analyzer);
    }
    return out;
  }

  /*! A condition that only the program knows: nobody is ruled out unless the analyzer decides. */
  void Assume(ActiveSet* a, const PrimExpr& cond, bool negate, const Span& where,
              const arith::Analyzer* analyzer) {
    Kind k = agreement_.Of(cond);
    if (k >= a->agreed) return;
    if (analyzer != nullptr && analyzer->CanProve(negate ? MakeNot(cond) : cond)) return;
    a->Doubt(k, where);
  }

  /*! The only scope id in a filter's condition; null when there are several or none. */
  struct IdFinder : ExprVisitor {
    const IdTable* ids;
    const VarNode* id{nullptr};
    bool several{false};
    void VisitVar(const VarNode* v) override {
      if (v != ids->thread_index().get() && ids->Find(v) == nullptr) return;
      several = several || (id != nullptr && id != v);
      id = v;
    }
  };

  [[noreturn]] void ThrowFilter(const Span& where, const std::string& found) {
    Diag("scope", "filter-not-a-range", where)
        .Message("a filter must be a range or a point on one scope id")
        .Found(found)
        .Required("for instance T.filter(warp_id == 0) or T.filter(2 <= warp_id < 4)")
        .Hint("use `if` for other conditions: tile calls below it then need no whole teams")
        .Throw();
  }

  void CheckFilter(const PrimExpr& cond, const Span& where) {
    IdFinder finder;
    finder.ids = &ids_;
    finder(cond);
    if (finder.several) ThrowFilter(where, "a condition on several scope ids");
    uint8_t dep = eval_.DepOf(cond);
    if (finder.id != nullptr && (dep == kDepThread || dep == kDepCta)) {
      CheckContiguous(GetRef<PrimExpr>(finder.id), cond, static_cast<Dep>(dep), where);
    } else if (finder.id == nullptr || !IsRange(cond, finder.id)) {
      ThrowFilter(where, "a condition that is no function of one scope id");
    }
  }

  /*! Comparisons of the id with constants, joined by `and` (for ids of the grid, whose values are
   *  not enumerated). */
  static bool IsRange(const PrimExpr& cond, const VarNode* id) {
    if (auto* call = cond.as<CallNode>()) {
      return call->op == "tx.filter_range" && call->args[0].get() == id && AsInt(call->args[1]) &&
             AsInt(call->args[2]);
    }
    auto* n = cond.as<BinaryNode>();
    if (n == nullptr || n->kind() == BinOp::kNE) return false;
    if (n->kind() == BinOp::kAnd) return IsRange(n->a, id) && IsRange(n->b, id);
    bool sides = (n->a.get() == id && AsInt(n->b)) || (n->b.get() == id && AsInt(n->a));
    return IsComparison(n->kind()) && sides;
  }

  void CheckContiguous(const PrimExpr& id, const PrimExpr& cond, Dep dep, const Span& where) {
    const std::vector<int64_t>* v = eval_.Eval(cond, dep);
    if (v == nullptr) ThrowFilter(where, "a condition that divides by zero or overflows");
    std::vector<int64_t> holds = *v;
    const std::vector<int64_t>& values = *eval_.Eval(id, dep);
    std::vector<char> at(*std::max_element(values.begin(), values.end()) + 2, 0);
    for (size_t i = 0; i < holds.size(); ++i) at[values[i]] = holds[i] != 0;
    int edges = 0;
    for (size_t i = 1; i < at.size(); ++i) edges += at[i] != at[i - 1];
    if (edges > (at[0] ? 1 : 2)) ThrowFilter(where, "values of the id with a gap between them");
  }

  const IdTable& ids_;
  StaticEval eval_;
  AgreementAnalysis agreement_;
};

Conditions::Conditions(const Stmt& body, const IdTable& ids)
    : impl_(std::make_unique<Impl>(body, ids)) {}
Conditions::~Conditions() = default;

Kind Conditions::Agreement(const PrimExpr& e) { return impl_->agreement().Of(e); }

ActiveSet Conditions::Narrow(const ActiveSet& a, const PrimExpr& cond, bool negate,
                             const Span& where, const arith::Analyzer* analyzer) {
  return impl_->Narrow(a, cond, negate, where, analyzer);
}

ActiveSet Conditions::Filter(const ActiveSet& a, const PrimExpr& cond, const Span& where) {
  return impl_->Filter(a, cond, where);
}

void Conditions::EnterLoop(ActiveSet* a, const Stmt& loop) {
  AgreementAnalysis& agreement = impl_->agreement();
  if (auto* n = loop.as<ForNode>()) {
    a->Doubt(agreement.Of(n->extent), n->span);
  } else if (auto* n = loop.as<WhileNode>()) {
    a->Doubt(agreement.Of(n->cond), n->cond->span.defined() ? n->cond->span : n->span);
  }
  AgreementAnalysis::Exit exit = agreement.ExitOf(loop);
  a->Doubt(exit.kind, exit.where);
}

}  // namespace scope
}  // namespace tirx
