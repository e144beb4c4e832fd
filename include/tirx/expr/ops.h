/*!
 * Checked factories of expressions.
 *
 * Literal rule: an untyped integer literal (an IntImm that a Python int or C++ int became) takes
 * the dtype of the other operand. Promotion rule: integers of different width widen; of different
 * sign at one width become unsigned (as in C); an integer meeting a float is cast to the float;
 * two different float types are an error. A scalar meeting a vector is broadcast.
 * Folding: integer constants fold when the result fits the dtype; x+0, x-0, x*1, x//1, x%1, x*0
 * (x free of effects), true/false in logical operators fold; floats never fold.
 */
#ifndef TIRX_EXPR_OPS_H_
#define TIRX_EXPR_OPS_H_
#include <tirx/expr/expr.h>

#include <optional>

namespace tirx {

PrimExpr MakeBinary(BinOp op, PrimExpr a, PrimExpr b, Span span = {});
PrimExpr MakeNot(PrimExpr a, Span span = {});
PrimExpr MakeSelect(PrimExpr cond, PrimExpr t, PrimExpr f, Span span = {});
/*! Folds a cast of a constant and a cast to the same dtype. */
PrimExpr MakeCast(DType t, PrimExpr value, Span span = {});
PrimExpr MakeRamp(PrimExpr base, PrimExpr stride, int lanes, Span span = {});
PrimExpr MakeBroadcast(PrimExpr value, int lanes, Span span = {});
/*! Raises "expression-too-deep" past kMaxExprDepth; every factory calls it. */
void CheckExprDepth(int32_t depth, const Span& span);
/*! An integer or bool constant of dtype t, or a float constant when t is a float. */
PrimExpr MakeConst(DType t, int64_t value);

inline PrimExpr operator+(PrimExpr a, PrimExpr b) { return MakeBinary(BinOp::kAdd, a, b); }
inline PrimExpr operator-(PrimExpr a, PrimExpr b) { return MakeBinary(BinOp::kSub, a, b); }
inline PrimExpr operator*(PrimExpr a, PrimExpr b) { return MakeBinary(BinOp::kMul, a, b); }
inline PrimExpr FloorDiv(PrimExpr a, PrimExpr b) { return MakeBinary(BinOp::kFloorDiv, a, b); }
inline PrimExpr FloorMod(PrimExpr a, PrimExpr b) { return MakeBinary(BinOp::kFloorMod, a, b); }
inline PrimExpr Min(PrimExpr a, PrimExpr b) { return MakeBinary(BinOp::kMin, a, b); }
inline PrimExpr Max(PrimExpr a, PrimExpr b) { return MakeBinary(BinOp::kMax, a, b); }
inline PrimExpr BitXor(PrimExpr a, PrimExpr b) { return MakeBinary(BinOp::kBitXor, a, b); }
inline PrimExpr LT(PrimExpr a, PrimExpr b) { return MakeBinary(BinOp::kLT, a, b); }
inline PrimExpr LE(PrimExpr a, PrimExpr b) { return MakeBinary(BinOp::kLE, a, b); }
inline PrimExpr EQ(PrimExpr a, PrimExpr b) { return MakeBinary(BinOp::kEQ, a, b); }
inline PrimExpr And(PrimExpr a, PrimExpr b) { return MakeBinary(BinOp::kAnd, a, b); }

/*! The value of an integer constant. */
inline std::optional<int64_t> AsInt(const PrimExpr& e) {
  if (auto* n = e.as<IntImmNode>()) return n->value;
  return std::nullopt;
}
inline bool IsConst(const PrimExpr& e, int64_t v) { return AsInt(e) == v; }

/*! Floor division and modulo on int64 as the IR defines them; b must not be 0. */
int64_t FloorDivInt(int64_t a, int64_t b);
int64_t FloorModInt(int64_t a, int64_t b);
/*! a op b in dtype t, or nothing when it overflows t or divides by zero. */
std::optional<int64_t> FoldInt(BinOp op, DType t, int64_t a, int64_t b);

/*!
 * The compiler's own call names. All but the last group are pure functions of their arguments.
 *   math:   tx.exp tx.exp2 tx.log tx.log2 tx.sqrt tx.rsqrt tx.sin tx.cos tx.tanh tx.erf tx.abs
 *           tx.floor tx.ceil tx.round tx.trunc tx.pow tx.fma tx.bitwise_not tx.popcount tx.clz
 *   bits:   tx.reinterpret(value): the same bits as the call's dtype
 *   tile:   tx.filter_range(id, lo, hi): lo <= id < hi as a scope filter
 *   ids:    tx.thread_index (linear in the CTA), tx.cta_index(dim) and tx.cta_extent(dim) in the
 *           grid, tx.cluster_cta_index(dim), tx.cluster_cta_rank
 *   places: tx.address_of(BufferLoad): pointer to the element; effects: none by itself
 *   extern: tx.func_call: attrs {"name", "source", "return_type"}: user CUDA source; has effects
 */
bool IsPureIntrinsic(const ffi::String& op);

}  // namespace tirx
#endif  // TIRX_EXPR_OPS_H_
