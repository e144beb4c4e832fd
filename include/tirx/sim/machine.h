/*!
 * The SIMT machine: CTAs of warps, their memories, and the scheduler.
 *
 * A warp is data (registers, active mask, a stack of control frames, a program counter), so a
 * blocking instruction only sets its status and returns; nothing holds a host stack.
 */
#ifndef TIRX_SIM_MACHINE_H_
#define TIRX_SIM_MACHINE_H_
#include <tirx/sim/program.h>

#include <array>
#include <atomic>
#include <bit>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tirx {
namespace sim {

/*! A finding of an observer, or a fault. Locations index Program::spans. */
struct Finding {
  std::string code, message, found, required, hint;
  int32_t loc{0};
  std::vector<std::pair<int32_t, std::string>> notes;
};

/*! Addresses: bits 63:44 say which memory, the rest is the byte offset in it. */
constexpr int kSegmentShift = 44;
constexpr uint64_t kSharedSegment = 1, kLocalSegment = 2, kFirstGlobalSegment = 16;
constexpr uint64_t kOffsetMask = (uint64_t{1} << kSegmentShift) - 1;

/*! Device memory of any size: pages are made, poisoned, when they are first touched. */
class SparseMemory {
 public:
  static constexpr int64_t kPageBytes = 1 << 16;
  uint8_t* At(int64_t offset);
  void Write(int64_t offset, const uint8_t* bytes, int64_t n);
  void Read(int64_t offset, uint8_t* bytes, int64_t n);
  size_t pages() const { return pages_.size(); }

 private:
  std::unordered_map<int64_t, std::unique_ptr<uint8_t[]>> pages_;
};

/*! A buffer of the caller in device memory: mapped in place, or sparse. */
struct Segment {
  std::string name;
  uint8_t* host{nullptr};
  int64_t bytes{0};
  SparseMemory* sparse{nullptr};
  int64_t skew{0};  //!< device offset of the first byte (the caller's address modulo 16)
  /*! Where byte `offset` (from the first byte) lives; the caller has checked the range. */
  uint8_t* At(int64_t offset);
};

/*! Vector clock over the warps of a CTA. */
using Clock = std::vector<uint32_t>;

struct Frame {
  uint32_t saved;       //!< lanes to restore at the end of the construct
  uint32_t other;       //!< if: lanes of the else arm; loop: lanes still in the loop
  uint32_t saved_live;  //!< loop: live lanes of the enclosing loop
  uint32_t count;       //!< loop: iterations so far
};

struct Machine;
struct Cta;

enum class Status : uint8_t { kReady, kBlocked, kExited };

/*! One cp.async of a warp: per-lane copies that are not complete yet. */
struct PendingCopy {
  uint32_t mask{0};
  int32_t bytes{0};
  int32_t loc{0};
  bool landed{false};                  //!< the bytes have moved, but nobody may rely on it
  std::array<uint64_t, kLanes> dst{};  //!< offset in the CTA's shared memory
  std::array<const uint8_t*, kLanes> src{};
  std::array<int32_t, kLanes> take{};  //!< bytes to copy; the rest is zero-filled
};

struct Warp {
  uint8_t* rows{nullptr};
  int64_t* s{nullptr};
  uint32_t mask{0};    //!< active lanes
  uint32_t live{~0u};  //!< lanes that did not break or continue in the current loop iteration
  int32_t pc{0};
  bool stop{false};  //!< leave the run loop
  Status status{Status::kReady};
  bool spun{false};   //!< stopped because a loop keeps iterating
  uint32_t exist{0};  //!< lanes that have a thread
  int32_t id{0};      //!< warp index in the CTA
  Cta* cta{nullptr};
  Machine* m{nullptr};
  const Program* prog{nullptr};
  std::vector<Frame> frames;
  // What it waits for.
  int32_t wait_loc{0};
  int32_t wait_barrier{-1};
  bool waits_cluster{false};
  int64_t cluster_phase{-1};  //!< of the cluster barrier that it arrived at and has not waited for
  int32_t red_row{-1}, red_mode{0};  //!< where a barrier reduction puts its result
  // cp.async
  std::vector<PendingCopy> open_group;
  std::deque<std::vector<PendingCopy>> groups;
  // observers
  std::vector<std::array<uint32_t, 4>> local_init;  //!< per row and byte: lanes written
  Clock clock;
  uint32_t epoch{0};  //!< grows when the lanes synchronise (warp and CTA barriers)
  uint32_t stamp{0};  //!< grows with every observed access
  std::vector<uint8_t> row_store;
  std::vector<int64_t> scalar_store;

