#include <tirx/layout/axis.h>
#include <tirx/support/diag.h>

#include <algorithm>
#include <deque>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

namespace tirx {
namespace {

AxisInfo ThreadAxis(const char* name, const char* scope, const char* sub, int64_t extent,
                    const char* from = "launch") {
  return {name, true, extent, extent ? "hardware" : from, scope, sub, ""};
}

AxisInfo MemoryAxis(const char* name, int64_t extent, const char* from = "buffer") {
  return {name, false, extent, extent ? "hardware" : from, "", "", ""};
}

/*! An axis of rows, whose elements lie along another one. */
AxisInfo RowAxis(const char* name, int64_t extent, const char* elements_on) {
  return {name, false, extent, "hardware", "", "", elements_on};
}

/*! The table. Entries never move or change, so references stay valid without the lock. */
struct Registry {
  std::shared_mutex mutex;
  std::deque<AxisInfo> axes;
  std::unordered_map<std::string_view, AxisId> index;
  std::vector<AxisIdentity> identities;

  Registry() {
    // Paper, Table 1; cta_id is the CTA's rank in its cluster, bx/by/bz its place in the grid.
    for (const AxisInfo& a : {
             MemoryAxis("m", 0),
             ThreadAxis("laneid", "warp", "thread", 32),
             ThreadAxis("warpid", "cta", "warp", 0),
             ThreadAxis("wid_in_wg", "warpgroup", "warp", 4),
             ThreadAxis("wgid", "cta", "warpgroup", 0),
             ThreadAxis("tid_in_wg", "warpgroup", "thread", 128),
             ThreadAxis("tx", "cta", "thread", 0),
             ThreadAxis("cbx", "cluster", "cta", 0),
             ThreadAxis("cby", "cluster", "cta", 0),
             ThreadAxis("cbz", "cluster", "cta", 0),
             ThreadAxis("cta_id", "cluster", "cta", 0),
             ThreadAxis("bx", "grid", "cta", 0),
             ThreadAxis("by", "grid", "cta", 0),
             ThreadAxis("bz", "grid", "cta", 0),
             ThreadAxis("pid", "mesh", "device", 0, "mesh"),
             RowAxis("TLane", 128, "TCol"),
             MemoryAxis("TCol", 512),
             RowAxis("P", 128, "F"),
             MemoryAxis("F", 0, "tile"),
             RowAxis("Bank", 8, "F"),
         }) {
      Add(a);
    }
    Identity("tid_in_wg", "wid_in_wg", "laneid", 32);
    Identity("tx", "warpid", "laneid", 32);
    Identity("tx", "wgid", "tid_in_wg", 128);
    Identity("warpid", "wgid", "wid_in_wg", 4);
  }

  AxisId Add(AxisInfo info) {
    axes.push_back(std::move(info));
    AxisId id = static_cast<AxisId>(axes.size()) - 1;
    index.emplace(axes.back().name, id);
    return id;
  }
  void Identity(const char* whole, const char* coarse, const char* fine, int64_t factor) {
    identities.push_back({index.at(whole), index.at(coarse), index.at(fine), factor});
  }
};

Registry& Table() {
  static Registry* table = new Registry();
  return *table;
}

bool SameFacts(const AxisInfo& a, const AxisInfo& b) {
  return a.is_thread == b.is_thread && a.extent == b.extent && a.scope == b.scope &&
         a.subscope == b.subscope;
}

size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t substituted = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

[[noreturn]] void ThrowUnknown(std::string_view name) {
  std::vector<std::string> names;
  for (const AxisInfo& a : AllAxes()) names.push_back(a.name);
  std::stable_sort(names.begin(), names.end(), [&](const auto& x, const auto& y) {
    return EditDistance(name, x) < EditDistance(name, y);
  });
  Diag("layout", "unknown-axis", {})
      .Message("no axis has this name")
      .Found(std::string(name))
      .Required("a registered axis; nearest: " + names[0] + ", " + names[1] + ", " + names[2])
      .Hint("a backend adds its own axes with Axis.register(name, ...)")
      .Throw();
}

}  // namespace

AxisId FindAxis(std::string_view name) {
  Registry& table = Table();
  {
    std::shared_lock lock(table.mutex);
    auto it = table.index.find(name);
    if (it != table.index.end()) return it->second;
  }
  ThrowUnknown(name);
}

const AxisInfo& GetAxis(AxisId id) {
  Registry& table = Table();
  std::shared_lock lock(table.mutex);
  return table.axes[id];
}

AxisId RegisterAxis(AxisInfo info) {
  Registry& table = Table();
  std::unique_lock lock(table.mutex);
  auto it = table.index.find(info.name);
  if (it == table.index.end()) return table.Add(std::move(info));
  if (SameFacts(table.axes[it->second], info)) return it->second;
  lock.unlock();
  Diag("layout", "axis-conflict", {})
      .Message("an axis of this name exists with other facts")
      .Found(info.name)
      .Required("a new name, or the same kind, extent, scope and subscope")
      .Throw();
}

void RegisterAxisIdentity(const std::string& whole, const std::string& coarse,
                          const std::string& fine, int64_t factor) {
  auto find = [](const std::string& name) { return FindAxis(std::string_view(name)); };
  AxisIdentity id{find(whole), find(coarse), find(fine), factor};
  Registry& table = Table();
  std::unique_lock lock(table.mutex);
  table.identities.push_back(id);
}

std::vector<AxisInfo> AllAxes() {
  Registry& table = Table();
  std::shared_lock lock(table.mutex);
  return {table.axes.begin(), table.axes.end()};
}

std::vector<AxisIdentity> AxisIdentities() {
  Registry& table = Table();
  std::shared_lock lock(table.mutex);
  return table.identities;
}

}  // namespace tirx
