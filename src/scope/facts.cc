#include <tirx/expr/ops.h>
#include <tirx/scope/facts.h>
#include <tirx/scope/walker.h>

#include <string>

namespace tirx {
namespace scope {

void BindFacts(const arith::Analyzer& analyzer, const PrimFunc& func, const IdTable& ids) {
  const Launch& launch = ids.launch();
  analyzer.Bind(ids.thread_index(), Range(0, PrimExpr(launch.threads)));
  for (const ScopeIdDef& def : CollectScopeIds(func->body)) {
    std::string kind(def->kind);
    bool thread_level = kind.compare(0, 3, "cta") != 0 && kind != "cluster_id";
    ffi::Array<PrimExpr> extents = ExtentsOf(def, launch);
    for (size_t d = 0; d < def->vars.size(); ++d) {
      const Var& v = def->vars[d];
      const PrimExpr* meaning = ids.Find(v.get());
      if (meaning == nullptr) continue;
      if (thread_level || AsInt(*meaning)) {
        analyzer.Bind(v, *meaning);
      } else {
        analyzer.Bind(v, Range(MakeConst(v->dtype, 0), MakeCast(v->dtype, extents[d])));
      }
    }
  }
  for (const auto& b : func->param_buffers) {
    if (!b.has_value()) continue;
    for (const PrimExpr& extent : b.value()->shape) {
      // Never left: the call checks that extents of arguments are not negative.
      if (extent.as<VarNode>() != nullptr) analyzer.Enter(LE(MakeConst(extent->dtype, 0), extent));
    }
  }
  auto parts = SplitAtEntry(func);
  for (const Stmt& s : parts ? parts->host : ffi::Array<Stmt>()) {
    auto* let = s.as<BindNode>();
    if (let != nullptr && IsIndex(let->value)) analyzer.Bind(let->var, let->value);
    // The host checks its assertions before the launch: the kernel may rely on them.
    if (auto* claim = s.as<AssertNode>()) analyzer.Enter(claim->cond);
  }
}

Stmt FactsMutator::VisitGiven(const PrimExpr& fact, const Stmt& s) {
  if (!analyzer_) return VisitStmt(s);
  arith::WithConstraint constraint(*analyzer_, fact);
  return VisitStmt(s);
}

Stmt FactsMutator::VisitBind(const Bind& s) {
  if (analyzer_ && IsIndex(s->value)) analyzer_->Bind(s->var, s->value);
  return StmtMutator::VisitBind(s);
}

Stmt FactsMutator::VisitFor(const For& s) {
  if (analyzer_) analyzer_->Bind(s->loop_var, Range(s->min, s->extent));
  return StmtMutator::VisitFor(s);
}

Stmt FactsMutator::VisitIfThenElse(const IfThenElse& s) {
  PrimExpr cond = VisitExpr(s->cond);
  Stmt then_case = VisitGiven(s->cond, s->then_case);
  ffi::Optional<Stmt> else_case = s->else_case;
  if (else_case.has_value()) else_case = VisitGiven(MakeNot(s->cond), else_case.value());
  bool same_else = !else_case.has_value() || else_case.value().same_as(s->else_case.value());
  if (cond.same_as(s->cond) && then_case.same_as(s->then_case) && same_else) return s;
  return MakeIf(cond, then_case, else_case, s->span);
}

Stmt FactsMutator::VisitFilter(const tirx::Filter& s) {
  PrimExpr cond = VisitExpr(s->cond);
  Stmt body = VisitGiven(s->cond, s->body);
  if (cond.same_as(s->cond) && body.same_as(s->body)) return s;
  return MakeFilter(cond, body, s->span);
}

}  // namespace scope
}  // namespace tirx
