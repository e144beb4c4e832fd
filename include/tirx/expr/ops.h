/*!
 * Checked factories of expressions.
 *
 * Literal rule: a signed integer constant takes the dtype of the other operand when it fits, and a
 * float32 constant the other operand's float dtype. Promotion rule: integers of different width
 * widen; of different sign at one width become unsigned (as in C); a bool meeting an integer, and
 * an integer meeting a float, is cast to it; two different float types are an error. A scalar
 * meeting a vector is broadcast.
 * Folding: integer constants fold when the result fits the dtype; x+0, x-0, x*1, x//1, x%1, x*0
 * (x free of effects and of divisions that may be by zero), and true/false in logical operators
 * fold; casts of constants between integers fold; floats never fold. `/` on integers is refused.
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
/*! An integer or bool constant of dtype t, or a float constant when t is a float. */
PrimExpr MakeConst(DType t, int64_t value);
/*! The literal `value` (an IntImm or FloatImm) as a constant of dtype t, refused when t cannot hold
 *  it; any other expression is cast. What T.float16(0.1) and T.int64(5) mean. */
PrimExpr MakeLiteral(DType t, PrimExpr value, Span span = {});
/*! What assigning `value` to a place of dtype t stores: literals adapt, the rest is cast. */
PrimExpr ConvertTo(DType t, PrimExpr value, Span span = {});
/*! `e` as a condition: bool as it is, integers as e != 0, everything else is refused. */
PrimExpr AsCondition(PrimExpr e, const Span& span = {});
inline bool IsIndex(const PrimExpr& e) { return IsInteger(e->dtype) && e->dtype.lanes == 1; }
/*! Raises unless e is a scalar integer; `what` names the place in the message. */
void CheckIndex(const char* what, const PrimExpr& e, const Span& span);
/*! True unless evaluating e, or not evaluating it, can be noticed: calls with effects, loads, and
 *  integer divisions whose divisor may be zero. */
bool MayHaveEffect(const PrimExpr& e);

/*!
 * Accumulates the depth and size of a node under construction; Finish refuses past the limits
 * ("expression-too-deep", "expression-too-large"). Every factory goes through it. A list of
 * operands is a level of its own: it is one to the FFI's recursive walks, which the limit protects.
 */
class ExprMeasure {
 public:
  void Add(const PrimExpr& child, int32_t levels = 0) {
    depth_ = std::max(depth_, child->depth + levels);
    size_ += child->size;
  }
  void AddList(const ffi::Array<PrimExpr>& children) {
    for (const PrimExpr& e : children) Add(e, 1);
  }
  /*! The expressions inside an attribute's value, which nests at most kMaxValueDepth levels. */
  void AddValue(const ffi::Any& value, const Span& span, int32_t level = 1);
  void Finish(PrimExprNode* node, const Span& span) const;

 private:
  int32_t depth_{0};
  int64_t size_{1};
};
constexpr int32_t kMaxValueDepth = 32;
/*! Raises "value-too-deep" when lists and dicts in an attribute nest past kMaxValueDepth, and
 *  "bad-value" for what can neither be printed nor stored (functions, tensors, huge integers). */
void CheckValue(const ffi::Any& value, const Span& span);

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

/*! The value of an integer constant; nothing for a uint64 above INT64_MAX. */
inline std::optional<int64_t> AsInt(const PrimExpr& e) {
  auto* n = e.as<IntImmNode>();
  if (n == nullptr || (n->value < 0 && IsUnsigned(n->dtype))) return std::nullopt;
  return n->value;
}
inline bool IsConst(const PrimExpr& e, int64_t v) { return AsInt(e) == v; }

/*! Floor division and modulo on int64 as the IR defines them; b must not be 0. */
int64_t FloorDivInt(int64_t a, int64_t b);
int64_t FloorModInt(int64_t a, int64_t b);
/*! a op b in dtype t, or nothing when it overflows t or divides by zero. uint64 values are passed
 *  and returned as their two's complement, as in IntImm. */
std::optional<int64_t> FoldInt(BinOp op, DType t, int64_t a, int64_t b);
/*! v of dtype `from`, converted to integer or bool dtype `to` (wrapping). */
int64_t WrapInt(DType from, DType to, int64_t v);

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
