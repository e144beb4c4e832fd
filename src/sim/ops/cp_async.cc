/*!
 * cp.async: copies from global to shared memory of 4, 8 or 16 bytes per thread. (PTX
 * ISA 9.7.9.25.3)
 *
 * A copy may land at any moment between its issue and the wait for its group. The lazy schedule
 * lands it at the wait, which is when a program may first rely on it; eager at issue; random at a
 * random access in between. Groups are counted per warp: all lanes of a warp commit and wait
 * together.
 */
#include <tirx/sim/observe.h>
#include <tirx/sim/ops.h>

#include <algorithm>
#include <cstring>

namespace tirx {
namespace sim {
namespace {

/*! Moves the bytes. */
void Transfer(Warp& w, PendingCopy* copy) {
  ForLanes(copy->mask, [&](int l) {
    uint8_t* dst = w.cta->shared.data() + copy->dst[l];
    std::memcpy(dst, copy->src[l], copy->take[l]);
    std::memset(dst + copy->take[l], 0, copy->bytes - copy->take[l]);
  });
  copy->landed = true;
}

/*! The copy is complete for the thread: its bytes may be read. */
void Finish(Warp& w, PendingCopy* copy) {
  if (!copy->landed) Transfer(w, copy);
  const Options& o = w.m->opt;
  if (!o.init && !o.race) return;
  Access a;
  a.space = Space::kShared;
  a.write = true;
  a.bytes = copy->bytes;
  a.mask = copy->mask;
  a.addr = copy->dst;
  if (o.init) CheckShared(w, copy->loc, a);
  TrackShared(w, copy->loc, a);
}

void FinishGroups(Warp& w, size_t keep) {
  while (w.groups.size() > keep) {
    for (PendingCopy& copy : w.groups.front()) Finish(w, &copy);
    w.groups.pop_front();
  }
}

void Sizes(OpCall* c) { c->p[0] = c->args[2].imm; }

/*! src bytes: the addresses are only checked for the bytes that are read. */
void LocateSource(Warp& w, const OpCall& c, int32_t loc, uint32_t mask, PendingCopy* copy) {
  uint32_t active = w.mask, reads = 0;
  ForLanes(mask, [&](int l) {
    copy->take[l] = static_cast<int32_t>(std::min<uint32_t>(w.Row(c.args[3].row)[l], copy->bytes));
    reads |= static_cast<uint32_t>(copy->take[l] > 0) << l;
  });
  if (!reads) return;
  Access a;
  w.mask = reads;
  LocateOperand(w, loc, c.args[1], copy->bytes, false, &a);
  w.mask = active;
  ForLanes(reads, [&](int l) {
    copy->src[l] = a.p[l];
    if (!(a.mask >> l & 1)) copy->take[l] = 0;
  });
}

void CpAsync(Warp& w, const OpCall& c, int32_t loc) {
  PendingCopy copy;
  copy.bytes = static_cast<int32_t>(c.p[0]);
  copy.loc = loc;
  Access a;
  LocateOperand(w, loc, c.args[0], copy.bytes, true, &a);
  copy.mask = a.mask;
  copy.dst = a.addr;
  LocateSource(w, c, loc, a.mask, &copy);
  ++w.m->counters.async_copies;
  if (w.m->opt.init) {
    ForLanes(copy.mask, [&](int l) { MarkShared(w, loc, copy.dst[l], copy.bytes, kInFlight); });
  }
  if (w.m->opt.schedule == Schedule::kEager) Transfer(w, &copy);
  w.open_group.push_back(copy);
}

void GroupMode(OpCall* c) {
  std::string mode = StrAttr(*c, "mode", "commit");
  c->p[0] = mode == "commit" ? 0 : mode == "wait" ? 1 : 2;
}

void Group(Warp& w, const OpCall& c, int32_t) {
  if (c.p[0] != 1) {
    w.groups.push_back(std::move(w.open_group));
    w.open_group.clear();
  }
  if (c.p[0] != 0) FinishGroups(w, c.p[0] == 1 ? static_cast<size_t>(c.args[0].imm) : 0);
}

const RegisterMeanings kCopies({
    {"cp_async", Kind::kAsync, &CpAsync, &Sizes},
    {"cp_async.group", Kind::kAsync, &Group, &GroupMode},
});

}  // namespace

void LandSomeCopy(Warp& w) {
  size_t n = w.open_group.size();
  for (const auto& g : w.groups) n += g.size();
  if (n == 0) return;
  size_t pick = w.m->Random() % n;
  auto land = [&](std::vector<PendingCopy>* group) {
    if (pick < group->size() && !(*group)[pick].landed) Transfer(w, &(*group)[pick]);
    bool here = pick < group->size();
    pick -= group->size();
    return here;
  };
  for (auto& g : w.groups) {
    if (land(&g)) return;
  }
  land(&w.open_group);
}

}  // namespace sim
}  // namespace tirx
