/*!
 * C spellings of dtypes and constants.
 */
#ifndef TIRX_CODEGEN_CUDA_TYPES_H_
#define TIRX_CODEGEN_CUDA_TYPES_H_
#include <tirx/expr/dtype.h>
#include <tirx/support/span.h>

#include <string>

namespace tirx {
namespace codegen {

/*! "float", "unsigned", "__half", ...; raises a target error for a dtype that CUDA C++ lacks. */
std::string CType(DType scalar, const Span& span = {});
/*! Whether elements share bytes in memory: two 4-bit floats per byte, the lower index in the low
 * half. */
inline bool IsPacked(DType t) { return t.bits == 4; }
/*! The C type that arrays of t consist of: CType, or unsigned char when elements share bytes. */
std::string StorageType(DType t, const Span& span = {});
/*! Bytes of `count` elements in memory. */
int64_t StorageBytes(DType t, int64_t count);
/*! The header that declares CType(scalar), or nullptr. */
const char* HeaderOf(DType scalar);
/*! The type that one load or store of `bytes` bytes uses when nothing is computed: float4 when
 *  the elements are float, else uint4, uint2, unsigned, ... Empty when there is no such type. */
std::string MoveType(DType vector);

/*! Integer constant. `weak`: a sibling operand fixes the type, so no suffix is needed. */
std::string IntLiteral(int64_t value, DType type, bool weak);
std::string FloatLiteral(double value, DType type);

}  // namespace codegen
}  // namespace tirx
#endif  // TIRX_CODEGEN_CUDA_TYPES_H_
