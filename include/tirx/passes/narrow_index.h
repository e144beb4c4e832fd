/*!
 * NarrowIndex: 64-bit index arithmetic becomes 32-bit where it is proved to fit.
 */
#ifndef TIRX_PASSES_NARROW_INDEX_H_
#define TIRX_PASSES_NARROW_INDEX_H_
#include <tirx/ir/function.h>

namespace tirx {
namespace passes {

/*!
 * An int64 index of an access, an int64 let and an int64 loop variable become int32 when bounds
 * prove that the value and every step of its computation fit. Offsets that may pass 2^31 stay
 * int64.
 */
PrimFunc NarrowIndex(const PrimFunc& func);

}  // namespace passes
}  // namespace tirx
#endif  // TIRX_PASSES_NARROW_INDEX_H_
