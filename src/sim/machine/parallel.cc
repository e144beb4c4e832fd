/*!
 * Independent CTAs on the cores there are.
 *
 * The order of CTAs cannot be seen when no instruction synchronises or counts across them and no
 * buffer is both read and written, not even under two parameters. Then each host thread runs a
 * contiguous range of clusters on a machine of its own, and findings and counters are put together
 * in the order of the ranges: the outcome is the same for any number of threads.
 */
#include <tirx/sim/machine.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

namespace tirx {
namespace sim {
namespace {

constexpr int64_t kMinClustersPerWorker = 2;

bool Overlap(const Segment& a, const Segment& b) {
  return a.host && b.host && a.host < b.host + b.bytes && b.host < a.host + a.bytes;
}

bool MayRunInParallel(const Machine* m) {
  const Program& p = *m->prog;
  if (p.ordered || m->opt.schedule == Schedule::kRandom) return false;
  for (size_t i = 0; i < m->segments.size(); ++i) {
    if (m->segments[i].sparse || p.param_access[i] == 3) return false;
    if (!(p.param_access[i] & 2)) continue;
    for (size_t j = 0; j < m->segments.size(); ++j) {
      if (j != i && Overlap(m->segments[i], m->segments[j])) return false;
    }
  }
  return true;
}

/*! A machine for clusters [begin, end) of the same launch. */
std::unique_ptr<Machine> Part(const Machine* m, int64_t begin, int64_t end) {
  auto part = std::make_unique<Machine>();
  part->prog = m->prog;
  part->opt = m->opt;
  part->segments = m->segments;
  part->refs = m->refs;
  part->scalars = m->scalars;
  part->grid = m->grid;
  part->cluster = m->cluster;
  part->threads = m->threads;
  part->counters = m->counters;
  part->next_cluster = begin;
  part->end_cluster = end;
  return part;
}

/*! Threads that still run, and a way to wait for them. */
struct Running {
  std::mutex mutex;
  std::condition_variable ended;
  int64_t count{0};

  void End() {
    std::lock_guard<std::mutex> lock(mutex);
    if (--count == 0) ended.notify_all();
  }
  /*! Whether all have ended within 20 ms. */
  bool AllEnded() {
    std::unique_lock<std::mutex> lock(mutex);
    return ended.wait_for(lock, std::chrono::milliseconds(20), [this] { return count == 0; });
  }
};

/*! Waits for the parts; only this thread may ask whether the user wants to stop. */
void Wait(Machine* m, Running* running, std::atomic<bool>* stopped) {
  while (!running->AllEnded()) {
    if (m->gave_up || !m->interrupted || !m->interrupted()) continue;
    m->gave_up = true;
    stopped->store(true);
  }
}

void RunParts(Machine* m, int64_t workers) {
  std::atomic<bool> stopped{false};
  Running running;
  running.count = workers;
  std::vector<std::unique_ptr<Machine>> parts;
  std::vector<std::exception_ptr> errors(workers);
  std::vector<std::thread> threads;
  for (int64_t i = 0; i < workers; ++i) {
    parts.push_back(Part(m, m->end_cluster * i / workers, m->end_cluster * (i + 1) / workers));
    parts.back()->stopped = &stopped;
  }
  for (int64_t i = 0; i < workers; ++i) {
    threads.emplace_back([&, i] {
      try {
        RunGrid(parts[i].get());
      } catch (...) {
        errors[i] = std::current_exception();
      }
      running.End();
    });
  }
  Wait(m, &running, &stopped);
  for (std::thread& t : threads) t.join();
  for (int64_t i = 0; i < workers; ++i) {
    if (errors[i]) std::rethrow_exception(errors[i]);
    if (!m->fatal) m->Absorb(parts[i].get());  // what follows a fatal finding would not have run
  }
}

void AddLines(std::vector<std::array<LineCount, 2>>* to,
              const std::vector<std::array<LineCount, 2>>& from) {
  for (size_t i = 0; i < from.size(); ++i) {
    for (int k = 0; k < 2; ++k) (*to)[i][k].Add(from[i][k]);
  }
}

}  // namespace

void LineCount::Add(const LineCount& o) {
  requests += o.requests;
  sectors += o.sectors;
  bytes += o.bytes;
  shared_requests += o.shared_requests;
  wavefronts += o.wavefronts;
  ideal_wavefronts += o.ideal_wavefronts;
  shared_bytes += o.shared_bytes;
}

void Machine::Absorb(Machine* other) {
  for (Finding& f : other->findings) Report(std::move(f));
  suppressed += other->suppressed;
  fatal = fatal || other->fatal;
  serial += other->serial;
  Counters& c = other->counters;
  for (size_t i = 0; i < c.executed.size(); ++i) counters.executed[i] += c.executed[i];
  AddLines(&counters.lines, c.lines);
  for (size_t k = 0; k < c.widths.size(); ++k) {
    for (size_t b = 0; b < c.widths[k].size(); ++b) counters.widths[k][b] += c.widths[k][b];
  }
  counters.barrier_waits += c.barrier_waits;
  counters.async_copies += c.async_copies;
}

void RunAll(Machine* m) {
  m->end_cluster = m->Clusters(0) * m->Clusters(1) * m->Clusters(2);
  int64_t workers = std::min<int64_t>(m->workers, m->end_cluster / kMinClustersPerWorker);
  if (workers > 1 && MayRunInParallel(m)) {
    RunParts(m, workers);
  } else {
    RunGrid(m);
  }
}

}  // namespace sim
}  // namespace tirx
