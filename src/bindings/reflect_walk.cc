/*!
 * Registers visiting and rewriting with callbacks (compiled at -O1).
 */
#include <tirx/ir/walk.h>
#include <tvm/ffi/reflection/registry.h>

namespace tirx {

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::GlobalDef().def("tx.walk", &Walk).def("tx.mutate", &Mutate);
}

}  // namespace tirx
