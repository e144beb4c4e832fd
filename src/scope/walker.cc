#include <tirx/expr/ops.h>
#include <tirx/scope/walker.h>

namespace tirx {
namespace scope {

std::optional<EntrySplit> SplitAtEntry(const PrimFunc& func) {
  EntrySplit out;
  bool found = false;
  auto add = [&](const Stmt& s) {
    if (!found && KindOf(s) == StmtKind::kDeviceEntry) {
      found = true;
      out.entry = s;
    } else {
      (found ? out.device : out.host).push_back(s);
    }
  };
  if (auto* seq = func->body.as<SeqStmtNode>()) {
    for (const Stmt& s : seq->seq) add(s);
  } else {
    add(func->body);
  }
  if (!found) return std::nullopt;
  return out;
}

Stmt JoinAtEntry(const EntrySplit& parts) {
  ffi::Array<Stmt> all = parts.host;
  all.push_back(parts.entry);
  for (const Stmt& s : parts.device) all.push_back(s);
  return MakeSeq(all);
}

ScopedMutator::ScopedMutator(const PrimFunc& func, std::optional<arith::Analyzer> analyzer)
    : FactsMutator(std::move(analyzer)), func_(func) {
  auto parts = SplitAtEntry(func);
  TVM_FFI_CHECK(parts, InternalError) << "no device entry: run resolve_scopes first";
  parts_ = std::move(*parts);
  Launch launch = LaunchOf(func);
  ids_ = std::make_unique<IdTable>(CollectScopeIds(func->body), launch);
  conditions_ = std::make_unique<Conditions>(func->body, *ids_);
  active_ = ActiveSet::Entry(static_cast<int>(launch.threads), static_cast<int>(launch.Ctas()));
  if (analyzer_) BindFacts(*analyzer_, func, *ids_);
}

PrimFunc ScopedMutator::Run() {
  ffi::Array<Stmt> out;
  bool changed = false;
  for (const Stmt& s : parts_.device) {
    Stmt v = VisitStmt(s);
    changed = changed || !v.same_as(s);
    out.push_back(std::move(v));
  }
  ffi::Array<Stmt> device = Finish(out);
  ffi::Array<Stmt> host_init = HostInit();
  if (!changed && device.same_as(out) && host_init.empty()) return func_;
  EntrySplit parts = parts_;
  for (const Stmt& s : host_init) parts.host.push_back(s);
  parts.device = device;
  return PrimFunc(func_->name, func_->params, func_->param_buffers, JoinAtEntry(parts),
                  func_->attrs, func_->span);
}

Stmt ScopedMutator::VisitFor(const For& s) {
  ActiveSet saved = active_;
  conditions_->EnterLoop(&active_, s);
  Stmt out = FactsMutator::VisitFor(s);
  active_ = saved;
  return out;
}

Stmt ScopedMutator::VisitWhile(const While& s) {
  ActiveSet saved = active_;
  conditions_->EnterLoop(&active_, s);
  Stmt out = StmtMutator::VisitWhile(s);
  active_ = saved;
  return out;
}

namespace {

/*! first <= tid <= last for the active threads; whole warps when one lane of them is elected. */
PrimExpr RangeOf(const ActiveSet& a, const Var& tid) {
  int first = 0, last = a.num_threads - 1;
  while (!a.threads[first]) ++first;
  while (!a.threads[last]) --last;
  if (a.elected) {
    first = first / kWarpSize * kWarpSize;
    last = last / kWarpSize * kWarpSize + kWarpSize - 1;
  }
  return And(LE(first, tid), LE(tid, last));
}

}  // namespace

Stmt ScopedMutator::VisitUnder(const ActiveSet& active, const PrimExpr& fact, const Stmt& s) {
  ActiveSet saved = active_;
  bool narrower = active.threads != active_.threads;
  active_ = active;
  std::optional<arith::WithConstraint> range;
  if (analyzer_ && narrower) range.emplace(*analyzer_, RangeOf(active, ids_->thread_index()));
  Stmt out = VisitGiven(fact, s);
  active_ = saved;
  return out;
}

Stmt ScopedMutator::VisitIfThenElse(const IfThenElse& s) {
  ActiveSet yes = conditions_->Narrow(active_, s->cond, false, s->span, analyzer());
  ActiveSet no = conditions_->Narrow(active_, s->cond, true, s->span, analyzer());
  PrimExpr cond = VisitExpr(s->cond);
  ffi::Optional<Stmt> then_case, else_case;
  if (!yes.Empty()) then_case = VisitUnder(yes, s->cond, s->then_case);
  if (s->else_case.has_value() && !no.Empty()) {
    else_case = VisitUnder(no, MakeNot(s->cond), s->else_case.value());
  }
  if (yes.Empty()) return else_case.value_or(MakeSeq({}));
  if (no.Empty()) return then_case.value();
  bool same_else = s->else_case.has_value() == else_case.has_value() &&
                   (!else_case.has_value() || else_case.value().same_as(s->else_case.value()));
  if (cond.same_as(s->cond) && then_case.value().same_as(s->then_case) && same_else) return s;
  return MakeIf(cond, then_case.value(), else_case, s->span);
}

Stmt ScopedMutator::VisitFilter(const tirx::Filter& s) {
  ActiveSet inside = conditions_->Filter(active_, s->cond, s->span);
  PrimExpr cond = VisitExpr(s->cond);
  Stmt body = VisitUnder(inside, s->cond, s->body);
  if (cond.same_as(s->cond) && body.same_as(s->body)) return s;
  return MakeFilter(cond, body, s->span);
}

Stmt ScopedMutator::VisitExecScope(const ExecScope& s) {
  Kind saved = kind_;
  kind_ = *ParseKind(s->scope);
  Split(active_, kind_, s->span);  // a switch to teams that do not exist is refused where it stands
  Stmt out = StmtMutator::VisitExecScope(s);
  kind_ = saved;
  return out;
}

namespace {

class PlaceRecorder : public ScopedMutator {
 public:
  explicit PlaceRecorder(const PrimFunc& func) : ScopedMutator(func, arith::Analyzer()) {}
  std::vector<Place> places;

 protected:
  Stmt VisitTilePrimitiveCall(const TilePrimitiveCall& s) override {
    places.push_back({s, active()});
    return s;
  }
};

}  // namespace

std::vector<Place> PlacesOf(const PrimFunc& func) {
  ffi::Map<ffi::String, ffi::Any> attrs = func->attrs;
  SetLaunch(&attrs, InferLaunch(CollectScopeIds(func->body)));
  PlaceRecorder recorder(
      PrimFunc(func->name, func->params, func->param_buffers, func->body, attrs, func->span));
  recorder.Run();
  return std::move(recorder.places);
}

}  // namespace scope
}  // namespace tirx
