/*!
 * The questions that undo tile and direct sum.
 *
 * T = known + rest over interleaved digits. Grouping T's merged form by the interleaved shape gives
 * each addend's digits; merged forms are unique per dimension, so comparing the known part and
 * reading the rest decides D exactly. O is a difference. For R, steps are searched that complete the
 * known sums to the whole set (sumset.h); symbolic steps are only taken away as they stand.
 */
#include <tirx/support/diag.h>

#include <algorithm>
#include <functional>

#include "replica.h"
#include "steps.h"
#include "swizzle.h"

namespace tirx {
namespace layout {
namespace {

std::vector<Num> Interleave(const std::vector<Num>& outer, const std::vector<Num>& inner) {
  std::vector<Num> out;
  for (size_t d = 0; d < outer.size(); ++d) {
    out.push_back(outer[d]);
    out.push_back(inner[d]);
  }
  return out;
}

/*! whole / part per dimension, or nothing when a part does not divide. */
std::optional<std::vector<Num>> Quotients(const std::vector<Num>& whole,
                                          const std::vector<Num>& part, Prover& prover) {
  CheckExtents(whole);
  CheckExtents(part);
  if (whole.size() != part.size()) return std::nullopt;
  std::vector<Num> out;
  for (size_t d = 0; d < whole.size(); ++d) {
    if (!prover.Divides(part[d], whole[d])) return std::nullopt;
    out.push_back(prover.Div(whole[d], part[d]));
  }
  return out;
}

bool SameMerged(const std::vector<Step>& a, const std::vector<Step>& b, Prover& prover) {
  std::vector<Step> x = MergeSteps(a, prover), y = MergeSteps(b, prover);
  if (x.size() != y.size()) return false;
  for (size_t i = 0; i < x.size(); ++i) {
    bool same = x[i].axis == y[i].axis && prover.Equal(x[i].extent, y[i].extent) &&
                prover.Equal(x[i].stride, y[i].stride);
    if (!same) return false;
  }
  return true;
}

std::vector<Step> OnAxis(const std::vector<Step>& steps, AxisId axis) {
  std::vector<Step> out;
  std::copy_if(steps.begin(), steps.end(), std::back_inserter(out),
               [&](const Step& s) { return s.axis == axis; });
  return out;
}

bool Static(const std::vector<Step>& steps) {
  return std::all_of(steps.begin(), steps.end(),
                     [](const Step& s) { return s.extent.IsConst() && s.stride.IsConst(); });
}

/*! What is known of a wanted replica set on one axis: multiples of `unit` that reach at most
 * `reach`. */
struct Wanted {
  int64_t unit{1};
  int64_t reach{INT64_MAX};
};
using WantedOn = std::function<Wanted(AxisId)>;

std::optional<std::vector<Step>> RemoveSteps(std::vector<Step> whole,
                                             const std::vector<Step>& known, Prover& prover) {
  for (const Step& k : known) {
    auto it = std::find_if(whole.begin(), whole.end(), [&](const Step& w) {
      return prover.Equal(w.extent, k.extent) && prover.Equal(w.stride, k.stride);
    });
    if (it == whole.end()) return std::nullopt;
    whole.erase(it);
  }
  return whole;
}

/*! Replica iters on one axis that, added to `known`, give `whole`. */
std::optional<std::vector<Step>> ReplicaQuotient(const std::vector<Step>& whole,
                                                 const std::vector<Step>& known, AxisId axis,
                                                 const Wanted& wanted, Prover& prover) {
  if (known.empty()) return whole;
  if (!Static(whole) || !Static(known)) return RemoveSteps(whole, known, prover);
  auto sums = ReplicaSums(whole), part = ReplicaSums(known);
  if (sums && part) {
    Decomposition rest = StepsBetween(*part, *sums, axis, wanted.unit);
    bool fits = sums->back() - part->back() <= wanted.reach;
    if (rest.decided) return fits ? rest.steps : std::nullopt;
  }
  auto steps = RemoveSteps(whole, known, prover);
  if (!steps) CheckNormal(whole);
  return steps;
}

std::vector<AxisId> ReplicaAxes(const Form& a, const Form& b) {
  std::vector<AxisId> out;
  for (const Form* f : {&a, &b}) {
    for (const Step& s : f->replica) {
      if (std::find(out.begin(), out.end(), s.axis) == out.end()) out.push_back(s.axis);
    }
  }
  return out;
}

/*! R and O of the rest; both forms canonical. */
bool SubtractConstants(const Form& whole, const Form& known, const WantedOn& wanted, Prover& prover,
                       Form* rest) {
  for (AxisId axis : ReplicaAxes(whole, known)) {
    auto r = ReplicaQuotient(OnAxis(whole.replica, axis), OnAxis(known.replica, axis), axis,
                             wanted(axis), prover);
    if (!r) return false;
    rest->replica.insert(rest->replica.end(), r->begin(), r->end());
  }
  rest->offset = whole.offset;
  for (const auto& [axis, value] : known.offset) {
    rest->AddOffset(axis, prover.Simplify(Num(0) - value));
  }
  return true;
}

/*! One sum with one known addend. */
class Undo {
 public:
  Undo(const Form& sum, const std::vector<Num>& outer, const std::vector<Num>& inner,
       Prover& prover)
      : sum_(CanonicalForm(sum, prover, nullptr, Overlaps::kAsGiven)), prover_(prover) {
    std::string why;
    groups_ = TryGroupSteps(sum_.shard, Interleave(outer, inner), prover, &why);
  }
  bool ok() const { return groups_.has_value(); }
  /*! Digits of the outer (side 0) or inner (side 1) addend. */
  std::vector<Step> Digits(size_t side) const {
    std::vector<Step> out;
    for (size_t d = side; d + 1 < groups_->seps.size(); d += 2) {
      for (const Step& s : groups_->Dim(d)) {
        if (!s.extent.Is(1)) out.push_back(s);
      }
    }
    if (out.empty()) out.push_back({1, 1, kMemoryAxis});
    return out;
  }
  const Form& sum() const { return sum_; }

