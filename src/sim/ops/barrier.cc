/*!
 * Barriers of a warp, a CTA and a cluster, and fences. (PTX ISA 9.7.13.1-9.7.13.4)
 *
 * A fence orders what is already ordered here: memory operations of a warp take effect in program
 * order in this machine, so fences have no action; the observers will use them as edges.
 */
#include <tirx/sim/ops.h>

namespace tirx {
namespace sim {
namespace {

/*! Arrival is by whole warps: threads that do not exist in the last warp count as arrived. */
bool WholeWarpArrives(Warp& w, const OpCall& c, int32_t loc) {
  if (w.mask == w.exist) return true;
  ReportPartialWarp(w, c, loc);
  return false;
}

void CtaBarrier(Warp& w, const OpCall& c, int32_t loc) {
  WholeWarpArrives(w, c, loc);
  ArriveBarrier(w, loc, 0, 0, BarrierOp::kSync);
}

void ReduceMode(OpCall* c) {
  std::string mode = StrAttr(*c, "mode", "count");
  c->p[0] = mode == "count" ? 0 : mode == "and" ? 1 : 2;
}

void CtaReduce(Warp& w, const OpCall& c, int32_t loc) {
  WholeWarpArrives(w, c, loc);
  int population = 0;
  ForLanes(w.mask, [&](int l) { population += w.Row(c.args[0].row)[l] != 0; });
  w.red_row = c.dst;
  w.red_mode = static_cast<int32_t>(c.p[0]);
  ArriveBarrier(w, loc, 0, 0, BarrierOp::kReduce, population);
}

void NamedMode(OpCall* c) {
  c->p[0] = StrAttr(*c, "mode", "sync") == "arrive";
  c->p[1] = IntAttr(*c, "count", 0);
}

void NamedBarrier(Warp& w, const OpCall& c, int32_t loc) {
  WholeWarpArrives(w, c, loc);
  int lane = std::countr_zero(w.mask);
  int64_t id = static_cast<int32_t>(w.Row(c.args[0].row)[lane]);
  int64_t count = c.p[1];
  if (c.args.size() > 1) count = static_cast<int32_t>(w.Row(c.args[1].row)[lane]);
  ArriveBarrier(w, loc, id, count, c.p[0] ? BarrierOp::kArrive : BarrierOp::kSync);
}

/*! __syncwarp(mask): every lane of the mask must be here. It orders the lanes' memory accesses. */
void WarpBarrier(Warp& w, const OpCall& c, int32_t loc) {
  uint32_t member = c.args.empty() ? ~0u : w.Row(c.args[0].row)[std::countr_zero(w.mask)];
  if ((member & w.exist) != w.mask) ReportPartialWarp(w, c, loc);
  ++w.epoch;
}

void ClusterMode(OpCall* c) {
  std::string mode = StrAttr(*c, "mode", "sync");
  c->p[0] = mode == "sync" ? 0 : mode == "arrive" ? 1 : 2;
}

void ClusterBarrier(Warp& w, const OpCall& c, int32_t loc) {
  WholeWarpArrives(w, c, loc);
  if (c.p[0] != 2) ArriveCluster(w, loc);
  if (c.p[0] != 1 && !w.m->fatal) WaitCluster(w, loc);
}

void Fence(Warp&, const OpCall&, int32_t) {}

const RegisterMeanings kBarriers({
    {"barrier.cta", Kind::kBarrier, &CtaBarrier},
    {"barrier.cta_reduce", Kind::kBarrier, &CtaReduce, &ReduceMode},
    {"barrier.named", Kind::kBarrier, &NamedBarrier, &NamedMode},
    {"barrier.cluster", Kind::kBarrier, &ClusterBarrier, &ClusterMode},
    {"barrier.warp", Kind::kBarrier, &WarpBarrier},
    {"fence", Kind::kBarrier, &Fence},
    {"fence.proxy", Kind::kBarrier, &Fence},
});

}  // namespace
}  // namespace sim
}  // namespace tirx
