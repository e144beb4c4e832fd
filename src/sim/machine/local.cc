/*!
 * Local arrays: word w of a lane is lane l of row base+w.
 */
#include <tirx/sim/access.h>
#include <tirx/sim/alu.h>
#include <tirx/sim/machine.h>
#include <tirx/sim/numeric.h>

#include <algorithm>

namespace tirx {
namespace sim {
namespace {

int64_t IndexOf(Warp& w, const Ins& i, int lane) {
  switch (i.idx) {
    case kIdxImm: return i.a;
    case kIdxScalar: return w.s[i.a];
    case kIdx32: return w.Row<int32_t>(i.a)[lane];
    default: return w.Row<int64_t>(i.a)[lane];
  }
}

void ReportLocal(Warp& w, const Ins& i, const MemRef& r, int lane, int64_t index, bool write) {
  Finding f;
  f.code = "out-of-bounds";
  f.message = std::string(write ? "store" : "load") + " outside local array " + r.name;
  f.loc = i.loc;
  f.found = "index " + std::to_string(index) + " by " + LaneName(w, lane);
  f.required = "0 <= index <= " + std::to_string(r.alloc_bytes * 8 / r.bits - i.n);
  w.m->Report(std::move(f), true);
}

/*! Bit offset of the access in the lane's words, or -1 after a report. */
int64_t BitOffset(Warp& w, const Ins& i, const MemRef& r, int lane, bool write) {
  int64_t index = IndexOf(w, i, lane);
  if (index >= 0 && (index + i.n) * r.bits <= r.alloc_bytes * 8) return index * r.bits;
  ReportLocal(w, i, r, lane, index, write);
  return -1;
}

uint32_t ByteMask(int64_t bit, int bits) {
  return ((1u << std::max(1, bits / 8)) - 1) << (bit / 8 % 4);
}

void Note(Warp& w, const Ins& i, const MemRef& r, int lane, int64_t bit, bool write) {
  for (int64_t b = bit; b < bit + i.n * r.bits; b += std::min(r.bits, 32)) {
    auto& state = w.local_init[r.row + b / 32];
    uint32_t bytes = ByteMask(b, std::min(r.bits, 32));
    for (int k = 0; k < 4; ++k) {
      if (!(bytes >> k & 1)) continue;
      if (write) {
        state[k] |= 1u << lane;
      } else if (!(state[k] >> lane & 1)) {
        return ReportLocalPoison(w, i.loc, r.name, 1u << lane);
      }
    }
  }
}

template <int kBits, bool kSigned>
uint32_t Extract(uint32_t word, int shift) {
  if constexpr (kBits == 32) return word;
  uint32_t v = word >> shift & ((1u << (kBits % 32)) - 1);
  if constexpr (kSigned)
    return static_cast<uint32_t>(static_cast<int32_t>(v << (32 - kBits)) >> (32 - kBits));
  return v;
}

/*! Element k of the access, at bit `bit` of the lane's words, to or from the lanes of `mask`. */
template <int kBits, bool kSigned>
void LoadLanes(Warp& w, const Ins& i, const MemRef& r, int k, int64_t bit, uint32_t mask) {
  const uint32_t* word = w.Row(r.row + static_cast<int32_t>(bit / 32));
  if constexpr (kBits == 64) {
    uint64_t* d = w.Row<uint64_t>(i.d + 2 * k);
    ForLanes(mask, [&](int l) { d[l] = word[l] | static_cast<uint64_t>(word[kLanes + l]) << 32; });
  } else {
    uint32_t* d = w.Row(i.d + k);
    int shift = bit % 32;
    ForLanes(mask, [&](int l) { d[l] = Extract<kBits, kSigned>(word[l], shift); });
  }
}

template <int kBits>
void StoreLanes(Warp& w, const Ins& i, const MemRef& r, int k, int64_t bit, uint32_t mask) {
  uint32_t* word = w.Row(r.row + static_cast<int32_t>(bit / 32));
  if constexpr (kBits == 64) {
    const uint64_t* v = w.Row<uint64_t>(i.d + 2 * k);
    ForLanes(mask, [&](int l) {
      word[l] = static_cast<uint32_t>(v[l]);
      word[kLanes + l] = static_cast<uint32_t>(v[l] >> 32);
    });
  } else {
    const uint32_t* v = w.Row(i.d + k);
    int shift = bit % 32;
    uint32_t ones = static_cast<uint32_t>(((uint64_t{1} << kBits) - 1) << shift);
    ForLanes(mask, [&](int l) { word[l] = (word[l] & ~ones) | (v[l] << shift & ones); });
  }
}

/*! Calls f(element, bit, lanes) for the whole access; at once for all lanes when the index is one. */
template <int kBits, bool kWrite, typename F>
void ForElements(Warp& w, const Ins& i, F f) {
  const MemRef& r = w.m->refs[i.b];
  auto at = [&](int lane, uint32_t mask) {
    int64_t bit = BitOffset(w, i, r, lane, kWrite);
    if (bit < 0) return;
    if (w.prog->options.init) ForLanes(mask, [&](int l) { Note(w, i, r, l, bit, kWrite); });
    for (int k = 0; k < i.n; ++k) f(r, k, bit + static_cast<int64_t>(k) * kBits, mask);
  };
  if (i.idx == kIdxImm || i.idx == kIdxScalar) return at(std::countr_zero(w.mask), w.mask);
  ForLanes(w.mask, [&](int l) { at(l, 1u << l); });
}

template <int kBits, bool kSigned>
void LocalLoad(Warp& w, const Ins& i) {
  ForElements<kBits, false>(w, i, [&](const MemRef& r, int k, int64_t bit, uint32_t mask) {
    LoadLanes<kBits, kSigned>(w, i, r, k, bit, mask);
  });
}

template <int kBits>
void LocalStore(Warp& w, const Ins& i) {
  ForElements<kBits, true>(w, i, [&](const MemRef& r, int k, int64_t bit, uint32_t mask) {
    StoreLanes<kBits>(w, i, r, k, bit, mask);
  });
}

}  // namespace

Fn LocalLoadFn(int bits, bool is_signed) {
  switch (bits) {
    case 4: return is_signed ? &LocalLoad<4, true> : &LocalLoad<4, false>;
    case 8: return is_signed ? &LocalLoad<8, true> : &LocalLoad<8, false>;
    case 16: return is_signed ? &LocalLoad<16, true> : &LocalLoad<16, false>;
    case 32: return &LocalLoad<32, false>;
    case 64: return &LocalLoad<64, false>;
    default: return nullptr;
  }
}

Fn LocalStoreFn(int bits) {
  switch (bits) {
    case 4: return &LocalStore<4>;
    case 8: return &LocalStore<8>;
    case 16: return &LocalStore<16>;
    case 32: return &LocalStore<32>;
    case 64: return &LocalStore<64>;
    default: return nullptr;
  }
}

void PoisonLocal(Warp& w, const Ins& i) {
  std::fill_n(w.Row(i.d), kLanes * i.b, ~0u);
  if (!w.prog->options.init) return;
  for (int r = i.d; r < i.d + i.b; ++r) w.local_init[r].fill(0);
}

void CheckLocalRows(Warp& w, const Ins& i) {
  uint32_t bad = 0;
  for (int r = i.d; r < i.d + i.b; ++r) {
    const auto& s = w.local_init[r];
    bad |= w.mask & ~(s[0] & s[1] & s[2] & s[3]);
  }
  if (bad) ReportLocalPoison(w, i.loc, w.m->refs[i.a].name, bad);
}

void MarkLocalRows(Warp& w, const Ins& i) {
  for (int r = i.d; r < i.d + i.b; ++r) {
    for (uint32_t& byte : w.local_init[r]) byte |= w.mask;
  }
}

void FmaHalfRow(Warp& w, const Ins& i) {
  for (int l = 0; l < kLanes; ++l)
    w.Row(i.d)[l] = FmaHalf(w.Row(i.a)[l], w.Row(i.b)[l], w.Row(i.c)[l]);
}
void FmaBFloatRow(Warp& w, const Ins& i) {
  for (int l = 0; l < kLanes; ++l)
    w.Row(i.d)[l] = FmaBFloat(w.Row(i.a)[l], w.Row(i.b)[l], w.Row(i.c)[l]);
}

/*! n values of b bits become idx values of c bits, least significant first. */
void Repack(Warp& w, const Ins& i) {
  int from = i.b, to = i.c;
  for (int l = 0; l < kLanes; ++l) {
    uint64_t words[8] = {};
    for (int k = 0; k < i.n; ++k) {
      uint64_t v = from == 64 ? w.Row<uint64_t>(i.a + 2 * k)[l]
                              : w.Row(i.a + k)[l] & ((uint64_t{1} << from) - 1);
      words[k * from / 64] |= v << (k * from % 64);
    }
    for (int k = 0; k < i.idx; ++k) {
      uint64_t v = words[k * to / 64] >> (k * to % 64);
      if (to == 64) {
        w.Row<uint64_t>(i.d + 2 * k)[l] = v;
      } else {
        w.Row(i.d + k)[l] = static_cast<uint32_t>(v & ((uint64_t{1} << to) - 1));
      }
    }
  }
}

}  // namespace sim
}  // namespace tirx
