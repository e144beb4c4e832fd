/*!
 * Named barriers (PTX ISA 9.7.13.1): sixteen per CTA, counted in threads, arrived at by whole
 * warps. On completion they reset and the waiting warps run on.
 */
#include <tirx/sim/machine.h>

namespace tirx {
namespace sim {
namespace {

Finding Misuse(int32_t loc, const std::string& code, const std::string& message,
               const std::string& found, const std::string& required) {
  Finding f;
  f.code = code;
  f.message = message;
  f.loc = loc;
  f.found = found;
  f.required = required;
  return f;
}

bool CheckId(Warp& w, int32_t loc, int64_t id, int64_t threads) {
  if (id < 0 || id > 15) {
    w.m->Report(
        Misuse(loc, "barrier-id", "named barrier that does not exist",
               "barrier " + std::to_string(id) + " in " + WarpName(w), "an id from 0 to 15"),
        true);
    return false;
  }
  if (threads < 0 || threads % kLanes != 0 ||
      threads > static_cast<int64_t>(w.cta->warps.size()) * kLanes) {
    w.m->Report(Misuse(loc, "barrier-count", "impossible thread count of a barrier",
                       std::to_string(threads) + " threads",
                       "a multiple of 32 that the CTA of " + std::to_string(w.m->threads) +
                           " threads can reach"),
                true);
    return false;
  }
  return true;
}

bool CheckState(Warp& w, int32_t loc, int64_t id, const Barrier& b, int64_t threads, BarrierOp op) {
  std::string name = "barrier " + std::to_string(id);
  if (b.expected && b.expected != threads) {
    Finding f =
        Misuse(loc, "barrier-count-mismatch", name + " is used with two thread counts at once",
               std::to_string(threads) + " threads by " + WarpName(w),
               std::to_string(b.expected) + " threads, as the warps that arrived before it said");
    f.notes.emplace_back(b.locs[std::countr_zero(b.arrived_warps)], "the other count");
    w.m->Report(std::move(f), true);
    return false;
  }
  if (b.arrived_warps >> w.id & 1) {
    Finding f = Misuse(loc, "barrier-over-arrival",
                       "a warp arrives twice at " + name + " before it completes",
                       "a second arrival of " + WarpName(w) + " with " + std::to_string(b.arrived) +
                           " of " + std::to_string(b.expected) + " threads arrived",
                       "every other participant to arrive in between");
    f.notes.emplace_back(b.locs[w.id], "the first arrival");
    f.hint = "use another barrier id, or wait for the barrier in this warp too";
    w.m->Report(std::move(f), true);
    return false;
  }
  if (b.expected && b.reduces != (op == BarrierOp::kReduce)) {
    w.m->Report(
        Misuse(loc, "barrier-kind-mismatch", name + " mixes a reduction with plain arrivals",
               "another kind of arrival by " + WarpName(w),
               "bar.red by every participant, or by none"),
        true);
    return false;
  }
  return true;
}

void WriteReduction(Warp& w, const Barrier& b) {
  int32_t value = w.red_mode == 0   ? b.population
                  : w.red_mode == 1 ? b.population == b.threads
                                    : b.population != 0;
  ForLanes(w.mask, [&](int l) { w.Row<int32_t>(w.red_row)[l] = value; });
}

void Complete(Cta* c, Barrier* b) {
  ForLanes(b->waiting, [&](int i) {
    Warp& w = c->warps[i];
    if (b->reduces) WriteReduction(w, *b);
    JoinClock(w, b->clock);
    w.status = Status::kReady;
    w.wait_barrier = -1;
  });
  *b = Barrier{};
}

}  // namespace

void ArriveBarrier(Warp& w, int32_t loc, int64_t id, int64_t threads, BarrierOp op,
                   int population) {
  int64_t all = static_cast<int64_t>(w.cta->warps.size()) * kLanes;
  if (!CheckId(w, loc, id, threads)) return;
  int64_t expected = threads == 0 ? all : threads;
  Barrier& b = w.cta->barriers[id];
  if (!CheckState(w, loc, id, b, expected, op)) return;
  b.expected = expected;
  b.reduces = op == BarrierOp::kReduce;
  PublishClock(w, &b.clock);
  b.arrived += kLanes;
  b.arrived_warps |= 1u << w.id;
  b.locs[w.id] = loc;
  b.population += population;
  b.threads += std::popcount(w.exist);
  w.m->counters.barrier_waits += op != BarrierOp::kArrive;
  if (op != BarrierOp::kArrive) {
    b.waiting |= 1u << w.id;
    w.status = Status::kBlocked;
    w.stop = true;
    w.wait_loc = loc;
    w.wait_barrier = static_cast<int32_t>(id);
  }
  LeaveBarriers(w);
}

namespace {
void CompleteCluster(Cluster* c) {
  if (c->arrived == 0 || c->arrived + c->exited < c->warps) return;
  c->arrived = 0;
  ++c->phase;
  for (Warp* w : c->waiting) {
    w->status = Status::kReady;
    w->waits_cluster = false;
  }
  c->waiting.clear();
}
}  // namespace

void ArriveCluster(Warp& w, int32_t loc) {
  if (w.cluster_phase >= 0) {
    w.m->Report(Misuse(loc, "cluster-barrier-order", "barrier.cluster.arrive twice without a wait",
                       "a second arrival of " + WarpName(w), "barrier.cluster.wait in between"),
                true);
    return;
  }
  Cluster* c = w.cta->cluster.get();
  w.cluster_phase = c->phase;
  ++c->arrived;
  CompleteCluster(c);
}

void WaitCluster(Warp& w, int32_t loc) {
  Cluster* c = w.cta->cluster.get();
  if (w.cluster_phase < 0) {
    w.m->Report(Misuse(loc, "cluster-barrier-order", "barrier.cluster.wait without an arrival",
                       WarpName(w), "barrier.cluster.arrive before it"),
                true);
    return;
  }
  bool done = static_cast<uint32_t>(w.cluster_phase) != c->phase;
  w.cluster_phase = -1;
  if (done) return;
  c->waiting.push_back(&w);
  w.status = Status::kBlocked;
  w.stop = true;
  w.wait_loc = loc;
  w.waits_cluster = true;
}

void LeaveBarriers(Warp& w) {
  Cta* c = w.cta;
  if (w.status == Status::kExited) {
    ++c->cluster->exited;
    CompleteCluster(c->cluster.get());
  }
  for (Barrier& b : c->barriers) {
    if (!b.expected) continue;
    int64_t all = static_cast<int64_t>(c->warps.size()) * kLanes;
    // PTX `exit`: exited threads no longer hold up a barrier for all threads. CUDA C++ forbids such
    // programs, so the sync observer lets them deadlock and reports.
    bool forgives = b.expected == all && !w.m->opt.sync;
    int64_t gone = forgives ? static_cast<int64_t>(c->exited) * kLanes : 0;
    if (b.arrived + gone >= b.expected) Complete(c, &b);
  }
}

}  // namespace sim
}  // namespace tirx
