#include <tirx/codegen/cuda.h>
#include <tvm/ffi/reflection/registry.h>

namespace tirx {

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::GlobalDef().def("tx.codegen_cuda", [](Kernel kernel, Target target, bool spans) {
    codegen::CudaOptions options;
    options.spans = spans;
    return ffi::String(codegen::PrintCuda(kernel, target, options));
  });
  refl::GlobalDef().def("tx.cuda_entry_name",
                        [](Kernel kernel) { return ffi::String(codegen::CudaEntryName(kernel)); });
}

}  // namespace tirx
