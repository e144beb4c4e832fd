/*!
 * All places of a static layout at once: the definition, evaluated row by row.
 */
#include <tirx/support/diag.h>

#include <algorithm>

#include "steps.h"
#include "swizzle.h"

namespace tirx {
namespace layout {
namespace {

using Point = std::vector<int64_t>;

[[noreturn]] void ThrowTooMany(const std::string& found) {
  Diag("layout", "too-large", {})
      .Message("the layout has too many places to list them one by one")
      .Found(found)
      .Required("at most " + std::to_string(kMaxPlaces) + " coordinates")
      .Hint("look at a slice of the layout")
      .Throw();
}

void CheckListable(const Form& f) {
  if (!f.IsStatic()) {
    Diag("layout", "not-static", {})
        .Message("listing the places needs numbers, and the layout is symbolic")
        .Found(Text(f))
        .Required("constant extents, strides and offsets")
        .Throw();
  }
  int64_t count = 1;
  for (const auto* list : {&f.shard, &f.replica}) {
    for (const Step& s : *list) {
      if (s.extent.value() > kMaxPlaces / count) ThrowTooMany(Text(f));
      count *= s.extent.value();
    }
  }
}

std::vector<AxisId> MentionedAxes(const Form& f, bool swizzled) {
  Accumulator seen;
  for (const auto* list : {&f.shard, &f.replica}) {
    for (const Step& s : *list) seen.Mention(s.axis);
  }
  for (const auto& [axis, value] : f.offset) seen.Mention(axis);
  if (swizzled) seen.Mention(kMemoryAxis);
  std::vector<AxisId> out;
  for (const auto& entry : seen.entries()) out.push_back(entry.first);
  return out;
}

size_t IndexOf(const std::vector<AxisId>& axes, AxisId axis) {
  return static_cast<size_t>(std::find(axes.begin(), axes.end(), axis) - axes.begin());
}

/*! Sums of all digits of `steps`, the last step fastest. */
std::vector<Point> Sums(const std::vector<Step>& steps, const std::vector<AxisId>& axes) {
  std::vector<Point> out{Point(axes.size(), 0)};
  for (const Step& s : steps) {
    std::vector<Point> longer;
    size_t a = IndexOf(axes, s.axis);
    for (const Point& p : out) {
      for (int64_t d = 0; d < s.extent.value(); ++d) {
        longer.push_back(p);
        longer.back()[a] = CheckedAdd(p[a], CheckedMul(d, s.stride.value()));
      }
    }
    out = std::move(longer);
  }
  return out;
}

std::vector<Point> DistinctReplicas(const Form& f, const std::vector<AxisId>& axes) {
  std::vector<Point> out = Sums(f.replica, axes);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  for (Point& p : out) {
    for (const auto& [axis, value] : f.offset) {
      int64_t& v = p[IndexOf(axes, axis)];
      v = CheckedAdd(v, value.value());
    }
  }
  return out;
}

}  // namespace

PlaceList AllPlaces(const Layout& layout) {
  Form f = Form::Of(TileOf(layout));
  CheckListable(f);
  auto* swizzle = layout.as<ComposeLayoutNode>();
  std::vector<AxisId> axes = MentionedAxes(f, swizzle != nullptr);
  std::vector<Point> shard = Sums(f.shard, axes), replica = DistinctReplicas(f, axes);
  PlaceList out;
  for (AxisId a : axes) out.axes.push_back(GetAxis(a).name);
  out.per_element = static_cast<int64_t>(replica.size());
  out.coordinates.reserve(shard.size() * replica.size() * axes.size());
  for (const Point& p : shard) {
    for (const Point& r : replica) {
      for (size_t a = 0; a < axes.size(); ++a) {
        int64_t v = CheckedAdd(p[a], r[a]);
        if (swizzle && axes[a] == kMemoryAxis) v = SwizzleAddress(*swizzle, v);
        out.coordinates.push_back(v);
      }
    }
  }
  return out;
}

}  // namespace layout
}  // namespace tirx
