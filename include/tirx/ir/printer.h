/*!
 * IR as text of the script language (docs/language.md): parse(PrintScript(f)) is structurally
 * equal to f, and printing that again gives the same text.
 */
#ifndef TIRX_IR_PRINTER_H_
#define TIRX_IR_PRINTER_H_
#include <tvm/ffi/any.h>

#include <cstddef>
#include <string>

namespace tirx {
namespace ffi = tvm::ffi;

/*!
 * The text of a PrimFunc, IRModule, Kernel or statement (lines that end in a newline), or of an
 * expression, buffer, region, range, layout, constant, or container of those (one line).
 * Linear in the size of the IR; names are made unique and never collide with keywords or with
 * names of the language. Text longer than `limit` characters is cut and ends in "...".
 */
std::string PrintScript(const ffi::Any& node, size_t limit = static_cast<size_t>(-1));

/*! One line of at most `limit` characters, for messages and reprs; cheap for IR of any size. */
std::string PrintShort(const ffi::Any& node, size_t limit = 200);

}  // namespace tirx
#endif  // TIRX_IR_PRINTER_H_
