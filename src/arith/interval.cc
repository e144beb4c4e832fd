#include "interval.h"

#include <tirx/expr/ops.h>

namespace tirx {
namespace arith {

ConstBound DTypeBound(DType t) {
  DType e = ElementOf(t);
  if (IsBool(e)) return {0, 1};
  return IsInteger(e) ? ConstBound{MinValue(e), MaxValue(e)} : kEverything;
}

namespace {

bool IsFinite(const ConstBound& b) { return !IsNegInf(b.min) && !IsPosInf(b.max); }

/*! -1, 0 or 1: the sign all values share, or 2 when they differ. */
int SignOf(const ConstBound& b) {
  if (b.min == 0 && b.max == 0) return 0;
  if (b.min >= 0) return 1;
  return b.max <= 0 ? -1 : 2;
}

ConstBound NegateBound(const ConstBound& b) { return ScaleBound(b, -1); }

}  // namespace

ConstBound MulBound(const ConstBound& a, const ConstBound& b) {
  if (IsPoint(a)) return ScaleBound(b, a.min);
  if (IsPoint(b)) return ScaleBound(a, b.min);
  if (IsFinite(a) && IsFinite(b)) {
    Wide p[4] = {static_cast<Wide>(a.min) * b.min, static_cast<Wide>(a.min) * b.max,
                 static_cast<Wide>(a.max) * b.min, static_cast<Wide>(a.max) * b.max};
    return {Saturate(*std::min_element(p, p + 4)), Saturate(*std::max_element(p, p + 4))};
  }
  int sa = SignOf(a), sb = SignOf(b);
  if (sa == 2 || sb == 2) return kEverything;
  if (sa == -1) return NegateBound(MulBound(NegateBound(a), b));
  if (sb == -1) return NegateBound(MulBound(a, NegateBound(b)));
  return {Saturate(static_cast<Wide>(a.min) * b.min), ConstBound::kPosInf};
}

ConstBound FloorDivBound(const ConstBound& a, const ConstBound& b) {
  if (b.min <= 0 && b.max >= 0) return kEverything;
  if (b.max < 0) {
    if (IsNegInf(b.min) || IsNegInf(a.min)) return kEverything;
    return FloorDivBound(NegateBound(a), NegateBound(b));
  }
  // 0 < b.min <= b.max: extremes are at the corners; towards an infinite divisor, -1 or 0.
  auto divide = [](int64_t x, int64_t y) {
    return IsPosInf(y) ? (x < 0 ? int64_t{-1} : int64_t{0}) : FloorDivInt(x, y);
  };
  int64_t lo =
      IsNegInf(a.min) ? ConstBound::kNegInf : std::min(divide(a.min, b.min), divide(a.min, b.max));
  int64_t hi =
      IsPosInf(a.max) ? ConstBound::kPosInf : std::max(divide(a.max, b.min), divide(a.max, b.max));
  return {lo, hi};
}

ConstBound FloorModBound(const ConstBound& a, int64_t m) {
  if (IsFinite(a) && FloorDivInt(a.min, m) == FloorDivInt(a.max, m)) {
    return {FloorModInt(a.min, m), FloorModInt(a.max, m)};
  }
  return {0, m - 1};
}

}  // namespace arith
}  // namespace tirx
