/*!
 * Shared inside the maps: reading FFI arrays, and the errors they raise.
 */
#ifndef TIRX_LAYOUT_MAP_DETAIL_H_
#define TIRX_LAYOUT_MAP_DETAIL_H_
#include <tirx/layout/map.h>

#include <optional>
#include <string>
#include <vector>

#include "../num.h"

namespace tirx {
namespace layout {

inline std::vector<int64_t> ToVector(const Ints& a) { return {a.begin(), a.end()}; }
inline Ints ToInts(const std::vector<int64_t>& v) { return Ints(v.begin(), v.end()); }

/*! "(3, 4)". */
std::string PointText(const std::vector<int64_t>& point);
/*! Raises "outside-domain". */
void CheckInside(const std::vector<int64_t>& domain, const std::vector<int64_t>& coords);
/*! Raises LayoutError `code`. */
[[noreturn]] void Refuse(const std::string& code, const std::string& message,
                         const std::string& found, const std::string& required,
                         const std::string& hint = "");
/*! ceil(log2(extent)): bits of a coordinate below extent. */
int BitsFor(int64_t extent);
/*! Row-major place of a point in the box. */
int64_t LinearIndex(const std::vector<int64_t>& extents, const std::vector<int64_t>& point);
/*! Number of points of the domain; raises "too-large" above `budget`. */
int64_t DomainSizeWithin(const LayoutMap& map, int64_t budget, const std::string& what);

/*! An identity (or any map with such a form) written as MixedRadix. */
LayoutMap MixedRadixOfIdentity(const LayoutMap& map);

/*! The maps of a composition, the one that is applied first in front. */
void Factors(const LayoutMap& map, std::vector<LayoutMap>* out);
/*! A recast written with the strides of its map in units, where these show that runs join. */
std::optional<LayoutMap> RecastForm(const LayoutMap& map);
/*! Whether two maps have the same domain extents and equal mixed-radix normal forms. */
bool SameForm(const LayoutMap& a, const LayoutMap& b);

}  // namespace layout
}  // namespace tirx
#endif  // TIRX_LAYOUT_MAP_DETAIL_H_
