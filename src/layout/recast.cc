/*!
 * Elements of another width, broadcasts, and runs of consecutive elements.
 */
#include <tirx/support/diag.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "steps.h"
#include "swizzle.h"

namespace tirx {
namespace layout {
namespace {

/*! The axis that counts elements: where those of the innermost iter that moves lie, when it is on
 * memory; else that of any memory axis the layout mentions; else m. */
AxisId ElementAxis(const Form& f) {
  auto elements = [](AxisId id) {
    const AxisInfo& a = GetAxis(id);
    return a.elements_on.empty() ? id : FindAxis(std::string_view(a.elements_on));
  };
  for (size_t i = f.shard.size(); i-- > 0;) {
    if (f.shard[i].extent.Is(1)) continue;
    if (GetAxis(f.shard[i].axis).is_thread) break;
    return elements(f.shard[i].axis);
  }
  for (const auto* list : {&f.shard, &f.replica}) {
    for (const Step& s : *list) {
      if (!s.extent.Is(1) && !GetAxis(s.axis).is_thread) return elements(s.axis);
    }
  }
  for (const auto& entry : f.offset) {
    if (!GetAxis(entry.first).is_thread) return elements(entry.first);
  }
  return kMemoryAxis;
}

/*! Applies `change` to every stride and offset on axis, except the shard iter at `skip`. */
template <typename F>
void ChangeAxis(Form* f, AxisId axis, size_t skip, F change) {
  for (size_t i = 0; i < f->shard.size(); ++i) {
    Step& s = f->shard[i];
    if (i != skip && s.axis == axis && !s.extent.Is(1)) change(&s.stride, Text(s));
  }
  for (Step& s : f->replica) {
    if (s.axis == axis && !s.extent.Is(1)) change(&s.stride, Text(s));
  }
  for (auto& [a, value] : f->offset) {
    if (a == axis) change(&value, "offset " + Text(value));
  }
}

void CheckCount(int64_t num) {
  if (num >= 1) return;
  Diag("layout", "bad-extent", {})
      .Message("elements are packed and unpacked in positive numbers")
      .Found(std::to_string(num))
      .Required("1 or more")
      .Throw();
}

[[noreturn]] void ThrowNotPackable(int64_t num, const std::string& found) {
  Diag("layout", "not-packable", {})
      .Message("the elements are not stored in consecutive, aligned groups")
      .Found(found)
      .Required("groups of " + std::to_string(num) +
                " consecutive elements that start at multiples of " + std::to_string(num))
      .Throw();
}

Form UnpackForm(Form f, int64_t num) {
  AxisId axis = ElementAxis(f);
  ChangeAxis(&f, axis, f.shard.size(), [&](Num* n, const std::string&) { *n = *n * num; });
  f.shard.push_back({num, 1, axis});
  return f;
}

Form PackForm(Form f, int64_t num, Prover& prover) {
  AxisId axis = ElementAxis(f);
  f.shard = MergeSteps(f.shard, prover);
  if (f.shard.empty()) ThrowNotPackable(num, "a single element");
  Step& inner = f.shard.back();
  if (inner.axis != axis || !inner.stride.Is(1) || !prover.Divides(num, inner.extent)) {
    ThrowNotPackable(num, "innermost iter " + Text(inner));
  }
  inner.extent = prover.Div(inner.extent, num);
  ChangeAxis(&f, axis, f.shard.size() - 1, [&](Num* n, const std::string& what) {
    if (!prover.Divides(num, *n)) ThrowNotPackable(num, what);
    *n = prover.Div(*n, num);
  });
  return f;
}

/*! log2(num) for the swizzle; the element axis must be the swizzled one. */
int SwizzleShift(const ComposeLayoutNode& c, int64_t num) {
  bool power = (num & (num - 1)) == 0;
  if (power && ElementAxis(Form::Of(c.tile)) == kMemoryAxis) return std::countr_zero(uint64_t(num));
  Diag("layout", "swizzle-recast", {})
      .Message("a swizzled layout changes its element width by powers of two on m only")
      .Found("a factor of " + std::to_string(num))
      .Required("a power of two")
      .Throw();
}

/*! Largest power of two that divides n; `cap` when n is 0. */
int64_t PowerOfTwoIn(int64_t n, int64_t cap) { return n == 0 ? cap : std::min(cap, n & -n); }

}  // namespace

Layout Unpack(const Layout& layout, int64_t num, Facts facts) {
  CheckCount(num);
  if (num == 1) return layout;
  auto* c = SwizzleOf(layout);
  if (!c) return UnpackForm(Form::Of(TileOf(layout)), num).ToLayout();
  return ComposeLayout(c->per_element + SwizzleShift(*c, num), c->swizzle_len, c->atom_len,
                       UnpackForm(Form::Of(c->tile), num).ToLayout());
}

Layout Pack(const Layout& layout, int64_t num, Facts facts) {
  CheckCount(num);
  if (num == 1) return layout;
  Prover prover(facts);
  auto* c = SwizzleOf(layout);
  if (!c) return PackForm(Form::Of(TileOf(layout)), num, prover).ToLayout();
  int shift = SwizzleShift(*c, num);
  if (shift > c->per_element) {
    ThrowNotPackable(num, "swizzle chunks of " + std::to_string(1 << c->per_element));
  }
  return ComposeLayout(c->per_element - shift, c->swizzle_len, c->atom_len,
                       PackForm(Form::Of(c->tile), num, prover).ToLayout());
}

Layout Recast(const Layout& layout, int64_t from_bits, int64_t to_bits, Facts facts) {
  CheckCount(from_bits);
  CheckCount(to_bits);
  int64_t unit = std::gcd(from_bits, to_bits);
  return Pack(Unpack(layout, from_bits / unit, facts), to_bits / unit, facts);
}

Layout Broadcast(const Layout& layout, const PrimExpr& extent, int64_t position,
                 const ffi::String& axis) {
  return OnTile(layout, [&](Form f) {
    int64_t n = static_cast<int64_t>(f.shard.size());
    int64_t at = position < 0 ? position + n + 1 : position;
    if (at < 0 || at > n) {
      Diag("layout", "out-of-range", {})
          .Message("there is no such place among the shard iters")
          .Found("position " + std::to_string(position))
          .Required("-" + std::to_string(n + 1) + " <= position <= " + std::to_string(n))
          .Throw();
    }
    CheckExtents({Num(extent)});
    f.shard.insert(f.shard.begin() + at, {Num(extent), 0, FindAxis(axis)});
    return f;
  });
}

namespace {

/*! Shard of `f` regrouped by the shape and merged per dimension; the index of the innermost iter of
 *  dim, or nothing when that dimension does not move. */
std::optional<size_t> RegroupFor(Form* f, const std::vector<Num>& shape, size_t dim,
                                 Prover& prover) {
  StepGroups g = GroupSteps(f->shard, shape, prover);
  std::optional<size_t> inner;
  f->shard.clear();
  for (size_t d = 0; d < shape.size(); ++d) {
    std::vector<Step> merged = MergeSteps(g.Dim(d), prover);
    f->shard.insert(f->shard.end(), merged.begin(), merged.end());
    if (d == dim && !merged.empty()) inner = f->shard.size() - 1;
  }
  return inner;
}

size_t DimIndex(int64_t dim, size_t rank) {
  int64_t n = static_cast<int64_t>(rank), at = dim < 0 ? dim + n : dim;
  if (at >= 0 && at < n) return static_cast<size_t>(at);
  Diag("layout", "out-of-range", {})
      .Message("the shape has no such dimension")
      .Found("dimension " + std::to_string(dim))
      .Required("-" + std::to_string(n) + " <= dim < " + std::to_string(n))
      .Throw();
}

}  // namespace

int64_t ContiguousRun(const Layout& layout, const Shape& shape, int64_t dim, int64_t limit,
                      Facts facts) {
  Form f = Form::Of(TileOf(layout));
  Prover prover(facts);
  auto inner = RegroupFor(&f, ToNums(shape), DimIndex(dim, shape.size()), prover);
  if (!inner || limit < 1) return 1;
  const Step& run = f.shard[*inner];
  if (run.axis != kMemoryAxis || !run.stride.Is(1)) return 1;
  int64_t v = PowerOfTwoIn(prover.Divisor(run.extent), std::bit_floor(uint64_t(limit)));
  ChangeAxis(&f, kMemoryAxis, *inner,
             [&](Num* n, const std::string&) { v = PowerOfTwoIn(prover.Divisor(*n), v); });
  auto* c = SwizzleOf(layout);
  return c ? std::min(v, int64_t{1} << c->per_element) : v;
}

}  // namespace layout
}  // namespace tirx
