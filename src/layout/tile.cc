/*!
 * Tile and direct sum, and the questions that undo them.
 *
 * The dimensions of the result interleave, (outer_0, inner_0, outer_1, inner_1, ..), and the sum of
 * two layouts over disjoint digits needs no proof: D, R and O add. The undoing questions compare
 * merged forms, which are unique, so "no" means that no such layout exists (undo.cc).
 */
#include <tirx/support/diag.h>

#include <algorithm>

#include "replica.h"
#include "steps.h"
#include "swizzle.h"

namespace tirx {
namespace layout {
namespace {

void CheckRanks(size_t a, size_t b) {
  if (a == b) return;
  Diag("layout", "rank-mismatch", {})
      .Message("the two shapes have different ranks")
      .Found(std::to_string(a) + " and " + std::to_string(b) + " dimensions")
      .Required("equal ranks; pad the smaller shape with 1")
      .Throw();
}

void AppendUseful(const std::vector<Step>& steps, std::vector<Step>* out) {
  for (const Step& s : steps) {
    if (!s.extent.Is(1)) out->push_back(s);
  }
}

/*! left(x) + right(y) over interleaved dimensions. */
Form Sum(const Form& left, const std::vector<Num>& left_shape, const Form& right,
         const std::vector<Num>& right_shape, Prover& prover) {
  CheckRanks(left_shape.size(), right_shape.size());
  StepGroups l = GroupSteps(left.shard, left_shape, prover);
  StepGroups r = GroupSteps(right.shard, right_shape, prover);
  Form out;
  for (size_t d = 0; d < left_shape.size(); ++d) {
    AppendUseful(l.Dim(d), &out.shard);
    AppendUseful(r.Dim(d), &out.shard);
  }
  if (out.shard.empty()) out.shard.push_back({1, 1, kMemoryAxis});
  out.replica = left.replica;
  out.replica.insert(out.replica.end(), right.replica.begin(), right.replica.end());
  out.offset = right.offset;
  for (const auto& [axis, value] : left.offset) out.AddOffset(axis, prover.Simplify(value));
  for (Step& s : out.shard) s.stride = prover.Simplify(s.stride);
  return out;
}

/*! f(a + t) = a + f(t) for every addend a of `added` and t of the tile: a is in whole periods. */
void CheckWholePeriods(const ComposeLayoutNode& c, const Form& added, Prover& prover) {
  int64_t period = SwizzlePeriod(c);
  auto check = [&](AxisId axis, const Num& n, const std::string& what) {
    if (axis != kMemoryAxis || prover.Divides(period, n)) return;
    Diag("layout", "swizzle-period", {})
        .Message("the outer layout would move the swizzled tile by part of a swizzle period")
        .Found(what)
        .Required("multiples of " + std::to_string(period) + " elements on m")
        .Hint("tile the unswizzled layout first and swizzle the result")
        .Throw();
  };
  for (const auto* list : {&added.shard, &added.replica}) {
    for (const Step& s : *list) {
      if (!s.extent.Is(1)) check(s.axis, s.stride, "iter " + Text(s));
    }
  }
  for (const auto& [axis, value] : added.offset) check(axis, value, "offset " + Text(value));
}

Layout SumWith(const Layout& right, const Form& left, const std::vector<Num>& left_shape,
               const std::vector<Num>& right_shape, Prover& prover) {
  if (auto* c = SwizzleOf(right)) CheckWholePeriods(*c, left, prover);
  return OnTile(right,
                [&](const Form& r) { return Sum(left, left_shape, r, right_shape, prover); });
}

}  // namespace

Form ScaledBySpan(Form f, const Layout& unit, Facts facts) {
  auto span = [&](AxisId axis) { return Num(Span(unit, GetAxis(axis).name, facts)); };
  for (auto* list : {&f.shard, &f.replica}) {
    for (Step& s : *list) s.stride = s.stride * span(s.axis);
  }
  for (auto& [axis, value] : f.offset) value = value * span(axis);
  return f;
}

Layout Tile(const Layout& inner, const TileLayout& outer, const Shape& outer_shape,
            const Shape& inner_shape, Facts facts) {
  Prover prover(facts);
  Form left = ScaledBySpan(Form::Of(outer), inner, facts);
  return SumWith(inner, left, ToNums(outer_shape), ToNums(inner_shape), prover);
}

Layout TileTo(const Layout& inner, const Shape& to, const Shape& from, Facts facts) {
  CheckRanks(to.size(), from.size());
  Prover prover(facts);
  Shape outer;
  for (size_t d = 0; d < to.size(); ++d) {
    Num whole{to[d]}, part{from[d]};
    CheckExtents({whole, part});
    if (!prover.Divides(part, whole)) {
      Diag("layout", "not-a-multiple", {})
          .Message("the target shape is not a whole number of tiles")
          .Found("dimension " + std::to_string(d) + ": " + Text(whole) + " from tiles of " +
                 Text(part))
          .Required("a proof that " + Text(part) + " divides " + Text(whole))
          .Throw();
    }
    outer.push_back(prover.Div(whole, part).expr());
  }
  return Tile(inner, RowMajor(outer), outer, from, facts);
}

Layout DirectSum(const Layout& right, const TileLayout& left, const Shape& left_shape,
                 const Shape& right_shape, Facts facts) {
  Prover prover(facts);
  return SumWith(right, Form::Of(left), ToNums(left_shape), ToNums(right_shape), prover);
}

}  // namespace layout
}  // namespace tirx
