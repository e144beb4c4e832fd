#include <tirx/expr/ops.h>
#include <tirx/passes/narrow_index.h>

#include <optional>
#include <unordered_map>

#include "known_facts.h"

namespace tirx {
namespace passes {
namespace {

/*! Arithmetic that is still done in 64 bits. */
struct WideArithmetic : StmtVisitor {
  bool found = false;
  void VisitBinary(const BinaryNode* n) override {
    found = found || n->a.dtype() == kInt64;
    StmtVisitor::VisitBinary(n);
  }
  void VisitBufferLoad(const BufferLoadNode*) override {}
};

class Narrower : public FactMutator {
 public:
  using FactMutator::FactMutator;

 protected:
  PrimExpr VisitVar(const Var& v) override {
    auto it = narrowed_.find(v.get());
    return it == narrowed_.end() ? PrimExpr(v) : it->second;
  }

  /*! Variables that were replaced leave casts behind. */
  PrimExpr VisitRoot(const PrimExpr& e) override {
    return narrowed_.empty() ? e : analyzer().Simplify(e);
  }

  PrimExpr VisitIndex(const PrimExpr& e) override {
    if (auto* ramp = e.as<RampNode>()) {
      auto base = InInt32(ramp->base);
      if (!base) return e;
      return MakeRamp(*base, MakeCast(kInt32, ramp->stride), ramp->lanes, ramp->span);
    }
    return InInt32(e).value_or(e);
  }

  Stmt VisitBind(const Bind& s) override {
    PrimExpr value = VisitExpr(s->value);
    auto narrow = InInt32(value);
    if (!narrow) {
      facts_.Bind(s->var, value);
      return value.same_as(s->value) ? Stmt(s) : MakeBind(s->var, value, s->span);
    }
    Var var = Narrowed(s->var);
    facts_.Bind(var, *narrow);
    return MakeBind(var, *narrow, s->span);
  }

  Stmt VisitFor(const For& s) override {
    PrimExpr min = VisitExpr(s->min), extent = VisitExpr(s->extent);
    auto lo = InInt32(min), n = InInt32(extent), end = InInt32(min + extent);
    Var var = s->loop_var;
    if (lo && n && end) {
      min = *lo, extent = *n;
      var = Narrowed(s->loop_var);
    }
    analyzer().Bind(var, Range(min, extent));
    Stmt body = VisitStmt(s->body);
    bool same = min.same_as(s->min) && extent.same_as(s->extent) && body.same_as(s->body);
    if (same && var.same_as(s->loop_var)) return s;
    return MakeFor(var, min, extent, s->kind, body, s->annotations, s->span);
  }

 private:
  /*! e computed in int32, when e is int64 and that is proved to be possible. */
  std::optional<PrimExpr> InInt32(const PrimExpr& e) const {
    if (!(e.dtype() == kInt64)) return std::nullopt;
    arith::ConstBound b = analyzer().Bound(e);
    if (b.min < INT32_MIN || b.max > INT32_MAX) return std::nullopt;
    PrimExpr narrow = analyzer().Simplify(MakeCast(kInt32, e));
    WideArithmetic wide;
    wide(narrow);
    if (wide.found) return std::nullopt;
    return narrow;
  }

  Var Narrowed(const Var& v) {
    Var out(v->name, kInt32);
    narrowed_.emplace(v.get(), MakeCast(kInt64, out));
    return out;
  }

  std::unordered_map<const VarNode*, PrimExpr> narrowed_;
};

}  // namespace

PrimFunc NarrowIndex(const PrimFunc& func) {
  Narrower narrow(func);
  return RewriteDevice(func, [&](const Stmt& s) { return narrow(s); });
}

}  // namespace passes
}  // namespace tirx
