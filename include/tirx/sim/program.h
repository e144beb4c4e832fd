/*!
 * The register bytecode that native IR is compiled to, once per kernel and set of observers.
 *
 * A warp executes an instruction for all its lanes. A varying value lives in a row: 32 lanes of
 * 4 bytes (128 bytes); 64-bit values take two rows, 32 lanes of 8 bytes. A value that is provably
 * equal in all lanes (loop counters, cta ids, constants) lives in a scalar register, an int64 kept
 * sign- or zero-extended. Types narrower than 32 bits are held extended in a row; small floats as
 * their bits. Local arrays are rows too, word w of lane l at row base+w: per-lane storage is
 * interleaved by words as on the device, so views of another dtype are free.
 *
 * Values in rows are only ever read under a subset of the lanes that were active when they were
 * computed, so arithmetic ignores the active mask; memory, local stores and control obey it.
 */
#ifndef TIRX_SIM_PROGRAM_H_
#define TIRX_SIM_PROGRAM_H_
#include <tirx/ir/function.h>
#include <tirx/ir/instr.h>
#include <tirx/ir/target.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tirx {
namespace sim {

constexpr int kLanes = 32;
constexpr int kRowBytes = kLanes * 4;

struct Warp;
struct Ins;
using Fn = void (*)(Warp&, const Ins&);

/*! What the counters call an instruction. Keep KindName in step. */
enum class Kind : uint8_t {
  kNone,
  kInt,
  kFp32,
  kFp64,
  kConvert,
  kMath,
  kLocal,
  kControl,
  kLdGlobal,
  kStGlobal,
  kLdShared,
  kStShared,
  kAtomic,
  kMma,
  kShuffle,
  kBarrier,
  kAsync,
  kMatrix,
  kOther,
};
constexpr int kNumKinds = static_cast<int>(Kind::kOther) + 1;
const char* KindName(Kind k);

/*! How the index operand of an access is given. */
enum IndexKind : uint8_t { kIdxImm, kIdxScalar, kIdx32, kIdx64 };

struct Ins {
  Fn fn{nullptr};
  int32_t d{0}, a{0}, b{0}, c{0};
  int32_t loc{0};  //!< index into Program::spans
  Kind kind{Kind::kNone};
  uint8_t n{1};    //!< elements of a vector access
  uint8_t idx{0};  //!< IndexKind
  uint8_t flags{0};
};

enum class Space : uint8_t { kGlobal, kShared, kLocal, kPointer };

/*! A buffer as the bytecode addresses it: element i is at base + i * bits / 8. */
struct MemRef {
  Space space{Space::kGlobal};
  int bits{32};
  int32_t row{0};       //!< kLocal: first row of the allocation
  int32_t param{-1};    //!< kGlobal: index of the device parameter
  int32_t pointer{-1};  //!< kPointer: register holding the address of element 0
  bool pointer_scalar{false};
  int64_t base{0};         //!< kShared: byte offset in the CTA; kLocal: byte offset from `row`
  int64_t alloc_bytes{0};  //!< kLocal, kShared: bytes of the allocation behind it
  int64_t alloc_base{0};   //!< kShared: where that allocation starts
  // Elements of the view: [first, first + extent), evaluated at launch.
  int64_t first{0}, extent{0};
  PrimExpr first_expr{0}, extent_expr{0};
  std::string name;
};

struct SharedAlloc {
  std::string name;
  int64_t base, bytes;
  int32_t loc;
};

/*! An operand of an instruction as its meaning sees it. */
struct Operand {
  enum Kind : uint8_t { kValue, kPlace, kImm, kStr } kind{kValue};
  DType dtype{kUInt32};
  int32_t row{0};   //!< kValue, kPlace: first row (64-bit values: two rows per element)
  int32_t ref{-1};  //!< a pointer made by address_of: the buffer it points into
  int64_t imm{0};   //!< kImm: the constant; also set for a kValue that is constant
  bool is_const{false};
  std::string str;
};

struct Meaning;

/*! One call of an instruction of the table. */
struct OpCall {
  const Meaning* meaning{nullptr};
  Instr instr;
  std::vector<Operand> args;
  int32_t dst{-1};  //!< first row of the result
  DType result{kVoid};
  Span span;
  /*! Parameters that the meaning reads from sim_attrs, attrs and the name, once. */
  int64_t p[8] = {};
  DType type{kUInt32}, from{kUInt32};  //!< likewise

  OpCall() : instr(ffi::ObjectPtr<InstrNode>(nullptr)) {}
};

enum class Schedule : uint8_t { kLazy, kEager, kRandom };

struct Options {
  Schedule schedule{Schedule::kLazy};
  uint64_t seed{0};
  bool bounds{false}, init{false}, sync{false}, race{false}, replica{false}, counters{false};
  bool mma_f64{false};
  bool checked() const { return bounds || init || race || replica || counters; }
};

struct Program {
  std::string name;
  Options options;
  std::vector<Ins> code;
  std::vector<Span> spans;
  std::vector<MemRef> refs;
  std::vector<OpCall> calls;
  std::vector<std::string> strings;
  std::vector<SharedAlloc> shared;
  int64_t static_shared{0}, dyn_base{0}, shared_bytes{0};
  int32_t num_rows{0}, num_scalars{0};
  // Constants have the registers -1, -2, ...: scalar -1-i is scalar_consts[i]; row -1-i repeats
  // row_consts[i] (a 64-bit constant is two consecutive entries, low word second).
  std::vector<int64_t> scalar_consts;
  std::vector<uint32_t> row_consts;
  std::vector<std::pair<int32_t, uint64_t>> wide_consts;  //!< row register and value
  struct LocalArray {
    std::string name;
    int32_t row, words;
  };
  std::vector<LocalArray> locals;
  /*! Whether the order of CTAs can be seen: an atomic, a `while` (it may wait for another CTA), a
   *  clock, a print. */
  bool ordered{false};
  std::vector<uint8_t> param_access;  //!< per device parameter: 1 read, 2 written
  std::vector<int32_t> param_scalar;  //!< scalar register of each device parameter
  std::vector<std::string> param_names;
  std::vector<Var> params;
  Kernel kernel;
  Target target;

  Program(Kernel k, Target t) : kernel(std::move(k)), target(std::move(t)) {}
};

// Fixed registers at the start of every warp's file.
constexpr int32_t kRowThread = 0;  //!< linear thread index in the CTA
constexpr int32_t kRowLane = 1;
constexpr int32_t kFirstRow = 2;
/*! Scalars: warp index * 32, cta index x y z, grid extent x y z, cluster cta rank, index x y z. */
enum FixedScalar : int32_t {
  kSWarpBase,
  kSCta,
  kSCtaY,
  kSCtaZ,
  kSGrid,
  kSGridY,
  kSGridZ,
  kSRank,
  kSClusterX,
  kSClusterY,
  kSClusterZ,
  kFirstScalar,
};

/*! Compiles the device function. Raises target/unknown-instruction, target/missing-feature,
 *  sim/unsupported-instruction and verify/not-native errors with the line. */
Program Compile(const Kernel& kernel, const Target& target, const Options& options);

}  // namespace sim
}  // namespace tirx
#endif  // TIRX_SIM_PROGRAM_H_
