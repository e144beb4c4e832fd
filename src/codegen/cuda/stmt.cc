/*!
 * Statements.
 */
#include <tirx/expr/ops.h>
#include <tirx/support/diag.h>

#include <algorithm>

#include "cuda_printer.h"
#include "types.h"

namespace tirx {
namespace codegen {
namespace {

/*! The constant extent of a flat allocation. */
int64_t ExtentOf(const BufferNode* b) {
  auto extent = b->shape.size() == 1 ? AsInt(b->shape[0]) : std::nullopt;
  if (extent && *extent > 0) return *extent;
  Diag("verify", "codegen-alloc", b->span)
      .Message("allocation `" + std::string(b->name) + "` has no constant size")
      .Required("one constant extent (native stage)")
      .Throw();
}

int64_t ArrayLength(const BufferNode* b) {
  return IsPacked(b->dtype) ? StorageBytes(b->dtype, ExtentOf(b)) : ExtentOf(b);
}

bool Reads(const PrimExpr& e, const VarNode* data) {
  class Finder : public StmtVisitor {
   public:
    const VarNode* wanted;
    bool found = false;

   protected:
    void VisitBuffer(const Buffer& b) override { found |= b->data.get() == wanted; }
    void VisitVar(const VarNode* n) override { found |= n == wanted; }
  } finder;
  finder.wanted = data;
  finder.VisitExpr(e);
  return finder.found;
}

}  // namespace

void CudaPrinter::Finish(const Span& span) {
  out_.text += ";";
  if (options_.spans && span.defined()) {
    out_.text += "  // " + std::string(span->file) + ":" + std::to_string(span->line);
  }
  out_.End();
}

void CudaPrinter::PrintStmt(const Stmt& s) {
  switch (KindOf(s)) {
    case StmtKind::kSeqStmt: return PrintSequence(s.as<SeqStmtNode>());
    case StmtKind::kBind: return PrintBind(s.as<BindNode>());
    case StmtKind::kAllocBuffer: return PrintAlloc(s.as<AllocBufferNode>(), nullptr);
    case StmtKind::kDeclBuffer: return PrintDecl(s.as<DeclBufferNode>());
    case StmtKind::kBufferStore: return PrintStore(s.as<BufferStoreNode>());
    case StmtKind::kEvaluate: return PrintEvaluate(s.as<EvaluateNode>());
    case StmtKind::kFor: return PrintFor(s.as<ForNode>());
    case StmtKind::kWhile: return PrintWhile(s.as<WhileNode>());
    case StmtKind::kIfThenElse: return PrintIf(s.as<IfThenElseNode>());
    case StmtKind::kAssert: return PrintAssert(s.as<AssertNode>());
    case StmtKind::kBreak: return out_.Line("break;");
    case StmtKind::kContinue: return out_.Line("continue;");
    default: break;
  }
  Diag("verify", "codegen-stmt", s->span)
      .Message("a statement of this kind cannot be printed as CUDA C++")
      .Found(std::string(s->GetTypeKey()))
      .Required("a native-stage statement")
      .Hint("lower the function first")
      .Throw();
}

void CudaPrinter::PrintSequence(const SeqStmtNode* n) {
  for (size_t i = 0; i < n->seq.size(); ++i) {
    auto* alloc = n->seq[i].as<AllocBufferNode>();
    auto* store = alloc && i + 1 < n->seq.size() ? n->seq[i + 1].as<BufferStoreNode>() : nullptr;
    if (store && store->buffer.same_as(alloc->buffer) &&
        !Reads(store->value, alloc->buffer->data.get())) {
      PrintAlloc(alloc, store);
      i += initialised_;
    } else {
      PrintStmt(n->seq[i]);
    }
  }
}

/*! `{ ... }` around s, from the opening brace on the current line. */
void CudaPrinter::PrintBlock(const Stmt& s) {
  out_.text += " {";
  out_.End();
  out_.Indent();
  names_.Open();
  PrintStmt(s);
  names_.Close();
  out_.Dedent();
  out_.Begin();
  out_.text += "}";
}

void CudaPrinter::PrintBind(const BindNode* n) {
  bool used = usage_.references[n->var.get()] > 0;
  if (!used && IsPure(n->value)) return;
  DType t = n->var->dtype;
  if (IsInteger(t) && t.lanes == 1) analyzer_.Bind(n->var, launch_ids_(n->value));
  out_.Begin();
  // A launch id is unsigned in C++; a definition converts it without a cast.
  std::string value = Text(n->value, kAssign);
  auto* call = n->value.as<CallNode>();
  if (call && value.compare(0, 5, "(int)") == 0 && call->op.starts_with("tx.")) value.erase(0, 5);
  if (used) {
    std::string name = names_.Define(std::string(n->var->name));
    vars_[n->var.get()] = name;
    out_.text += IsHandle(t) ? PointerType(n->var) + " *" : "const " + VectorType(t) + " ";
    out_.text += name + " = ";
    if (IsHandle(t)) out_.text += "(" + PointerType(n->var) + " *)";
  }
  out_.text += value;
  Finish(n->span);
}

std::string CudaPrinter::PointerType(const Var& v) {
  return v->pointer.defined() ? CType(v->pointer->element) : "void";
}

void CudaPrinter::PrintAlloc(const AllocBufferNode* n, const BufferStoreNode* first_store) {
  const Buffer& b = n->buffer;
  const StorageUse& use = usage_.storage[b->data.get()];
  initialised_ = false;
  if (!use.Used()) return;
  std::string name = names_.Define(std::string(b->name));
  vars_[b->data.get()] = name;
  owners_.insert_or_assign(b->data.get(), b);
  out_.Begin();
  if (b->scope != "local") {
    out_.text += SharedStorage(b, name);
    return Finish(n->span);
  }
  if (use.reads <= 0) out_.text += "[[maybe_unused]] ";
  int64_t align = std::max<int64_t>(use.align, b->align);
  if (align > StorageBytes(b->dtype, 1)) {
    out_.text += "alignas(" + std::to_string(align) + ") ";
  }
  bool scalar = IsScalar(b.get());
  out_.text += (scalar ? CType(b->dtype) : StorageType(b->dtype)) + " " + name;
  if (!scalar) out_.text += "[" + std::to_string(ArrayLength(b.get())) + "]";
  if (scalar && first_store && first_store->value.dtype().lanes == 1) {
    initialised_ = true;
    out_.text += " = " + Text(first_store->value, kAssign);
  }
  Finish(n->span);
}

/*! Declaration of a buffer in shared memory: a static array or a place in the dynamic arena. */
std::string CudaPrinter::SharedStorage(const Buffer& b, const std::string& name) {
  int64_t align = std::max<int64_t>({usage_.storage[b->data.get()].align, b->align, 16});
  std::string type = StorageType(b->dtype);
  if (b->scope == "shared") {
    return "__shared__ __align__(" + std::to_string(align) + ") " + type + " " + name + "[" +
           std::to_string(ArrayLength(b.get())) + "]";
  }
  int64_t address = b->allocated_addr ? AsInt(b->allocated_addr.value()).value_or(-1) : -1;
  if (b->scope != "shared.dyn" || address < 0) {
    Diag("target", "codegen-scope", b->span)
        .Message("buffer `" + std::string(b->name) + "` cannot be allocated in CUDA C++")
        .Found("scope " + std::string(b->scope))
        .Required("local, shared, or shared.dyn with an address")
        .Throw();
  }
  arena_align_ = std::max(arena_align_, align);
  std::string place = address == 0 ? "smem" : "(smem + " + std::to_string(address) + ")";
  return type + " *" + name + " = (" + type + " *)" + place;
}

void CudaPrinter::PrintDecl(const DeclBufferNode* n) {
  const Buffer& b = n->buffer;
  if (!usage_.buffers.count(b.get())) return;
  std::string base = BaseOf(b);
  auto owner = owners_.find(b->data.get());
  bool same =
      owner != owners_.end() && owner->second->dtype == b->dtype && IsConst(b->elem_offset, 0);
  if (same) return;
  std::string name = names_.Define(std::string(b->name));
  std::string constant = IsConstStorage(b) ? "const " : "";
  if (base.front() == '(' && base.back() == ')') base = base.substr(1, base.size() - 2);
  out_.Begin();
  out_.text += constant + StorageType(b->dtype) + " *" + name + " = " + base;
  aliases_[b.get()] = name;
  Finish(n->span);
}

void CudaPrinter::PrintStore(const BufferStoreNode* n) {
  out_.Begin();
  if (n->value.dtype().lanes > 1) {
    VectorStore(n);
  } else if (IsPacked(n->buffer->dtype) && !IsScalar(n->buffer.get())) {
    NibbleStore(n);
  } else {
    Element(n->buffer, n->indices, kPrimary);
    out_.text += " = ";
    Expr(n->value, kAssign);
  }
  Finish(n->span);
}

/*! A byte holds two elements: storing one reads the other, which only a thread's own memory allows.
 */
void CudaPrinter::NibbleStore(const BufferStoreNode* n) {
  if (n->buffer->scope != "local") {
    Diag("target", "codegen-subbyte", n->span)
        .Message("one " + DTypeName(n->buffer->dtype) +
                 " cannot be stored to memory that threads share")
        .Found("a store of one element to `" + std::string(n->buffer->name) + "`, scope " +
               std::string(n->buffer->scope))
        .Required("a store of an even number of elements, which are whole bytes")
        .Throw();
  }
  out_.text += UseHelper("store_nibble") + "(" + BaseOf(n->buffer) + ", ";
  Arguments({n->indices[0], n->value});
  out_.text += ")";
}

void CudaPrinter::PrintEvaluate(const EvaluateNode* n) {
  if (IsPure(n->value)) return;
  out_.Begin();
  Expr(n->value, kComma);
  Finish(n->span);
}

namespace {

/*! Whether a loop's body could change the value of `e`: it reads memory or calls for effects. */
bool MayChange(const PrimExpr& e) {
  struct Finder : StmtVisitor {
    bool found{false};
    void VisitBufferLoad(const BufferLoadNode*) override { found = true; }
    void VisitCall(const CallNode* n) override {
      found = found || !IsPureIntrinsic(n->op);
      StmtVisitor::VisitCall(n);
    }
  } finder;
  finder(e);
  return finder.found;
}

}  // namespace

void CudaPrinter::PrintFor(const ForNode* n) {
  if (n->kind != "serial" && n->kind != "unroll") {
    Diag("verify", "codegen-loop", n->span)
        .Message("a loop of kind `" + std::string(n->kind) + "` cannot be printed as CUDA C++")
        .Required("serial or unroll (native stage)")
        .Throw();
  }
  std::string end;
  if (MayChange(n->min) || MayChange(n->extent)) {
    // C++ would evaluate the bound again on every turn; a loop of the IR has one number of turns.
    end = names_.Define(std::string(n->loop_var->name) + "_end");
    out_.Line("const " + CType(n->loop_var->dtype) + " " + end + " = " +
              Text(n->min + n->extent, kAssign) + ";");
  }
  if (n->kind == "unroll") out_.Line("#pragma unroll");
  names_.Open();
  analyzer_.Bind(n->loop_var, Range(n->min, n->extent));
  std::string lower = Text(n->min, kAssign);
  std::string upper = end.empty() ? Text(n->min + n->extent, kRelation + 1) : end;
  std::string name = names_.Define(std::string(n->loop_var->name));
  vars_[n->loop_var.get()] = name;
  out_.Begin();
  out_.text += "for (" + CType(n->loop_var->dtype) + " " + name + " = " + lower + "; " + name +
               " < " + upper + "; ++" + name + ")";
  PrintBlock(n->body);
  out_.End();
  names_.Close();
}

void CudaPrinter::PrintWhile(const WhileNode* n) {
  out_.Begin();
  out_.text += "while (";
  Expr(n->cond, kComma);
  out_.text += ")";
  PrintBlock(n->body);
  out_.End();
}

void CudaPrinter::PrintIf(const IfThenElseNode* n) {
  out_.Begin();
  while (true) {
    out_.text += "if (";
    Expr(n->cond, kComma);
    out_.text += ")";
    {
      arith::WithConstraint inside(analyzer_, launch_ids_(n->cond));
      PrintBlock(n->then_case);
    }
    if (!n->else_case.has_value()) break;
    out_.text += " else";
    auto* next = n->else_case.value().as<IfThenElseNode>();
    if (!next) {
      PrintBlock(n->else_case.value());
      break;
    }
    out_.text += " ";
    n = next;
  }
  out_.End();
}

void CudaPrinter::PrintAssert(const AssertNode* n) {
  std::string message(n->message);
  std::replace(message.begin(), message.end(), '\n', ' ');
  out_.Begin();
  out_.text += "if (!(";
  Expr(n->cond, kComma);
  out_.text += ")) __trap();  // " + message;
  while (out_.text.back() == '\\' || out_.text.back() == ' ') out_.text.pop_back();
  out_.End();
}

}  // namespace codegen
}  // namespace tirx
