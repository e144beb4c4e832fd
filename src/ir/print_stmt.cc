#include "print_stmt.h"

#include <tirx/expr/ops.h>
#include <tirx/ir/printer.h>

#include <algorithm>
#include <vector>

namespace tirx {
namespace {

/*! Expressions larger than this are searched for shared parts of at least kSharedSize nodes. */
constexpr int kSearchSize = 2000;
constexpr int kSharedSize = 32;

class SharedParts : public StmtVisitor {
 public:
  explicit SharedParts(std::unordered_set<const PrimExprNode*>* shared) : shared_(shared) {}
  void VisitExpr(const PrimExpr& e) override {
    if (e->size < kSharedSize) return;
    if (seen_.insert(e.get()).second) {
      StmtVisitor::VisitExpr(e);
    } else {
      shared_->insert(e.get());
    }
  }

 private:
  std::unordered_set<const PrimExprNode*>* shared_;
  std::unordered_set<const PrimExprNode*> seen_;
};

class FreeVars : public StmtVisitor {
 public:
  explicit FreeVars(const NameTable& names) : names_(names) {}
  void Find(const Buffer& b) { VisitBufferExprs(b); }
  std::vector<Var> vars;

 private:
  void VisitVar(const VarNode* n) override {
    if (names_.Find(n) == nullptr && seen_.insert(n).second) vars.push_back(GetRef<Var>(n));
  }
  const NameTable& names_;
  std::unordered_set<const VarNode*> seen_;
};

}  // namespace

// ---- lines ----

void ScriptPrinter::End() {
  out_.append(4 * indent_, ' ');
  out_ += line_;
  out_ += '\n';
  line_.clear();
  shared_.clear();
  hoisted_.clear();
}

void ScriptPrinter::Line(const std::string& text) {
  line_ += text;
  End();
}

std::string ScriptPrinter::Hoist(const PrimExpr& e) {
  if (!lines_) return "";
  auto it = hoisted_.find(e.get());
  if (it != hoisted_.end()) return it->second;
  std::string rest;
  int brackets = 0;
  std::swap(rest, line_);
  std::swap(brackets, brackets_);
  Dispatch(e, Prec::kAny, Literal::kExplicit);
  std::swap(rest, line_);
  std::swap(brackets, brackets_);
  std::string name = names_.Fresh("part");
  out_.append(4 * indent_, ' ');
  out_ += name + " = T.meta_var(" + rest + ")\n";
  hoisted_.emplace(e.get(), name);
  return name;
}

void ScriptPrinter::Root(const PrimExpr& e, Literal literal) {
  if (lines_ && e->size > kSearchSize) SharedParts(&shared_).VisitExpr(e);
  Expr(e, Prec::kAny, literal);
}

// ---- statements ----

void ScriptPrinter::Statement(const Stmt& s) {
  if (Done()) return;
  const StmtNode* n = s.get();
  switch (KindOf(s)) {
    case StmtKind::kSeqStmt: return Sequence(static_cast<const SeqStmtNode*>(n));
    case StmtKind::kBind: return BindText(static_cast<const BindNode*>(n));
    case StmtKind::kAllocBuffer:
      return Definition("alloc_buffer", static_cast<const AllocBufferNode*>(n)->buffer, false);
    case StmtKind::kDeclBuffer:
      return Definition("decl_buffer", static_cast<const DeclBufferNode*>(n)->buffer, true);
    case StmtKind::kBufferStore: return Store(static_cast<const BufferStoreNode*>(n));
    case StmtKind::kEvaluate: return Evaluation(static_cast<const EvaluateNode*>(n));
    case StmtKind::kFor: return Loop(static_cast<const ForNode*>(n));
    case StmtKind::kWhile:
      line_ += "while ";
      Root(static_cast<const WhileNode*>(n)->cond);
      Line(":");
      return Block(static_cast<const WhileNode*>(n)->body);
    case StmtKind::kBreak: return Line("break");
    case StmtKind::kContinue: return Line("continue");
    case StmtKind::kIfThenElse: return Branch(static_cast<const IfThenElseNode*>(n), "if ");
    case StmtKind::kAssert: return AssertText(static_cast<const AssertNode*>(n));
    case StmtKind::kScopeIdDef: return ScopeIds(static_cast<const ScopeIdDefNode*>(n));
    case StmtKind::kExecScope: {
      auto* scope = static_cast<const ExecScopeNode*>(n);
      Line("with T." + std::string(scope->scope) + "():");
      return Block(scope->body);
    }
    case StmtKind::kFilter: return FilterText(static_cast<const FilterNode*>(n));
    case StmtKind::kDeviceEntry: return Line("T.device_entry()");
    case StmtKind::kAttrStmt: {
      auto* attr = static_cast<const AttrStmtNode*>(n);
      line_ += "T.attr({" + Quote(View(attr->key)) + ": ";
      Value(attr->value);
      return Line("})");
    }
    case StmtKind::kTilePrimitiveCall:
      return TileCall(static_cast<const TilePrimitiveCallNode*>(n));
    case StmtKind::kOther: return Line("<" + s->GetTypeKey() + ">");
  }
}

void ScriptPrinter::Sequence(const SeqStmtNode* n) {
  if (n->seq.empty()) return Line("pass");
  for (const Stmt& s : n->seq) {
    if (Done()) return;
    Statement(s);
  }
}

void ScriptPrinter::Block(const Stmt& body) {
  ++indent_;
  Statement(body);
  --indent_;
}

void ScriptPrinter::BindText(const BindNode* n) {
  std::string type;
  if (IsHandle(n->var->dtype)) {
    type = "[T.handle";
    if (const PointerTypeNode* p = n->var->pointer.get()) {
      type += "(" + Quote(DTypeName(p->element)) + ", " + Quote(View(p->scope)) + ")";
    }
    type += "]";
  }
  Root(n->value);
  std::string value;
  std::swap(value, line_);
  Line(NameOf(n->var) + ": T.let" + type + " = " + value);
}

void ScriptPrinter::BufferFields(const Buffer& b, bool view) {
  Tuple(b->shape);
  line_ += ", " + Quote(DTypeName(b->dtype));
  const PointerTypeNode* pointer = view ? b->data->pointer.get() : nullptr;
  bool implied = pointer ? pointer->scope == b->scope : b->scope == "global";
  if (!implied) line_ += ", scope=" + Quote(View(b->scope));
  if (b->layout.defined()) {
    line_ += ", layout=";
    LayoutText(b->layout);
  }
  if (!IsConst(b->elem_offset, 0) || b->elem_offset->dtype != kInt32) {
    line_ += ", elem_offset=";
    Expr(b->elem_offset);
  }
  if (b->align != 0) line_ += ", align=" + std::to_string(b->align);
  if (b->allocated_addr.has_value()) {
    line_ += ", allocated_addr=";
    Expr(*b->allocated_addr);
  }
}

void ScriptPrinter::Definition(const char* function, const Buffer& b, bool view) {
  line_ += std::string("T.") + function + "(";
  BufferFields(b, view);
  const std::string* data = names_.Find(b->data.get());
  if (view) line_ += ", data=" + NameOf(b->data);
  std::string value;
  std::swap(value, line_);
  const std::string& name = NameOf(b);
  if (data == nullptr && !view) names_.Alias(b->data.get(), name + ".data");
  Line(name + " = " + value + ")");
}

void ScriptPrinter::Store(const BufferStoreNode* n) {
  line_ += NameOf(n->buffer);
  Indices(n->indices);
  line_ += " = ";
  Root(n->value, Literal::kAdapts);
  End();
}

void ScriptPrinter::Evaluation(const EvaluateNode* n) {
  bool alone = n->value.as<CallNode>() != nullptr;
  if (!alone) line_ += "T.evaluate(";
  Root(n->value);
  Line(alone ? "" : ")");
}

void ScriptPrinter::LoopRange(const ForNode* n) {
  line_ += "T." + std::string(n->kind) + "(";
  DType t = n->loop_var->dtype;
  Literal literal = t == kInt32 ? Literal::kDefault : Literal::kAdapts;
  auto lo = AsInt(n->min), count = AsInt(n->extent);
  if (lo != 0) {
    Expr(n->min, Prec::kAny, literal);
    line_ += ", ";
  }
  if (lo == 0) {
    Expr(n->extent, Prec::kAny, literal);
  } else if (lo && count && FoldInt(BinOp::kAdd, t, *lo, *count)) {
    Expr(n->min + n->extent, Prec::kAny, literal);
  } else {
    Expr(n->min, Prec::kSum, literal);
    line_ += " + ";
    Expr(n->extent, Prec::kProduct, literal);
  }
  if (t != kInt32) line_ += ", dtype=" + Quote(DTypeName(t));
  if (!n->annotations.empty()) {
    line_ += ", annotations=";
    Value(n->annotations);
  }
  line_ += ")";
}

void ScriptPrinter::Loop(const ForNode* n) {
  LoopRange(n);
  std::string range;
  std::swap(range, line_);
  Line("for " + NameOf(n->loop_var) + " in " + range + ":");
  Block(n->body);
  names_.Release(n->loop_var.get());
}

void ScriptPrinter::Branch(const IfThenElseNode* n, const char* keyword) {
  line_ += keyword;
  Root(n->cond);
  Line(":");
  Block(n->then_case);
  if (!n->else_case.has_value()) return;
  Stmt other = n->else_case.value();
  auto* next = other.as<IfThenElseNode>();
  // A condition that needs lines before it cannot follow `elif`.
  if (next && next->cond->depth <= kMaxBrackets && next->cond->size <= kSearchSize) {
    return Branch(next, "elif ");
  }
  Line("else:");
  Block(other);
}

void ScriptPrinter::AssertText(const AssertNode* n) {
  line_ += "assert ";
  Root(n->cond);
  if (n->message.size() != 0) line_ += ", " + Quote(View(n->message));
  End();
}

void ScriptPrinter::ScopeIds(const ScopeIdDefNode* n) {
  std::string names;
  for (const Var& v : n->vars) names += (names.empty() ? "" : ", ") + NameOf(v);
  line_ += names + " = T." + std::string(n->kind) + "(";
  if (!n->extents.empty()) {
    line_ += "[";
    ExprList(n->extents);
    line_ += "]";
  }
  const char* comma = n->extents.empty() ? "" : ", ";
  DType t = n->vars[0]->dtype;
  if (t != kInt32) {
    line_ += comma + ("dtype=" + Quote(DTypeName(t)));
    comma = ", ";
  }
  Keywords(n->attrs, comma);
  Line(")");
}

void ScriptPrinter::FilterText(const FilterNode* n) {
  line_ += "with T.filter(";
  Root(n->cond);
  Line("):");
  Block(n->body);
}

void ScriptPrinter::TileCall(const TilePrimitiveCallNode* n) {
  line_ += "Tx.";
  if (n->scope.size() != 0) line_ += std::string(n->scope) + ".";
  line_ += std::string(n->op) + "(";
  const char* comma = "";
  for (const ffi::Any& a : n->args) {
    line_ += comma;
    Value(a);
    comma = ", ";
  }
  ffi::Map<ffi::String, ffi::Any> keywords = n->config;
  if (n->dispatch.size() != 0) {
    line_ += comma + ("dispatch=" + Quote(View(n->dispatch)));
    comma = ", ";
  }
  if (!n->workspace.empty()) {
    line_ += std::string(comma) + "workspace=";
    Value(n->workspace);
    comma = ", ";
  }
  Keywords(n->config, comma);
  Line(")");
}

// ---- functions ----

void ScriptPrinter::Parameters(const PrimFunc& f) {
  const char* comma = "";
  for (const Var& p : f->params) {
    line_ += comma + NameOf(p) + ": T." + (IsHandle(p->dtype) ? "handle" : DTypeName(p->dtype));
    if (const PointerTypeNode* t = p->pointer.get()) {
      line_ += "(" + Quote(DTypeName(t->element)) + ", " + Quote(View(t->scope)) + ")";
    }
    comma = ", ";
  }
}

void ScriptPrinter::Symbols(const Buffer& b) {
  FreeVars free(names_);
  free.Find(b);
  for (const Var& v : free.vars) Line(NameOf(v) + " = T." + DTypeName(v->dtype) + "()");
}

void ScriptPrinter::ParameterBuffers(const PrimFunc& f) {
  for (size_t i = 0; i < f->params.size(); ++i) {
    if (!f->param_buffers[i].has_value()) continue;
    Buffer b = f->param_buffers[i].value();
    Symbols(b);
    line_ += "T.match_buffer(" + NameOf(f->params[i]) + ", ";
    BufferFields(b, false);
    bool own = !b->data.same_as(f->params[i]);
    if (!own) line_ += ", data=" + NameOf(b->data);
    std::string value;
    std::swap(value, line_);
    const std::string& name = NameOf(b);
    if (own) names_.Alias(b->data.get(), name + ".data");
    Line(name + " = " + value + ")");
  }
}

void ScriptPrinter::Decorated(const PrimFunc& f) {
  Line("@T.prim_func");
  line_ += "def " + std::string(f->name) + "(";
  Parameters(f);
  Line("):");
  ++indent_;
  if (!f->attrs.empty()) {
    line_ += "T.func_attr(";
    Value(f->attrs);
    Line(")");
  }
  ParameterBuffers(f);
  Statement(f->body);
  --indent_;
}

void ScriptPrinter::Function(const PrimFunc& f) {
  names_ = NameTable();
  Decorated(f);
}

void ScriptPrinter::Module(const IRModuleNode* n) {
  std::vector<std::pair<std::string, PrimFunc>> functions;
  for (const auto& [name, f] : n->functions) functions.emplace_back(std::string(name), f);
  std::sort(functions.begin(), functions.end(), [](auto& a, auto& b) { return a.first < b.first; });
  bool first = n->attrs.empty();
  if (!n->attrs.empty()) {
    line_ += "T.module_attr(";
    Value(n->attrs);
    Line(")");
  }
  for (const auto& [name, f] : functions) {
    if (!first) out_ += "\n\n";
    first = false;
    Function(f);
  }
}

void ScriptPrinter::KernelText(const KernelNode* n) {
  Function(n->host);
  out_ += "\n\n";
  Function(n->device);
}

std::string ScriptPrinter::Print(const ffi::Any& node, bool lines) {
  lines_ = lines;
  if (auto* s = node.as<StmtNode>()) {
    Statement(GetRef<Stmt>(s));
  } else if (auto* f = node.as<PrimFuncNode>()) {
    Function(GetRef<PrimFunc>(f));
  } else if (auto* m = node.as<IRModuleNode>()) {
    Module(m);
  } else if (auto* k = node.as<KernelNode>()) {
    KernelText(k);
  } else if (auto* e = node.as<PrimExprNode>()) {
    Root(GetRef<PrimExpr>(e), Literal::kDefault);
  } else if (auto* b = node.as<BufferNode>()) {
    line_ += NameOf(GetRef<Buffer>(b)) + ": T.Buffer(";
    BufferFields(GetRef<Buffer>(b), false);
    line_ += ")";
  } else {
    Value(node);
  }
  std::string text = out_ + line_;
  if (!lines) text = text.substr(0, text.find('\n'));
  if (text.size() > limit_) text = text.substr(0, limit_ < 3 ? 0 : limit_ - 3) + "...";
  return text;
}

std::string PrintScript(const ffi::Any& node, size_t limit) {
  return ScriptPrinter(limit).Print(node, true);
}

std::string PrintShort(const ffi::Any& node, size_t limit) {
  return ScriptPrinter(limit).Print(node, false);
}

}  // namespace tirx
