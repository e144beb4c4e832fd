#include <tirx/expr/ops.h>
#include <tirx/ir/functor.h>
#include <tirx/passes/legalize_dtypes.h>

#include <string_view>

#include "known_facts.h"

namespace tirx {
namespace passes {
namespace {

bool IsNarrow(DType t) { return IsFloat(t) && t.bits < 16; }

/*! Functions of floats whose result has the dtype of their arguments. */
bool IsMath(const ffi::String& op) {
  constexpr std::string_view kMath[] = {"tx.exp",   "tx.exp2",  "tx.log",  "tx.log2",  "tx.sqrt",
                                        "tx.rsqrt", "tx.sin",   "tx.cos",  "tx.tanh",  "tx.erf",
                                        "tx.abs",   "tx.floor", "tx.ceil", "tx.round", "tx.trunc",
                                        "tx.pow",   "tx.fma"};
  std::string_view name(op.data(), op.size());
  return std::find(std::begin(kMath), std::end(kMath), name) != std::end(kMath);
}

PrimExpr InFloat32(const PrimExpr& e) {
  return MakeCast(WithLanes(kFloat32, e.dtype().lanes), e, e->span);
}

class Legalizer : public StmtMutator {
 public:
  explicit Legalizer(const Target& target)
      : has_f16_(target->Has("arith.f16")), has_bf16_(target->Has("arith.bf16")) {}

 protected:
  Buffer VisitBuffer(const Buffer& b) override { return b; }

  PrimExpr VisitBinary(const Binary& e) override {
    PrimExpr out = StmtMutator::VisitBinary(e);
    auto* n = out.as<BinaryNode>();
    if (n == nullptr || !Lacks(n->a.dtype())) return out;
    PrimExpr value = MakeBinary(n->kind(), InFloat32(n->a), InFloat32(n->b), n->span);
    return IsComparison(n->kind()) ? value : MakeCast(n->dtype, value, n->span);
  }

  PrimExpr VisitCall(const Call& e) override {
    PrimExpr out = StmtMutator::VisitCall(e);
    auto* n = out.as<CallNode>();
    if (n == nullptr || !IsNarrow(n->dtype) || !IsMath(n->op)) return out;
    DType wide = WithLanes(kFloat32, n->dtype.lanes);
    PrimExpr value = Call(wide, n->op, n->args.Map(InFloat32), n->attrs, n->span);
    return MakeCast(n->dtype, value, n->span);
  }

  PrimExpr VisitCast(const Cast& e) override {
    PrimExpr out = StmtMutator::VisitCast(e);
    auto* n = out.as<CastNode>();
    if (n == nullptr) return out;
    DType from = ElementOf(n->value.dtype()), to = ElementOf(n->dtype);
    bool narrow = IsNarrow(from) || IsNarrow(to), direct = IsDirect(from) || IsDirect(to);
    return narrow && !direct ? MakeCast(n->dtype, InFloat32(n->value), n->span) : out;
  }

 private:
  static bool IsDirect(DType t) { return t == kFloat32 || t == kFloat64; }

  bool Lacks(DType t) const {
    if (IsNarrow(t)) return true;
    if (t.code == kDLFloat && t.bits == 16) return !has_f16_;
    return t.code == kDLBfloat && !has_bf16_;
  }
  bool has_f16_, has_bf16_;
};

}  // namespace

PrimFunc LegalizeDTypes(const PrimFunc& func, const Target& target) {
  return RewriteDevice(func, [&](const Stmt& s) { return Legalizer(target)(s); });
}

}  // namespace passes
}  // namespace tirx
