/*!
 * Initialisation and races of shared memory.
 *
 * Each byte remembers its last write and two reads of different warps, with the vector clock
 * component of the warp at that time. An access conflicts when an earlier one by another warp, at
 * least one of them a write, is not covered by the clock of this warp: no barrier lies between.
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
  if (flight && shadow[byte].write_cta == w.cta->serial) {
    f.notes.emplace_back(shadow[byte].write_loc, "the copy was issued here");
    return f;
  }
  // Who wrote the nearest written byte of the same allocation tells which loop stopped short.
  for (uint64_t d = 1; d < 4096; ++d) {
    for (uint64_t n : {byte - d, byte + d}) {
      if (n >= w.cta->state.size() || w.cta->state[n] != kInitialised) continue;
      if (shadow[n].write_cta != w.cta->serial) continue;
      f.notes.emplace_back(shadow[n].write_loc, std::to_string(d) + " bytes away, " +
                                                    AllocationAt(p, n) +
                                                    " was last written here by warp " +
                                                    std::to_string(shadow[n].write_warp));
      return f;
    }
  }
  return f;
}

void ReportRace(Warp& w, int32_t loc, const Access& a, uint64_t byte, int other_warp,
                int32_t other_loc, bool other_write) {
  Finding f;
  f.code = "shared-race";
  f.message = "two warps access shared memory with nothing that orders them";
  f.loc = loc;
  f.found = WarpName(w) + (a.write ? " writes " : " reads ") + AllocationAt(*w.prog, byte) +
            ", which warp " + std::to_string(other_warp) + (other_write ? " wrote" : " read") +
            " with no barrier in between";
  f.required = "a barrier that both warps take part in, between the two accesses";
  f.notes.emplace_back(other_loc, "the other access");
  w.m->Report(std::move(f));
}

/*! Whether w's clock covers what `warp` did at `clock`. */
bool Ordered(const Warp& w, int warp, uint32_t clock) {
  return w.id == warp || w.clock[warp] >= clock || clock == 0;
}

bool TrackWrite(Warp& w, int32_t loc, const Access& a, uint64_t at, ShadowByte* s) {
  bool clean = true;
  if (!Ordered(w, s->write_warp, s->write_clock)) {
    ReportRace(w, loc, a, at, s->write_warp, s->write_loc, true);
    clean = false;
  }
  for (int k = 0; k < 2 && clean; ++k) {
    if (Ordered(w, s->read_warp[k], s->read_clock[k])) continue;
    ReportRace(w, loc, a, at, s->read_warp[k], s->read_loc[k], false);
    clean = false;
  }
  s->write_warp = static_cast<uint8_t>(w.id);
  s->write_clock = w.clock[w.id];
  s->write_loc = loc;
  return clean;
}

bool TrackRead(Warp& w, int32_t loc, const Access& a, uint64_t at, ShadowByte* s) {
  bool clean = Ordered(w, s->write_warp, s->write_clock);
  if (!clean) ReportRace(w, loc, a, at, s->write_warp, s->write_loc, true);
  int slot = s->read_clock[0] == 0 || s->read_warp[0] == w.id ? 0 : 1;
  s->read_warp[slot] = static_cast<uint8_t>(w.id);
  s->read_clock[slot] = w.clock[w.id];
  s->read_loc[slot] = loc;
  return clean;
}

ShadowByte* Fresh(Warp& w, uint64_t at) {
  ShadowByte* s = &w.cta->shadow[at];
  if (s->write_cta != w.cta->serial) {
    *s = ShadowByte{};
    s->write_cta = w.cta->serial;
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
  ForLanes(a.mask, [&](int l) {
    for (int k = 0; k < a.bytes; ++k) {
      uint64_t at = a.addr[l] + k;
      ShadowByte* s = Fresh(w, at);
      if (!w.m->opt.race) {  // init alone: remember who wrote
        if (!a.write) continue;
        s->write_loc = loc;
        s->write_warp = static_cast<uint8_t>(w.id);
      } else if (clean) {
        clean = a.write ? TrackWrite(w, loc, a, at, s) : TrackRead(w, loc, a, at, s);
      }
    }
  });
}

void MarkShared(Warp& w, int32_t loc, uint64_t base, int64_t bytes, uint8_t state) {
  if (w.cta->state.empty()) return;
  std::fill_n(w.cta->state.data() + base, bytes, state);
  for (int64_t k = 0; k < bytes; ++k) Fresh(w, base + k)->write_loc = loc;
}

void JoinClocks(Cta* c, uint32_t arrived, uint32_t waiting) {
  Clock joined(c->warps.size(), 0);
  ForLanes(arrived, [&](int i) {
    const Clock& k = c->warps[i].clock;
    for (size_t j = 0; j < joined.size(); ++j) joined[j] = std::max(joined[j], k[j]);
  });
  ForLanes(waiting, [&](int i) {
    Clock& k = c->warps[i].clock;
    for (size_t j = 0; j < joined.size(); ++j) k[j] = std::max(joined[j], k[j]);
  });
  // What participants do from here on is not covered by this barrier.
  ForLanes(arrived, [&](int i) { ++c->warps[i].clock[i]; });
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
