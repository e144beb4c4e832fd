#include <tirx/sim/alu.h>
#include <tirx/sim/control.h>
#include <tirx/sim/machine.h>

namespace tirx {
namespace sim {
namespace {

/*! After this many iterations without a yield a loop lets the other warps run: it may be waiting
 *  for them. */
constexpr uint32_t kSpinSlice = 256;

void CountIteration(Warp& w) {
  Frame& f = w.frames.back();
  if (++f.count % kSpinSlice != 0) return;
  w.stop = true;
  w.spun = true;
}

void PopLoop(Warp& w) {
  w.mask = w.frames.back().saved;
  w.live = w.frames.back().saved_live;
  w.frames.pop_back();
}

void PushLoop(Warp& w, uint32_t lanes) {
  w.frames.push_back(Frame{w.mask, lanes, w.live, 0});
  w.mask = w.live = lanes;
}

}  // namespace

void Jump(Warp& w, const Ins& i) { w.pc = i.d; }
void JumpIfZero(Warp& w, const Ins& i) {
  if (w.s[i.a] == 0) w.pc = i.d;
}

void IfRow(Warp& w, const Ins& i) {
  uint32_t taken = w.mask & RowMask(w.Row<uint32_t>(i.a));
  w.frames.push_back(Frame{w.mask, w.mask & ~taken, 0, 0});
  w.mask = taken;
  if (!taken) w.pc = i.d;
}

void ElseRow(Warp& w, const Ins& i) {
  w.mask = w.frames.back().other;
  if (!w.mask) w.pc = i.d;
}

void EndIf(Warp& w, const Ins& i) {
  w.mask = w.frames.back().saved & w.live;
  w.frames.pop_back();
  if (!w.mask) w.pc = i.a;
}

void Continue(Warp& w, const Ins& i) {
  w.live &= ~w.mask;
  w.mask = 0;
  w.pc = i.a;
}

void Break(Warp& w, const Ins& i) {
  w.frames[w.frames.size() - 1 - i.b].other &= ~w.mask;
  Continue(w, i);
}

void ForTest(Warp& w, const Ins& i) {
  if (w.s[i.a] >= w.s[i.b]) w.pc = i.d;
}
void ForNext(Warp& w, const Ins& i) {
  if (++w.s[i.a] < w.s[i.b]) w.pc = i.d;
}
void LoopEnter(Warp& w, const Ins&) { PushLoop(w, w.mask); }
void ForNextLeave(Warp& w, const Ins& i) {
  uint32_t lanes = w.frames.back().other;
  if (!lanes || ++w.s[i.a] >= w.s[i.b]) return PopLoop(w);
  w.mask = w.live = lanes;
  w.pc = i.d;
  CountIteration(w);
}

namespace {
template <typename S>
uint32_t Below(Warp& w, const Ins& i) {
  uint32_t m = 0;
  for (int l = 0; l < kLanes; ++l)
    m |= static_cast<uint32_t>(w.Row<S>(i.a)[l] < w.Row<S>(i.b)[l]) << l;
  return m;
}
}  // namespace

template <typename S>
void VaryingFor<S>::Test(Warp& w, const Ins& i) {
  uint32_t lanes = w.mask & Below<S>(w, i);
  if (!lanes) {
    w.pc = i.d;
  } else {
    PushLoop(w, lanes);
  }
}

template <typename S>
void VaryingFor<S>::Next(Warp& w, const Ins& i) {
  for (int l = 0; l < kLanes; ++l) ++w.Row<std::make_unsigned_t<S>>(i.a)[l];
  uint32_t lanes = w.frames.back().other &= Below<S>(w, i);
  if (!lanes) return PopLoop(w);
  w.mask = w.live = lanes;
  w.pc = i.d;
  CountIteration(w);
}
template struct VaryingFor<int32_t>;
template struct VaryingFor<uint32_t>;
template struct VaryingFor<int64_t>;
template struct VaryingFor<uint64_t>;

void WhileTest(Warp& w, const Ins& i) {
  uint32_t lanes = w.mask & RowMask(w.Row<uint32_t>(i.a));
  w.frames.back().other = lanes;
  if (lanes) {
    w.mask = w.live = lanes;
  } else {
    PopLoop(w);
    w.pc = i.d;
  }
}

void WhileNext(Warp& w, const Ins& i) {
  uint32_t lanes = w.frames.back().other;
  if (!lanes) return PopLoop(w);
  w.mask = w.live = lanes;
  w.pc = i.d;
  CountIteration(w);
}

void AssertRow(Warp& w, const Ins& i) {
  uint32_t failed = w.mask & ~RowMask(w.Row<uint32_t>(i.a));
  if (!failed) return;
  Finding f;
  f.code = "assertion-failed";
  f.message = w.prog->strings[i.c];
  f.loc = i.loc;
  f.found = "a false condition in " + MaskName(failed) + " of " + WarpName(w);
  f.required = "the asserted condition in every active lane";
  w.m->Report(std::move(f), true);
}

void Exit(Warp& w, const Ins&) {
  w.status = Status::kExited;
  w.stop = true;
}

}  // namespace sim
}  // namespace tirx
