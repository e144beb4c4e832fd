/*!
 * Events of the core, handed to the observers that are on; and the findings that need no shadow.
 */
#include <tirx/sim/observe.h>

#include <cstring>

namespace tirx {
namespace sim {

void ObserveAccess(Warp& w, int32_t loc, const Access& a) {
  const Options& o = w.m->opt;
  if (o.counters) CountAccess(w.m, loc, a);
  if (a.space != Space::kShared) return;
  if (o.init) CheckShared(w, loc, a);
  if ((o.init || o.race) && !a.atomic) TrackShared(w, loc, a);
}

namespace {

bool SameValue(Warp& w, const Ins& i, const Access& a, int x, int y) {
  int rows = i.n * (a.bytes / i.n == 8 ? 2 : 1);
  if (a.bytes / i.n == 8) {
    for (int k = 0; k < i.n; ++k) {
      if (w.Row<uint64_t>(i.d + 2 * k)[x] != w.Row<uint64_t>(i.d + 2 * k)[y]) return false;
    }
    return true;
  }
  for (int k = 0; k < rows; ++k) {
    if (w.Row(i.d + k)[x] != w.Row(i.d + k)[y]) return false;
  }
  return true;
}

void ReportReplica(Warp& w, const Ins& i, int x, int y) {
  Finding f;
  f.code = "unequal-replicas";
  f.message = "lanes of one store write different values to one place";
  f.loc = i.loc;
  f.found = LaneName(w, x) + " and thread " + std::to_string(w.Thread(y)) +
            " write the same element of " + w.m->refs[i.b].name + " with different bits";
  f.required = "one writer, or equal values";
  f.hint = "let one elected lane store, or make the reduction give every lane the same bits";
  w.m->Report(std::move(f));
}

}  // namespace

void CheckReplicas(Warp& w, const Ins& i, const Access& a) {
  // Increasing addresses cannot collide.
  uint64_t last = 0;
  bool increasing = true, first = true;
  ForLanes(a.mask, [&](int l) {
    increasing = increasing && (first || a.addr[l] > last);
    last = a.addr[l];
    first = false;
  });
  if (increasing) return;
  for (int x = 0; x < kLanes; ++x) {
    if (!(a.mask >> x & 1)) continue;
    for (int y = x + 1; y < kLanes; ++y) {
      bool same_place = (a.mask >> y & 1) && a.addr[x] == a.addr[y];
      if (same_place && !SameValue(w, i, a, x, y)) return ReportReplica(w, i, x, y);
    }
  }
}

void ReportLocalPoison(Warp& w, int32_t loc, const std::string& name, uint32_t lanes) {
  Finding f;
  f.code = "uninitialised-read";
  f.message = "local array " + name + " is read before it is written";
  f.loc = loc;
  f.found = "a read by " + WarpName(w) + " " + MaskName(lanes);
  f.required = "a write to every element that is read, in every active lane";
  w.m->Report(std::move(f));
}

namespace {

std::string DescribeWait(const Warp& w) {
  if (w.waits_cluster) {
    const Cluster& c = *w.cta->cluster;
    return WarpName(w) + " waits at the cluster barrier: " + std::to_string(c.arrived) + " of " +
           std::to_string(c.warps) + " warps arrived, " + std::to_string(c.exited) + " exited";
  }
  const Barrier& b = w.cta->barriers[w.wait_barrier];
  return WarpName(w) + " waits at barrier " + std::to_string(w.wait_barrier) + ": " +
         std::to_string(b.arrived) + " of " + std::to_string(b.expected) + " threads arrived";
}

std::string ListWarps(const Cta& c, uint32_t which) {
  std::string out;
  ForLanes(which, [&](int i) { out += (out.empty() ? "" : ", ") + std::to_string(i); });
  return out.empty() ? "none" : out;
}

std::string DescribeMissing(const Cta& c, const Barrier& b) {
  uint32_t exited = 0, elsewhere = 0;
  for (const Warp& w : c.warps) {
    if (b.arrived_warps >> w.id & 1) continue;
    (w.status == Status::kExited ? exited : elsewhere) |= 1u << w.id;
  }
  return "; arrived: warps " + ListWarps(c, b.arrived_warps) +
         "; exited without arriving: " + ListWarps(c, exited) +
         "; blocked elsewhere: " + ListWarps(c, elsewhere);
}

}  // namespace

void ReportDeadlock(Machine* m) {
  Finding f;
  f.code = "deadlock";
  f.message = "every warp that has not exited waits at a barrier that cannot complete";
  f.required = "every participant of a barrier to reach it";
  f.hint =
      "a barrier must be reached by all warps that it counts: not inside a branch that some of "
      "them skip";
  bool first = true;
  for (const auto& c : m->active) {
    for (const Warp& w : c->warps) {
      if (w.status != Status::kBlocked || f.notes.size() >= 40) continue;
      if (first) {
        f.loc = w.wait_loc;
        f.found = DescribeWait(w);
        if (!w.waits_cluster) f.found += DescribeMissing(*c, c->barriers[w.wait_barrier]);
        first = false;
      }
      f.notes.emplace_back(w.wait_loc, DescribeWait(w));
    }
  }
  m->Report(std::move(f), true);
}

}  // namespace sim
}  // namespace tirx
