/*!
 * Merging and splitting of iters; group and permute.
 *
 * A mixed-radix map is determined by where its first digit wraps: after merging, the innermost iter
 * ends at the first x with D(x) != x * D(1). Hence a merged list can be split at the boundaries of
 * a shape whenever any list with the same meaning can: grouping after merging is complete.
 */
#include <tirx/support/diag.h>

#include <algorithm>

#include "steps.h"

namespace tirx {
namespace layout {
namespace {

bool Continues(const Step& outer, const Step& inner, Prover& prover) {
  return outer.axis == inner.axis && prover.Equal(outer.stride, inner.stride * inner.extent);
}

/*! Consumes steps from the innermost outwards. */
class Splitter {
 public:
  Splitter(const std::vector<Step>& steps, Prover& prover) : rest_(steps), prover_(prover) {}

  /*! Appends to out (innermost first) the steps of one dimension of extent `need`. */
  bool Take(Num need, std::vector<Step>* out) {
    size_t before = out->size();
    while (!need.Is(1)) {
      if (!rest_.empty() && TakeSome(&need, out)) continue;
      needed_ = Text(need);
      return false;
    }
    if (out->size() == before) out->push_back(TakeUnit());
    return true;
  }
  /*! What is left may only be unit iters; they go outermost. */
  bool Finish(std::vector<Step>* out) {
    for (; !rest_.empty(); rest_.pop_back()) {
      if (!rest_.back().extent.Is(1)) return false;
      out->push_back(rest_.back());
    }
    return true;
  }
  /*! What the dimension at which Take failed still lacks. */
  std::string Needed() const { return needed_; }
  std::string Blocker() const { return rest_.empty() ? "nothing" : Text(rest_.back()); }

 private:
  bool TakeSome(Num* need, std::vector<Step>* out) {
    Step& inner = rest_.back();
    if (prover_.Divides(inner.extent, *need)) {
      *need = prover_.Div(*need, inner.extent);
      out->push_back(inner);
      rest_.pop_back();
      return true;
    }
    if (!prover_.Divides(*need, inner.extent)) return false;
    out->push_back({*need, inner.stride, inner.axis});
    inner = {prover_.Div(inner.extent, *need), prover_.Simplify(inner.stride * *need), inner.axis};
    *need = 1;
    return true;
  }
  Step TakeUnit() {
    if (rest_.empty() || !rest_.back().extent.Is(1)) return {1, 0, kMemoryAxis};
    Step unit = rest_.back();
    rest_.pop_back();
    return unit;
  }

