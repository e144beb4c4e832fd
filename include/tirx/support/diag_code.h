/*!
 * Reading back the code of a user error that was caught.
 */
#ifndef TIRX_SUPPORT_DIAG_CODE_H_
#define TIRX_SUPPORT_DIAG_CODE_H_
#include <tvm/ffi/error.h>

#include <string>

namespace tirx {

/*! The code of a Diag that was thrown; "" for any other error. */
std::string DiagCode(const tvm::ffi::Error& error);

}  // namespace tirx
#endif  // TIRX_SUPPORT_DIAG_CODE_H_
