/*!
 * ApplyLayouts: logical indices become element offsets in flat memory.
 */
#ifndef TIRX_PASSES_APPLY_LAYOUTS_H_
#define TIRX_PASSES_APPLY_LAYOUTS_H_
#include <tirx/ir/function.h>

namespace tirx {
namespace passes {

/*!
 * Every buffer becomes flat (one extent, no layout, offset 0) and every access one index: the
 * memory coordinate of the layout, swizzle included, plus the buffer's offset. The index is int64
 * where the storage has more than 2^31 elements or an unknown number. Views become accesses to the
 * storage they look at, or, with another dtype, to one alias per dtype declared after it. Storage
 * is aligned for its swizzle and for the vector accesses made to it. Buffers in scope "tmem" stay.
 *
 * The parameters' buffers as they were go to the attribute "tirx.signature". Raises layout errors:
 * "distributed-access" for an element access to a buffer whose elements belong to several threads,
 * "vector-access-scattered" for a vector access that is not consecutive in memory.
 */
PrimFunc ApplyLayouts(const PrimFunc& func);

}  // namespace passes
}  // namespace tirx
#endif  // TIRX_PASSES_APPLY_LAYOUTS_H_