  std::vector<Step> rest_;
  Prover& prover_;
  std::string needed_;
};

/*! Constants of different size; for symbolic ones the failed grouping says what is missing. */
void CheckSizes(const std::vector<Step>& steps, const std::vector<Num>& shape) {
  Num have = Product(steps), want = Product(shape);
  if (!have.IsConst() || !want.IsConst() || have.value() == want.value()) return;
  Diag("layout", "size-mismatch", {})
      .Message("the shape has another number of elements than the layout")
      .Found("shape " + Text(shape) + " with " + Text(want) + " elements; layout " + Text(steps) +
             " with " + Text(have))
      .Required("equal products")
      .Throw();
}

bool AllConst(const std::vector<Step>& steps, const std::vector<Num>& shape) {
  return std::all_of(shape.begin(), shape.end(), [](const Num& n) { return n.IsConst(); }) &&
         std::all_of(steps.begin(), steps.end(),
                     [](const Step& s) { return s.extent.IsConst() && s.stride.IsConst(); });
}

std::vector<int64_t> CheckOrder(const std::vector<int64_t>& order, size_t n, const char* what) {
  std::vector<int64_t> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  bool ok = sorted.size() == n;
  for (size_t i = 0; ok && i < n; ++i) ok = sorted[i] == static_cast<int64_t>(i);
  if (ok) return order;
  std::string text;
  for (int64_t v : order) text += (text.empty() ? "" : ", ") + std::to_string(v);
  Diag("layout", "bad-permutation", {})
      .Message(std::string("the order is not a permutation of the ") + what)
      .Found("[" + text + "]")
      .Required("each of 0.." + std::to_string(static_cast<int64_t>(n) - 1) + " once")
      .Throw();
}

void CheckSeparators(const std::vector<int64_t>& seps, size_t n) {
  bool ok = !seps.empty() && seps.front() == 0 && seps.back() == static_cast<int64_t>(n) &&
            std::is_sorted(seps.begin(), seps.end());
  if (ok) return;
  Diag("layout", "bad-separators", {})
      .Message("the separators do not partition the shard iters")
      .Required("0 = seps[0] <= ... <= seps[-1] = " + std::to_string(n))
      .Hint("use the separators that group() returned for this layout")
      .Throw();
}

}  // namespace

std::vector<Step> MergeSteps(const std::vector<Step>& steps, Prover& prover) {
  std::vector<Step> out;  // innermost first while merging
  for (size_t i = steps.size(); i-- > 0;) {
    Step s = steps[i];
    if (s.extent.Is(1)) continue;
    if (s.stride.Is(0)) s.axis = kMemoryAxis;
    if (!out.empty() && Continues(s, out.back(), prover)) {
      out.back().extent = out.back().extent * s.extent;
    } else {
      out.push_back(s);
    }
  }
  std::reverse(out.begin(), out.end());
  return out;
}

std::optional<StepGroups> TryGroupSteps(const std::vector<Step>& steps,
                                        const std::vector<Num>& shape, Prover& prover,
                                        std::string* why) {
  CheckExtents(shape);
  Splitter splitter(steps, prover);
  std::vector<Step> reversed;
  std::vector<size_t> ends;
  for (size_t d = shape.size(); d-- > 0;) {
    if (!splitter.Take(shape[d], &reversed)) {
      *why = "dimension " + std::to_string(d) + " needs " + splitter.Needed() + " steps of iter " +
             splitter.Blocker();
      return std::nullopt;
    }
    ends.push_back(reversed.size());
  }
  if (!splitter.Finish(&reversed)) {
    *why = "iter " + splitter.Blocker() + " is left over";
    return std::nullopt;
  }
  if (ends.empty()) reversed.clear();
  if (!ends.empty()) ends.back() = reversed.size();
  StepGroups out{{reversed.rbegin(), reversed.rend()}, {}};
  for (size_t d = ends.size(); d-- > 0;) out.seps.push_back(reversed.size() - ends[d]);
  out.seps.push_back(reversed.size());
  return out;
}

StepGroups GroupSteps(const std::vector<Step>& steps, const std::vector<Num>& shape,
                      Prover& prover) {
  std::string why, after_merge;
  if (auto out = TryGroupSteps(steps, shape, prover, &why)) return *out;
  CheckSizes(steps, shape);
  auto merged = TryGroupSteps(MergeSteps(steps, prover), shape, prover, &after_merge);
  if (merged) return *merged;
  bool exact = AllConst(steps, shape);
  Diag("layout", exact ? "not-groupable" : "unproved", {})
      .Message(exact ? "the layout has no form with one group of iters per dimension of the shape"
                     : "the shape could not be proved to fit the layout")
      .Found(Text(steps) + " grouped by " + Text(shape) + ": " + why)
      .Required(exact ? "every dimension boundary falls on an iter or divides its extent"
                      : "a proof that one divides the other, or strides by which the iters merge")
      .Throw();
}

Grouped Group(const Layout& layout, const Shape& shape, Facts facts) {
  std::vector<int64_t> seps;
  Layout out = OnTile(layout, [&](Form f) {
    Prover prover(facts);
    StepGroups g = GroupSteps(f.shard, ToNums(shape), prover);
    f.shard = std::move(g.steps);
    seps.assign(g.seps.begin(), g.seps.end());
    return f;
  });
  return {out, seps};
}

Layout Permute(const Layout& layout, const std::vector<int64_t>& order) {
  return OnTile(layout, [&](Form f) {
    CheckOrder(order, f.shard.size(), "shard iters");
    std::vector<Step> shard;
    for (int64_t i : order) shard.push_back(f.shard[static_cast<size_t>(i)]);
    f.shard = std::move(shard);
    return f;
  });
}

Layout PermuteByGroups(const Layout& layout, const std::vector<int64_t>& seps,
                       const std::vector<int64_t>& order) {
  CheckSeparators(seps, TileOf(layout)->shard.size());
  CheckOrder(order, seps.size() - 1, "groups");
  std::vector<int64_t> flat;
  for (int64_t g : order) {
    for (int64_t i = seps[static_cast<size_t>(g)]; i < seps[static_cast<size_t>(g) + 1]; ++i) {
      flat.push_back(i);
    }
  }
  return Permute(layout, flat);
}

}  // namespace layout
}  // namespace tirx
