#include "types.h"

#include <tirx/support/diag.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace tirx {
namespace codegen {
namespace {

struct Entry {
  uint8_t code, bits;
  const char* type;
  const char* header;
};

// long long and not int64_t: the atomic and shuffle overloads exist for these names.
constexpr Entry kTypes[] = {
    {kDLBool, 8, "bool", nullptr},
    {kDLInt, 8, "signed char", nullptr},
    {kDLInt, 16, "short", nullptr},
    {kDLInt, 32, "int", nullptr},
    {kDLInt, 64, "long long", nullptr},
    {kDLUInt, 8, "unsigned char", nullptr},
    {kDLUInt, 16, "unsigned short", nullptr},
    {kDLUInt, 32, "unsigned", nullptr},
    {kDLUInt, 64, "unsigned long long", nullptr},
    {kDLFloat, 16, "__half", "cuda_fp16.h"},
    {kDLFloat, 32, "float", nullptr},
    {kDLFloat, 64, "double", nullptr},
    {kDLBfloat, 16, "__nv_bfloat16", "cuda_bf16.h"},
    {kDLFloat8_e4m3fn, 8, "__nv_fp8_e4m3", "cuda_fp8.h"},
    {kDLFloat8_e5m2, 8, "__nv_fp8_e5m2", "cuda_fp8.h"},
    {kDLFloat8_e8m0fnu, 8, "__nv_fp8_e8m0", "cuda_fp8.h"},
    {kDLFloat6_e2m3fn, 6, "__nv_fp6_e2m3", "cuda_fp6.h"},
    {kDLFloat6_e3m2fn, 6, "__nv_fp6_e3m2", "cuda_fp6.h"},
    {kDLFloat4_e2m1fn, 4, "__nv_fp4_e2m1", "cuda_fp4.h"},
};

const Entry* Find(DType t) {
  for (const Entry& e : kTypes) {
    if (e.code == t.code && e.bits == t.bits) return &e;
  }
  return nullptr;
}

/*! The shortest of %.6g, %.9g, ... that reads back as the same value. */
template <typename T, T (*kParse)(const char*, char**)>
std::string Shortest(T value, int first, int last) {
  char text[40];
  for (int digits = first; digits <= last; ++digits) {
    std::snprintf(text, sizeof(text), "%.*g", digits, static_cast<double>(value));
    if (kParse(text, nullptr) == value) break;
  }
  std::string out(text);
  return out.find_first_of(".en") == std::string::npos ? out + ".0" : out;
}

std::string FloatText(float v) {
  if (std::isnan(v)) return "__int_as_float(0x7fffffff)";
  if (std::isinf(v)) return v > 0 ? "__int_as_float(0x7f800000)" : "__int_as_float(0xff800000)";
  return Shortest<float, std::strtof>(v, 6, 9) + "f";
}

std::string DoubleText(double v) {
  if (std::isnan(v)) return "__longlong_as_double(0x7fffffffffffffffLL)";
  if (std::isinf(v)) {
    return std::string("__longlong_as_double(") + (v > 0 ? "0x7ff" : "0xfff") + "0000000000000LL)";
  }
  return Shortest<double, std::strtod>(v, 15, 17);
}

}  // namespace

std::string CType(DType t, const Span& span) {
  if (const Entry* e = Find(ElementOf(t))) return e->type;
  Diag("target", "codegen-dtype", span)
      .Message("CUDA C++ has no type for " + DTypeName(t))
      .Found(DTypeName(t))
      .Required("an integer of 8 to 64 bits, bool, or a float of 4 to 64 bits")
      .Throw();
}

std::string StorageType(DType t, const Span& span) {
  std::string type = CType(t, span);
  return IsPacked(t) ? "unsigned char" : type;
}

int64_t StorageBytes(DType t, int64_t count) {
  return IsPacked(t) ? (count + 1) / 2 : (t.bits + 7) / 8 * count;
}

const char* HeaderOf(DType t) {
  const Entry* e = Find(ElementOf(t));
  return e ? e->header : nullptr;
}

std::string MoveType(DType t) {
  bool whole = t.bits == 32 && (t.lanes == 2 || t.lanes == 4);
  std::string lanes = std::to_string(t.lanes);
  if (whole && t.code == kDLFloat) return "float" + lanes;
  if (whole && t.code == kDLInt) return "int" + lanes;
  switch (StorageBytes(t, t.lanes)) {
    case 16: return "uint4";
    case 8: return "uint2";
    case 4: return "unsigned";
    case 2: return "unsigned short";
    case 1: return "unsigned char";
    default: return "";
  }
}

std::string IntLiteral(int64_t v, DType t, bool weak) {
  if (IsBool(t)) return v ? "true" : "false";
  if (IsUnsigned(t) && t.bits == 64) return std::to_string(static_cast<uint64_t>(v)) + "ULL";
  bool narrow = v >= -INT64_C(2147483647) && v <= INT64_C(2147483647);
  if (IsUnsigned(t) && t.bits == 32) {
    if (v < 0x10000) return std::to_string(v) + (weak ? "" : "u");
    char hex[24];
    std::snprintf(hex, sizeof(hex), "0x%llxu", static_cast<unsigned long long>(v));
    return hex;
  }
  if (t.bits < 64) return narrow ? std::to_string(v) : "(-2147483647 - 1)";
  if (weak && narrow) return std::to_string(v);
  if (v == INT64_MIN) return "(-9223372036854775807LL - 1)";
  return std::to_string(v) + "LL";
}

std::string FloatLiteral(double v, DType t) {
  if (t.code == kDLFloat && t.bits == 64) return DoubleText(v);
  std::string text = FloatText(static_cast<float>(v));
  return t.code == kDLFloat && t.bits == 32 ? text : "(" + CType(t) + ")" + text;
}

}  // namespace codegen
}  // namespace tirx
