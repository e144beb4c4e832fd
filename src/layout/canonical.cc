/*!
 * The normal form.
 *
 * The set of places of x is D(x) + O + R. Give every replica iter a positive stride by moving its
 * lowest value into O; then D(x) + O is the componentwise minimum of the set, and O is its value at
 * x = 0. So D, O and R are determined by the placements. D's merged form is unique because its
 * innermost iter ends at the first x with D(x) != x * D(1). R is a sum of one set per axis; the
 * form chosen for a set depends on the set only (sumset.h). Swizzled layouts: compose_normal.cc.
 */
#include <algorithm>

#include "replica.h"
#include "steps.h"
#include "swizzle.h"

namespace tirx {
namespace layout {
namespace {

/*! Bounds of the m coordinate of a static tile. */
std::pair<int64_t, int64_t> MemoryBounds(const Form& f) {
  int64_t low = f.OffsetOn(kMemoryAxis).value(), high = low;
  for (const auto* list : {&f.shard, &f.replica}) {
    for (const Step& s : *list) {
      if (s.axis != kMemoryAxis) continue;
      int64_t reach = (s.stride * (s.extent - 1)).value();
      (reach < 0 ? low : high) += reach;
    }
  }
  return {low, high};
}

/*! B shrinks to the row bits that occur; without any the swizzle does nothing. */
Layout ShortCompose(const ComposeLayoutNode& c, const Form& tile) {
  int len = c.swizzle_len;
  if (tile.IsStatic()) {
    auto [low, high] = MemoryBounds(tile);
    int base = c.per_element + c.atom_len;
    while (len > 0 && low >= 0 && (high >> (base + len - 1)) == 0) --len;
  }
  if (len == 0) return tile.ToLayout();
  return ComposeLayout(c.per_element, len, c.atom_len, tile.ToLayout());
}

}  // namespace

Form CanonicalForm(const Form& f, Prover& prover, std::vector<Step>* excess, Overlaps overlaps) {
  Form out;
  out.shard = MergeSteps(f.shard, prover);
  if (out.shard.empty()) out.shard.push_back({1, 1, kMemoryAxis});
  out.offset = f.offset;
  out.replica = NormalReplica(f.replica, &out, prover, excess, overlaps);
  std::sort(out.offset.begin(), out.offset.end(), [](const auto& a, const auto& b) {
    return GetAxis(a.first).name < GetAxis(b.first).name;
  });
  return out;
}

Layout ShortForm(const Layout& layout, Prover& prover, std::vector<Step>* excess,
                 Overlaps overlaps) {
  Form f = CanonicalForm(Form::Of(TileOf(layout)), prover, excess, overlaps);
  if (auto* c = layout.as<ComposeLayoutNode>()) return ShortCompose(*c, f);
  return f.ToLayout();
}

Layout Canonicalize(const Layout& layout, Facts facts) {
  Prover prover(facts);
  std::vector<Step> excess;
  Layout out = ShortForm(layout, prover, &excess, Overlaps::kNormal);
  CheckNormal(excess);
  auto* c = out.as<ComposeLayoutNode>();
  return c && Form::Of(c->tile).IsStatic() ? NormalCompose(*c) : out;
}

}  // namespace layout
}  // namespace tirx
