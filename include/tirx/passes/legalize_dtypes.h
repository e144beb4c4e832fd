/*!
 * LegalizeDTypes: arithmetic that the target lacks for a small float is done in float32.
 */
#ifndef TIRX_PASSES_LEGALIZE_DTYPES_H_
#define TIRX_PASSES_LEGALIZE_DTYPES_H_
#include <tirx/ir/function.h>
#include <tirx/ir/target.h>

namespace tirx {
namespace passes {

/*!
 * Floats of fewer than 16 bits have no arithmetic on any target: operators, comparisons and math
 * functions convert their operands to float32 and the result back, and conversions between them and
 * anything but float32 and float64 go through float32 (exactly: float32 holds every such value). The
 * same is done for the operators of float16 and bfloat16 on a target without the feature "arith.f16" or
 * "arith.bf16"; rounding the float32 result of +, -, *, / or a root gives what one operation of
 * the small type gives, since 24 >= 2*11 + 2 bits (Figueroa, "When is double rounding innocuous?", 1995).
 */
PrimFunc LegalizeDTypes(const PrimFunc& func, const Target& target);

}  // namespace passes
}  // namespace tirx
#endif  // TIRX_PASSES_LEGALIZE_DTYPES_H_
