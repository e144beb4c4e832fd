/*!
 * Hand-written recursion over expressions: a kind switch, a visitor and a copy-on-write mutator.
 */
#ifndef TIRX_EXPR_FUNCTOR_H_
#define TIRX_EXPR_FUNCTOR_H_
#include <tirx/expr/expr.h>

namespace tirx {

/*! kOther covers BufferLoad (declared in ir/) and expression types derived in Python. */
// clang-format off
enum class ExprKind : uint8_t {
  kVar, kIntImm, kFloatImm, kStringImm, kBinary, kNot, kSelect, kCast, kRamp, kBroadcast, kCall,
  kOther,
};
// clang-format on
ExprKind KindOf(const PrimExprNode* n);
inline ExprKind KindOf(const PrimExpr& e) { return KindOf(e.get()); }

/*! Visits children left to right. Override what matters; call the base to descend. */
class ExprVisitor {
 public:
  virtual ~ExprVisitor() = default;
  virtual void VisitExpr(const PrimExpr& e);
  void operator()(const PrimExpr& e) { VisitExpr(e); }

 protected:
  virtual void VisitVar(const VarNode*) {}
  virtual void VisitBinary(const BinaryNode* n);
  virtual void VisitNot(const NotNode* n);
  virtual void VisitSelect(const SelectNode* n);
  virtual void VisitCast(const CastNode* n);
  virtual void VisitRamp(const RampNode* n);
  virtual void VisitBroadcast(const BroadcastNode* n);
  virtual void VisitCall(const CallNode* n);
  virtual void VisitConst(const PrimExprNode*) {}
  virtual void VisitOther(const PrimExprNode*) {}
};

/*! Rebuilds through the checked factories; returns the same object when nothing changed. */
class ExprMutator {
 public:
  virtual ~ExprMutator() = default;
  virtual PrimExpr VisitExpr(const PrimExpr& e);
  PrimExpr operator()(const PrimExpr& e) { return VisitExpr(e); }

 protected:
  virtual PrimExpr VisitVar(const Var& e) { return e; }
  virtual PrimExpr VisitBinary(const Binary& e);
  virtual PrimExpr VisitNot(const Not& e);
  virtual PrimExpr VisitSelect(const Select& e);
  virtual PrimExpr VisitCast(const Cast& e);
  virtual PrimExpr VisitRamp(const Ramp& e);
  virtual PrimExpr VisitBroadcast(const Broadcast& e);
  virtual PrimExpr VisitCall(const Call& e);
  virtual PrimExpr VisitOther(const PrimExpr& e) { return e; }
  ffi::Array<PrimExpr> VisitArray(const ffi::Array<PrimExpr>& a);
};

}  // namespace tirx
#endif  // TIRX_EXPR_FUNCTOR_H_
