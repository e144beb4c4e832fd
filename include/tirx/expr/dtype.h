/*!
 * Element types. A dtype is the FFI's DLDataType: code, bits, lanes.
 */
#ifndef TIRX_EXPR_DTYPE_H_
#define TIRX_EXPR_DTYPE_H_
#include <tvm/ffi/dtype.h>

#include <string>

namespace tirx {

using DType = DLDataType;

constexpr DType kInt8{kDLInt, 8, 1};
constexpr DType kInt32{kDLInt, 32, 1};
constexpr DType kInt64{kDLInt, 64, 1};
constexpr DType kUInt8{kDLUInt, 8, 1};
constexpr DType kUInt16{kDLUInt, 16, 1};
constexpr DType kUInt32{kDLUInt, 32, 1};
constexpr DType kUInt64{kDLUInt, 64, 1};
constexpr DType kFloat16{kDLFloat, 16, 1};
constexpr DType kBFloat16{kDLBfloat, 16, 1};
constexpr DType kFloat32{kDLFloat, 32, 1};
constexpr DType kFloat64{kDLFloat, 64, 1};
constexpr DType kBool{kDLBool, 8, 1};
constexpr DType kHandle{kDLOpaqueHandle, 64, 1};
/*! The type of a call that returns nothing. */
constexpr DType kVoid{kDLOpaqueHandle, 0, 0};

inline bool IsBool(DType t) { return t.code == kDLBool; }
inline bool IsSigned(DType t) { return t.code == kDLInt; }
inline bool IsUnsigned(DType t) { return t.code == kDLUInt; }
inline bool IsInteger(DType t) { return IsSigned(t) || IsUnsigned(t); }
inline bool IsHandle(DType t) { return t.code == kDLOpaqueHandle && t.bits != 0; }
inline bool IsVoid(DType t) { return t.code == kDLOpaqueHandle && t.bits == 0; }
/*! IEEE half/single/double, bfloat16, tf32-less small floats (fp8, fp6, fp4). */
inline bool IsFloat(DType t) {
  return t.code == kDLFloat || t.code == kDLBfloat || t.code >= kDLFloat8_e3m4;
}
inline DType WithLanes(DType t, int lanes) {
  t.lanes = static_cast<uint16_t>(lanes);
  return t;
}
inline DType ElementOf(DType t) { return WithLanes(t, 1); }
/*! Storage bits of one value, all lanes (4- and 6-bit types count their own bits). */
inline int64_t BitsOf(DType t) { return static_cast<int64_t>(t.bits) * t.lanes; }
inline std::string DTypeName(DType t) {
  return IsVoid(t) ? std::string("void") : std::string(tvm::ffi::DLDataTypeToString(t));
}

/*! Smallest and largest value of a scalar integer or bool dtype of at most 64 bits. uint64's
 *  largest value does not fit and saturates to INT64_MAX. */
int64_t MinValue(DType t);
int64_t MaxValue(DType t);

}  // namespace tirx
#endif  // TIRX_EXPR_DTYPE_H_
