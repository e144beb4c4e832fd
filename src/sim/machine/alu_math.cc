/*!
 * Conversions and math functions over rows.
 *
 * Transcendental functions are evaluated in double and rounded once to float32: at least as exact
 * as the device's library functions (at most 2 ulp, CUDA Programming Guide, mathematical functions)
 * and reproducible. float64 uses the host's library.
 */
#include <tirx/sim/alu.h>
#include <tirx/sim/machine.h>
#include <tirx/sim/numeric.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

namespace tirx {
namespace sim {
namespace {

/*! cvt.rzi: clamps; NaN gives 0 (32-bit) or the top bit (64-bit), PTX ISA 9.7.9.21. */
template <typename To, typename From>
To FloatToInt(From x) {
  using L = std::numeric_limits<To>;
  if (x != x)
    return sizeof(To) == 8 || sizeof(From) == 8
               ? static_cast<To>(uint64_t{1} << (sizeof(To) * 8 - 1))
               : To{0};
  From t = std::trunc(x);
  if (t <= static_cast<From>(L::min())) return L::min();
  // 2^31 and 2^63 are exact in both float types; max() itself may not be.
  if (t >= std::ldexp(From{1}, L::digits)) return L::max();
  return static_cast<To>(t);
}

template <typename To, typename From>
To ConvertValue(From x) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return FloatToInt<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

template <typename From, typename To>
void ConvertRow(Warp& w, const Ins& i) {
  const From* a = w.Row<From>(i.a);
  To out[kLanes];
  for (int l = 0; l < kLanes; ++l) out[l] = ConvertValue<To>(a[l]);
  std::copy(out, out + kLanes, w.Row<To>(i.d));
}

template <typename From>
Fn ConvertFrom(Cls to) {
  switch (to) {
    case Cls::kI32: return &ConvertRow<From, int32_t>;
    case Cls::kU32: return &ConvertRow<From, uint32_t>;
    case Cls::kI64: return &ConvertRow<From, int64_t>;
    case Cls::kU64: return &ConvertRow<From, uint64_t>;
    case Cls::kF32: return &ConvertRow<From, float>;
    case Cls::kF64: return &ConvertRow<From, double>;
  }
  return nullptr;
}

void DecodeHalf(Warp& w, const Ins& i) {
  for (int l = 0; l < kLanes; ++l) w.Row<float>(i.d)[l] = HalfToFloat(w.Row<uint32_t>(i.a)[l]);
}
void DecodeBFloat(Warp& w, const Ins& i) {
  for (int l = 0; l < kLanes; ++l) w.Row<float>(i.d)[l] = BFloatToFloat(w.Row<uint32_t>(i.a)[l]);
}
void EncodeHalf(Warp& w, const Ins& i) {
  for (int l = 0; l < kLanes; ++l) w.Row<uint32_t>(i.d)[l] = FloatToHalf(w.Row<float>(i.a)[l]);
}
void EncodeBFloat(Warp& w, const Ins& i) {
  for (int l = 0; l < kLanes; ++l) w.Row<uint32_t>(i.d)[l] = FloatToBFloat(w.Row<float>(i.a)[l]);
}

template <int kCode>
constexpr DType SmallType() {
  return DType{static_cast<uint8_t>(kCode),
               static_cast<uint8_t>(kCode >= 17   ? 4
                                    : kCode >= 15 ? 6
                                                  : 8),
               1};
}
template <int kCode>
void DecodeSmallRow(Warp& w, const Ins& i) {
  static const float* table = SmallTable(*FindSmallFloat(SmallType<kCode>()));
  for (int l = 0; l < kLanes; ++l) w.Row<float>(i.d)[l] = table[w.Row<uint32_t>(i.a)[l] & 0xff];
}
template <int kCode>
void EncodeSmallRow(Warp& w, const Ins& i) {
  static const SmallFloat* f = FindSmallFloat(SmallType<kCode>());
  for (int l = 0; l < kLanes; ++l) w.Row<uint32_t>(i.d)[l] = EncodeSmall(*f, w.Row<float>(i.a)[l]);
}
/*! From float64, for any float type: rounds once. */
template <int kCode, int kBits>
void EncodeFromDouble(Warp& w, const Ins& i) {
  DType t{static_cast<uint8_t>(kCode), static_cast<uint8_t>(kBits), 1};
  uint32_t out[kLanes];
  for (int l = 0; l < kLanes; ++l)
    out[l] = static_cast<uint32_t>(EncodeScalar(t, w.Row<double>(i.a)[l]));
  std::copy(out, out + kLanes, w.Row<uint32_t>(i.d));
}

#define TIRX_SMALL_CODES(X) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16) X(17)

template <typename S, S (*F)(S)>
void MapRow(Warp& w, const Ins& i) {
  for (int l = 0; l < kLanes; ++l) w.Row<S>(i.d)[l] = F(w.Row<S>(i.a)[l]);
}

#define TIRX_MATH(Name, expr)              \
  template <typename S>                    \
  S Name(S value) {                        \
    double x = static_cast<double>(value); \
    return static_cast<S>(expr);           \
  }
TIRX_MATH(MExp, std::exp(x))
TIRX_MATH(MExp2, std::exp2(x))
TIRX_MATH(MLog, std::log(x))
TIRX_MATH(MLog2, std::log2(x))
TIRX_MATH(MSqrt, std::sqrt(x))
TIRX_MATH(MRsqrt, 1.0 / std::sqrt(x))
TIRX_MATH(MSin, std::sin(x))
TIRX_MATH(MCos, std::cos(x))
TIRX_MATH(MTanh, std::tanh(x))
TIRX_MATH(MErf, std::erf(x))
TIRX_MATH(MAbs, std::fabs(x))
TIRX_MATH(MFloor, std::floor(x))
TIRX_MATH(MCeil, std::ceil(x))
TIRX_MATH(MRound, std::nearbyint(x))
TIRX_MATH(MTrunc, std::trunc(x))
#undef TIRX_MATH

template <typename S>
S IAbs(S x) {
  if constexpr (std::is_signed_v<S>)
    return x < 0 ? static_cast<S>(0 - static_cast<std::make_unsigned_t<S>>(x)) : x;
  return x;
}
template <typename S>
S INot(S x) {
  return static_cast<S>(~x);
}

template <typename S>
Fn FloatMath(const std::string& name) {
  struct Entry {
    const char* name;
    Fn fn;
  };
  static const Entry kTable[] = {{"exp", &MapRow<S, MExp<S>>},    {"exp2", &MapRow<S, MExp2<S>>},
                                 {"log", &MapRow<S, MLog<S>>},    {"log2", &MapRow<S, MLog2<S>>},
                                 {"sqrt", &MapRow<S, MSqrt<S>>},  {"rsqrt", &MapRow<S, MRsqrt<S>>},
                                 {"sin", &MapRow<S, MSin<S>>},    {"cos", &MapRow<S, MCos<S>>},
                                 {"tanh", &MapRow<S, MTanh<S>>},  {"erf", &MapRow<S, MErf<S>>},
                                 {"abs", &MapRow<S, MAbs<S>>},    {"floor", &MapRow<S, MFloor<S>>},
                                 {"ceil", &MapRow<S, MCeil<S>>},  {"round", &MapRow<S, MRound<S>>},
                                 {"trunc", &MapRow<S, MTrunc<S>>}};
  for (const Entry& e : kTable) {
    if (name == e.name) return e.fn;
  }
  return nullptr;
}

template <typename S>
void PowRow(Warp& w, const Ins& i) {
  for (int l = 0; l < kLanes; ++l) {
    w.Row<S>(i.d)[l] = static_cast<S>(
        std::pow(static_cast<double>(w.Row<S>(i.a)[l]), static_cast<double>(w.Row<S>(i.b)[l])));
  }
}
template <typename S>
void FmaRow(Warp& w, const Ins& i) {
  const S *a = w.Row<S>(i.a), *b = w.Row<S>(i.b), *c = w.Row<S>(i.c);
  S* d = w.Row<S>(i.d);
  for (int l = 0; l < kLanes; ++l) d[l] = std::fma(a[l], b[l], c[l]);
}
template <typename S>
void PopcountRow(Warp& w, const Ins& i) {
  S out[kLanes];
  for (int l = 0; l < kLanes; ++l) out[l] = static_cast<S>(std::popcount(w.Row<S>(i.a)[l]));
  std::copy(out, out + kLanes, w.Row<S>(i.d));
}
template <typename S>
void ClzRow(Warp& w, const Ins& i) {
  S out[kLanes];
  for (int l = 0; l < kLanes; ++l) out[l] = static_cast<S>(std::countl_zero(w.Row<S>(i.a)[l]));
  std::copy(out, out + kLanes, w.Row<S>(i.d));
}

template <typename S>
Fn IntMath(const std::string& name) {
  using U = std::make_unsigned_t<S>;
  if (name == "abs") return &MapRow<S, IAbs<S>>;
  if (name == "bitwise_not") return &MapRow<S, INot<S>>;
  if (name == "popcount") return &PopcountRow<U>;
  if (name == "clz") return &ClzRow<U>;
  return nullptr;
}

template <typename N>
void WrapRow(Warp& w, const Ins& i) {
  using E = std::conditional_t<std::is_signed_v<N>, int32_t, uint32_t>;
  for (int l = 0; l < kLanes; ++l) {
    w.Row<E>(i.d)[l] = static_cast<N>(w.Row<uint32_t>(i.a)[l]);
  }
}
template <typename N>
void WrapScalar(Warp& w, const Ins& i) {
  w.s[i.d] = static_cast<N>(w.s[i.a]);
}

}  // namespace

Fn ConvertFn(Cls from, Cls to) {
  switch (from) {
    case Cls::kI32: return ConvertFrom<int32_t>(to);
    case Cls::kU32: return ConvertFrom<uint32_t>(to);
    case Cls::kI64: return ConvertFrom<int64_t>(to);
    case Cls::kU64: return ConvertFrom<uint64_t>(to);
    case Cls::kF32: return ConvertFrom<float>(to);
    case Cls::kF64: return ConvertFrom<double>(to);
  }
  return nullptr;
}

Fn DecodeFn(DType t) {
  if (t.code == kDLBfloat) return &DecodeBFloat;
  if (t.code == kDLFloat) return &DecodeHalf;
#define TIRX_CASE(code) \
  case code: return &DecodeSmallRow<code>;
  switch (t.code) { TIRX_SMALL_CODES(TIRX_CASE) }
#undef TIRX_CASE
  return nullptr;
}

Fn EncodeFn(DType t, Cls from) {
  if (from == Cls::kF64) {
    if (t.code == kDLBfloat) return &EncodeFromDouble<kDLBfloat, 16>;
    if (t.code == kDLFloat) return &EncodeFromDouble<kDLFloat, 16>;
#define TIRX_CASE(code) \
  case code: return &EncodeFromDouble<code, SmallType<code>().bits>;
    switch (t.code) { TIRX_SMALL_CODES(TIRX_CASE) }
#undef TIRX_CASE
    return nullptr;
  }
  if (t.code == kDLBfloat) return &EncodeBFloat;
  if (t.code == kDLFloat) return &EncodeHalf;
#define TIRX_CASE(code) \
  case code: return &EncodeSmallRow<code>;
  switch (t.code) { TIRX_SMALL_CODES(TIRX_CASE) }
#undef TIRX_CASE
  return nullptr;
}

Fn MathFn(const std::string& name, Cls c) {
  bool f64 = c == Cls::kF64;
  if (c == Cls::kF32 || f64) {
    if (name == "pow") return f64 ? &PowRow<double> : &PowRow<float>;
    if (name == "fma") return f64 ? &FmaRow<double> : &FmaRow<float>;
    return f64 ? FloatMath<double>(name) : FloatMath<float>(name);
  }
  switch (c) {
    case Cls::kI32: return IntMath<int32_t>(name);
    case Cls::kU32: return IntMath<uint32_t>(name);
    case Cls::kI64: return IntMath<int64_t>(name);
    default: return IntMath<uint64_t>(name);
  }
}

Fn WrapFn(DType t) {
  if (!IsInteger(t) || t.bits >= 32) return nullptr;
  if (t.bits == 8) return IsSigned(t) ? &WrapRow<int8_t> : &WrapRow<uint8_t>;
  if (t.bits == 16) return IsSigned(t) ? &WrapRow<int16_t> : &WrapRow<uint16_t>;
  return nullptr;
}

Fn ScalarWrapFn(DType t) {
  if (!IsInteger(t) && !IsHandle(t)) return nullptr;
  switch (t.bits) {
    case 8: return IsSigned(t) ? &WrapScalar<int8_t> : &WrapScalar<uint8_t>;
    case 16: return IsSigned(t) ? &WrapScalar<int16_t> : &WrapScalar<uint16_t>;
    case 32: return IsSigned(t) ? &WrapScalar<int32_t> : &WrapScalar<uint32_t>;
    default: return nullptr;
  }
}

}  // namespace sim
}  // namespace tirx
