#include <tirx/expr/ops.h>
#include <tirx/passes/simplify.h>

#include <unordered_map>
#include <unordered_set>

#include "known_facts.h"
#include "purity.h"

namespace tirx {
namespace passes {
namespace {

class Simplifier : public FactMutator {
 public:
  using FactMutator::FactMutator;

 protected:
  PrimExpr VisitRoot(const PrimExpr& e) override { return analyzer().Simplify(e); }

  Stmt VisitFor(const For& s) override {
    PrimExpr min = VisitExpr(s->min), extent = VisitExpr(s->extent);
    auto n = AsInt(extent);
    if (n && *n <= 0) return MakeSeq({});
    if (n == 1 && !LeavesLoop(s->body)) return VisitStmt(Substitute(s->body, {{s->loop_var, min}}));
    analyzer().Bind(s->loop_var, Range(min, extent));
    Stmt body = VisitStmt(s->body);
    if (IsEmpty(body) && CanDrop(min) && CanDrop(extent)) return body;
    if (min.same_as(s->min) && extent.same_as(s->extent) && body.same_as(s->body)) return s;
    return MakeFor(s->loop_var, min, extent, s->kind, body, s->annotations, s->span);
  }

  Stmt VisitIfThenElse(const IfThenElse& s) override {
    PrimExpr cond = VisitExpr(s->cond);
    if (auto known = AsInt(cond)) {
      if (*known) return VisitStmt(s->then_case);
      return s->else_case.has_value() ? VisitStmt(s->else_case.value()) : MakeSeq({});
    }
    Stmt then_case = Given(cond, s->then_case);
    ffi::Optional<Stmt> else_case = s->else_case;
    if (else_case.has_value()) else_case = Given(MakeNot(cond), else_case.value());
    bool same_else = !else_case.has_value() || else_case.value().same_as(s->else_case.value());
    if (cond.same_as(s->cond) && then_case.same_as(s->then_case) && same_else) return s;
    return MakeTidyIf(cond, then_case, else_case, s->span);
  }

  Stmt VisitWhile(const While& s) override {
    PrimExpr cond = VisitExpr(s->cond);
    if (IsConst(cond, 0)) return MakeSeq({});
    Stmt body = Given(cond, s->body);
    if (cond.same_as(s->cond) && body.same_as(s->body)) return s;
    return MakeWhile(cond, body, s->span);
  }

  Stmt VisitAssert(const Assert& s) override {
    PrimExpr cond = VisitExpr(s->cond);
    if (IsConst(cond, 1)) return MakeSeq({});
    return cond.same_as(s->cond) ? Stmt(s) : MakeAssert(cond, s->message, s->span);
  }

  Stmt VisitEvaluate(const Evaluate& s) override {
    PrimExpr value = VisitExpr(s->value);
    if (CanDrop(value)) return MakeSeq({});
    return value.same_as(s->value) ? Stmt(s) : MakeEvaluate(value, s->span);
  }
};

// ---- definitions that nothing uses ----------------------------------------------------------

using ObjectSet = std::unordered_set<const ffi::Object*>;

/*! Which variables and buffers are needed: those that statements use, and those that needed lets
 *  use. The value of a droppable let counts only when its variable is needed. */
class Liveness : public StmtVisitor {
 public:
  bool Needs(const ffi::Object* o) const { return live_.count(o) != 0; }

  void Run(const Stmt& body) {
    VisitStmt(body);
    while (!pending_.empty()) {
      const ffi::Object* o = pending_.back();
      pending_.pop_back();
      for (const ffi::Object* used : uses_of_[o]) Mark(used);
    }
  }

 protected:
  void VisitVar(const VarNode* v) override { Use(v); }
  void VisitBuffer(const Buffer& b) override {
    Use(b.get());
    Use(b->data.get());
    VisitBufferExprs(b);
  }
  void VisitBind(const BindNode* n) override {
    const ffi::Object* outer = owner_;
    if (CanDrop(n->value)) owner_ = n->var.get();
    VisitExpr(n->value);
    owner_ = outer;
  }
  void VisitAllocBuffer(const AllocBufferNode* n) override { VisitBufferExprs(n->buffer); }
  void VisitDeclBuffer(const DeclBufferNode* n) override { VisitBufferExprs(n->buffer); }

 private:
  void Use(const ffi::Object* o) {
    if (owner_ == nullptr)
      Mark(o);
    else
      uses_of_[owner_].push_back(o);
  }
  void Mark(const ffi::Object* o) {
    if (live_.insert(o).second) pending_.push_back(o);
  }
  const ffi::Object* owner_{nullptr};
  std::unordered_map<const ffi::Object*, std::vector<const ffi::Object*>> uses_of_;
  std::vector<const ffi::Object*> pending_;
  ObjectSet live_;
};

class DeadCode : public StmtMutator {
 public:
  explicit DeadCode(const Liveness& live) : live_(live) {}

 protected:
  PrimExpr VisitExpr(const PrimExpr& e) override { return e; }
  Stmt VisitBind(const Bind& s) override {
    return live_.Needs(s->var.get()) || !CanDrop(s->value) ? Stmt(s) : MakeSeq({});
  }
  Stmt VisitAllocBuffer(const AllocBuffer& s) override {
    bool needed = s->buffer->scope != "local" || live_.Needs(s->buffer->data.get());
    return needed ? Stmt(s) : MakeSeq({});
  }
  Stmt VisitDeclBuffer(const DeclBuffer& s) override {
    return live_.Needs(s->buffer.get()) ? Stmt(s) : MakeSeq({});
  }
  Stmt VisitFor(const For& s) override {
    Stmt body = VisitStmt(s->body);
    if (IsEmpty(body) && CanDrop(s->min) && CanDrop(s->extent)) return body;
    if (body.same_as(s->body)) return s;
    return MakeFor(s->loop_var, s->min, s->extent, s->kind, body, s->annotations, s->span);
  }
  Stmt VisitIfThenElse(const IfThenElse& s) override {
    Stmt then_case = VisitStmt(s->then_case);
    ffi::Optional<Stmt> else_case = s->else_case;
    if (else_case.has_value()) else_case = VisitStmt(else_case.value());
    bool same_else = !else_case.has_value() || else_case.value().same_as(s->else_case.value());
    if (then_case.same_as(s->then_case) && same_else && !IsEmpty(then_case)) return s;
    return MakeTidyIf(s->cond, then_case, else_case, s->span);
  }
  Stmt VisitBufferStore(const BufferStore& s) override { return s; }
  Stmt VisitEvaluate(const Evaluate& s) override { return s; }

 private:
  const Liveness& live_;
};

}  // namespace

/*! Removing a loop can free the names that its bounds used: repeat until nothing goes. */
static Stmt RemoveDeadCode(Stmt body) {
  while (true) {
    Liveness live;
    live.Run(body);
    Stmt out = DeadCode(live)(body);
    if (out.same_as(body)) return out;
    body = out;
  }
}

PrimFunc Simplify(const PrimFunc& func) {
  Simplifier simplify(func);
  return RewriteDevice(func, [&](const Stmt& s) { return RemoveDeadCode(simplify(s)); });
}

}  // namespace passes
}  // namespace tirx
