/*!
 * CheckInstructions: every instruction that the program names exists and the target has it.
 */
#ifndef TIRX_PASSES_CHECK_INSTRUCTIONS_H_
#define TIRX_PASSES_CHECK_INSTRUCTIONS_H_
#include <tirx/ir/function.h>
#include <tirx/ir/target.h>

namespace tirx {
namespace passes {

/*! Raises the target errors "unknown-instruction" (with the nearest names) and "missing-feature".
 */
void CheckInstructions(const PrimFunc& func, const Target& target);

}  // namespace passes
}  // namespace tirx
#endif  // TIRX_PASSES_CHECK_INSTRUCTIONS_H_
