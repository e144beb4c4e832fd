/*!
 * Evaluation: size, span and apply.
 */
#include <tirx/support/diag.h>

#include "steps.h"
#include "swizzle.h"

namespace tirx {
namespace layout {
namespace {

[[noreturn]] void ThrowOutOfRange(const Num& c, const Num& extent, size_t dim) {
  Diag("layout", "out-of-range", {})
      .Message("the coordinate lies outside its dimension")
      .Found("coordinate " + Text(c) + " in dimension " + std::to_string(dim))
      .Required("0 <= coordinate < " + Text(extent))
      .Throw();
}

void CheckInside(const std::vector<Num>& coord, const std::vector<Num>& shape) {
  for (size_t d = 0; d < coord.size(); ++d) {
    if (!coord[d].IsConst()) continue;
    bool above = shape[d].IsConst() && coord[d].value() >= shape[d].value();
    if (coord[d].value() < 0 || above) ThrowOutOfRange(coord[d], shape[d], d);
  }
}

/*! The shape that coord is read against when the caller gave none. */
std::vector<Num> DefaultShape(const Form& f, size_t rank) {
  if (rank == 1) return {f.Size()};
  if (rank == f.shard.size()) {
    std::vector<Num> out;
    for (const Step& s : f.shard) out.push_back(s.extent);
    return out;
  }
  Diag("layout", "rank-mismatch", {})
      .Message("the coordinate fits neither the linear index nor the shard iters")
      .Found(std::to_string(rank) + " coordinates for a layout of " +
             std::to_string(f.shard.size()) + " iters")
      .Required("one linear coordinate, one per iter, or a shape")
      .Throw();
}

void CheckRank(size_t coord, size_t shape) {
  if (coord == shape) return;
  Diag("layout", "rank-mismatch", {})
      .Message("the coordinate and the shape have different ranks")
      .Found(std::to_string(coord) + " coordinates, " + std::to_string(shape) + " dimensions")
      .Required("one coordinate per dimension")
      .Throw();
}

Num Flatten(const std::vector<Num>& coord, const std::vector<Num>& shape) {
  Num x = 0;
  for (size_t d = 0; d < coord.size(); ++d) x = x * shape[d] + coord[d];
  return x;
}

void CheckSameSize(const std::vector<Num>& shape, const Form& f, Prover& prover) {
  Num want = Product(shape), have = f.Size();
  if (prover.Equal(want, have)) return;
  bool exact = want.IsConst() && have.IsConst();
  Diag("layout", exact ? "size-mismatch" : "unproved", {})
      .Message("the shape does not have as many elements as the layout")
      .Found("shape " + Text(shape) + "; layout " + Text(f.shard))
      .Required(Text(have) + " elements")
      .Throw();
}

/*! Per dimension when the iters split so: the digits stay local to one coordinate. */
void AddShard(const Form& f, const std::vector<Num>& coord, const std::vector<Num>& shape,
              Prover& prover, Accumulator* out) {
  std::string why;
  auto g = TryGroupSteps(f.shard, shape, prover, &why);
  if (!g) {
    CheckSameSize(shape, f, prover);
    return AddDigits(f.shard, Flatten(coord, shape), prover, out);
  }
  for (size_t d = 0; d < shape.size(); ++d) AddDigits(g->Dim(d), coord[d], prover, out);
}

Accumulator ApplyForm(const Form& f, const std::vector<Num>& coord, const Shape& given,
                      Prover& prover) {
  std::vector<Num> shape =
      given.empty() && !coord.empty() ? DefaultShape(f, coord.size()) : ToNums(given);
  CheckRank(coord.size(), shape.size());
  CheckInside(coord, shape);
  Accumulator out;
  for (const Step& s : f.shard) out.Mention(s.axis);
  AddShard(f, coord, shape, prover, &out);
  for (const Step& s : f.replica) out.Mention(s.axis);
  for (const auto& [axis, value] : f.offset) out.Add(axis, value);
  return out;
}

}  // namespace

void Accumulator::Mention(AxisId axis) { Add(axis, 0); }

void Accumulator::Add(AxisId axis, const Num& value) {
  for (auto& [a, sum] : entries_) {
    if (a == axis) {
      sum = sum + value;
      return;
    }
  }
  entries_.emplace_back(axis, value);
}

void AddDigits(const std::vector<Step>& steps, Num x, Prover& prover, Accumulator* out) {
  size_t outermost = 0;
  while (outermost < steps.size() && steps[outermost].extent.Is(1)) ++outermost;
  for (size_t i = steps.size(); i-- > outermost;) {
    if (steps[i].extent.Is(1)) continue;
    Num digit = i == outermost ? x : prover.Mod(x, steps[i].extent);
    out->Add(steps[i].axis, digit * steps[i].stride);
    if (i > outermost) x = prover.Div(x, steps[i].extent);
  }
}

Num Reach(const std::vector<Step>& steps, AxisId axis) {
  Num out = 0;
  for (const Step& s : steps) {
    if (s.axis != axis) continue;
    bool negative = s.stride.IsConst() && s.stride.value() < 0;
    out = out + (negative ? Num(0) - s.stride : s.stride) * (s.extent - 1);
  }
  return out;
}

PrimExpr Size(const Layout& layout) { return Form::Of(TileOf(layout)).Size().expr(); }

PrimExpr SizeOn(const Layout& layout, const ffi::String& axis) {
  Num out = 1;
  for (const Step& s : Form::Of(TileOf(layout)).shard) {
    if (s.axis == FindAxis(axis)) out = out * s.extent;
  }
  return out.expr();
}

PrimExpr Span(const Layout& layout, const ffi::String& axis, Facts facts) {
  Form f = Form::Of(TileOf(layout));
  AxisId id = FindAxis(axis);
  if (auto* c = SwizzleOf(layout); c && id == kMemoryAxis) {
    return SwizzledSpan(*c, f, facts).expr();
  }
  Prover prover(facts);
  // Merging turns (M-1)*K + (K-1) into M*K - 1, which needs no nonlinear simplification.
  if (!f.IsStatic()) f.shard = MergeSteps(f.shard, prover);
  return prover.Simplify(Reach(f.shard, id) + Reach(f.replica, id) + 1).expr();
}

Coordinates Apply(const Layout& layout, const Shape& coord, const Shape& shape, Facts facts) {
  Prover prover(facts);
  Accumulator acc = ApplyForm(Form::Of(TileOf(layout)), ToNums(coord), shape, prover);
  auto* swizzle = layout.as<ComposeLayoutNode>();
  if (swizzle) acc.Mention(kMemoryAxis);
  Coordinates out;
  for (const auto& [axis, value] : acc.entries()) {
    Num v = prover.Simplify(value);
    if (swizzle && axis == kMemoryAxis) v = prover.Simplify(Swizzle(*swizzle, v, prover));
    out.emplace_back(GetAxis(axis).name, v.expr());
  }
  return out;
}

PrimExpr MemoryIndex(const Layout& layout, const Shape& coord, const Shape& shape, Facts facts) {
  for (const auto& [axis, value] : Apply(layout, coord, shape, facts)) {
    if (axis == GetAxis(kMemoryAxis).name) return value;
  }
  return 0;
}

}  // namespace layout
}  // namespace tirx
