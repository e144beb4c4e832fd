/*!
 * CheckTeams: instructions that a team executes together are reached by whole teams.
 */
#ifndef TIRX_PASSES_CHECK_TEAMS_H_
#define TIRX_PASSES_CHECK_TEAMS_H_
#include <tirx/ir/function.h>

namespace tirx {
namespace passes {

/*!
 * Raises scope errors: "partial-team" where some threads of a warp, warpgroup or CTA cannot reach,
 * or may not agree to reach, an instruction of that team (a constant lane mask says which lanes
 * are needed); "barrier-count" for a named barrier whose count is no multiple of 32, is larger than
 * the CTA, or differs from the number of threads that use the barrier; "barrier-reused" for one id
 * with two counts. What depends on run-time values is left to the simulator.
 */
void CheckTeams(const PrimFunc& func);

}  // namespace passes
}  // namespace tirx
#endif  // TIRX_PASSES_CHECK_TEAMS_H_
