/*!
 * UnrollLoops: loops that a rule asks to expand are written out.
 */
#ifndef TIRX_PASSES_UNROLL_LOOPS_H_
#define TIRX_PASSES_UNROLL_LOOPS_H_
#include <tirx/ir/function.h>

namespace tirx {
namespace passes {

/*!
 * A loop of kind "unroll" with a constant extent and the annotation {"expand": true} becomes its
 * iterations, each with variables and buffers of its own. Other unroll loops stay: they are printed
 * with
 * `#pragma unroll`. Raises the script error "cannot-expand" when the extent is no constant, the
 * iterations are more than 1024, or the body leaves the loop.
 */
PrimFunc UnrollLoops(const PrimFunc& func);

}  // namespace passes
}  // namespace tirx
#endif  // TIRX_PASSES_UNROLL_LOOPS_H_
