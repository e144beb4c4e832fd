/*!
 * Shared by active_set.cc and split.cc: sets of positions as parts of a layout.
 */
#ifndef TIRX_SRC_SCOPE_TEAMS_H_
#define TIRX_SRC_SCOPE_TEAMS_H_
#include <tirx/scope/active_set.h>

#include <vector>

namespace tirx {
namespace scope {

/*! The axes of a team kind: its warps, and its threads numbered through. */
struct ThreadAxes {
  const char* warp;
  const char* linear;
};

/*! Builds a layout axis by axis, outermost first. */
struct LayoutParts {
  ffi::Array<Iter> iters;
  ffi::Map<ffi::String, PrimExpr> offset;
  /*! Adds the positions on an axis; false when they are no progression (with may_cover, the
   * smallest covering progression is added then). */
  bool Add(const std::vector<int64_t>& positions, const char* axis, bool may_cover);
  /*! Adds threads as warps x lanes, or on the linear axis when they are no product. */
  bool AddThreads(const std::vector<int64_t>& positions, const ThreadAxes& axes);
  TileLayout Build() const { return TileLayout(iters, {}, offset); }
};

template <size_t N>
std::vector<int64_t> Members(const std::bitset<N>& set, int size) {
  std::vector<int64_t> out;
  for (int i = 0; i < size; ++i) {
    if (set[i]) out.push_back(i);
  }
  return out;
}

}  // namespace scope
}  // namespace tirx
#endif  // TIRX_SRC_SCOPE_TEAMS_H_
