#include <tirx/expr/ops.h>
#include <tirx/passes/resolve_scopes.h>
#include <tirx/scope/walker.h>
#include <tirx/support/diag.h>

#include <string>

namespace tirx {
namespace passes {
namespace {

/*! Every T.device_entry() of a body, and the first scope id that stands before it. */
struct EntryFinder : StmtVisitor {
  std::vector<Span> entries;
  const ScopeIdDefNode* early{nullptr};
  void VisitExpr(const PrimExpr&) override {}
  void VisitDeviceEntry(const DeviceEntryNode* n) override { entries.push_back(n->span); }
  void VisitScopeIdDef(const ScopeIdDefNode* n) override {
    if (entries.empty() && early == nullptr) early = n;
  }
};

[[noreturn]] void ThrowNoEntry(const PrimFunc& func) {
  Diag("script", "missing-device-entry", func->span)
      .Message("'" + std::string(func->name) + "' never enters the device")
      .Found("no T.device_entry() in its body")
      .Required("T.device_entry() between the binding of arguments and the kernel")
      .Hint("add T.device_entry() before the first scope id, allocation or tile call")
      .Throw();
}

void CheckEntry(const PrimFunc& func) {
  EntryFinder finder;
  finder(func->body);
  if (finder.entries.empty()) ThrowNoEntry(func);
  if (finder.entries.size() > 1) {
    Diag("script", "repeated-device-entry", finder.entries[1])
        .Message("a second T.device_entry()")
        .Found("two entries in one function")
        .Required("one kernel per function")
        .Note(finder.entries[0], "the first is here")
        .Throw();
  }
  if (finder.early != nullptr) {
    Diag("script", "scope-id-on-host", finder.early->span)
        .Message(std::string(finder.early->kind) + " is defined before T.device_entry()")
        .Found("a scope id in host code")
        .Required("scope ids after T.device_entry()")
        .Throw();
  }
  if (!scope::SplitAtEntry(func)) {
    Diag("script", "nested-device-entry", finder.entries[0])
        .Message("T.device_entry() is inside a branch, loop or scope")
        .Found("a nested T.device_entry()")
        .Required("T.device_entry() at the top level of the function")
        .Throw();
  }
}

[[noreturn]] void ThrowLimit(const std::string& code, const std::string& what, int64_t found,
                             int64_t limit, const Target& target, const Span& span) {
  Diag("target", code, span)
      .Message("the kernel asks for more " + what + " than " + std::string(target->arch) + " has")
      .Found(std::to_string(found) + " " + what)
      .Required("at most " + std::to_string(limit))
      .Throw();
}

/*! The line of the definition that decides: the first of these kinds. */
Span SpanOf(const std::vector<ScopeIdDef>& defs, std::initializer_list<const char*> kinds) {
  for (const char* kind : kinds) {
    for (const ScopeIdDef& d : defs) {
      if (d->kind == kind) return d->span;
    }
  }
  return {};
}

void CheckLimits(const scope::Launch& launch, const std::vector<ScopeIdDef>& defs,
                 const Target& target) {
  int64_t threads =
      std::min<int64_t>(target->Limit("threads_per_cta", scope::kMaxThreads), scope::kMaxThreads);
  if (launch.threads > threads) {
    ThrowLimit("too-many-threads", "threads per CTA", launch.threads, threads, target,
               SpanOf(defs, {"thread_id", "warp_id", "warpgroup_id"}));
  }
  int64_t ctas = target->Limit("cluster_ctas_opt_in", target->Limit("cluster_ctas", 1));
  ctas = std::min<int64_t>(ctas, scope::kMaxClusterCtas);
  if (launch.Ctas() > ctas) {
    ThrowLimit("cluster-too-large", "CTAs per cluster", launch.Ctas(), ctas, target,
               SpanOf(defs, {"cta_id_in_cluster", "cta_id_in_pair", "cluster_id"}));
  }
}

/*! Constant extents of the grid; others are checked at the call. */
void CheckGrid(const scope::Launch& launch, const std::vector<ScopeIdDef>& defs,
               const Target& target) {
  for (int d = 0; d < 3; ++d) {
    std::string name = std::string("grid_") + "xyz"[d];
    auto n = AsInt(launch.grid[d]);
    int64_t limit = target->Limit(name, INT32_MAX);
    if (!n || (*n >= 0 && *n <= limit)) continue;
    Diag("target", "grid-extent", SpanOf(defs, {"cta_id", "cluster_id"}))
        .Message("the grid has an extent that cannot be launched")
        .Found(std::to_string(*n) + " CTAs along dimension " + "xyz"[d])
        .Required("0 (nothing runs) to " + std::to_string(limit) + " on " +
                  std::string(target->arch))
        .Throw();
  }
}

class Resolver : public StmtMutator {
 public:
  Resolver(const scope::Launch& launch, ffi::Map<ffi::String, ffi::Any>* attrs)
      : launch_(launch), attrs_(attrs) {}

