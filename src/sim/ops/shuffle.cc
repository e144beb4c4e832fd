/*!
 * Shuffles, votes, match, elect and reductions between the lanes of a warp.
 * (PTX ISA 9.7.9.6 shfl.sync, 9.7.13.9 vote, 9.7.13.10 match, 9.7.13.14 elect, 9.7.13.12 redux)
 */
#include <tirx/sim/numeric.h>
#include <tirx/sim/ops.h>

#include <algorithm>

namespace tirx {
namespace sim {
namespace {

enum ShuffleMode : int64_t { kIdx, kUp, kDown, kBfly };

/*! Lane that `lane` reads, with PTX's b and c operands; itself when out of its segment. */
int SourceLane(int64_t mode, int lane, uint32_t b, uint32_t c) {
  int segment = static_cast<int>(c >> 8 & 31), clamp = static_cast<int>(c & 31);
  int min = lane & segment, max = min | (clamp & ~segment);
  int delta = static_cast<int>(b & 31), j = lane;
  switch (mode) {
    case kUp: j = lane - delta; return j >= max ? j : lane;
    case kDown: j = lane + delta; break;
    case kBfly: j = lane ^ delta; break;
    default: j = min | (delta & ~segment); break;
  }
  return j <= max ? j : lane;
}

/*! The lanes of `member` must all be here. */
void CheckMembers(Warp& w, const OpCall& c, int32_t loc, uint32_t member) {
  if ((member & w.exist) == w.mask || !w.m->opt.sync) return;
  Finding f;
  f.code = "partial-warp";
  f.message = std::string(c.instr->name) + " runs without some lanes of its mask";
  f.loc = loc;
  f.found = WarpName(w) + " executes it with " + MaskName(w.mask) + " only";
  f.required = MaskName(member & w.exist) + " together, as the mask says";
  f.hint = "move it out of the branch, or name the lanes that take part in its mask";
  w.m->Report(std::move(f));
}

void CheckSources(Warp& w, const OpCall& c, int32_t loc, const int* source) {
  if (!w.m->opt.sync || w.Full()) return;
  uint32_t bad = 0;
  ForLanes(w.mask, [&](int l) { bad |= static_cast<uint32_t>(!(w.mask >> source[l] & 1)) << l; });
  if (!bad) return;
  int lane = std::countr_zero(bad);
  Finding f;
  f.code = "shuffle-inactive-source";
  f.message = std::string(c.instr->name) + " reads a lane that does not take part";
  f.loc = loc;
  f.found = LaneName(w, lane) + " reads lane " + std::to_string(source[lane]) +
            "; active: " + MaskName(w.mask);
  f.required = "source lanes that execute the same shuffle";
  w.m->Report(std::move(f));
}

template <typename T>
void Permute(Warp& w, const int* source, int32_t dst, int32_t src) {
  T out[kLanes];
  for (int l = 0; l < kLanes; ++l) out[l] = w.Row<T>(src)[source[l]];
  ForLanes(w.mask, [&](int l) { w.Row<T>(dst)[l] = out[l]; });
}

void Exchange(Warp& w, const int* source, DType t, int32_t dst, int32_t src) {
  for (int i = 0; i < t.lanes; ++i) {
    if (t.bits > 32) {
      Permute<uint64_t>(w, source, dst + 2 * i, src + 2 * i);
    } else {
      Permute<uint32_t>(w, source, dst + i, src + i);
    }
  }
}

void ShuffleMode_(OpCall* c) {
  std::string mode = StrAttr(*c, "mode", "idx");
  c->p[0] = mode == "up" ? kUp : mode == "down" ? kDown : mode == "bfly" ? kBfly : kIdx;
  c->p[1] = IntAttr(*c, "mask", 1);
}

/*! cuda.shfl*: [mask,] value, lane or delta, width. */
void Shuffle(Warp& w, const OpCall& c, int32_t loc) {
  size_t first = static_cast<size_t>(c.p[1]);
  const Operand& value = c.args[first];
  const uint32_t* b = w.Row(c.args[first + 1].row);
  const uint32_t* width = w.Row(c.args[first + 2].row);
  uint32_t member = first ? w.Row(c.args[0].row)[std::countr_zero(w.mask)] : ~0u;
  CheckMembers(w, c, loc, member);
  int source[kLanes];
  for (int l = 0; l < kLanes; ++l) {
    uint32_t segment = (32 - width[l]) << 8;
    source[l] = SourceLane(c.p[0], l, b[l], segment | (c.p[0] == kUp ? 0 : 31));
  }
  CheckSources(w, c, loc, source);
  Exchange(w, source, value.dtype, c.dst, value.row);
}

/*! shfl.sync: d, a, b, c, membermask. */
void ShufflePtx(Warp& w, const OpCall& c, int32_t loc) {
  CheckMembers(w, c, loc, w.Row(c.args[4].row)[std::countr_zero(w.mask)]);
  int source[kLanes];
  for (int l = 0; l < kLanes; ++l) {
    source[l] = SourceLane(c.p[0], l, w.Row(c.args[2].row)[l], w.Row(c.args[3].row)[l]);
  }
  CheckSources(w, c, loc, source);
  Permute<uint32_t>(w, source, c.args[0].row, c.args[1].row);
}

void Fill(Warp& w, int32_t row, uint32_t value) {
  ForLanes(w.mask, [&](int l) { w.Row(row)[l] = value; });
}

void VoteMode(OpCall* c) {
  std::string mode = StrAttr(*c, "mode", "ballot");
  c->p[0] = mode == "any" ? 0 : mode == "all" ? 1 : 2;
}

void Vote(Warp& w, const OpCall& c, int32_t loc) {
  uint32_t member = w.Row(c.args[0].row)[std::countr_zero(w.mask)];
  CheckMembers(w, c, loc, member);
  uint32_t set = 0;
  ForLanes(w.mask, [&](int l) { set |= static_cast<uint32_t>(w.Row(c.args[1].row)[l] != 0) << l; });
  Fill(w, c.dst, c.p[0] == 0 ? set != 0 : c.p[0] == 1 ? set == w.mask : set);
}

uint64_t LaneBits(Warp& w, const Operand& o, int lane) {
  return o.dtype.bits > 32 ? w.Row<uint64_t>(o.row)[lane] : w.Row(o.row)[lane];
}

void Match(Warp& w, const OpCall& c, int32_t loc) {
  CheckMembers(w, c, loc, w.Row(c.args[0].row)[std::countr_zero(w.mask)]);
  uint32_t out[kLanes] = {};
  ForLanes(w.mask, [&](int l) {
    ForLanes(w.mask, [&](int k) {
      bool equal = LaneBits(w, c.args[1], l) == LaneBits(w, c.args[1], k);
      out[l] |= static_cast<uint32_t>(equal) << k;
    });
  });
  bool all = StrAttr(c, "mode") == "all";
  ForLanes(w.mask, [&](int l) { w.Row(c.dst)[l] = all && out[l] != w.mask ? 0 : out[l]; });
}

void ActiveMask(Warp& w, const OpCall& c, int32_t) { Fill(w, c.dst, w.mask); }

void Elect(Warp& w, const OpCall& c, int32_t loc) {
  CheckMembers(w, c, loc, ~0u);
  int leader = std::countr_zero(w.mask);
  ForLanes(w.mask, [&](int l) { w.Row(c.dst)[l] = l == leader; });
}

enum ReduceOp : int64_t { kAdd, kMin, kMax, kAnd, kOr, kXor };

void ReduceMode(OpCall* c) {
  std::string op = StrAttr(*c, "op", "add");
  c->p[0] = op == "min"   ? kMin
            : op == "max" ? kMax
            : op == "and" ? kAnd
            : op == "or"  ? kOr
            : op == "xor" ? kXor
                          : kAdd;
}

template <typename T>
T Combine(int64_t op, T a, T b) {
  if (op == kMin) return b < a ? b : a;
  if (op == kMax) return a < b ? b : a;
  if constexpr (std::is_integral_v<T>) {
    if (op == kAnd) return a & b;
    if (op == kOr) return a | b;
    if (op == kXor) return a ^ b;
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
  } else {
    return a + b;
  }
}

/*! Butterfly over segments of `width` lanes: step width/2, ..., 1, as the CUDA helper does. */
template <typename T>
void Butterfly(Warp& w, int64_t op, int width, int32_t dst, int32_t src) {
  T v[kLanes], next[kLanes];
  std::copy_n(w.Row<T>(src), kLanes, v);
  for (int step = width / 2; step > 0; step /= 2) {
    for (int l = 0; l < kLanes; ++l) next[l] = Combine(op, v[l], v[l ^ step]);
    std::copy_n(next, kLanes, v);
  }
  ForLanes(w.mask, [&](int l) { w.Row<T>(dst)[l] = v[l]; });
}

/*! The same on halves: the sum of two is exact in double, so it is rounded once. */
void ButterflySmall(Warp& w, int64_t op, int width, DType t, int32_t dst, int32_t src) {
  uint32_t v[kLanes], next[kLanes];
  std::copy_n(w.Row(src), kLanes, v);
  for (int step = width / 2; step > 0; step /= 2) {
    for (int l = 0; l < kLanes; ++l) {
      double r = Combine(op, DecodeScalar(t, v[l]), DecodeScalar(t, v[l ^ step]));
      next[l] = static_cast<uint32_t>(EncodeScalar(t, r));
    }
    std::copy_n(next, kLanes, v);
  }
  ForLanes(w.mask, [&](int l) { w.Row(dst)[l] = v[l]; });
}

void WarpReduce(Warp& w, const OpCall& c, int32_t loc) {
  CheckMembers(w, c, loc, ~0u);
  DType t = c.args[0].dtype;
  int width = static_cast<int>(c.args[1].imm);
  int32_t src = c.args[0].row;
  if (IsFloat(t)) {
    if (t.bits == 64) return Butterfly<double>(w, c.p[0], width, c.dst, src);
    if (t.bits == 32) return Butterfly<float>(w, c.p[0], width, c.dst, src);
    return ButterflySmall(w, c.p[0], width, t, c.dst, src);
  }
  if (t.bits == 64) {
    return IsSigned(t) ? Butterfly<int64_t>(w, c.p[0], width, c.dst, src)
                       : Butterfly<uint64_t>(w, c.p[0], width, c.dst, src);
  }
  return IsSigned(t) ? Butterfly<int32_t>(w, c.p[0], width, c.dst, src)
                     : Butterfly<uint32_t>(w, c.p[0], width, c.dst, src);
}

template <typename T>
uint32_t ReduceLanes(Warp& w, int64_t op, int32_t row) {
  T acc = w.Row<T>(row)[std::countr_zero(w.mask)];
  ForLanes(w.mask & (w.mask - 1), [&](int l) { acc = Combine(op, acc, w.Row<T>(row)[l]); });
  return static_cast<uint32_t>(acc);
}

void Redux(Warp& w, const OpCall& c, int32_t loc, const Operand& value, uint32_t member,
           int32_t dst) {
  CheckMembers(w, c, loc, member);
  bool is_signed = std::string(c.instr->name).find("s32") != std::string::npos;
  Fill(w, dst,
       is_signed ? ReduceLanes<int32_t>(w, c.p[0], value.row)
                 : ReduceLanes<uint32_t>(w, c.p[0], value.row));
}
void ReduxPtx(Warp& w, const OpCall& c, int32_t loc) {
  Redux(w, c, loc, c.args[1], w.Row(c.args[2].row)[std::countr_zero(w.mask)], c.args[0].row);
}
void ReduxCuda(Warp& w, const OpCall& c, int32_t loc) {
  Redux(w, c, loc, c.args[1], w.Row(c.args[0].row)[std::countr_zero(w.mask)], c.dst);
}

const RegisterMeanings kShuffles({
    {"shfl", Kind::kShuffle, &Shuffle, &ShuffleMode_},
    {"shfl.ptx", Kind::kShuffle, &ShufflePtx, &ShuffleMode_},
    {"vote", Kind::kShuffle, &Vote, &VoteMode},
    {"match", Kind::kShuffle, &Match},
    {"activemask", Kind::kOther, &ActiveMask},
    {"elect", Kind::kShuffle, &Elect},
    {"warp_reduce", Kind::kShuffle, &WarpReduce, &ReduceMode},
    {"redux", Kind::kShuffle, &ReduxPtx, &ReduceMode},
    {"redux.cuda", Kind::kShuffle, &ReduxCuda, &ReduceMode},
});

}  // namespace
}  // namespace sim
}  // namespace tirx
