/*!
 * TilePrimitiveDispatch: every tile call becomes the code that a dispatch rule chooses for it.
 */
#ifndef TIRX_PASSES_TILE_PRIMITIVE_DISPATCH_H_
#define TIRX_PASSES_TILE_PRIMITIVE_DISPATCH_H_
#include <tirx/ir/function.h>
#include <tirx/ir/target.h>
#include <tvm/ffi/function.h>

namespace tirx {
namespace passes {

/*!
 * Calls hook(call, context) -> Stmt for each tile call, in program order, and puts the statement in
 * its place; tile calls in it are dispatched in turn. Statements without a source line get the line
 * of the call. Private allocations and initialisation that rules left in their contexts go to the
 * start of the kernel and before the launch. Errors of the hook pass through.
 */
PrimFunc TilePrimitiveDispatch(const PrimFunc& func, const Target& target,
                               const ffi::Function& hook);

}  // namespace passes
}  // namespace tirx
#endif  // TIRX_PASSES_TILE_PRIMITIVE_DISPATCH_H_
