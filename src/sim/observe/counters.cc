/*!
 * Counters of memory instructions. Global memory moves in sectors of 32 bytes; shared memory has 32
 * banks of 4 bytes. A request of 8 (16) bytes per lane is served a half (quarter) warp at a time;
 * lanes that read one word are served together. (CUDA C++ Best Practices Guide, 9.2.1 and 9.2.3)
 */
#include <tirx/sim/observe.h>

#include <algorithm>

namespace tirx {
namespace sim {
namespace {

constexpr uint64_t kSectorBytes = 32;

uint64_t CountDistinct(uint64_t* v, int n) {
  std::sort(v, v + n);
  return static_cast<uint64_t>(std::unique(v, v + n) - v);
}

uint64_t Sectors(const Access& a) {
  uint64_t sectors[kLanes];
  int n = 0;
  // A naturally aligned access of at most 32 bytes lies in one sector.
  ForLanes(a.mask, [&](int l) { sectors[n++] = a.addr[l] / kSectorBytes; });
  return CountDistinct(sectors, n);
}

/*! Cycles to serve the lanes of `mask`: the largest number of distinct words in one bank. */
uint64_t Wavefronts(const Access& a, uint32_t mask) {
  uint64_t words[kLanes * 8];
  int n = 0, per_lane = std::max(1, a.bytes / 4);
  ForLanes(mask, [&](int l) {
    for (int k = 0; k < per_lane; ++k) words[n++] = a.addr[l] / 4 + k;
  });
  if (n == 0) return 0;
  uint64_t distinct = CountDistinct(words, n);
  int banks[32] = {};
  for (uint64_t i = 0; i < distinct; ++i) ++banks[words[i] % 32];
  return static_cast<uint64_t>(*std::max_element(banks, banks + 32));
}

void CountShared(const Access& a, LineCount* c) {
  int lanes = a.bytes <= 4 ? 32 : a.bytes <= 8 ? 16 : 8;
  uint32_t part = lanes == 32 ? ~0u : (1u << lanes) - 1;
  for (int first = 0; first < kLanes; first += lanes) {
    uint64_t waves = Wavefronts(a, a.mask & part << first);
    c->wavefronts += waves;
    c->ideal_wavefronts += waves > 0;
  }
  ++c->shared_requests;
  c->shared_bytes += static_cast<uint64_t>(std::popcount(a.mask)) * a.bytes;
}

void CountGlobal(const Access& a, LineCount* c) {
  uint64_t bytes = static_cast<uint64_t>(std::popcount(a.mask)) * a.bytes;
  ++c->requests;
  c->bytes += bytes;
  c->sectors += Sectors(a);
}

}  // namespace

void CountAccess(Machine* m, int32_t loc, const Access& a) {
  bool shared = a.space == Space::kShared;
  LineCount* c = &m->counters.lines[loc][a.write];
  if (shared) {
    CountShared(a, c);
  } else {
    CountGlobal(a, c);
  }
  ++m->counters
        .widths[(shared ? 2 : 0) + a.write][std::countr_zero(static_cast<uint32_t>(a.bytes)) & 7];
}

}  // namespace sim
}  // namespace tirx
