/*!
 * SplitHostDevice: a native function becomes a kernel and the plan of its launch.
 */
#ifndef TIRX_PASSES_SPLIT_HOST_DEVICE_H_
#define TIRX_PASSES_SPLIT_HOST_DEVICE_H_
#include <tirx/ir/function.h>

namespace tirx {
namespace passes {

/*!
 * The device function takes one pointer per buffer parameter, the scalar parameters, and the
 * symbolic extents that its body uses. Lets and assertions before T.device_entry() stay on the
 * host (lets that the kernel reads are computed in it too); other host statements are refused.
 */
Kernel SplitHostDevice(const PrimFunc& func);

}  // namespace passes
}  // namespace tirx
#endif  // TIRX_PASSES_SPLIT_HOST_DEVICE_H_
