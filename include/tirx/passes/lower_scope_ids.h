/*!
 * LowerScopeIds: scope ids become arithmetic on the hardware's indices.
 */
#ifndef TIRX_PASSES_LOWER_SCOPE_IDS_H_
#define TIRX_PASSES_LOWER_SCOPE_IDS_H_
#include <tirx/ir/function.h>

namespace tirx {
namespace passes {

/*!
 * The ids that the kernel uses are bound at its start, under the user's names; ids of extent 1 are
 * 0. Filters become branches, team switches their bodies, and hints (T.attr) go away. The function
 * is marked native ("tirx.stage").
 */
PrimFunc LowerScopeIds(const PrimFunc& func);

}  // namespace passes
}  // namespace tirx
#endif  // TIRX_PASSES_LOWER_SCOPE_IDS_H_
