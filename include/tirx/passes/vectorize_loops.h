/*!
 * VectorizeLoops: loops marked "vectorized" move memory in wide accesses.
 */
#ifndef TIRX_PASSES_VECTORIZE_LOOPS_H_
#define TIRX_PASSES_VECTORIZE_LOOPS_H_
#include <tirx/ir/function.h>

namespace tirx {
namespace passes {

/*!
 * The accesses of a vectorized loop to global and shared memory that are contiguous over its
 * iterations and provably aligned become vector accesses of the widest legal size (at most 16
 * bytes, a power of two of elements that divides the extent). A loop that only moves or fills
 * becomes the moves; otherwise loaded vectors go to local arrays, the body runs over their elements
 * in an unrolled loop, and results are stored from a local array.
 *
 * An access stays scalar when it is conditional, scattered, misaligned, or reads what the loop
 * writes elsewhere. A loop of which nothing could be vectorized becomes an unrolled or serial loop
 * with the annotation "tirx.note" that says why; so does a "parallel" loop.
 */
PrimFunc VectorizeLoops(const PrimFunc& func);

}  // namespace passes
}  // namespace tirx
#endif  // TIRX_PASSES_VECTORIZE_LOOPS_H_
