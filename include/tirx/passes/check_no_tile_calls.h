/*!
 * CheckNoTileCalls: dispatch has replaced every tile call.
 */
#ifndef TIRX_PASSES_CHECK_NO_TILE_CALLS_H_
#define TIRX_PASSES_CHECK_NO_TILE_CALLS_H_
#include <tirx/ir/function.h>

namespace tirx {
namespace passes {

/*! Raises the dispatch error "tile-call-survives", which names the first tile call that is left. */
void CheckNoTileCalls(const PrimFunc& func);

}  // namespace passes
}  // namespace tirx
#endif  // TIRX_PASSES_CHECK_NO_TILE_CALLS_H_
