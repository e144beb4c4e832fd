/*!
 * Arithmetic on ConstBound. Results that leave int64 become infinite (or the nearest int64, where
 * that is still a bound), so every operation is sound for mathematical integers.
 */
#ifndef TIRX_SRC_ARITH_INTERVAL_H_
#define TIRX_SRC_ARITH_INTERVAL_H_
#include <tirx/arith/analyzer.h>

#include <algorithm>

namespace tirx {
namespace arith {

/*! Wide enough for one product of int64 values and for sums of many clamped ones. */
using Wide = __int128;
constexpr Wide kWideLimit = static_cast<Wide>(1) << 100;

inline int64_t Saturate(Wide v) {
  if (v > INT64_MAX) return INT64_MAX;
  return v < INT64_MIN ? INT64_MIN : static_cast<int64_t>(v);
}
inline bool IsNegInf(int64_t v) { return v == ConstBound::kNegInf; }
inline bool IsPosInf(int64_t v) { return v == ConstBound::kPosInf; }
constexpr ConstBound kEverything{ConstBound::kNegInf, ConstBound::kPosInf};

inline bool operator==(const ConstBound& a, const ConstBound& b) {
  return a.min == b.min && a.max == b.max;
}
inline bool IsPoint(const ConstBound& b) {
  return b.min == b.max && !IsNegInf(b.min) && !IsPosInf(b.min);
}
inline bool Within(const ConstBound& b, int64_t lo, int64_t hi) {
  return b.min >= lo && b.max <= hi;
}

inline ConstBound AddBound(const ConstBound& a, const ConstBound& b) {
  Wide lo = static_cast<Wide>(a.min) + b.min, hi = static_cast<Wide>(a.max) + b.max;
  return {IsNegInf(a.min) || IsNegInf(b.min) ? ConstBound::kNegInf : Saturate(lo),
          IsPosInf(a.max) || IsPosInf(b.max) ? ConstBound::kPosInf : Saturate(hi)};
}

inline ConstBound ScaleBound(const ConstBound& a, int64_t k) {
  if (k == 0) return {0, 0};
  Wide lo = static_cast<Wide>(a.min) * k, hi = static_cast<Wide>(a.max) * k;
  if (k > 0) {
    return {IsNegInf(a.min) ? ConstBound::kNegInf : Saturate(lo),
            IsPosInf(a.max) ? ConstBound::kPosInf : Saturate(hi)};
  }
  return {IsPosInf(a.max) ? ConstBound::kNegInf : Saturate(hi),
          IsNegInf(a.min) ? ConstBound::kPosInf : Saturate(lo)};
}

inline ConstBound UnionBound(const ConstBound& a, const ConstBound& b) {
  return {std::min(a.min, b.min), std::max(a.max, b.max)};
}

/*! Both facts together; contradictory facts (unreachable code) keep the first. */
inline ConstBound Intersect(const ConstBound& a, const ConstBound& b) {
  ConstBound out{std::max(a.min, b.min), std::min(a.max, b.max)};
  return out.min <= out.max ? out : a;
}

/*! Values of a scalar integer or bool dtype. */
ConstBound DTypeBound(DType t);
ConstBound MulBound(const ConstBound& a, const ConstBound& b);
/*! a // b for every b in the bound; b must exclude 0, or the result is everything. */
ConstBound FloorDivBound(const ConstBound& a, const ConstBound& b);
/*! Bound of a % m for a constant m > 0. */
ConstBound FloorModBound(const ConstBound& a, int64_t m);

}  // namespace arith
}  // namespace tirx
#endif  // TIRX_SRC_ARITH_INTERVAL_H_
