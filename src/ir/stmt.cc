#include <tirx/expr/ops.h>
#include <tirx/ir/function.h>
#include <tirx/ir/stmt.h>
#include <tirx/support/diag.h>

#include <string>

namespace tirx {
namespace {

template <typename Node>
ffi::ObjectPtr<Node> New(Span span) {
  auto n = ffi::make_object<Node>();
  n->span = std::move(span);
  return n;
}

template <typename Node>
Stmt Done(ffi::ObjectPtr<Node> n) {
  if (n->depth > kMaxStmtDepth) {
    Diag("type", "statements-too-deep", n->span)
        .Message("statements are nested too deeply")
        .Found(std::to_string(n->depth) + " levels of nesting")
        .Required("at most " + std::to_string(kMaxStmtDepth))
        .Hint("merge conditions with `and`, or loops with T.grid")
        .Throw();
  }
  return Stmt(ffi::ObjectPtr<StmtNode>(std::move(n)));
}

void AppendFlat(const Stmt& s, ffi::Array<Stmt>* out) {
  if (auto* seq = s.as<SeqStmtNode>()) {
    for (const Stmt& c : seq->seq) out->push_back(c);
  } else {
    out->push_back(s);
  }
}

}  // namespace

Stmt MakeSeq(ffi::Array<Stmt> seq, Span span) {
  if (seq.size() == 1) return seq[0];
  bool nested = false;
  for (const Stmt& s : seq) nested = nested || s.as<SeqStmtNode>() != nullptr;
  auto n = New<SeqStmtNode>(std::move(span));
  if (nested) {
    for (const Stmt& s : seq) AppendFlat(s, &n->seq);
  } else {
    n->seq = std::move(seq);
  }
  if (n->seq.size() == 1) return n->seq[0];
  for (const Stmt& s : n->seq) n->depth = std::max(n->depth, s->depth);
  return Done(std::move(n));
}

Stmt MakeBind(Var var, PrimExpr value, Span span) {
  if (var->dtype != value->dtype) {
    Diag("type", "mixed-dtypes", span)
        .Message("the value bound to " + std::string(var->name) + " has another dtype")
        .Found(DTypeName(value->dtype))
        .Required(DTypeName(var->dtype))
        .Throw();
  }
  auto n = New<BindNode>(std::move(span));
  n->var = std::move(var);
  n->value = std::move(value);
  return Done(std::move(n));
}

Stmt MakeAllocBuffer(Buffer buffer, Span span) {
  auto n = New<AllocBufferNode>(std::move(span));
  n->buffer = std::move(buffer);
  return Done(std::move(n));
}

Stmt MakeDeclBuffer(Buffer buffer, Span span) {
  auto n = New<DeclBufferNode>(std::move(span));
  n->buffer = std::move(buffer);
  return Done(std::move(n));
}

Stmt MakeBufferStore(Buffer buffer, PrimExpr value, ffi::Array<PrimExpr> indices, Span span) {
  DType t = BufferLoad(buffer, indices, span)->dtype;  // checks the rank
  if (value->dtype != t) value = MakeCast(t, value, span);
  auto n = New<BufferStoreNode>(std::move(span));
  n->buffer = std::move(buffer);
  n->value = std::move(value);
  n->indices = std::move(indices);
  return Done(std::move(n));
}

Stmt MakeEvaluate(PrimExpr value, Span span) {
  auto n = New<EvaluateNode>(std::move(span));
  n->value = std::move(value);
  return Done(std::move(n));
}

Stmt MakeFor(Var loop_var, PrimExpr min, PrimExpr extent, ffi::String kind, Stmt body,
             ffi::Map<ffi::String, ffi::Any> annotations, Span span) {
  auto n = New<ForNode>(std::move(span));
  n->depth = body->depth + 1;
  DType t = loop_var->dtype;
  n->loop_var = std::move(loop_var);
  n->min = MakeCast(t, std::move(min));
  n->extent = MakeCast(t, std::move(extent));
  n->kind = std::move(kind);
  n->body = std::move(body);
  n->annotations = std::move(annotations);
  return Done(std::move(n));
}

Stmt MakeWhile(PrimExpr cond, Stmt body, Span span) {
  auto n = New<WhileNode>(std::move(span));
  n->depth = body->depth + 1;
  n->cond = std::move(cond);
  n->body = std::move(body);
  return Done(std::move(n));
}

Stmt MakeBreak(Span span) { return Done(New<BreakNode>(std::move(span))); }
Stmt MakeContinue(Span span) { return Done(New<ContinueNode>(std::move(span))); }
Stmt MakeDeviceEntry(Span span) { return Done(New<DeviceEntryNode>(std::move(span))); }

Stmt MakeIf(PrimExpr cond, Stmt then_case, ffi::Optional<Stmt> else_case, Span span) {
  auto n = New<IfThenElseNode>(std::move(span));
  n->depth = then_case->depth + 1;
  if (else_case.has_value()) n->depth = std::max(n->depth, else_case.value()->depth + 1);
  n->cond = std::move(cond);
  n->then_case = std::move(then_case);
  n->else_case = std::move(else_case);
  return Done(std::move(n));
}

Stmt MakeAssert(PrimExpr cond, ffi::String message, Span span) {
  auto n = New<AssertNode>(std::move(span));
  n->cond = std::move(cond);
  n->message = std::move(message);
  return Done(std::move(n));
}

Stmt MakeScopeIdDef(ffi::Array<Var> vars, ffi::String kind, ffi::Array<PrimExpr> extents,
                    ffi::Map<ffi::String, ffi::Any> attrs, Span span) {
  auto n = New<ScopeIdDefNode>(std::move(span));
  n->vars = std::move(vars);
  n->kind = std::move(kind);
  n->extents = std::move(extents);
  n->attrs = std::move(attrs);
  return Done(std::move(n));
}

Stmt MakeExecScope(ffi::String scope, Stmt body, Span span) {
  auto n = New<ExecScopeNode>(std::move(span));
  n->depth = body->depth + 1;
  n->scope = std::move(scope);
  n->body = std::move(body);
  return Done(std::move(n));
}

Stmt MakeFilter(PrimExpr cond, Stmt body, Span span) {
  auto n = New<FilterNode>(std::move(span));
  n->depth = body->depth + 1;
  n->cond = std::move(cond);
  n->body = std::move(body);
  return Done(std::move(n));
}

Stmt MakeAttrStmt(ffi::String key, ffi::Any value, Span span) {
  auto n = New<AttrStmtNode>(std::move(span));
  n->key = std::move(key);
  n->value = std::move(value);
  return Done(std::move(n));
}

Stmt MakeTilePrimitiveCall(ffi::String op, ffi::Array<ffi::Any> args, ffi::String scope,
                           ffi::String dispatch, ffi::Map<ffi::String, Buffer> workspace,
                           ffi::Map<ffi::String, ffi::Any> config, Span span) {
  auto n = New<TilePrimitiveCallNode>(std::move(span));
  n->op = std::move(op);
  n->args = std::move(args);
  n->scope = std::move(scope);
  n->dispatch = std::move(dispatch);
  n->workspace = std::move(workspace);
  n->config = std::move(config);
  return Done(std::move(n));
}

PrimFunc::PrimFunc(ffi::String name, ffi::Array<Var> params,
                   ffi::Array<ffi::Optional<Buffer>> param_buffers, Stmt body,
                   ffi::Map<ffi::String, ffi::Any> attrs, Span span)
    : ObjectRef(ffi::UnsafeInit{}) {
  TVM_FFI_CHECK(params.size() == param_buffers.size(), ValueError)
      << "params and param_buffers have different lengths";
  auto n = ffi::make_object<PrimFuncNode>();
  n->name = std::move(name);
  n->params = std::move(params);
  n->param_buffers = std::move(param_buffers);
  n->body = std::move(body);
  n->attrs = std::move(attrs);
  n->span = std::move(span);
  data_ = std::move(n);
}

IRModule::IRModule(ffi::Map<ffi::String, PrimFunc> functions,
                   ffi::Map<ffi::String, ffi::Any> attrs)
    : ObjectRef(ffi::UnsafeInit{}) {
  auto n = ffi::make_object<IRModuleNode>();
  n->functions = std::move(functions);
  n->attrs = std::move(attrs);
  data_ = std::move(n);
}

}  // namespace tirx
