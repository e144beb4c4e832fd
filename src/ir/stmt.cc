#include <tirx/expr/ops.h>
#include <tirx/ir/function.h>
#include <tirx/ir/stmt.h>
#include <tirx/support/diag.h>

#include <string>

#include "names.h"

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

namespace {

std::string Quoted(const ffi::String& s) { return "\"" + std::string(s) + "\""; }

/*! Raises unless `found` is one of `allowed` (comma separated in the message). */
void CheckOneOf(const char* what, const char* code, const ffi::String& found,
                std::initializer_list<const char*> allowed, const Span& span) {
  std::string list;
  for (const char* a : allowed) {
    if (found == a) return;
    list += (list.empty() ? "\"" : ", \"") + std::string(a) + "\"";
  }
  Diag("type", code, span)
      .Message(std::string("unknown ") + what)
      .Found(Quoted(found))
      .Required("one of " + list)
      .Throw();
}

void CheckScopeName(const ffi::String& scope, const Span& span) {
  CheckOneOf("execution scope", "unknown-scope", scope,
             {"thread", "warp", "warpgroup", "cta", "cluster"}, span);
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
  DType t = BufferLoad(buffer, indices, span)->dtype;  // checks the indices
  // A constant must be a value of the buffer; a computed value is converted as T.cast does.
  bool literal = value.as<IntImmNode>() != nullptr || value.as<FloatImmNode>() != nullptr;
  value = literal ? MakeLiteral(t, std::move(value), span) : ConvertTo(t, std::move(value), span);
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

namespace {

/*! A bound of a loop in the loop variable's dtype; never narrowed silently. */
PrimExpr LoopBound(const char* what, DType t, PrimExpr e, const Span& span) {
  CheckIndex(what, e, span);
  if (!AsInt(e) && e->dtype.bits > t.bits) {
    Diag("type", "mixed-dtypes", span)
        .Message(std::string(what) + " is wider than the loop variable")
        .Found(DTypeName(e->dtype))
        .Required(DTypeName(t) + " or narrower")
        .Throw();
  }
  return AsInt(e) ? MakeLiteral(t, std::move(e), span) : MakeCast(t, std::move(e), span);
}

}  // namespace

Stmt MakeFor(Var loop_var, PrimExpr min, PrimExpr extent, ffi::String kind, Stmt body,
             ffi::Map<ffi::String, ffi::Any> annotations, Span span) {
  CheckValue(annotations, span);
  CheckOneOf("loop kind", "unknown-loop-kind", kind, {"serial", "unroll", "vectorized", "parallel"},
             span);
  CheckIndex("a loop variable", loop_var, span);
  DType t = loop_var->dtype;
  min = LoopBound("the start of the loop", t, std::move(min), span);
  extent = LoopBound("the extent of the loop", t, std::move(extent), span);
  auto n = New<ForNode>(std::move(span));
  n->depth = body->depth + 1;
  n->loop_var = std::move(loop_var);
  n->min = std::move(min);
  n->extent = std::move(extent);
  n->kind = std::move(kind);
  n->body = std::move(body);
  n->annotations = std::move(annotations);
  return Done(std::move(n));
}

Stmt MakeWhile(PrimExpr cond, Stmt body, Span span) {
  cond = AsCondition(std::move(cond), span);
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
  cond = AsCondition(std::move(cond), span);
  auto n = New<IfThenElseNode>(std::move(span));
  n->depth = then_case->depth + 1;
  if (else_case.has_value()) n->depth = std::max(n->depth, else_case.value()->depth + 1);
  n->cond = std::move(cond);
  n->then_case = std::move(then_case);
  n->else_case = std::move(else_case);
  return Done(std::move(n));
}

Stmt MakeAssert(PrimExpr cond, ffi::String message, Span span) {
  cond = AsCondition(std::move(cond), span);
  auto n = New<AssertNode>(std::move(span));
  n->cond = std::move(cond);
  n->message = std::move(message);
  return Done(std::move(n));
}

Stmt MakeScopeIdDef(ffi::Array<Var> vars, ffi::String kind, ffi::Array<PrimExpr> extents,
                    ffi::Map<ffi::String, ffi::Any> attrs, Span span) {
  CheckOneOf("scope id", "unknown-scope-id", kind,
             {"cta_id", "cluster_id", "cta_id_in_cluster", "cta_id_in_pair", "warpgroup_id",
              "warp_id", "warp_id_in_wg", "thread_id", "thread_id_in_wg", "lane_id"},
             span);
  if (vars.empty() || (!extents.empty() && extents.size() != vars.size())) {
    Diag("type", "scope-id-arity", span)
        .Message("T." + std::string(kind) + " defines one name per extent")
        .Found(std::to_string(vars.size()) + " names and " + std::to_string(extents.size()) +
               " extents")
        .Required("as many names as extents, or no extents")
        .Throw();
  }
  CheckValue(attrs, span);
  for (const Var& v : vars) CheckIndex("a scope id", v, span);
  for (const PrimExpr& e : extents) CheckIndex("the extent of a scope id", e, span);
  auto n = New<ScopeIdDefNode>(std::move(span));
  n->vars = std::move(vars);
  n->kind = std::move(kind);
  n->extents = std::move(extents);
  n->attrs = std::move(attrs);
  return Done(std::move(n));
}

Stmt MakeExecScope(ffi::String scope, Stmt body, Span span) {
  CheckScopeName(scope, span);
  auto n = New<ExecScopeNode>(std::move(span));
  n->depth = body->depth + 1;
  n->scope = std::move(scope);
  n->body = std::move(body);
  return Done(std::move(n));
}

Stmt MakeFilter(PrimExpr cond, Stmt body, Span span) {
  cond = AsCondition(std::move(cond), span);
  auto n = New<FilterNode>(std::move(span));
  n->depth = body->depth + 1;
  n->cond = std::move(cond);
  n->body = std::move(body);
  return Done(std::move(n));
}

Stmt MakeAttrStmt(ffi::String key, ffi::Any value, Span span) {
  CheckValue(value, span);
  auto n = New<AttrStmtNode>(std::move(span));
  n->key = std::move(key);
  n->value = std::move(value);
  return Done(std::move(n));
}

Stmt MakeTilePrimitiveCall(ffi::String op, ffi::Array<ffi::Any> args, ffi::String scope,
                           ffi::String dispatch, ffi::Map<ffi::String, Buffer> workspace,
                           ffi::Map<ffi::String, ffi::Any> config, Span span) {
  if (scope.size() != 0) CheckScopeName(scope, span);
  CheckValue(args, span);
  CheckValue(config, span);
  auto n = New<TilePrimitiveCallNode>(std::move(span));
  n->op = std::move(op);
  n->args = std::move(args);
  n->scope = std::move(scope);
  n->dispatch = std::move(dispatch);
  n->workspace = std::move(workspace);
  n->config = std::move(config);
  return Done(std::move(n));
}

namespace {

/*! Generated code and printed text call the function by this name. */
void CheckName(const ffi::String& name, const Span& span) {
  if (NameTable::IsIdentifier(std::string(name))) return;
  Diag("type", "bad-function-name", span)
      .Message("this cannot be the name of a function")
      .Found(Quoted(name))
      .Required("ASCII letters, digits and _, not starting with a digit, and no Python keyword")
      .Throw();
}

void CheckParams(const ffi::String& name, const ffi::Array<Var>& params,
                 const ffi::Array<ffi::Optional<Buffer>>& buffers, const Span& span) {
  Diag d("type", "bad-parameters", span);
  d.Message("the parameters of " + std::string(name) + " and their buffers do not fit");
  if (params.size() != buffers.size()) {
    d.Found(std::to_string(params.size()) + " parameters and " + std::to_string(buffers.size()) +
            " buffers")
        .Required("one buffer, or none, per parameter")
        .Throw();
  }
  for (size_t i = 0; i < params.size(); ++i) {
    if (!buffers[i].has_value() || IsHandle(params[i]->dtype)) continue;
    d.Found("parameter " + std::string(params[i]->name) + " of " + DTypeName(params[i]->dtype))
        .Required("a handle, because it binds a buffer")
        .Throw();
  }
}

}  // namespace

PrimFunc::PrimFunc(ffi::String name, ffi::Array<Var> params,
                   ffi::Array<ffi::Optional<Buffer>> param_buffers, Stmt body,
                   ffi::Map<ffi::String, ffi::Any> attrs, Span span)
    : ObjectRef(ffi::UnsafeInit{}) {
  CheckName(name, span);
  CheckParams(name, params, param_buffers, span);
  CheckValue(attrs, span);
  auto n = ffi::make_object<PrimFuncNode>();
  n->name = std::move(name);
  n->params = std::move(params);
  n->param_buffers = std::move(param_buffers);
  n->body = std::move(body);
  n->attrs = std::move(attrs);
  n->span = std::move(span);
  data_ = std::move(n);
}

IRModule::IRModule(ffi::Map<ffi::String, PrimFunc> functions, ffi::Map<ffi::String, ffi::Any> attrs)
    : ObjectRef(ffi::UnsafeInit{}) {
  auto n = ffi::make_object<IRModuleNode>();
  n->functions = std::move(functions);
  n->attrs = std::move(attrs);
  data_ = std::move(n);
}

}  // namespace tirx
