#include <tirx/sim/numeric.h>

#include <array>
#include <mutex>

namespace tirx {
namespace sim {
namespace {

// bits, mantissa, bias, max, inf, nan, fnuz, signed
constexpr SmallFloat kE3M4{8, 4, 3, 0x6f, 0x70, 0x78, false, true};
constexpr SmallFloat kE4M3{8, 3, 7, 0x77, 0x78, 0x7c, false, true};
constexpr SmallFloat kE4M3B11{8, 3, 11, 0x7f, -1, 0x80, true, true};
constexpr SmallFloat kE4M3FN{8, 3, 7, 0x7e, -1, 0x7f, false, true};
constexpr SmallFloat kE4M3FNUZ{8, 3, 8, 0x7f, -1, 0x80, true, true};
constexpr SmallFloat kE5M2{8, 2, 15, 0x7b, 0x7c, 0x7f, false, true};
constexpr SmallFloat kE5M2FNUZ{8, 2, 16, 0x7f, -1, 0x80, true, true};
constexpr SmallFloat kE8M0{8, 0, 127, 0xfe, -1, 0xff, false, false};
constexpr SmallFloat kE2M3{6, 3, 1, 0x1f, -1, -1, false, true};
constexpr SmallFloat kE3M2{6, 2, 3, 0x1f, -1, -1, false, true};
constexpr SmallFloat kE2M1{4, 1, 1, 0x7, -1, -1, false, true};

uint32_t SignBit(const SmallFloat& f) { return f.is_signed ? 1u << (f.bits - 1) : 0u; }

uint32_t EncodeE8M0(double x, bool saturate) {
  if (std::isnan(x)) return 0xff;
  x = std::fabs(x);
  if (std::isinf(x)) return saturate ? 0xfe : 0xff;
  if (x <= 0x1p-127) return 0;
  int e = std::ilogb(x);
  e += std::ldexp(1.0, e) < x ? 1 : 0;
  return e > 127 ? (saturate ? 0xfe : 0xff) : static_cast<uint32_t>(e + 127);
}

uint32_t Overflow(const SmallFloat& f, bool saturate, uint32_t sign) {
  if (saturate || (f.inf_code < 0 && f.nan_code < 0)) return sign | f.max_code;
  return f.inf_code >= 0 ? (sign | f.inf_code) : (f.fnuz ? 0x80u : (sign | f.nan_code));
}

/*! Rounds to odd: an inexact double sum keeps a sticky bit, so that a second rounding to a format
 *  of at most 51 bits is the single rounding of the exact sum. */
double AddToOdd(double a, double b) {
  double s = a + b, t = s - a;
  double err = (a - (s - t)) + (b - t);
  if (err == 0 || !std::isfinite(s)) return s;
  uint64_t u = std::bit_cast<uint64_t>(s);
  if (u & 1) return s;
  return std::bit_cast<double>((err > 0) == (s > 0) ? u + 1 : u - 1);
}

/*! Double to float, to odd: the float keeps a sticky bit for the rounding that follows. */
float NarrowToOdd(double x) {
  float f = static_cast<float>(x);
  if (static_cast<double>(f) == x || !std::isfinite(f)) return f;
  uint32_t u = std::bit_cast<uint32_t>(f);
  if (u & 1) return f;
  return std::bit_cast<float>(std::fabs(static_cast<double>(f)) < std::fabs(x) ? u + 1 : u - 1);
}

}  // namespace

const SmallFloat* FindSmallFloat(DType t) {
  static constexpr const SmallFloat* kFormats[] = {&kE3M4,     &kE4M3, &kE4M3B11,  &kE4M3FN,
                                                   &kE4M3FNUZ, &kE5M2, &kE5M2FNUZ, &kE8M0,
                                                   &kE2M3,     &kE3M2, &kE2M1};
  int i = static_cast<int>(t.code) - static_cast<int>(kDLFloat8_e3m4);
  return i >= 0 && i < 11 ? kFormats[i] : nullptr;
}

double DecodeSmall(const SmallFloat& f, uint32_t code) {
  if (&f == &kE8M0) return code == 0xff ? NAN : std::ldexp(1.0, static_cast<int>(code) - 127);
  if (f.fnuz && code == 0x80) return NAN;
  int magnitude = static_cast<int>(code & ~SignBit(f)) & ((1 << f.bits) - 1);
  double sign = code & SignBit(f) ? -1.0 : 1.0;
  if (magnitude == f.inf_code) return sign * INFINITY;
  if (magnitude > f.max_code) return std::copysign(NAN, sign);
  int exponent = magnitude >> f.mantissa, fraction = magnitude & ((1 << f.mantissa) - 1);
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - f.bias - f.mantissa);
  return sign * std::ldexp(fraction | (1 << f.mantissa), exponent - f.bias - f.mantissa);
}

uint32_t EncodeSmall(const SmallFloat& f, double x, bool saturate) {
  if (&f == &kE8M0) return EncodeE8M0(x, saturate);
  if (std::isnan(x)) return f.nan_code >= 0 ? f.nan_code : f.max_code;
  uint32_t sign = std::signbit(x) ? SignBit(f) : 0;
  double a = std::fabs(x);
  if (std::isinf(a)) return Overflow(f, saturate, sign);
  int min_exponent = 1 - f.bias;
  int e = a == 0 ? min_exponent : std::max(std::ilogb(a), min_exponent);
  double significand = std::nearbyint(std::ldexp(a, f.mantissa - e));
  double code = std::ldexp(e - min_exponent, f.mantissa) + significand;
  if (code > f.max_code) return Overflow(f, saturate, sign);
  uint32_t magnitude = static_cast<uint32_t>(code);
  return f.fnuz && magnitude == 0 ? 0 : (sign | magnitude);
}

const float* SmallTable(const SmallFloat& f) {
  static std::mutex lock;
  static std::array<const float*, 11> tables{};
  static const SmallFloat* const kAll[] = {&kE3M4,     &kE4M3, &kE4M3B11,  &kE4M3FN,
                                           &kE4M3FNUZ, &kE5M2, &kE5M2FNUZ, &kE8M0,
                                           &kE2M3,     &kE3M2, &kE2M1};
  std::lock_guard<std::mutex> guard(lock);
  size_t i = 0;
  while (kAll[i] != &f) ++i;
  if (!tables[i]) {
    auto* t = new float[256];
    for (int c = 0; c < 256; ++c)
      t[c] = static_cast<float>(DecodeSmall(f, c & ((1 << f.bits) - 1)));
    tables[i] = t;
  }
  return tables[i];
}

uint32_t FmaHalf(uint32_t a, uint32_t b, uint32_t c) {
  double p = static_cast<double>(HalfToFloat(a)) * HalfToFloat(b);  // 22 bits: exact
  return FloatToHalf(NarrowToOdd(AddToOdd(p, HalfToFloat(c))));
}

uint32_t FmaBFloat(uint32_t a, uint32_t b, uint32_t c) {
  double p = static_cast<double>(BFloatToFloat(a)) * BFloatToFloat(b);  // 16 bits: exact
  return FloatToBFloat(NarrowToOdd(AddToOdd(p, BFloatToFloat(c))));
}

double DecodeScalar(DType t, uint64_t bits) {
  if (const SmallFloat* f = FindSmallFloat(t)) return DecodeSmall(*f, static_cast<uint32_t>(bits));
  if (t.code == kDLBfloat) return BFloatToFloat(static_cast<uint32_t>(bits));
  if (t.code == kDLFloat && t.bits == 16) return HalfToFloat(static_cast<uint32_t>(bits));
  if (t.code == kDLFloat && t.bits == 32) return std::bit_cast<float>(static_cast<uint32_t>(bits));
  if (t.code == kDLFloat) return std::bit_cast<double>(bits);
  return IsSigned(t) ? static_cast<double>(static_cast<int64_t>(bits)) : static_cast<double>(bits);
}

uint64_t EncodeScalar(DType t, double x) {
  if (const SmallFloat* f = FindSmallFloat(t)) return EncodeSmall(*f, x);
  if (t.code == kDLBfloat) return FloatToBFloat(NarrowToOdd(x));
  if (t.code == kDLFloat && t.bits == 16) return FloatToHalf(NarrowToOdd(x));
  if (t.bits == 32) return std::bit_cast<uint32_t>(static_cast<float>(x));
  return std::bit_cast<uint64_t>(x);
}

}  // namespace sim
}  // namespace tirx
