#include <tirx/expr/ops.h>
#include <tirx/passes/lower_scope_ids.h>
#include <tirx/scope/walker.h>

#include <unordered_map>

namespace tirx {
namespace passes {
namespace {

using Uses = std::unordered_map<const VarNode*, int>;

/*! How often each variable is read. */
struct UseCounter : StmtVisitor {
  Uses uses;
  void VisitVar(const VarNode* v) override { ++uses[v]; }
};

class Lowerer : public StmtMutator {
 public:
  explicit Lowerer(const scope::IdTable& ids) : ids_(ids) {}

 protected:
  PrimExpr VisitVar(const Var& v) override {
    const PrimExpr* meaning = ids_.Find(v.get());
    return meaning != nullptr && AsInt(*meaning) ? *meaning : v;
  }
  PrimExpr VisitCall(const Call& e) override {
    if (e->op != "tx.filter_range") return StmtMutator::VisitCall(e);
    PrimExpr id = VisitExpr(e->args[0]);
    return And(LE(VisitExpr(e->args[1]), id), LT(id, VisitExpr(e->args[2])));
  }
  Stmt VisitScopeIdDef(const ScopeIdDef&) override { return MakeSeq({}); }
  Stmt VisitAttrStmt(const AttrStmt&) override { return MakeSeq({}); }
  Stmt VisitExecScope(const ExecScope& s) override { return VisitStmt(s->body); }
  Stmt VisitFilter(const tirx::Filter& s) override {
    return MakeIf(VisitExpr(s->cond), VisitStmt(s->body), std::nullopt, s->span);
  }

 private:
  const scope::IdTable& ids_;
};

/*! The line of each id's definition. */
std::unordered_map<const VarNode*, Span> SpansOf(const std::vector<ScopeIdDef>& defs) {
  std::unordered_map<const VarNode*, Span> out;
  for (const ScopeIdDef& d : defs) {
    for (const Var& v : d->vars) out.emplace(v.get(), d->span);
  }
  return out;
}

/*! Binds for the ids in `uses`, the linear thread index first when more than one id needs it. */
ffi::Array<Stmt> BindIds(const scope::IdTable& ids, Uses uses,
                         const std::vector<ScopeIdDef>& defs) {
  std::unordered_map<const VarNode*, Span> spans = SpansOf(defs);
  UseCounter meanings;
  for (const auto& [var, meaning] : ids.definitions()) {
    if (uses.count(var.get()) && !AsInt(meaning)) meanings(meaning);
  }
  const Var& tid = ids.thread_index();
  PrimExpr index = Call(kInt32, "tx.thread_index", {});
  int needed = uses[tid.get()] + meanings.uses[tid.get()];
  ffi::Array<Stmt> out;
  ffi::Map<Var, PrimExpr> inlined;
  if (uses[tid.get()] > 0 || needed > 1) {
    out.push_back(MakeBind(tid, index, spans[tid.get()]));
  } else {
    inlined.Set(tid, index);
  }
  for (const auto& [var, meaning] : ids.definitions()) {
    if (uses.count(var.get()) == 0 || AsInt(meaning)) continue;
    out.push_back(MakeBind(var, Substitute(meaning, inlined), spans[var.get()]));
  }
  return out;
}

}  // namespace

PrimFunc LowerScopeIds(const PrimFunc& func) {
  std::vector<ScopeIdDef> defs = scope::CollectScopeIds(func->body);
  scope::IdTable ids(defs, scope::LaunchOf(func));
  auto parts = scope::SplitAtEntry(func);
  TVM_FFI_CHECK(parts, InternalError) << "no device entry: run resolve_scopes first";
  Lowerer lower(ids);
  Stmt body = lower(MakeSeq(parts->device));
  UseCounter counter;
  counter(body);
  ffi::Array<Stmt> device = BindIds(ids, counter.uses, defs);
  device.push_back(body);
  parts->device = device;
  ffi::Map<ffi::String, ffi::Any> attrs = func->attrs;
  attrs.Set("tirx.stage", ffi::String("native"));
  return PrimFunc(func->name, func->params, func->param_buffers, scope::JoinAtEntry(*parts), attrs,
                  func->span);
}

}  // namespace passes
}  // namespace tirx
