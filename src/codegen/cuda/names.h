/*!
 * Names that a user's identifier must not take in CUDA C++.
 */
#ifndef TIRX_CODEGEN_CUDA_NAMES_H_
#define TIRX_CODEGEN_CUDA_NAMES_H_
#include <string>
#include <unordered_set>

namespace tirx {
namespace codegen {

/*! Keywords, built-in variables and types, and functions that the printer itself calls. */
const std::unordered_set<std::string>& ReservedNames();
/*! `name` as the symbol of a kernel: an identifier that is not reserved and that no function of the
 *  CUDA math library has, because those have C linkage too. */
std::string EntryName(const std::string& name);

}  // namespace codegen
}  // namespace tirx
#endif  // TIRX_CODEGEN_CUDA_NAMES_H_
