/*!
 * Native-stage IR to CUDA C++.
 */
#ifndef TIRX_CODEGEN_CUDA_H_
#define TIRX_CODEGEN_CUDA_H_
#include <tirx/ir/function.h>
#include <tirx/ir/target.h>

#include <string>

namespace tirx {
namespace codegen {

struct CudaOptions {
  /*! Append `// file:line` to statements whose source is known. */
  bool spans = false;
};

/*!
 * One translation unit with the device function of `kernel` as `extern "C" __global__`. It has
 * only the headers and helpers that it uses and compiles without warnings. Raises a target error
 * when the kernel uses an instruction or memory scope that the target lacks.
 */
std::string PrintCuda(const Kernel& kernel, const Target& target, const CudaOptions& options = {});

/*! The symbol of `kernel` in that text: its name, or a close one where C++ does not allow it. */
std::string CudaEntryName(const Kernel& kernel);

}  // namespace codegen
}  // namespace tirx
#endif  // TIRX_CODEGEN_CUDA_H_
