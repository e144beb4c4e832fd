/*!
 * Which warp runs next.
 *
 * lazy: the lowest ready warp runs until it blocks. eager: the same, with asynchronous work landing
 * at issue. random: a random ready warp runs until it blocks or a random memory access. CTAs start
 * in order, one cluster at a time; when all resident warps only spin or block, the next CTA is
 * admitted, as it would be resident beside them on the device.
 */
#include <tirx/sim/control.h>
#include <tirx/sim/machine.h>

#include <algorithm>
#include <cstring>

namespace tirx {
namespace sim {
namespace {

/*! CTAs that may be resident at once: an H100 has 132 SMs of at most 32. */
constexpr size_t kMaxResident = 4096;
/*! Slices of spinning warps in a row, with nothing else happening, that count as no progress. */
constexpr int64_t kMaxSpins = 400000;
/*! Slices between two looks at whether the user wants to stop: some milliseconds. */
constexpr int64_t kAskEvery = 256;

void Run(Warp& w) {
  w.stop = false;
  const Ins* code = w.prog->code.data();
  do {
    const Ins& i = code[w.pc++];
    i.fn(w, i);
  } while (!w.stop);
}

void RunCounted(Warp& w) {
  w.stop = false;
  const Ins* code = w.prog->code.data();
  uint64_t* counts = w.m->counters.executed.data();
  do {
    ++counts[w.pc];
    const Ins& i = code[w.pc++];
    i.fn(w, i);
  } while (!w.stop);
}

void FillConstants(Warp* w) {
  const Program& p = *w->prog;
  for (size_t i = 0; i < p.row_consts.size(); ++i) {
    std::fill_n(w->Row(-1 - static_cast<int32_t>(i)), kLanes, p.row_consts[i]);
  }
  for (auto [row, value] : p.wide_consts) std::fill_n(w->Row<uint64_t>(row), kLanes, value);
  for (int l = 0; l < kLanes; ++l) {
    w->Row(kRowThread)[l] = static_cast<uint32_t>(w->id * kLanes + l);
    w->Row(kRowLane)[l] = static_cast<uint32_t>(l);
  }
}

void CreateWarp(Machine* m, Cta* c, int id) {
  const Program& p = *m->prog;
  Warp& w = c->warps[id];
  w.m = m;
  w.cta = c;
  w.prog = &p;
  w.id = id;
  size_t consts = p.row_consts.size();
  w.row_store.assign((consts + p.num_rows) * kRowBytes + 64, 0xff);
  size_t skip = (64 - reinterpret_cast<uintptr_t>(w.row_store.data()) % 64) % 64;
  w.rows = w.row_store.data() + skip + consts * kRowBytes;
  w.scalar_store.resize(m->scalars.size());
  w.s = w.scalar_store.data() + p.scalar_consts.size();
  int64_t left = m->threads - static_cast<int64_t>(id) * kLanes;
  w.exist = left >= kLanes ? ~0u : (1u << left) - 1;
  if (m->opt.init) w.local_init.resize(p.num_rows);
  FillConstants(&w);
}

void ResetWarp(Machine* m, Warp* w) {
  w->mask = w->exist;
  w->live = ~0u;
  w->pc = 0;
  w->status = Status::kReady;
  w->spun = false;
  w->frames.clear();
  w->wait_barrier = -1;
  w->waits_cluster = false;
  w->cluster_phase = -1;
  w->open_group.clear();
  w->groups.clear();
  w->clock.assign(w->cta->warps.size(), 0);
  w->clock[w->id] = 1;
  w->epoch = 1;
  std::copy(m->scalars.begin(), m->scalars.end(), w->scalar_store.begin());
  const Cta& c = *w->cta;
  w->s[kSWarpBase] = static_cast<int64_t>(w->id) * kLanes;
  for (int d = 0; d < 3; ++d) {
    w->s[kSCta + d] = c.index[d];
    w->s[kSGrid + d] = m->grid[d];
    w->s[kSClusterX + d] = c.index[d] % m->cluster[d];
  }
  w->s[kSRank] =
      w->s[kSClusterX] + m->cluster[0] * (w->s[kSClusterY] + m->cluster[1] * w->s[kSClusterZ]);
}

std::unique_ptr<Cta> NewCta(Machine* m) {
  auto c = std::make_unique<Cta>();
  int64_t warps = (m->threads + kLanes - 1) / kLanes;
  c->warps.resize(warps);
  for (int i = 0; i < warps; ++i) CreateWarp(m, c.get(), i);
  c->shared.resize(m->prog->shared_bytes);
  if (m->opt.init || m->opt.race) c->shadow.resize(c->shared.size());
  c->state.resize(m->opt.init ? c->shared.size() : 0);
  return c;
}

void StartCta(Machine* m, const std::array<int64_t, 3>& index,
              const std::shared_ptr<Cluster>& cluster) {
  std::unique_ptr<Cta> c;
  if (m->idle.empty()) {
    c = NewCta(m);
  } else {
    c = std::move(m->idle.back());
    m->idle.pop_back();
  }
  c->index = index;
  c->cluster = cluster;
  c->serial = ++m->serial;
  c->exited = 0;
  c->barriers.fill(Barrier{});
  std::fill(c->shared.begin(), c->shared.end(), 0xff);
  std::fill(c->state.begin(), c->state.end(), kPoisoned);
  for (Warp& w : c->warps) ResetWarp(m, &w);
  m->active.push_back(std::move(c));
}

bool CanStart(const Machine* m) {
  return m->next_cluster < m->end_cluster && m->active.size() < kMaxResident;
}

/*! The CTAs of a cluster start together. */
void StartCluster(Machine* m) {
  int64_t n = m->next_cluster++, cx = m->Clusters(0), cy = m->Clusters(1);
  std::array<int64_t, 3> first{n % cx * m->cluster[0], n / cx % cy * m->cluster[1],
                               n / (cx * cy) * m->cluster[2]};
  int64_t ctas = m->cluster[0] * m->cluster[1] * m->cluster[2];
  auto cluster = std::make_shared<Cluster>();
  cluster->warps = ctas * ((m->threads + kLanes - 1) / kLanes);
  for (int64_t i = 0; i < ctas; ++i) {
    int64_t x = i % m->cluster[0], y = i / m->cluster[0] % m->cluster[1],
            z = i / (m->cluster[0] * m->cluster[1]);
    StartCta(m, {first[0] + x, first[1] + y, first[2] + z}, cluster);
  }
}

void RetireDone(Machine* m) {
  for (size_t i = 0; i < m->active.size();) {
    Cta* c = m->active[i].get();
    if (c->exited < static_cast<int>(c->warps.size())) {
      ++i;
      continue;
    }
    m->idle.push_back(std::move(m->active[i]));
    m->active.erase(m->active.begin() + static_cast<int64_t>(i));
  }
}

/*! CTAs that start without being needed: more than one only where interleaving is the point. */
size_t Window(const Machine* m) { return m->opt.schedule == Schedule::kRandom ? 8 : 1; }

struct Choice {
  Warp* warp{nullptr};
  size_t ready{0};
};

/*! The next ready warp at or after position `from` (in order), or a random one. */
Choice Choose(Machine* m, size_t* from) {
  std::vector<Warp*>& all = m->ready_scratch;
  all.clear();
  for (auto& c : m->active) {
    for (Warp& w : c->warps) {
      if (w.status == Status::kReady) all.push_back(&w);
    }
  }
  if (all.empty()) return {};
  if (m->opt.schedule == Schedule::kRandom) return {all[m->Random() % all.size()], all.size()};
  if (*from >= all.size()) *from = 0;
  return {all[*from], all.size()};
}

void RunWarp(Machine* m, Warp& w) {
  m->current = &w;
  w.spun = false;
  if (m->opt.counters) {
    RunCounted(w);
  } else {
    Run(w);
  }
  if (w.status != Status::kExited) return;
  ++w.cta->exited;
  LeaveBarriers(w);
}

void ReportNoProgress(Machine* m) {
  Warp& w = *m->current;
  Finding f;
  f.code = "no-progress";
  f.message = "every warp that can run spins in a loop";
  f.loc = m->prog->code[w.pc].loc;
  f.found = WarpName(w) + " still loops after " + std::to_string(kMaxSpins) + " slices";
  f.required = "some warp that makes the loop's condition change";
  m->Report(std::move(f), true);
}

bool GivesUp(Machine* m) {
  bool stopped = m->stopped && m->stopped->load(std::memory_order_relaxed);
  m->gave_up = stopped || (m->interrupted && m->interrupted());
  return m->gave_up;
}

}  // namespace

uint32_t Machine::Random() {
  // splitmix64: the sequence depends on the seed only.
  uint64_t z = (rng += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return static_cast<uint32_t>((z ^ (z >> 31)) >> 16);
}

void Machine::Report(Finding f, bool is_fatal) {
  if (is_fatal) {
    fatal = true;
    if (current) current->stop = true;
  }
  for (const Finding& old : findings) {
    if (old.code == f.code && old.loc == f.loc) return;
  }
  if (findings.size() >= kMaxFindings) {
    ++suppressed;
  } else {
    findings.push_back(std::move(f));
  }
}

void RunGrid(Machine* m) {
  m->rng = m->opt.seed;
  size_t from = 0;
  int64_t spins = 0, slices = 0;
  while (!m->fatal) {
    if (++slices % kAskEvery == 0 && GivesUp(m)) return;
    if (m->active.size() < Window(m) && CanStart(m)) StartCluster(m);
    if (m->active.empty()) return;
    Choice pick = Choose(m, &from);
    if (!pick.warp) {
      if (!CanStart(m)) return ReportDeadlock(m);
      StartCluster(m);
      continue;
    }
    RunWarp(m, *pick.warp);
    bool exited = pick.warp->status == Status::kExited;
    spins = pick.warp->spun ? spins + 1 : 0;
    from += pick.warp->spun;
    if (exited) RetireDone(m);
    if (spins > static_cast<int64_t>(pick.ready) && CanStart(m)) StartCluster(m);
    if (spins > kMaxSpins) return ReportNoProgress(m);
  }
}

std::string CtaName(const Cta& c) {
  return "CTA (" + std::to_string(c.index[0]) + ", " + std::to_string(c.index[1]) + ", " +
         std::to_string(c.index[2]) + ")";
}
std::string WarpName(const Warp& w) { return CtaName(*w.cta) + " warp " + std::to_string(w.id); }
std::string LaneName(const Warp& w, int lane) {
  return CtaName(*w.cta) + " thread " + std::to_string(w.Thread(lane));
}

std::string MaskName(uint32_t mask) {
  std::string out = std::popcount(mask) == 1 ? "lane " : "lanes ";
  bool first = true;
  for (int l = 0; l < kLanes; ++l) {
    if (!(mask >> l & 1)) continue;
    int end = l;
    while (end + 1 < kLanes && mask >> (end + 1) & 1) ++end;
    out += (first ? "" : ",") + std::to_string(l) + (end > l ? "-" + std::to_string(end) : "");
    first = false;
    l = end;
  }
  return out;
}

}  // namespace sim
}  // namespace tirx
