#include <tirx/expr/ops.h>
#include <tirx/ir/functor.h>
#include <tirx/passes/unroll_loops.h>
#include <tirx/support/diag.h>

#include <string>
#include <unordered_map>

#include "known_facts.h"
#include "purity.h"

namespace tirx {
namespace passes {
namespace {

constexpr int64_t kMaxCopies = 1024;

/*! A copy of a loop body for one value of its variable: every definition in it is new. */
class Iteration : public StmtMutator {
 public:
  Iteration(const Var& v, PrimExpr value) { values_.emplace(v.get(), std::move(value)); }

 protected:
  PrimExpr VisitVar(const Var& v) override {
    auto it = values_.find(v.get());
    return it == values_.end() ? PrimExpr(v) : it->second;
  }
  Stmt VisitBind(const Bind& s) override {
    PrimExpr value = VisitExpr(s->value);
    return MakeBind(Fresh(s->var), value, s->span);
  }
  Stmt VisitFor(const For& s) override {
    PrimExpr min = VisitExpr(s->min), extent = VisitExpr(s->extent);
    Var v = Fresh(s->loop_var);
    return MakeFor(v, min, extent, s->kind, VisitStmt(s->body), s->annotations, s->span);
  }
  Stmt VisitAllocBuffer(const AllocBuffer& s) override {
    Fresh(s->buffer->data);
    return StmtMutator::VisitAllocBuffer(s);
  }

 private:
  Var Fresh(const Var& v) {
    Var out(v->name, v->dtype, v->pointer);
    values_.insert_or_assign(v.get(), out);
    return out;
  }
  std::unordered_map<const VarNode*, PrimExpr> values_;
};

class Unroller : public StmtMutator {
 protected:
  PrimExpr VisitExpr(const PrimExpr& e) override { return e; }
  Buffer VisitBuffer(const Buffer& b) override { return b; }

  Stmt VisitFor(const For& s) override {
    Stmt inner = StmtMutator::VisitFor(s);
    auto* n = inner.as<ForNode>();
    if (n == nullptr || n->kind != "unroll" || !Asked(n)) return inner;
    int64_t count = CountOf(n);
    ffi::Array<Stmt> out;
    for (int64_t i = 0; i < count; ++i) {
      out.push_back(Iteration(n->loop_var, n->min + PrimExpr(i))(n->body));
    }
    return MakeSeq(out);
  }

 private:
  static bool Asked(const ForNode* n) {
    auto it = n->annotations.find("expand");
    return it != n->annotations.end() && (*it).second.cast<bool>();
  }

  static int64_t CountOf(const ForNode* n) {
    auto extent = AsInt(n->extent);
    if (extent && *extent <= kMaxCopies && !LeavesLoop(n->body)) return *extent;
    std::string found = !extent                ? "an extent that is not a constant"
                        : *extent > kMaxCopies ? std::to_string(*extent) + " iterations"
                                               : "a break or continue";
    Diag("script", "cannot-expand", n->span)
        .Message("this loop cannot be written out")
        .Found(found)
        .Required("at most " + std::to_string(kMaxCopies) +
                  " iterations, none of which leaves the loop")
        .Hint("leave out the annotation `expand`: the loop is then unrolled by the CUDA compiler")
        .Throw();
  }
};

}  // namespace

PrimFunc UnrollLoops(const PrimFunc& func) {
  return RewriteDevice(func, [](const Stmt& s) { return Unroller()(s); });
}

}  // namespace passes
}  // namespace tirx