  template <typename T = uint32_t>
  T* Row(int32_t r) {
    return reinterpret_cast<T*>(rows + static_cast<int64_t>(r) * kRowBytes);
  }
  bool Full() const { return mask == ~0u; }
  int Thread(int lane) const { return id * kLanes + lane; }
};

/*! Calls f(lane) for each set bit, in lane order. */
template <typename F>
inline void ForLanes(uint32_t mask, F f) {
  if (mask == ~0u) {
    for (int l = 0; l < kLanes; ++l) f(l);
    return;
  }
  for (; mask; mask &= mask - 1) f(std::countr_zero(mask));
}

/*! A named barrier of a CTA (PTX ISA 9.7.13.1). */
struct Barrier {
  int64_t expected{0};  //!< threads; 0: idle
  int64_t arrived{0};
  uint32_t arrived_warps{0};
  uint32_t waiting{0};  //!< warps that block on it
  bool reduces{false};
  int32_t population{0}, threads{0};   //!< of a reduction: set predicates, participants
  std::array<int32_t, kLanes> locs{};  //!< by warp
  Clock clock;                         //!< what the warps knew when they arrived
};

/*! One side of a possible conflict: which lanes of which warp touched a byte, and when. */
struct Touch {
  uint32_t clock{0};  //!< the warp's own component of its vector clock; 0: never
  uint32_t epoch{0};  //!< Warp::epoch
  uint32_t lanes{0};
  int32_t loc{0};
  uint8_t warp{0};
};

/*! What the observers remember about one byte of shared memory. */
struct ShadowByte {
  uint32_t cta{0};    //!< serial of the CTA that the rest is about
  uint32_t stamp{0};  //!< Warp::stamp of the last write
  Touch write, read[2];
};

enum : uint8_t { kPoisoned = 0, kInitialised = 1, kInFlight = 2 };

/*! The cluster barrier (PTX ISA 9.7.13.3), counted in warps. */
struct Cluster {
  int64_t warps{0};  //!< of all its CTAs
  int64_t arrived{0}, exited{0};
  uint32_t phase{0};
  std::vector<Warp*> waiting;
};

struct Cta {
  std::array<int64_t, 3> index{};
  std::shared_ptr<Cluster> cluster;
  uint32_t serial{0};  //!< unique per CTA of the launch, from 1
  std::vector<uint8_t> shared;
  std::vector<uint8_t> state;      //!< per byte of shared: kPoisoned, ...
  std::vector<ShadowByte> shadow;  //!< per byte of shared, when raced or init is observed
  std::vector<Warp> warps;
  std::array<Barrier, 16> barriers;
  int exited{0};
};

/*! Per source line: what the counters observer saw. */
struct LineCount {
  uint64_t requests{0}, sectors{0}, ideal_sectors{0}, bytes{0};
  uint64_t shared_requests{0}, wavefronts{0}, ideal_wavefronts{0}, shared_bytes{0};
  void Add(const LineCount& other);
};

/*! Sums over the launch. */
struct Counters {
  std::vector<uint64_t> executed;                   //!< per bytecode instruction
  std::vector<std::array<LineCount, 2>> lines;      //!< [loc][0 load, 1 store]
  std::array<std::array<uint64_t, 8>, 4> widths{};  //!< [ld.g st.g ld.s st.s][log2 bytes per lane]
  uint64_t barrier_waits{0}, async_copies{0};
};

/*! One memory instruction, as the observers see it. */
struct Access {
  const MemRef* ref{nullptr};  //!< null: through a pointer
  Space space{Space::kGlobal};
  bool write{false};
  bool atomic{false};
  int bytes{4};      //!< per lane
  uint32_t mask{0};  //!< lanes that access
  std::array<uint8_t*, kLanes> p;
  std::array<uint64_t, kLanes> addr;  //!< shared: offset in the CTA; global: device address
};

struct Machine {
  const Program* prog{nullptr};
  Options opt;
  std::vector<Segment> segments;  //!< by device parameter; empty for scalars
  std::vector<MemRef> refs;       //!< with extents of this launch
  std::vector<int64_t> scalars;   //!< initial scalar registers, constants first
  std::array<int64_t, 3> grid{1, 1, 1};
  std::array<int64_t, 3> cluster{1, 1, 1};
  int64_t threads{kLanes};
  int workers{1};                           //!< host threads that may run independent clusters
  int64_t next_cluster{0}, end_cluster{0};  //!< clusters of the grid that this machine still runs
  std::vector<std::unique_ptr<Cta>> active;
  std::vector<std::unique_ptr<Cta>> idle;  //!< storage to use again
  std::vector<Warp*> ready_scratch;
  Warp* current{nullptr};
  std::vector<Finding> findings;
  size_t suppressed{0};  //!< findings beyond kMaxFindings
  bool fatal{false};
  Counters counters;
  uint64_t rng{0};
  uint64_t ticks{0};    //!< what clock instructions read
  std::string printed;  //!< what printf wrote
  uint32_t serial{0};   //!< CTAs started
  /*! Asked now and then on the calling thread; true ends the launch (the user pressed Ctrl-C). */
  std::function<bool()> interrupted;
  /*! Set when another part of the launch was interrupted. */
  const std::atomic<bool>* stopped{nullptr};
  bool gave_up{false};  //!< ended by one of the two

