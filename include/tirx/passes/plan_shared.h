/*!
 * PlanShared: every shared buffer gets its place.
 */
#ifndef TIRX_PASSES_PLAN_SHARED_H_
#define TIRX_PASSES_PLAN_SHARED_H_
#include <tirx/ir/function.h>
#include <tirx/ir/target.h>

namespace tirx {
namespace passes {

/*!
 * A buffer is aligned as its swizzle needs (a 32, 64 or 128 byte swizzle repeats every 256, 512 or
 * 1024 bytes), and to 128 bytes without one (16 when smaller), which suits bulk copies. While all
 * buffers together fit the target's static limit, "shared" buffers stay static; above it all become
 * "shared.dyn". Buffers in "shared.dyn" get `allocated_addr`; addresses given by the user are kept,
 * and no two others overlap. Totals go to "tirx.static_shared_bytes" and "tirx.dyn_shared_bytes".
 *
 * Raises the target error "shared-memory-overflow", listing the largest buffers, when the target
 * has less, and "bad-shared-address" for a user's address that is misaligned. The buffers private to a
 * thread are only counted: "local-memory-overflow" when a thread cannot have as much.
 */
PrimFunc PlanShared(const PrimFunc& func, const Target& target);

}  // namespace passes
}  // namespace tirx
#endif  // TIRX_PASSES_PLAN_SHARED_H_
