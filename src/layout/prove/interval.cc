// Ranges of operations: sound, and exact only where stated. The affine and bit forms sharpen them.
#include <algorithm>

#include "node_facts.h"

namespace tirx {
namespace layout {
namespace prove {
namespace {

constexpr Wide kLow = std::numeric_limits<int64_t>::min();
constexpr Wide kHigh = std::numeric_limits<int64_t>::max();

Interval Hull(Wide a, Wide b, Wide c, Wide d) {
  return {std::min({a, b, c, d}), std::max({a, b, c, d})};
}

bool Representable(const Interval& r, Interval* out) {
  *out = r;
  return Fits(r.lo) && Fits(r.hi);
}

bool Divide(const Interval& a, const Interval& b, Interval* out) {
  if (b.lo <= 0 && b.hi >= 0) return false;
  // With b of one sign, floor(a / b) is monotone in each argument: extremes are at corners.
  return Representable(Hull(FloorDivWide(a.lo, b.lo), FloorDivWide(a.lo, b.hi),
                            FloorDivWide(a.hi, b.lo), FloorDivWide(a.hi, b.hi)),
                       out);
}

bool Modulo(const Interval& a, const Interval& b, Interval* out) {
  if (b.lo <= 0 && b.hi >= 0) return false;
  *out = b.lo > 0 ? Interval{0, b.hi - 1} : Interval{b.lo + 1, 0};
  bool unchanged = b.lo > 0 ? a.Within(0, b.lo - 1) : a.Within(b.hi + 1, 0);
  if (unchanged) *out = a;
  return true;
}

/*! 2^k - 1 for the smallest k with v < 2^k. */
Wide OnesAbove(Wide v) {
  Wide ones = 0;
  while (ones < v) ones = 2 * ones + 1;
  return ones;
}

Interval Xor(const Interval& a, const Interval& b) {
  Wide ones = OnesAbove(std::max({a.hi, b.hi, -1 - a.lo, -1 - b.lo}));
  bool positive = a.lo >= 0 && b.lo >= 0;
  return {positive ? 0 : -ones - 1, ones};
}

Interval And(const Interval& a, const Interval& b) {
  if (a.lo >= 0 && b.lo >= 0) return {0, std::min(a.hi, b.hi)};
  if (a.lo >= 0) return {0, a.hi};
  if (b.lo >= 0) return {0, b.hi};
  return {-OnesAbove(std::max(-1 - a.lo, -1 - b.lo)) - 1, std::max(a.hi, b.hi)};
}

bool ShiftUp(const Interval& a, const Interval& b, Interval* out) {
  if (!b.Within(0, 63)) return false;
  *out = Interval{};
  Wide low = Wide{1} << static_cast<int>(b.lo), high = Wide{1} << static_cast<int>(b.hi);
  Interval exact = Hull(a.lo * low, a.lo * high, a.hi * low, a.hi * high);
  if (exact.Within(kLow, kHigh)) *out = exact;
  return true;
}

bool ShiftDown(const Interval& a, const Interval& b, Interval* out) {
  if (!b.Within(0, 63)) return false;
  int low = static_cast<int>(b.lo), high = static_cast<int>(b.hi);
  if (a.lo >= 0) {
    *out = {a.lo >> high, a.hi >> low};
  } else {
    *out = low > 0 ? Interval{0, (Wide{1} << (64 - low)) - 1} : Interval{};
  }
  return true;
}

Interval Less(const Interval& a, const Interval& b) {
  if (a.hi < b.lo) return {1, 1};
  return a.lo >= b.hi ? Interval{0, 0} : Interval{0, 1};
}

Interval Equal(const Interval& a, const Interval& b) {
  if (a.IsConst() && b.IsConst() && a.lo == b.lo) return {1, 1};
  return a.hi < b.lo || b.hi < a.lo ? Interval{0, 0} : Interval{0, 1};
}

}  // namespace

bool IntervalRule(IndexOp op, const Interval& a, const Interval& b, Interval* out) {
  switch (op) {
    case IndexOp::kAdd: return Representable({a.lo + b.lo, a.hi + b.hi}, out);
    case IndexOp::kSub: return Representable({a.lo - b.hi, a.hi - b.lo}, out);
    case IndexOp::kMul:
      return Representable(Hull(a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi), out);
    case IndexOp::kFloorDiv: return Divide(a, b, out);
    case IndexOp::kFloorMod: return Modulo(a, b, out);
    case IndexOp::kXor: return Representable(Xor(a, b), out);
    case IndexOp::kAnd: return Representable(And(a, b), out);
    case IndexOp::kShl: return ShiftUp(a, b, out);
    case IndexOp::kShr: return ShiftDown(a, b, out);
    case IndexOp::kLess: return Representable(Less(a, b), out);
    case IndexOp::kEqual: return Representable(Equal(a, b), out);
    default: return false;
  }
}

}  // namespace prove
}  // namespace layout
}  // namespace tirx