  uint32_t Random();
  /*! Clusters along a dimension of the grid. */
  int64_t Clusters(int d) const { return grid[d] / cluster[d]; }
  /*! Records a finding once per (code, line); a fatal one ends the launch. */
  void Report(Finding f, bool is_fatal = false);
  /*! Takes over findings and counters of a machine that ran the next clusters. */
  void Absorb(Machine* other);
};

constexpr size_t kMaxFindings = 16;

/*! A kernel argument: a buffer (host address or sparse memory, and bytes) or a scalar. */
struct Argument {
  bool is_buffer{false};
  uint8_t* host{nullptr};
  SparseMemory* sparse{nullptr};
  int64_t bytes{0};
  bool read_only{false};  //!< the caller's array must not be written
  int64_t scalar{0};      //!< integer value, or the bits of a float
};

/*! Values of integer scalars and symbolic extents. */
using HostEnv = std::unordered_map<const VarNode*, int64_t>;
/*! Runs the whole grid. Arguments follow device.params; `env` has what the launch plan may name. The
 *  machine keeps findings and counters. */
void Launch(Machine* m, const Program& program, const std::vector<Argument>& args, HostEnv env);
/*! Value of an integer expression of the kernel's parameters; nothing when it has other variables.
 */
std::optional<int64_t> EvalHost(const PrimExpr& e, const HostEnv& env);

// ---- machine/parallel.cc ----
/*! Runs every cluster, on several host threads when their order cannot be seen. */
void RunAll(Machine* m);

// ---- machine/access.cc ----
/*! Fills in p and addr of the active lanes for `bytes` per lane at the instruction's index, checks
 *  range and alignment, tells the observers. Lanes that failed leave a->mask. */
void Locate(Warp& w, const Ins& i, int bytes, bool write, Access* a);
/*! The same for a pointer operand of an instruction, which holds device addresses. */
void LocateOperand(Warp& w, int32_t loc, const Operand& pointer, int bytes, bool write, Access* a,
                   bool atomic = false);
/*! The same for device addresses given per lane; ref: the buffer they were taken from, or null. */
void LocatePointers(Warp& w, int32_t loc, const uint64_t* addr, int bytes, bool write, Access* a,
                    const MemRef* ref = nullptr, bool atomic = false);
/*! The bytes at a device address, or nullptr when they are not inside one allocation. */
uint8_t* Resolve(Warp& w, uint64_t addr, int bytes);
std::string SegmentName(const Warp& w, uint64_t addr);

/*! Schedule "random": one pending cp.async of the warp may land now. */
void LandSomeCopy(Warp& w);

// ---- machine/barrier.cc ----
enum class BarrierOp { kSync, kArrive, kReduce };
/*! The warp arrives at barrier `id` of `threads` threads (0: the whole CTA); kSync and kReduce
 * block it until the barrier completes. population: set predicates of a reduction. */
void ArriveBarrier(Warp& w, int32_t loc, int64_t id, int64_t threads, BarrierOp op,
                   int population = 0);
/*! barrier.cluster.arrive and .wait. */
void ArriveCluster(Warp& w, int32_t loc);
void WaitCluster(Warp& w, int32_t loc);
/*! A warp exited: barriers of the whole CTA no longer wait for it when sync is not observed. */
void LeaveBarriers(Warp& w);

// ---- machine/schedule.cc ----
/*! Runs the machine's clusters until they are done, a fatal finding, or nothing can run (a deadlock finding). */
void RunGrid(Machine* m);
std::string CtaName(const Cta& c);
std::string WarpName(const Warp& w);
std::string LaneName(const Warp& w, int lane);
/*! Lanes as ranges: "lanes 0-15". */
std::string MaskName(uint32_t mask);

// ---- observe ----
/*! Init, race and counters look at an access before it happens. */
void ObserveAccess(Warp& w, int32_t loc, const Access& a);
/*! Lanes of one store that write unequal values to one place. */
void CheckReplicas(Warp& w, const Ins& i, const Access& a);
void ReportLocalPoison(Warp& w, int32_t loc, const std::string& name, uint32_t lanes);
void ReportDeadlock(Machine* m);
/*! What the warp did so far happens before whatever joins `clock`; what follows does not. */
void PublishClock(Warp& w, Clock* clock);
void JoinClock(Warp& w, const Clock& clock);

}  // namespace sim
}  // namespace tirx
#endif  // TIRX_SIM_MACHINE_H_
