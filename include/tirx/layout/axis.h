/*!
 * Named axes: the coordinates that layouts place elements on.
 *
 * A thread axis counts owners (lanes, warps, CTAs, devices), a memory axis counts places inside one
 * owner's storage. Backends register their axes; the ones of NVIDIA GPUs, Trainium and device
 * meshes (paper, Table 1) are there from the start.
 */
#ifndef TIRX_LAYOUT_AXIS_H_
#define TIRX_LAYOUT_AXIS_H_
#include <tvm/ffi/string.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tirx {

/*! Index into the axis table; stable for the life of the process. */
using AxisId = int32_t;

struct AxisInfo {
  std::string name;
  bool is_thread{false};
  /*! Coordinates are 0 .. extent-1; 0 when the extent is not fixed by the hardware. */
  int64_t extent{0};
  /*! Where an extent that is not fixed comes from: "launch", "buffer", "mesh", "tile". */
  std::string extent_from;
  /*! Thread axes: the axis numbers the `subscope` instances inside one `scope` instance
   *  (laneid: threads in a warp). Empty for memory axes. */
  std::string scope;
  std::string subscope;
  /*! Memory axes: the axis on which the elements of one coordinate follow each other (a lane of tensor
   *  memory holds elements along its columns). Empty: this one. */
  std::string elements_on{};
};

/*! One resource under two numberings: whole = factor * coarse + fine, 0 <= fine < factor. */
struct AxisIdentity {
  AxisId whole;
  AxisId coarse;
  AxisId fine;
  int64_t factor;
};

/*! The axis of a buffer's linear memory, "m". */
constexpr AxisId kMemoryAxis = 0;

/*! Adds an axis; registering the same facts again is allowed. Raises "axis-conflict" otherwise. */
AxisId RegisterAxis(AxisInfo info);
/*! Adds a conversion between registered axes. */
void RegisterAxisIdentity(const std::string& whole, const std::string& coarse,
                          const std::string& fine, int64_t factor);
/*! Raises "unknown-axis", naming the nearest names. */
AxisId FindAxis(std::string_view name);
inline AxisId FindAxis(const tvm::ffi::String& name) {
  return FindAxis(std::string_view(name.data(), name.size()));
}
const AxisInfo& GetAxis(AxisId id);
std::vector<AxisInfo> AllAxes();
std::vector<AxisIdentity> AxisIdentities();

}  // namespace tirx
#endif  // TIRX_LAYOUT_AXIS_H_
