/*!
 * Storage and owners, the scopes of thread axes, and conversion between their numberings.
 */
#include <tirx/support/diag.h>

#include <algorithm>

#include "steps.h"

namespace tirx {
namespace layout {
namespace {

template <typename Keep>
Form Filter(const Form& f, Keep keep) {
  Form out;
  auto copy = [&](const std::vector<Step>& from, std::vector<Step>* to) {
    for (const Step& s : from) {
      if (keep(GetAxis(s.axis))) to->push_back(s);
    }
  };
  copy(f.shard, &out.shard);
  copy(f.replica, &out.replica);
  for (const auto& [axis, value] : f.offset) {
    if (keep(GetAxis(axis))) out.offset.emplace_back(axis, value);
  }
  if (out.shard.empty()) out.shard.push_back({1, 1, kMemoryAxis});
  return out;
}

/*! Scope kinds from narrow to wide. */
int Width(const std::string& scope) {
  static const char* const kOrder[] = {"thread",  "warp", "warpgroup", "cta",
                                       "cluster", "grid", "device",    "mesh"};
  for (int i = 0; i < 8; ++i) {
    if (scope == kOrder[i]) return i;
  }
  return 8;
}

}  // namespace

Layout Storage(const Layout& layout) {
  return OnTile(layout, [](const Form& f) {
    return Filter(f, [](const AxisInfo& a) { return !a.is_thread; });
  });
}

TileLayout Owners(const Layout& layout) {
  return Filter(Form::Of(TileOf(layout)), [](const AxisInfo& a) { return a.is_thread; }).ToLayout();
}

std::optional<std::pair<std::string, std::string>> GetScope(const Layout& layout) {
  std::optional<std::pair<std::string, std::string>> out;
  auto widen = [&](AxisId id) {
    const AxisInfo& a = GetAxis(id);
    if (!a.is_thread) return;
    if (!out) out = {a.subscope, a.scope};
    if (Width(a.subscope) < Width(out->first)) out->first = a.subscope;
    if (Width(a.scope) > Width(out->second)) out->second = a.scope;
  };
  Form f = Form::Of(TileOf(layout));
  for (const Step& s : f.shard) widen(s.axis);
  for (const Step& s : f.replica) widen(s.axis);
  for (const auto& entry : f.offset) widen(entry.first);
  return out;
}

}  // namespace layout
}  // namespace tirx
