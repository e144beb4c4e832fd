#include "checker.h"

#include <tirx/expr/ops.h>

namespace tirx {
namespace verify {
namespace {

constexpr size_t kMaxProblems = 20;

}  // namespace

void Checker::Report(const char* code, std::string message, std::string found,
                     std::string required) {
  if (problems_.size() >= kMaxProblems) return;
  problems_.push_back({code, std::move(message), std::move(found), std::move(required), span_});
}

std::vector<Problem> Checker::Run(const PrimFunc& func) {
  span_ = func->span;
  DefineParams(func);
  VisitStmt(func->body);
  return std::move(problems_);
}

// ---- names ----

void Checker::DefineFree(const Buffer& b) {
  struct Free : StmtVisitor {
    std::unordered_set<const VarNode*>* out;
    void VisitVar(const VarNode* v) override { out->insert(v); }
    void Run(const Buffer& b) { VisitBufferExprs(b); }
  } free;
  free.out = &visible_;
  free.Run(b);
}

void Checker::DefineParams(const PrimFunc& func) {
  for (const Var& v : func->params) visible_.insert(v.get());
  auto buffers = [&](const ffi::Array<ffi::Optional<Buffer>>& list) {
    for (const auto& b : list) {
      if (!b.has_value()) continue;
      visible_.insert(b.value()->data.get());
      DefineFree(b.value());
    }
  };
  buffers(func->param_buffers);
  auto signature = func->attrs.find("tirx.signature");
  if (signature != func->attrs.end()) {
    buffers((*signature).second.cast<ffi::Array<ffi::Optional<Buffer>>>());
  }
}

void Checker::Define(const Var& v) {
  if (!ever_.insert(v.get()).second) {
    Report("defined-twice", "'" + std::string(v->name) + "' is defined twice",
           "a second definition", "one definition per variable");
  }
  if (visible_.insert(v.get()).second) order_.push_back(v.get());
}

void Checker::Forget(size_t mark) {
  for (; order_.size() > mark; order_.pop_back()) visible_.erase(order_.back());
}

void Checker::VisitNested(const Stmt& s) {
  size_t mark = order_.size();
  VisitStmt(s);
  Forget(mark);
}

void Checker::VisitVar(const VarNode* v) {
  if (visible_.count(v)) return;
  Report("undefined-variable", "'" + std::string(v->name) + "' is not defined here",
         "a use outside of its sequence",
         "a use after its definition, in the same sequence or below");
}

// ---- statements ----

void Checker::VisitStmt(const Stmt& s) {
  Span outer = span_;
  if (s->span.defined()) span_ = s->span;
  const Row& row = Table()[static_cast<size_t>(KindOf(s))];
  if (!(row.stages & stage_)) {
    Report("illegal-statement", "a " + std::string(row.name) + " is not legal at this stage",
           row.name, "a statement of the stage");
  } else if (row.check != nullptr) {
    row.check(s.get(), this);
  }
  StmtVisitor::VisitStmt(s);
  span_ = outer;
}

void Checker::VisitBind(const BindNode* n) {
  VisitExpr(n->value);
  Define(n->var);
  if (IsHandle(n->var->dtype)) computed_.insert(n->var.get());
}

void Checker::VisitAllocBuffer(const AllocBufferNode* n) {
  VisitBufferExprs(n->buffer);
  Define(n->buffer->data);
  CheckBuffer(n->buffer);
}

void Checker::VisitDeclBuffer(const DeclBufferNode* n) {
  VisitBufferExprs(n->buffer);
  VisitBuffer(n->buffer);
  CheckBuffer(n->buffer);
  // Align 0 would promise what only parameters and allocations keep (ir/buffer.h).
  if (n->buffer->align > 0 || !computed_.count(n->buffer->data.get())) return;
  Report("view-without-alignment", "a view of a computed pointer that says no alignment",
         "align 0 of '" + std::string(n->buffer->name) + "'",
         "the bytes that divide its address, at least 1");
}

void Checker::VisitBuffer(const Buffer& b) { VisitVar(b->data.get()); }

void Checker::VisitBufferLoad(const BufferLoadNode* n) {
  CheckIndices(n->buffer, n->indices);
  StmtVisitor::VisitBufferLoad(n);
}

void Checker::VisitBufferStore(const BufferStoreNode* n) {
  CheckIndices(n->buffer, n->indices);
  StmtVisitor::VisitBufferStore(n);
}

void Checker::VisitCall(const CallNode* n) {
  CheckCall(n);
  StmtVisitor::VisitCall(n);
}

void Checker::VisitFor(const ForNode* n) {
  VisitExpr(n->min);
  VisitExpr(n->extent);
  size_t mark = order_.size();
  Define(n->loop_var);
  ++loops_;
  VisitStmt(n->body);
  --loops_;
  Forget(mark);
}

void Checker::VisitWhile(const WhileNode* n) {
  VisitExpr(n->cond);
  ++loops_;
  VisitNested(n->body);
  --loops_;
}

void Checker::VisitIfThenElse(const IfThenElseNode* n) {
  VisitExpr(n->cond);
  VisitNested(n->then_case);
  if (n->else_case.has_value()) VisitNested(n->else_case.value());
}

void Checker::VisitFilter(const FilterNode* n) {
  VisitExpr(n->cond);
  VisitNested(n->body);
}

void Checker::VisitScopeIdDef(const ScopeIdDefNode* n) {
  StmtVisitor::VisitScopeIdDef(n);
  for (const Var& v : n->vars) Define(v);
}

}  // namespace verify
}  // namespace tirx
