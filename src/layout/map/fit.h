/*!
 * Forms of maps whose values were all listed.
 */
#ifndef TIRX_LAYOUT_MAP_FIT_H_
#define TIRX_LAYOUT_MAP_FIT_H_
#include <tirx/layout/map.h>

#include <optional>
#include <vector>

#include "digits.h"

namespace tirx {
namespace layout {

/*! Columns of a bit-linear map: basis[axis][bit][output]. */
struct BitBasis {
  std::vector<std::vector<std::vector<int64_t>>> basis;
  std::vector<int64_t> translation;
};

/*! Columns of a map whose expressions are proved to be bit-linear on its whole domain. */
std::optional<BitBasis> BitFormOf(const LayoutMap& map);
/*! The coalesced mixed-radix form with exactly these values (row-major, `rank` per point). */
std::optional<MixedRadixForm> FitMixedRadix(const std::vector<int64_t>& extents, size_t rank,
                                            const std::vector<int64_t>& values);
/*! The bit-linear form with exactly these values, none negative. */
std::optional<BitBasis> FitBitLinear(const std::vector<int64_t>& extents, size_t rank,
                                     const std::vector<int64_t>& values);

}  // namespace layout
}  // namespace tirx
#endif  // TIRX_LAYOUT_MAP_FIT_H_
