#include "swizzle.h"

#include <tirx/support/diag.h>

#include "steps.h"

namespace tirx {
namespace layout {

const ComposeLayoutNode* SwizzleOf(const Layout& layout) {
  auto* c = layout.as<ComposeLayoutNode>();
  return c && c->swizzle_len > 0 ? c : nullptr;
}

int64_t SwizzlePeriod(const ComposeLayoutNode& c) {
  return int64_t{1} << (c.per_element + c.swizzle_len + c.atom_len);
}

int64_t SwizzleAddress(const ComposeLayoutNode& c, int64_t m) {
  int64_t mask = (int64_t{1} << c.swizzle_len) - 1;
  return m ^ (((m >> (c.per_element + c.atom_len)) & mask) << c.per_element);
}

Num Swizzle(const ComposeLayoutNode& c, const Num& m, Prover& prover) {
  if (m.IsConst()) return SwizzleAddress(c, m.value());
  if (c.swizzle_len == 0) return m;
  Num row = prover.Div(m, int64_t{1} << (c.per_element + c.atom_len));
  Num key = prover.Mod(row, int64_t{1} << c.swizzle_len) * (int64_t{1} << c.per_element);
  if (key.Is(0)) return m;
  return Num(BitXor(m.expr(), key.expr()));
}

Num LowestAddress(const Form& tile) {
  Num low = tile.OffsetOn(kMemoryAxis);
  for (const auto* list : {&tile.shard, &tile.replica}) {
    for (const Step& s : *list) {
      bool negative = s.axis == kMemoryAxis && s.stride.IsConst() && s.stride.value() < 0;
      if (negative) low = low + s.stride * (s.extent - 1);
    }
  }
  return low;
}

Num SwizzledSpan(const ComposeLayoutNode& c, const Form& tile, Facts facts) {
  Prover prover(facts);
  // f permutes chunks inside aligned blocks of 2^(M+B) elements.
  int64_t block = int64_t{1} << (c.per_element + c.swizzle_len);
  Num low = LowestAddress(tile),
      reach = Reach(tile.shard, kMemoryAxis) + Reach(tile.replica, kMemoryAxis);
  if (!low.IsConst() && !prover.Divides(block, low)) {
    Diag("layout", "unproved", {})
        .Message("the span of a swizzled layout needs an offset of whole swizzle blocks")
        .Found("offset " + Text(low))
        .Required("a proof that " + std::to_string(block) + " divides it")
        .Throw();
  }
  Num into = prover.Mod(low, block);
  return prover.Simplify(prover.Div(into + reach + block, block) * block);
}

}  // namespace layout
}  // namespace tirx
