#include "names.h"

#include <tirx/codegen/printer.h>

namespace tirx {
namespace codegen {

const std::unordered_set<std::string>& ReservedNames() {
  // clang-format off
  static const auto* names = new std::unordered_set<std::string>{
      // C++ keywords
      "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break",
      "case", "catch", "char", "class", "compl", "concept", "const", "consteval", "constexpr",
      "constinit", "const_cast", "continue", "co_await", "co_return", "co_yield", "decltype",
      "default", "delete", "do", "double", "dynamic_cast", "else", "enum", "explicit", "export",
      "extern", "false", "float", "for", "friend", "goto", "if", "inline", "int", "long", "mutable",
      "namespace", "new", "noexcept", "not", "not_eq", "nullptr", "operator", "or", "or_eq",
      "private", "protected", "public", "register", "reinterpret_cast", "requires", "restrict",
      "return", "short", "signed", "sizeof", "static", "static_assert", "static_cast", "struct",
      "switch", "template", "this", "thread_local", "throw", "true", "try", "typedef", "typeid",
      "typename", "union", "unsigned", "using", "virtual", "void", "volatile", "wchar_t", "while",
      "xor", "xor_eq",
      // variables, types and macros of CUDA
      "threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize", "NULL", "dim3", "assert", "linux",
      "unix", "size_t", "ptrdiff_t", "std", "cuda", "half", "half2", "nv_bfloat16", "nv_bfloat162",
      "uchar", "uint", "ulong", "ushort", "char2", "char4", "uchar2", "uchar4", "short2", "short4",
      "ushort2", "ushort4", "int1", "int2", "int3", "int4", "uint1", "uint2", "uint3", "uint4",
      "long2", "long4", "longlong2", "longlong4", "ulonglong2", "ulonglong4", "float1", "float2",
      "float3", "float4", "double2", "double3", "double4",
      // functions that the printer calls; those of the instruction table are added on use
      "abs", "ceil", "ceilf", "cos", "cosf", "erf", "erff", "exp", "exp2", "exp2f", "expf", "fabs",
      "fabsf", "floor", "floorf", "fma", "fmaf", "fmax", "fmaxf", "fmin", "fminf", "hceil", "hcos",
      "hexp", "hexp2", "hfloor", "hlog", "hlog2", "hrint", "hrsqrt", "hsin", "hsqrt", "htrunc",
      "log", "log2", "log2f", "logf", "max", "memcpy", "min", "pow", "powf", "rint", "rintf",
      "rsqrt", "rsqrtf", "sin", "sinf", "sqrt", "sqrtf", "tanh", "tanhf", "trunc", "truncf", "smem",
      "vec", "map", "cast", "ramp", "broadcast", "bit_cast", "floordiv", "floormod", "load_nibble",
      "store_nibble", "cluster_cta_x", "cluster_cta_y", "cluster_cta_z", "cluster_cta_rank",
  };
  // clang-format on
  return *names;
}

namespace {

/*! Functions of crt/math_functions.h (CUDA 13) without the suffix f. */
const std::unordered_set<std::string>& MathLibrary() {
  // clang-format off
  static const auto* names = new std::unordered_set<std::string>{
      "abs", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "copysign",
      "cos", "cosh", "cospi", "cyl_bessel_i0", "cyl_bessel_i1", "erf", "erfc", "erfcinv", "erfcx",
      "erfinv", "exp", "exp10", "exp2", "expm1", "fabs", "fdim", "floor", "fma", "fmax", "fmin",
      "fmod", "frexp", "hypot", "ilogb", "j0", "j1", "jn", "labs", "ldexp", "lgamma", "llabs",
      "llmax", "llmin", "llrint", "llround", "log", "log10", "log1p", "log2", "logb", "lrint",
      "lround", "max", "min", "modf", "nan", "nearbyint", "nextafter", "norm", "norm3d", "norm4d",
      "normcdf", "normcdfinv", "pow", "rcbrt", "remainder", "remquo", "rhypot", "rint", "rnorm",
      "rnorm3d", "rnorm4d", "round", "rsqrt", "scalbln", "scalbn", "sin", "sincos", "sincospi",
      "sinh", "sinpi", "sqrt", "tan", "tanh", "tgamma", "trunc", "ullmax", "ullmin", "umax", "umin",
      "y0", "y1", "yn", "clock", "clock64", "printf", "malloc", "free", "memset", "main",
  };
  // clang-format on
  return *names;
}

}  // namespace

std::string EntryName(const std::string& name) {
  std::string id = Identifier(name);
  std::string stem = !id.empty() && id.back() == 'f' ? id.substr(0, id.size() - 1) : id;
  bool taken = ReservedNames().count(id) || MathLibrary().count(id) || MathLibrary().count(stem);
  return taken ? id + "_kernel" : id;
}

}  // namespace codegen
}  // namespace tirx
