/*!
 * Questions about layout maps that have exact answers: inverses where they are proved, fibers and
 * images, equality.
 */
#ifndef TIRX_LAYOUT_INVERSE_H_
#define TIRX_LAYOUT_INVERSE_H_
#include <tirx/layout/map.h>

#include <optional>
#include <string>
#include <vector>

namespace tirx {
namespace layout {

struct Inverse {
  /*! From the codomain of f to its domain; map(f(x)) = x for every x. Has no value off the image. */
  LayoutMap map;
  /*! 1 on the image of f and 0 elsewhere in its codomain; nothing when f is onto. */
  std::optional<LayoutMap> image;
  /*! Why it is the inverse. */
  std::string argument;
};

/*!
 * The inverse of an injective map: mixed radix by digit recovery (every stride larger than all
 * smaller ones reach together), bit-linear by elimination, registered transforms and permutations
 * by their own inverses, products and compositions from their parts, and tables of at most
 * `budget` points. Raises "not-injective" with two points of one value, or "unproved".
 */
Inverse TryInverse(const LayoutMap& map, int64_t budget = kFiniteBudget);

/*!
 * The points x with map(x) = value, as an injective map from a fiber box onto exactly these points;
 * nothing when there are none. Mixed radix: the digits that reach no output are free. Bit-linear:
 * a solution XOR the kernel. Otherwise the domain is searched ("too-large" above `budget`); points
 * where the map has no value are not in any fiber.
 */
std::optional<LayoutMap> Fiber(const LayoutMap& map, const std::vector<int64_t>& value,
                               int64_t budget = kFiniteBudget);

/*! Number of distinct values. Raises "too-large" or "no-value" where it has to enumerate. */
int64_t ImageSize(const LayoutMap& map, int64_t budget = kFiniteBudget);

/*!
 * A point where two maps on one domain differ (in value, or because only one has a value); nothing
 * when they are equal everywhere. Decided by coalesced strides, by columns over GF(2), by equal
 * normal forms, or by evaluating at most `budget` points. Raises "box-mismatch" or "unproved".
 */
std::optional<std::vector<int64_t>> Difference(const LayoutMap& a, const LayoutMap& b,
                                               int64_t budget = kFiniteBudget);

}  // namespace layout
}  // namespace tirx
#endif  // TIRX_LAYOUT_INVERSE_H_
