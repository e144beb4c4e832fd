/*!
 * Simplify: every expression in canonical form, dead code gone.
 */
#ifndef TIRX_PASSES_SIMPLIFY_H_
#define TIRX_PASSES_SIMPLIFY_H_
#include <tirx/ir/function.h>

namespace tirx {
namespace passes {

/*!
 * Expressions are simplified with what is known where they stand: loop ranges, lets, the conditions
 * of the branches around them, the launch ("tirx.threads", "tirx.grid" in func->attrs) and that
 * symbolic extents of arguments are not negative. Branches, loops and assertions that this decides
 * are replaced by what remains; a loop of one iteration becomes its body. Lets, local allocations
 * and aliases that nothing uses are removed.
 */
PrimFunc Simplify(const PrimFunc& func);

}  // namespace passes
}  // namespace tirx
#endif  // TIRX_PASSES_SIMPLIFY_H_
