#include "known_facts.h"

#include <tirx/expr/ops.h>
#include <tirx/scope/walker.h>

#include <unordered_set>

namespace tirx {
namespace passes {
namespace {

/*! The variables that are extents of the arguments: the call takes them from tensors. */
struct ShapeVars : ExprVisitor {
  explicit ShapeVars(const arith::Analyzer& a) : analyzer(a) {}
  void VisitVar(const VarNode* v) override {
    if (!IsInteger(v->dtype) || !seen.insert(v).second) return;
    PrimExpr var = GetRef<Var>(v);
    analyzer.Enter(MakeBinary(BinOp::kGE, var, MakeConst(var.dtype(), 0)));
  }
  const arith::Analyzer& analyzer;
  std::unordered_set<const VarNode*> seen;
};

ffi::Array<ffi::Optional<Buffer>> SignatureOf(const PrimFunc& func) {
  auto it = func->attrs.find("tirx.signature");
  if (it == func->attrs.end()) return func->param_buffers;
  return (*it).second.cast<ffi::Array<ffi::Optional<Buffer>>>();
}

bool IsIndexLike(DType t) { return t.lanes == 1 && (IsInteger(t) || IsBool(t)); }

}  // namespace

KnownFacts::KnownFacts(const PrimFunc& func) {
  has_launch_ = func->attrs.find("tirx.threads") != func->attrs.end();
  if (has_launch_) launch_ = scope::LaunchOf(func);
  threads_ = PrimExpr(launch_.threads);
  ShapeVars visit(analyzer_);
  for (const auto& b : SignatureOf(func)) {
    if (!b.has_value()) continue;
    for (const PrimExpr& extent : b.value()->shape) visit(extent);
  }
  if (auto parts = scope::SplitAtEntry(func)) AddHost(parts->host);
}

/*! The host computes lets and refuses the launch when an assertion fails. Assertions come before the
 *  lets, which use what they say, and after, as a let may be what they are about. */
void KnownFacts::AddHost(const ffi::Array<Stmt>& host) {
  auto add_checks = [&] {
    for (const Stmt& s : host) {
      if (auto* check = s.as<AssertNode>()) analyzer_.Enter(check->cond);
    }
  };
  add_checks();
  for (const Stmt& s : host) {
    if (auto* let = s.as<BindNode>()) Bind(let->var, let->value);
  }
  add_checks();
}

PrimFunc RewriteDevice(const PrimFunc& func, const std::function<Stmt(const Stmt&)>& rewrite) {
  Stmt body = func->body;
  if (auto parts = scope::SplitAtEntry(func)) {
    Stmt device = MakeSeq(parts->device), out = rewrite(device);
    if (out.same_as(device)) return func;
    parts->device = {out};
    body = scope::JoinAtEntry(*parts);
  } else {
    body = rewrite(func->body);
  }
  if (body.same_as(func->body)) return func;
  return PrimFunc(func->name, func->params, func->param_buffers, body, func->attrs, func->span);
}

const PrimExpr* KnownFacts::ExtentOf(const PrimExpr& e) const {
  auto* call = e.as<CallNode>();
  if (call == nullptr || !has_launch_) return nullptr;
  if (call->op == "tx.thread_index") return &threads_;
  if (call->op != "tx.cta_index" || call->args.size() != 1) return nullptr;
  int64_t dim = AsInt(call->args[0]).value_or(-1);
  return dim >= 0 && dim < 3 ? &launch_.grid[dim] : nullptr;
}

void KnownFacts::Bind(const Var& var, const PrimExpr& value) {
  if (!IsIndexLike(var->dtype)) return;
  if (const PrimExpr* extent = ExtentOf(value)) {
    analyzer_.Bind(var, Range(0, MakeCast(var->dtype, *extent)));
  } else {
    analyzer_.Bind(var, value);
  }
}

PrimExpr RootMutator::VisitExpr(const PrimExpr& e) {
  if (inside_) return StmtMutator::VisitExpr(e);
  inside_ = true;
  PrimExpr out = StmtMutator::VisitExpr(e);
  inside_ = false;
  return VisitRoot(out);
}

ffi::Array<PrimExpr> RootMutator::VisitIndices(const ffi::Array<PrimExpr>& indices) {
  bool outer = inside_;
  ffi::Array<PrimExpr> out = indices;  // shares storage until the first change
  for (size_t i = 0; i < indices.size(); ++i) {
    PrimExpr e = indices[i];
    inside_ = true;
    PrimExpr v = VisitIndex(StmtMutator::VisitExpr(e));
    if (!v.same_as(e)) out.Set(static_cast<int64_t>(i), std::move(v));
  }
  inside_ = outer;
  return out;
}

PrimExpr RootMutator::VisitBufferLoad(const BufferLoad& e) {
  Buffer b = VisitBuffer(e->buffer);
  ffi::Array<PrimExpr> indices = VisitIndices(e->indices);
  if (b.same_as(e->buffer) && indices.same_as(e->indices)) return e;
  return BufferLoad(b, indices, e->span);
}

Stmt RootMutator::VisitBufferStore(const BufferStore& s) {
  Buffer b = VisitBuffer(s->buffer);
  ffi::Array<PrimExpr> indices = VisitIndices(s->indices);
  PrimExpr value = VisitExpr(s->value);
  bool same = b.same_as(s->buffer) && indices.same_as(s->indices) && value.same_as(s->value);
  return same ? Stmt(s) : MakeBufferStore(b, value, indices, s->span);
}

Stmt FactMutator::VisitBind(const Bind& s) {
  PrimExpr value = VisitExpr(s->value);
  facts_.Bind(s->var, value);
  return value.same_as(s->value) ? Stmt(s) : MakeBind(s->var, value, s->span);
}

Stmt FactMutator::VisitFor(const For& s) {
  PrimExpr min = VisitExpr(s->min), extent = VisitExpr(s->extent);
  analyzer().Bind(s->loop_var, Range(min, extent));
  Stmt body = VisitStmt(s->body);
  if (min.same_as(s->min) && extent.same_as(s->extent) && body.same_as(s->body)) return s;
  return MakeFor(s->loop_var, min, extent, s->kind, body, s->annotations, s->span);
}

Stmt FactMutator::VisitIfThenElse(const IfThenElse& s) {
  PrimExpr cond = VisitExpr(s->cond);
  Stmt then_case = Given(cond, s->then_case);
  ffi::Optional<Stmt> else_case = s->else_case;
  if (else_case.has_value()) else_case = Given(MakeNot(cond), else_case.value());
  bool same_else = !else_case.has_value() || else_case.value().same_as(s->else_case.value());
  if (cond.same_as(s->cond) && then_case.same_as(s->then_case) && same_else) return s;
  return MakeIf(cond, then_case, else_case, s->span);
}

Stmt FactMutator::VisitWhile(const While& s) {
  PrimExpr cond = VisitExpr(s->cond);
  Stmt body = Given(cond, s->body);
  if (cond.same_as(s->cond) && body.same_as(s->body)) return s;
  return MakeWhile(cond, body, s->span);
}

Stmt FactMutator::Given(const PrimExpr& cond, const Stmt& s) {
  arith::WithConstraint constraint(analyzer(), cond);
  return VisitStmt(s);
}

}  // namespace passes
}  // namespace tirx