 protected:
  PrimExpr VisitExpr(const PrimExpr& e) override { return e; }
  Buffer VisitBuffer(const Buffer& b) override { return b; }
  Stmt VisitScopeIdDef(const ScopeIdDef& s) override {
    if (!s->extents.empty()) return s;
    return MakeScopeIdDef(s->vars, s->kind, scope::ExtentsOf(s, launch_), s->attrs, s->span);
  }
  Stmt VisitExecScope(const ExecScope& s) override {
    ffi::String saved = scope_;
    scope_ = s->scope;
    Stmt out = StmtMutator::VisitExecScope(s);
    scope_ = saved;
    return out;
  }
  Stmt VisitAttrStmt(const AttrStmt& s) override {
    if (std::string(s->key).compare(0, 5, "tirx.") != 0) return s;
    attrs_->Set(s->key, s->value);
    return MakeSeq({});
  }
  Stmt VisitTilePrimitiveCall(const TilePrimitiveCall& s) override {
    if (!s->scope.empty()) return s;
    return MakeTilePrimitiveCall(s->op, s->args, scope_, s->dispatch, s->workspace, s->config,
                                 s->span);
  }

 private:
  const scope::Launch& launch_;
  ffi::Map<ffi::String, ffi::Any>* attrs_;
  ffi::String scope_{"thread"};
};

/*!
 * Gives the linear thread index a name when the user gave it none, so that every later pass (the
 * ids' meanings, rules, native code) speaks of one variable.
 */
PrimFunc NameThreadIndex(const PrimFunc& func, const std::vector<ScopeIdDef>& defs,
                         const scope::Launch& launch) {
  scope::IdTable ids(defs, launch);
  for (const ScopeIdDef& def : defs) {
    for (const Var& v : def->vars) {
      if (v.same_as(ids.thread_index())) return func;
    }
  }
  auto parts = scope::SplitAtEntry(func);
  if (!parts) return func;
  ffi::Array<Stmt> device{
      MakeScopeIdDef({ids.thread_index()}, "thread_id", {PrimExpr(launch.threads)})};
  for (const Stmt& s : parts->device) device.push_back(s);
  parts->device = device;
  return PrimFunc(func->name, func->params, func->param_buffers, scope::JoinAtEntry(*parts),
                  func->attrs, func->span);
}

}  // namespace

PrimFunc ResolveScopes(const PrimFunc& func, const Target& target) {
  CheckEntry(func);
  std::vector<ScopeIdDef> defs = scope::CollectScopeIds(func->body);
  scope::Launch launch = scope::InferLaunch(defs);
  CheckGrid(launch, defs, target);
  CheckLimits(launch, defs, target);
  ffi::Map<ffi::String, ffi::Any> attrs = func->attrs;
  scope::SetLaunch(&attrs, launch);
  Stmt body = Resolver(launch, &attrs)(func->body);
  PrimFunc out(func->name, func->params, func->param_buffers, body, attrs, func->span);
  return NameThreadIndex(out, defs, launch);
}

}  // namespace passes
}  // namespace tirx
