#include <tirx/passes/tile_primitive_dispatch.h>
#include <tirx/scope/dispatch_context.h>
#include <tirx/scope/walker.h>
#include <tirx/support/diag.h>

#include <string>

namespace tirx {
namespace passes {
namespace {

/*! Rules may answer with tile calls, this deep. */
constexpr int kMaxNesting = 16;

/*!
 * Gives the call's line to the statements of its lowering that have none. Only statements that
 * nobody else holds are touched: one that a rule keeps for reuse stays without a line.
 */
class SpanFiller : public StmtVisitor {
 public:
  /*! `holders`: references to the root that belong to this pass. */
  SpanFiller(const Span& span, int holders) : span_(span), holders_(holders) {}
  void VisitStmt(const Stmt& s) override {
    bool ours = s.use_count() <= holders_;
    if (ours && !s->span.defined()) const_cast<StmtNode*>(s.get())->span = span_;
    holders_ = 1;  // the parent's field
    StmtVisitor::VisitStmt(s);
  }
  void VisitExpr(const PrimExpr&) override {}
  bool tile_calls{false};

 protected:
  void VisitSeqStmt(const SeqStmtNode* n) override {
    for (const Stmt& s : n->seq) {
      holders_ = 2;  // the array and the loop variable
      VisitStmt(s);
    }
  }
  void VisitTilePrimitiveCall(const TilePrimitiveCallNode*) override { tile_calls = true; }

 private:
  Span span_;
  int holders_;
};

[[noreturn]] void ThrowDisagree(const TilePrimitiveCall& call, scope::Kind kind, scope::Kind agreed,
                                const std::string& what) {
  bool thread = agreed == scope::Kind::kThread;
  std::string each = thread ? "thread" : scope::KindName(agreed), team = scope::KindName(kind);
  Diag("scope", "operand-differs", call->span)
      .Message("Tx." + std::string(call->op) + " at " + team +
               " scope is one operation of the whole " + team +
               ", and its threads disagree on an operand")
      .Found(what + " differs from " + each + " to " + each)
      .Required("a region and values that all threads of the " + team + " agree on")
      .Hint("give the whole region, or use " + each + " scope, where every " + each +
            " has its own operation")
      .Throw();
}

/*!
 * Threads that work together on a tile must mean the same tile: a rule shares out its elements, and
 * would cover a part of each thread's own.
 */
void CheckAgreed(const TilePrimitiveCall& call, scope::Kind kind, scope::Conditions* conditions) {
  auto check = [&](const PrimExpr& e, const std::string& what) {
    scope::Kind agreed = conditions->Agreement(e);
    if (agreed < kind) ThrowDisagree(call, kind, agreed, what);
  };
  for (const ffi::Any& arg : call->args) {
    if (auto region = arg.try_cast<BufferRegion>()) {
      std::string name = (*region)->buffer->name;
      for (const Range& r : (*region)->region) {
        check(r->min, "where the region of " + name + " starts");
        check(r->extent, "the size of the region of " + name);
      }
    } else if (auto value = arg.try_cast<PrimExpr>()) {
      check(*value, "a value");
    }
  }
}

class Dispatcher : public scope::ScopedMutator {
 public:
  Dispatcher(const PrimFunc& func, const Target& target, const ffi::Function& hook)
      : ScopedMutator(func, arith::Analyzer()), target_(target), hook_(hook) {}

 protected:
  Stmt VisitTilePrimitiveCall(const TilePrimitiveCall& s) override {
    std::optional<scope::Kind> kind = scope::ParseKind(s->scope);
    TVM_FFI_CHECK(kind, InternalError) << "tile call without a scope: run resolve_scopes first";
    if (*kind != scope::Kind::kThread) CheckAgreed(s, *kind, &conditions());
    DispatchContext ctx = MakeDispatchContext(target_, ids(), active(), *kind, *analyzer_, s->span);
    ffi::Any result = hook_(s, ctx);
    Drain(ctx);
    auto stmt = result.try_cast<Stmt>();
    TVM_FFI_CHECK(stmt, TypeError) << "the lowering of " << s->op << " is no statement";
    SpanFiller filler(s->span, 2);
    filler(*stmt);
    return filler.tile_calls ? VisitNested(s, *stmt) : *stmt;
  }

  ffi::Array<Stmt> Finish(ffi::Array<Stmt> device) override {
    if (allocs_.empty() && device_init_.empty()) return device;
    ffi::Array<Stmt> out;
    // Ids come first: initialisation may use them.
    size_t ids = 0;
    while (ids < device.size() && KindOf(device[ids]) == StmtKind::kScopeIdDef) ++ids;
    for (size_t i = 0; i < ids; ++i) out.push_back(device[i]);
    for (const Buffer& b : allocs_) out.push_back(MakeAllocBuffer(b, b->span));
    for (const Stmt& s : device_init_) out.push_back(s);
    for (size_t i = ids; i < device.size(); ++i) out.push_back(device[i]);
    return out;
  }

  ffi::Array<Stmt> HostInit() override { return host_init_; }

 private:
  Stmt VisitNested(const TilePrimitiveCall& call, const Stmt& stmt) {
    if (++nesting_ > kMaxNesting) {
      Diag("dispatch", "endless-dispatch", call->span)
          .Message("lowering " + std::string(call->op) + " never ends")
          .Found(std::to_string(kMaxNesting) + " rules that each answer with further tile calls")
          .Required("rules that arrive at loops and instructions")
          .Throw();
    }
    Stmt out = VisitStmt(stmt);
    --nesting_;
    return out;
  }

  void Drain(const DispatchContext& ctx) {
    for (const Buffer& b : ctx->allocs) allocs_.push_back(b);
    for (const Stmt& s : ctx->device_init) device_init_.push_back(s);
    for (const Stmt& s : ctx->host_init) host_init_.push_back(s);
  }

  Target target_;
  ffi::Function hook_;
  ffi::Array<Buffer> allocs_;
  ffi::Array<Stmt> device_init_, host_init_;
  int nesting_{0};
};

}  // namespace

PrimFunc TilePrimitiveDispatch(const PrimFunc& func, const Target& target,
                               const ffi::Function& hook) {
  return Dispatcher(func, target, hook).Run();
}

}  // namespace passes
}  // namespace tirx
