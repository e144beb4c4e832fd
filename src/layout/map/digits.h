/*!
 * Digit forms: base + sum of stride * digit, where a digit of a coordinate x is
 * floor((x mod hi) / lo). Affine and mixed-radix maps are sums of such digits, and floordiv,
 * floormod, masks and shifts by constants map sums of digits to sums of digits when the remainder
 * is proved to stay below the divisor. A node has a form only when it and everything under it has a
 * value at every point.
 */
#ifndef TIRX_LAYOUT_MAP_DIGITS_H_
#define TIRX_LAYOUT_MAP_DIGITS_H_
#include <tirx/layout/index_dag.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace tirx {
namespace layout {

/*! stride * floor((x_axis mod hi) / lo); hi = 0: x_axis itself, not reduced. lo divides hi, and
 *  lo and hi are below the extent of the axis. */
struct DigitTerm {
  int32_t axis;
  int64_t extent, lo, hi, stride;
  /*! The digit is in [0, Count()), and every value in there occurs. */
  int64_t Count() const {
    int64_t reach = (extent - 1) / lo + 1;
    return hi == 0 ? reach : std::min(hi / lo, reach);
  }
};

/*! base + terms. Digits of one axis whose cuts are a chain of divisors do not overlap and are merged
 *  where they can be; no stride is 0. */
struct DigitForm {
  int64_t base{0};
  std::vector<DigitTerm> terms;
  /*! Bounds on the value, from every digit on its own. */
  int64_t low{0}, high{0};
};

/*! The form of every node, or nothing where none was found. */
std::vector<std::optional<DigitForm>> DigitForms(const IndexDag& dag);

/*! Outputs over one common split of every axis: digits[i] are the extents of axis i, fastest first,
 *  with product domain[i]; strides[j] lists output j's stride of every digit in the same order. */
struct MixedRadixForm {
  std::vector<std::vector<int64_t>> digits;
  std::vector<std::vector<std::vector<int64_t>>> strides;  //!< [axis][digit][output]
  std::vector<int64_t> offset;
};
/*! Whether the sum, term by term as a MixedRadix map adds it up, stays inside 64 bits at every point.
 *  A value may be near one end of int64 and a product of it beyond the other: 3 - 2^63 + 2 * 2^62. */
bool HasEveryValue(const MixedRadixForm& form);
/*! Coalesced: neighbouring digits of an axis with strides s and extent * s are one digit, digits of
 *  extent 1 are gone (an axis keeps one digit). Nothing when the outputs have no such form, or one that has not
 *  every value. */
std::optional<MixedRadixForm> ToMixedRadix(const IndexDag& dag);

}  // namespace layout
}  // namespace tirx
#endif  // TIRX_LAYOUT_MAP_DIGITS_H_
