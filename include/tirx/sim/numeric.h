/*!
 * Bit-exact number formats.
 *
 * Encodings: PTX ISA 5.2.3 and OCP OFP8/MX; conversions: PTX ISA 9.7.9.21 (cvt). Every conversion
 * rounds once, to nearest even. A cast to a format of eight bits or fewer saturates to the largest
 * finite value (cvt.rn.satfinite, the only form the hardware has); a cast to float16 or bfloat16
 * overflows to infinity. NaN stays NaN where the format has one and becomes +max in fp6/fp4.
 * float8_e8m0fnu has no sign and rounds up (cudaRoundPosInf, what the CUDA type's constructor
 * does).
 */
#ifndef TIRX_SIM_NUMERIC_H_
#define TIRX_SIM_NUMERIC_H_
#include <tirx/expr/dtype.h>

#include <bit>
#include <cmath>
#include <cstdint>

namespace tirx {
namespace sim {

inline float HalfToFloat(uint32_t h) {
  // Shifting the half into a float and multiplying by 2^112 rebiases normals and subnormals at
  // once; infinities and NaNs get their exponent back afterwards.
  uint32_t shifted = (h & 0x7fffu) << 13;
  float scaled = std::bit_cast<float>(shifted) * 0x1p112f;
  uint32_t bits = std::bit_cast<uint32_t>(scaled);
  bits |= shifted >= 0x0f800000u ? 0x7f800000u : 0u;
  return std::bit_cast<float>(bits | (h & 0x8000u) << 16);
}

/*! float32 to binary16, round to nearest even. NaN becomes 0x7fff as on the device. */
inline uint32_t FloatToHalf(float f) {
  uint32_t u = std::bit_cast<uint32_t>(f), sign = (u >> 16) & 0x8000u, a = u & 0x7fffffffu;
  // Subnormal results: adding 0.5 lets the float adder do the rounding.
  uint32_t tiny = std::bit_cast<uint32_t>(std::bit_cast<float>(a) + 0.5f) - 0x3f000000u;
  uint32_t normal = (a - 0x38000000u + 0xfffu + ((a >> 13) & 1u)) >> 13;
  uint32_t r = a < 0x38800000u ? tiny : normal;
  r = a >= 0x477ff000u ? 0x7c00u : r;
  return a > 0x7f800000u ? 0x7fffu : (sign | r);
}

inline float BFloatToFloat(uint32_t b) { return std::bit_cast<float>(b << 16); }

/*! float32 to bfloat16, round to nearest even. NaN becomes 0x7fff as on the device. */
inline uint32_t FloatToBFloat(float f) {
  uint32_t u = std::bit_cast<uint32_t>(f);
  uint32_t r = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
  return (u & 0x7fffffffu) > 0x7f800000u ? 0x7fffu : r;
}

/*! float32 rounded to tf32 (10 mantissa bits), ties away from zero: cvt.rna.tf32.f32. */
inline float RoundTf32(float f) {
  uint32_t u = std::bit_cast<uint32_t>(f);
  if ((u & 0x7f800000u) == 0x7f800000u) return f;
  return std::bit_cast<float>((u + 0x1000u) & 0xffffe000u);
}

/*! What the tensor core sees of an unconverted float32: the low 13 bits dropped. */
inline float TruncTf32(float f) {
  return std::bit_cast<float>(std::bit_cast<uint32_t>(f) & 0xffffe000u);
}

/*! A format of at most eight bits. Codes count magnitudes from 0; the sign is the top bit. */
struct SmallFloat {
  int bits, mantissa, bias;
  int max_code;  //!< magnitude code of the largest finite value
  int inf_code;  //!< magnitude code of infinity, or -1
  int nan_code;  //!< full code of the canonical NaN, or -1
  bool fnuz;     //!< no negative zero; 0x80 is NaN
  bool is_signed;
};
/*! The format of a dtype of at most eight bits, or nullptr. */
const SmallFloat* FindSmallFloat(DType t);
double DecodeSmall(const SmallFloat& f, uint32_t code);
/*! Round to nearest even (up for e8m0). saturate: beyond max_code gives max_code, not inf/NaN. */
uint32_t EncodeSmall(const SmallFloat& f, double x, bool saturate = true);
/*! 256 decoded values (of the codes that exist) as float32, cached. */
const float* SmallTable(const SmallFloat& f);

/*! a*b+c in binary16, rounded once. */
uint32_t FmaHalf(uint32_t a, uint32_t b, uint32_t c);
uint32_t FmaBFloat(uint32_t a, uint32_t b, uint32_t c);

/*! The value of a scalar of dtype t stored as `bits`. Integers convert too. */
double DecodeScalar(DType t, uint64_t bits);
/*! The bits of x rounded to float dtype t. */
uint64_t EncodeScalar(DType t, double x);

}  // namespace sim
}  // namespace tirx
#endif  // TIRX_SIM_NUMERIC_H_