  /*! The addend on `side` when the other one is `known`, of the given shape. */
  std::optional<Form> Rest(size_t side, const Form& known, const std::vector<Num>& shape,
                           const WantedOn& wanted) {
    std::string why;
    Form k = CanonicalForm(known, prover_, nullptr, Overlaps::kAsGiven);
    auto parts = TryGroupSteps(k.shard, shape, prover_, &why);
    if (!parts) return std::nullopt;
    for (size_t d = 0; d < shape.size(); ++d) {
      if (!SameMerged(groups_->Dim(2 * d + 1 - side), parts->Dim(d), prover_)) return std::nullopt;
    }
    Form rest;
    rest.shard = Digits(side);
    if (!SubtractConstants(sum_, k, wanted, prover_, &rest)) return std::nullopt;
    return rest;
  }

 private:
  Form sum_;
  Prover& prover_;
  std::optional<StepGroups> groups_;
};

/*! Every stride and offset divided by the span of `unit` on its axis, or nothing. */
std::optional<Form> Unscaled(Form f, const Layout& unit, Facts facts, Prover& prover) {
  auto divide = [&](AxisId axis, Num* n) {
    Num span(Span(unit, GetAxis(axis).name, facts));
    if (!prover.Divides(span, *n)) return false;
    *n = prover.Div(*n, span);
    return true;
  };
  for (auto* list : {&f.shard, &f.replica}) {
    for (Step& s : *list) {
      if (!s.extent.Is(1) && !divide(s.axis, &s.stride)) return std::nullopt;
    }
  }
  for (auto& [axis, value] : f.offset) {
    if (!divide(axis, &value)) return std::nullopt;
  }
  return f;
}

std::optional<TileLayout> AsLayout(const std::optional<Form>& f, Prover& prover) {
  if (!f) return std::nullopt;
  return CanonicalForm(*f, prover).ToLayout();
}

[[noreturn]] void ThrowMixedSwizzles(const Layout& a, const Layout& b) {
  Diag("layout", "swizzle-mismatch", {})
      .Message("tiles of differently swizzled layouts are not compared")
      .Found(LayoutText(a) + " and " + LayoutText(b))
      .Required("one swizzle on both sides, or none")
      .Throw();
}

/*! Both unswizzled, or both under one swizzle. */
void CheckSameSwizzle(const Layout& a, const Layout& b) {
  auto* x = SwizzleOf(a);
  auto* y = SwizzleOf(b);
  bool same = (!x && !y) || (x && y && x->per_element == y->per_element &&
                             x->swizzle_len == y->swizzle_len && x->atom_len == y->atom_len);
  if (!same) ThrowMixedSwizzles(a, b);
}

bool WholePeriods(const Layout& swizzled, const Form& added, Prover& prover) {
  auto* c = SwizzleOf(swizzled);
  if (!c) return true;
  auto whole = [&](AxisId axis, const Num& n) {
    return axis != kMemoryAxis || prover.Divides(SwizzlePeriod(*c), n);
  };
  for (const auto* list : {&added.shard, &added.replica}) {
    for (const Step& s : *list) {
      if (!s.extent.Is(1) && !whole(s.axis, s.stride)) return false;
    }
  }
  return std::all_of(added.offset.begin(), added.offset.end(),
                     [&](const auto& o) { return whole(o.first, o.second); });
}

Layout SwizzledAs(const Layout& like, const TileLayout& tile) {
  auto* c = like.as<ComposeLayoutNode>();
  if (!c) return tile;
  return ComposeLayout(c->per_element, c->swizzle_len, c->atom_len, tile);
}

/*!
 * Reach r of the unknown inner replicas on `axis`. With d the reach of its digits and rho that of the
 * outer replicas, reach(R_T) = r + (d + r + 1) * rho determines r.
 */
std::optional<Num> InnerReplicaReach(const Form& sum, const Form& inner, const Form& outer,
                                     AxisId axis, Prover& prover) {
  Num rho = Reach(outer.replica, axis);
  Num rest = Reach(sum.replica, axis) - (Reach(inner.shard, axis) + 1) * rho;
  if (rest.IsConst() && rest.value() < 0) return std::nullopt;
  if (!prover.Divides(rho + 1, rest)) return std::nullopt;
  return prover.Div(rest, rho + 1);
}

/*! The same on m under a swizzle, whose spans are whole blocks: b of them with b * (1 + rho) - 1 =
 *  (into + d + reach(R_T)) / block, where `into` is where the inner starts in its block. */
std::optional<Num> SwizzledReplicaReach(const ComposeLayoutNode& c, const Form& sum,
                                        const Form& inner, const Form& outer, Prover& prover) {
  Num rho = Reach(outer.replica, kMemoryAxis), whole = Reach(sum.replica, kMemoryAxis);
  if (rho.Is(0)) return whole;
  Num block = int64_t{1} << (c.per_element + c.swizzle_len);
  Num last = prover.Mod(LowestAddress(inner), block) + Reach(inner.shard, kMemoryAxis) + whole;
  Num blocks = prover.Div(last, block) + 1;
  if (!prover.Divides(rho + 1, blocks)) return std::nullopt;
  Num rest = whole - prover.Div(blocks, rho + 1) * block * rho;
  if (rest.IsConst() && rest.value() < 0) return std::nullopt;
  return rest;
}

/*! A stand-in for the inner layout that has its spans: its digits, the reach of its replicas, and (for
 *  a swizzle, up to whole blocks) its offset on m. */
std::optional<Form> SpansOfInner(const Undo& undo, const Form& outer, const Layout& tiled,
                                 Prover& prover) {
  Form unit;
  unit.shard = undo.Digits(1);
  auto* c = SwizzleOf(tiled);
  if (c) unit.AddOffset(kMemoryAxis, undo.sum().OffsetOn(kMemoryAxis));
  for (AxisId axis : ReplicaAxes(undo.sum(), outer)) {
    auto reach = c && axis == kMemoryAxis
                     ? SwizzledReplicaReach(*c, undo.sum(), unit, outer, prover)
                     : InnerReplicaReach(undo.sum(), unit, outer, axis, prover);
    if (!reach) return std::nullopt;
    unit.replica.push_back({*reach + 1, 1, axis});
  }
  return unit;
}

std::optional<TileLayout> FindTileOuter(const Layout& tiled, const Layout& inner,
                                        const Shape& tiled_shape, const Shape& inner_shape,
                                        Facts facts) {
  CheckSameSwizzle(tiled, inner);
  Prover prover(facts);
  std::vector<Num> is = ToNums(inner_shape);
  auto os = Quotients(ToNums(tiled_shape), is, prover);
  if (!os) return std::nullopt;
  Undo undo(Form::Of(TileOf(tiled)), *os, is, prover);
  if (!undo.ok()) return std::nullopt;
  auto wanted = [&](AxisId axis) {
    Num span(Span(inner, GetAxis(axis).name, facts));
    return Wanted{span.IsConst() ? span.value() : 1, INT64_MAX};
  };
  auto scaled = undo.Rest(0, Form::Of(TileOf(inner)), is, wanted);
  if (!scaled || !WholePeriods(inner, *scaled, prover)) return std::nullopt;
  return AsLayout(Unscaled(*scaled, inner, facts, prover), prover);
}

std::optional<Layout> FindTileInner(const Layout& tiled, const TileLayout& outer,
                                    const Shape& tiled_shape, const Shape& outer_shape,
                                    Facts facts) {
  Prover prover(facts);
  std::vector<Num> os = ToNums(outer_shape);
  auto is = Quotients(ToNums(tiled_shape), os, prover);
  if (!is) return std::nullopt;
  Undo undo(Form::Of(TileOf(tiled)), os, *is, prover);
  if (!undo.ok()) return std::nullopt;
  Form known = CanonicalForm(Form::Of(outer), prover, nullptr, Overlaps::kAsGiven);
  auto unit = SpansOfInner(undo, known, tiled, prover);
  if (!unit) return std::nullopt;
  Layout stand_in = SwizzledAs(tiled, unit->ToLayout());
  Form scaled = ScaledBySpan(known, stand_in, facts);
  if (!WholePeriods(stand_in, scaled, prover)) return std::nullopt;
  auto wanted = [&](AxisId axis) {
    Num reach = Reach(unit->replica, axis);
    return Wanted{1, reach.IsConst() ? reach.value() : INT64_MAX};
  };
  auto rest = AsLayout(undo.Rest(1, scaled, os, wanted), prover);
  if (!rest) return std::nullopt;
  return SwizzledAs(tiled, *rest);
}

/*! Extents at even (0) or odd (1) positions of an interleaved shape. */
std::vector<Num> Side(const Shape& interleaved, size_t rank, size_t side) {
  if (interleaved.size() != 2 * rank) {
    Diag("layout", "rank-mismatch", {})
        .Message("the shape of a direct sum interleaves the shapes of its addends")
        .Found(std::to_string(interleaved.size()) + " dimensions for an addend of " +
               std::to_string(rank))
        .Required("(left_0, right_0, left_1, right_1, ..)")
        .Throw();
  }
  std::vector<Num> out;
  for (size_t d = side; d < interleaved.size(); d += 2) out.emplace_back(interleaved[d]);
  return out;
}

std::optional<Form> DirectSumOther(const Form& sum, const Form& known, const Shape& shape,
                                   const Shape& known_shape, size_t side, Prover& prover) {
  std::vector<Num> l = Side(shape, known_shape.size(), 0), r = Side(shape, known_shape.size(), 1);
  Undo undo(sum, l, r, prover);
  if (!undo.ok()) return std::nullopt;
  auto any = [](AxisId) { return Wanted{}; };
  return undo.Rest(side, known, ToNums(known_shape), any);
}

/*! "None" is an answer only when everything is constant. */
void CheckStatic(std::initializer_list<Layout> layouts, std::initializer_list<Shape> shapes) {
  std::string found;
  for (const Layout& l : layouts) {
    if (!Form::Of(TileOf(l)).IsStatic()) found += (found.empty() ? "" : "; ") + LayoutText(l);
  }
  for (const Shape& shape : shapes) {
    for (const PrimExpr& e : shape) {
      if (!AsInt(e)) found += (found.empty() ? "extent " : "; extent ") + Text(e);
    }
  }
  if (found.empty()) return;
  Diag("layout", "unproved", {})
      .Message("the layout could be shown neither to be such a combination nor to be none")
      .Found(found)
      .Required("static layouts and shapes, or facts that make extents, strides and offsets equal")
      .Throw();
}

std::optional<TileLayout> FindSumLeft(const Layout& sum, const Layout& right, const Shape& shape,
                                      const Shape& right_shape, Facts facts) {
  CheckSameSwizzle(sum, right);
  Prover prover(facts);
  auto left =
      DirectSumOther(Form::Of(TileOf(sum)), Form::Of(TileOf(right)), shape, right_shape, 0, prover);
  if (!left || !WholePeriods(right, *left, prover)) return std::nullopt;
  return AsLayout(left, prover);
}

std::optional<Layout> FindSumRight(const Layout& sum, const TileLayout& left, const Shape& shape,
                                   const Shape& left_shape, Facts facts) {
  Prover prover(facts);
  Form known = Form::Of(left);
  if (!WholePeriods(sum, known, prover)) return std::nullopt;
  auto right =
      AsLayout(DirectSumOther(Form::Of(TileOf(sum)), known, shape, left_shape, 1, prover), prover);
  if (!right) return std::nullopt;
  return SwizzledAs(sum, *right);
}

}  // namespace

std::optional<TileLayout> TileOuterOf(const Layout& tiled, const Layout& inner,
                                      const Shape& tiled_shape, const Shape& inner_shape,
                                      Facts facts) {
  auto out = FindTileOuter(tiled, inner, tiled_shape, inner_shape, facts);
  if (!out) CheckStatic({tiled, inner}, {tiled_shape, inner_shape});
  return out;
}

std::optional<Layout> TileInnerOf(const Layout& tiled, const TileLayout& outer,
                                  const Shape& tiled_shape, const Shape& outer_shape, Facts facts) {
  auto out = FindTileInner(tiled, outer, tiled_shape, outer_shape, facts);
  if (!out) CheckStatic({tiled, outer}, {tiled_shape, outer_shape});
  return out;
}

std::optional<TileLayout> DirectSumLeftOf(const Layout& sum, const Layout& right,
                                          const Shape& shape, const Shape& right_shape,
                                          Facts facts) {
  auto out = FindSumLeft(sum, right, shape, right_shape, facts);
  if (!out) CheckStatic({sum, right}, {shape, right_shape});
  return out;
}

std::optional<Layout> DirectSumRightOf(const Layout& sum, const TileLayout& left,
                                       const Shape& shape, const Shape& left_shape, Facts facts) {
  auto out = FindSumRight(sum, left, shape, left_shape, facts);
  if (!out) CheckStatic({sum, left}, {shape, left_shape});
  return out;
}

}  // namespace layout
}  // namespace tirx
