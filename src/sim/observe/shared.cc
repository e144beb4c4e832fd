/*!
 * Initialisation and races of shared memory.
 *
 * Each byte remembers its last write and two reads of different warps, with the vector clock
 * component of the warp at that time. An access conflicts when an earlier one by another warp, at
 * least one of them a write, is not covered by the clock of this warp: no barrier lies between.
 * Lanes of one warp conflict when no warp or CTA barrier lies between their two instructions: since
 * sm_70 the lanes of a warp need not stay together (CUDA C++ Programming Guide, 16.6).
 * Remembering two readers of different warps finds every write-after-read of one reader; a later
 * reader may replace an older one, so that a race can be missed but none is invented.
 */
#include <tirx/sim/observe.h>

#include <algorithm>

namespace tirx {
namespace sim {
namespace {

Finding PoisonFinding(Warp& w, int32_t loc, const Access& a, int lane, uint64_t byte,
                      uint8_t state) {
  const Program& p = *w.prog;
  const ShadowByte* shadow = w.cta->shadow.data();
  Finding f;
  f.loc = loc;
  bool flight = state == kInFlight;
  f.code = flight ? "read-before-wait" : "uninitialised-read";
  f.message =
      flight ? "shared memory is read while an asynchronous copy into it has not been waited for"
             : "shared memory is read that nobody has written";
  f.found = LaneName(w, lane) + " reads byte " + AllocationAt(p, byte);
  f.required = flight ? "cp.async.wait_group by the copying thread, then a barrier, before the read"
                      : "a write that happens before the read";
  if (flight && shadow[byte].cta == w.cta->serial) {
    f.notes.emplace_back(shadow[byte].write.loc, "the copy was issued here");
    return f;
  }
  // Who wrote the nearest written byte of the same allocation tells which loop stopped short.
  for (uint64_t d = 1; d < 4096; ++d) {
    for (uint64_t n : {byte - d, byte + d}) {
      if (n >= w.cta->state.size() || w.cta->state[n] != kInitialised) continue;
      if (shadow[n].cta != w.cta->serial) continue;
      f.notes.emplace_back(shadow[n].write.loc, std::to_string(d) + " bytes away, " +
                                                    AllocationAt(p, n) +
                                                    " was last written here by warp " +
                                                    std::to_string(shadow[n].write.warp));
      return f;
    }
  }
  return f;
}

std::string Toucher(const Warp& w, const Touch& t, bool write) {
  std::string who =
      t.warp == w.id ? MaskName(t.lanes) + " of the same warp" : "warp " + std::to_string(t.warp);
  return who + (write ? " wrote" : " read");
}

void ReportRace(Warp& w, int32_t loc, const Access& a, int lane, uint64_t byte, const Touch& other,
                bool wrote) {
  bool same_warp = other.warp == w.id;
  Finding f;
  f.code = same_warp ? "lane-race" : "shared-race";
  f.message = std::string(same_warp ? "two lanes of a warp" : "two warps") +
              " access shared memory with nothing that orders them";
  f.loc = loc;
  f.found = LaneName(w, lane) + (a.write ? " writes byte " : " reads byte ") +
            AllocationAt(*w.prog, byte) + ", which " + Toucher(w, other, wrote) +
            " with no barrier in between";
  f.required = same_warp ? "cuda.warp_sync (or a wider barrier) between the two accesses"
                         : "a barrier that both warps take part in, between the two accesses";
  f.notes.emplace_back(other.loc, "the other access");
  w.m->Report(std::move(f));
}

/*! Whether `t` happens before what `lane` of w does now. */
bool Ordered(const Warp& w, int lane, const Touch& t) {
  if (t.clock == 0) return true;
  if (t.warp != w.id) return w.clock[t.warp] >= t.clock;
  return t.epoch != w.epoch || (t.lanes & ~(1u << lane)) == 0;
}

void Remember(const Warp& w, int32_t loc, int lane, Touch* t) {
  bool joins = t->warp == w.id && t->clock == w.clock[w.id] && t->epoch == w.epoch;
  t->lanes = (joins ? t->lanes : 0) | 1u << lane;
  t->warp = static_cast<uint8_t>(w.id);
  t->clock = w.clock[w.id];
  t->epoch = w.epoch;
  t->loc = loc;
}

bool TrackWrite(Warp& w, int32_t loc, const Access& a, int lane, uint64_t at, ShadowByte* s) {
  bool same_store = s->stamp == w.stamp && s->write.warp == w.id;  // for the replica observer
  const Touch* conflict = same_store || Ordered(w, lane, s->write) ? nullptr : &s->write;
  bool wrote = conflict != nullptr;
  for (const Touch& r : s->read) {
    if (!conflict && !Ordered(w, lane, r)) conflict = &r;
  }
  if (conflict) ReportRace(w, loc, a, lane, at, *conflict, wrote);
  s->write.lanes = 0;
  Remember(w, loc, lane, &s->write);
  s->stamp = w.stamp;
  return !conflict;
}

bool TrackRead(Warp& w, int32_t loc, const Access& a, int lane, uint64_t at, ShadowByte* s) {
  bool clean = Ordered(w, lane, s->write);
  if (!clean) ReportRace(w, loc, a, lane, at, s->write, true);
  int slot = s->read[0].clock == 0 || s->read[0].warp == w.id ? 0 : 1;
  Remember(w, loc, lane, &s->read[slot]);
  return clean;
}

ShadowByte* Fresh(Warp& w, uint64_t at) {
  ShadowByte* s = &w.cta->shadow[at];
  if (s->cta != w.cta->serial) {
    *s = ShadowByte{};
    s->cta = w.cta->serial;
  }
  return s;
}

}  // namespace

void CheckShared(Warp& w, int32_t loc, const Access& a) {
  uint8_t* state = w.cta->state.data();
  if (a.write && !a.atomic) {
    ForLanes(a.mask, [&](int l) { std::fill_n(state + a.addr[l], a.bytes, kInitialised); });
    return;
  }
  bool found = false;
  ForLanes(a.mask, [&](int l) {
    for (int k = 0; k < a.bytes && !found; ++k) {
      uint64_t at = a.addr[l] + k;
      if (state[at] == kInitialised) continue;
      w.m->Report(PoisonFinding(w, loc, a, l, at, state[at]));
      found = true;
    }
  });
}

void TrackShared(Warp& w, int32_t loc, const Access& a) {
  bool clean = true;
  ++w.stamp;
  ForLanes(a.mask, [&](int l) {
    for (int k = 0; k < a.bytes; ++k) {
      uint64_t at = a.addr[l] + k;
      ShadowByte* s = Fresh(w, at);
      if (!w.m->opt.race) {  // init alone: remember who wrote
        if (a.write) Remember(w, loc, l, &s->write);
      } else if (clean) {
        clean = a.write ? TrackWrite(w, loc, a, l, at, s) : TrackRead(w, loc, a, l, at, s);
      }
    }
  });
}

void MarkShared(Warp& w, int32_t loc, uint64_t base, int64_t bytes, uint8_t state) {
  if (w.cta->state.empty()) return;
  std::fill_n(w.cta->state.data() + base, bytes, state);
  for (int64_t k = 0; k < bytes; ++k) Fresh(w, base + k)->write.loc = loc;
}

void PublishClock(Warp& w, Clock* clock) {
  if (!w.m->opt.race) return;
  clock->resize(w.clock.size());
  for (size_t j = 0; j < clock->size(); ++j) (*clock)[j] = std::max((*clock)[j], w.clock[j]);
  ++w.clock[w.id];
}

void JoinClock(Warp& w, const Clock& clock) {
  for (size_t j = 0; j < clock.size(); ++j) w.clock[j] = std::max(w.clock[j], clock[j]);
  ++w.epoch;
}

std::string AllocationAt(const Program& p, uint64_t offset) {
  const SharedAlloc* best = nullptr;
  for (const SharedAlloc& a : p.shared) {
    bool inside =
        static_cast<int64_t>(offset) >= a.base && static_cast<int64_t>(offset) < a.base + a.bytes;
    if (inside && (!best || a.bytes <= best->bytes)) best = &a;
  }
  if (!best) return "at shared address " + std::to_string(offset);
  return std::to_string(offset - best->base) + " of " + best->name;
}

}  // namespace sim
}  // namespace tirx
