/*!
 * Arithmetic handlers of the bytecode, chosen at compile time by operator and type.
 *
 * Integers wrap. Shift counts at or beyond the width give 0 (or the sign), as in PTX. Division by
 * zero in an active lane is reported and gives 0. Float min/max return the other operand for a NaN
 * and order -0 below +0 (PTX ISA 9.7.3 min, max). Small floats are computed in float32 and rounded
 * once, which is exact rounding for + - * / sqrt.
 */
#ifndef TIRX_SIM_ALU_H_
#define TIRX_SIM_ALU_H_
#include <tirx/sim/program.h>

namespace tirx {
namespace sim {

/*! How a value of a dtype is computed on. */
enum class Cls : uint8_t { kI32, kU32, kI64, kU64, kF32, kF64 };
/*! Small floats compute as kF32; bool as kU32; pointers as kU64. */
Cls ClassOf(DType t);
inline bool IsWide(Cls c) { return c == Cls::kI64 || c == Cls::kU64 || c == Cls::kF64; }
/*! Rows that one element of t takes. */
inline int RowsOf(DType t) { return t.bits > 32 ? 2 : 1; }
/*! float16, bfloat16, fp8, fp6, fp4: held as bits, computed in float32. */
inline bool IsSmallFloat(DType t) { return IsFloat(t) && t.bits < 32; }

/*! d = a op b over rows; comparisons write 0/1. */
Fn BinaryFn(BinOp op, Cls c);
/*! The same over scalar registers (integers only). */
Fn ScalarBinaryFn(BinOp op, Cls c);
/*! d = f(a) or f(a, b, c) by intrinsic name without "tx."; nullptr: not defined for the class. */
Fn MathFn(const std::string& name, Cls c);
/*! Conversion between classes. */
Fn ConvertFn(Cls from, Cls to);
/*! Small float bits to float32, and back (from float32 or float64). */
Fn DecodeFn(DType t);
Fn EncodeFn(DType t, Cls from);
/*! Re-extends the low bits of a 32-bit row to an 8- or 16-bit type; nullptr when nothing to do. */
Fn WrapFn(DType t);
Fn ScalarWrapFn(DType t);

// Fixed handlers.
void Splat32(Warp& w, const Ins& i);  // row d = scalar a
void Splat64(Warp& w, const Ins& i);
void Move32(Warp& w, const Ins& i);  // row d = row a, all lanes
void Move64(Warp& w, const Ins& i);
void MoveMasked32(Warp& w, const Ins& i);  // active lanes only
void MoveMasked64(Warp& w, const Ins& i);
void Blend32(Warp& w, const Ins& i);  // d = a ? b : c
void Blend64(Warp& w, const Ins& i);
void NotRow(Warp& w, const Ins& i);
void ScalarMove(Warp& w, const Ins& i);  // scalar d = scalar a
void ScalarNot(Warp& w, const Ins& i);
void ScalarSelect(Warp& w, const Ins& i);  // d = a ? b : c

/*! Active lanes where a 0/1 row is set. */
uint32_t RowMask(const uint32_t* row);

}  // namespace sim
}  // namespace tirx
#endif  // TIRX_SIM_ALU_H_
