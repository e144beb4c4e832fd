/*!
 * The normal form of swizzled layouts, and of a selection of their elements.
 *
 * One placement may have several forms: a swizzle whose row bits are constant is a tile with reversed
 * digits, two swizzles agree below the first row on which they part. Each swizzle f is its own inverse, so
 * the placements L have a form f o tile exactly when f o L is a TileLayout, and that tile is unique. The
 * normal form is the first of: no swizzle; then by B, M, S. It depends on the placements only.
 *
 * f o L is a TileLayout when its sets of addresses are translates of one set of sums and the lowest
 * addresses are a mixed-radix map. Both are read place by place, and almost every wrong candidate ends
 * within its first rows.
 */
#include <tirx/support/diag.h>

#include <algorithm>
#include <bit>

#include "radix.h"
#include "replica.h"
#include "steps.h"
#include "swizzle.h"

namespace tirx {
namespace layout {
namespace {

constexpr int64_t kMaxPlaces = 1 << 21;

struct Parameters {
  int per_element, swizzle_len, atom_len;
  int64_t Address(int64_t m) const {
    int64_t mask = (int64_t{1} << swizzle_len) - 1;
    return m ^ (((m >> (per_element + atom_len)) & mask) << per_element);
  }
};

using Index = std::function<int64_t(int64_t)>;

/*! The places of `size` elements of a static swizzled layout, the y-th being index(y): per element
 *  the coordinates of `axes` (m first; its value is not used), and the addresses of the replicas. */
class Table {
 public:
  Table(const Form& tile, const Parameters& f, int64_t size, const Index& index)
      : tile_(tile), size_(size) {
    axes_.push_back(kMemoryAxis);
    for (const Step& s : tile.shard) {
      if (std::find(axes_.begin(), axes_.end(), s.axis) == axes_.end()) axes_.push_back(s.axis);
    }
    std::vector<Step> on_m;
    for (const Step& s : tile.replica)
      (s.axis == kMemoryAxis ? on_m : other_replicas_).push_back(s);
    auto sums = ReplicaSums(on_m);
    if (!sums) CheckNormal(on_m);
    CheckSize(static_cast<int64_t>(sums->size()));
    Fill(f, *sums, index);
  }

  /*! The tile of f o L, when that is a TileLayout. */
  std::optional<Form> TileUnder(const Parameters& f) const {
    RadixReader reader(axes_, size_);
    std::vector<int64_t> first, now(copies_), place(axes_.size());
    for (int64_t x = 0; x < size_; ++x) {
      for (size_t r = 0; r < copies_; ++r) now[r] = f.Address(addresses_[x * copies_ + r]);
      std::sort(now.begin(), now.end());
      std::copy_n(&others_[x * axes_.size()], axes_.size(), place.begin());
      place[0] = now[0];
      for (size_t r = copies_; r-- > 0;) now[r] -= now[0];
      if (x == 0) first = now;
      if (now != first || !reader.Next(place.data())) return std::nullopt;
    }
    return FormOf(reader, first);
  }
  /*! Bits that addresses may have; 62 when some are negative. */
  int AddressBits() const {
    int64_t any = 0;
    for (int64_t a : addresses_) any |= a;
    return any < 0 ? 62 : std::bit_width(static_cast<uint64_t>(any));
  }

 private:
  void CheckSize(int64_t copies) {
    if (size_ <= kMaxPlaces / copies) return;
    Diag("layout", "swizzle-too-large", {})
        .Message("a swizzled layout of so many places has no normal form here")
        .Found(std::to_string(size_) + " elements with " + std::to_string(copies) +
               " addresses each")
        .Required("at most " + std::to_string(kMaxPlaces) + " places")
        .Hint("`equivalent` compares layouts of one swizzle of any size")
        .Throw();
  }
  void Fill(const Parameters& f, const std::vector<int64_t>& sums, const Index& index) {
    copies_ = sums.size();
    Prover prover;
    for (int64_t x = 0; x < size_; ++x) {
      Accumulator at;
      for (AxisId axis : axes_) at.Mention(axis);
      AddDigits(tile_.shard, index(x), prover, &at);
      for (const auto& entry : at.entries()) others_.push_back(entry.second.value());
      int64_t m = CheckedAdd(at.entries()[0].second.value(), tile_.OffsetOn(kMemoryAxis).value());
      for (int64_t r : sums) addresses_.push_back(f.Address(CheckedAdd(m, r)));
    }
  }
  std::optional<Form> FormOf(const RadixReader& reader, const std::vector<int64_t>& sums) const {
    Decomposition steps = StepsOfSums(sums, kMemoryAxis);
    if (!steps.decided) CheckNormal({{static_cast<int64_t>(sums.size()), 1, kMemoryAxis}});
    if (!steps.steps) return std::nullopt;
    Form out;
    out.shard = reader.Steps();
    std::reverse(out.shard.begin(), out.shard.end());
    out.replica = *steps.steps;
    out.replica.insert(out.replica.end(), other_replicas_.begin(), other_replicas_.end());
    for (const auto& [axis, value] : tile_.offset) {
      if (axis != kMemoryAxis) out.AddOffset(axis, value);
    }
    for (size_t a = 0; a < axes_.size(); ++a) out.AddOffset(axes_[a], reader.origin()[a]);
    return out;
  }

  const Form& tile_;
  int64_t size_;
  size_t copies_{1};
  std::vector<AxisId> axes_;
  std::vector<Step> other_replicas_;
  std::vector<int64_t> others_, addresses_;
};

}  // namespace

std::optional<Layout> ComposeOfElements(const ComposeLayoutNode& c, int64_t size,
                                        const Index& index) {
  Form tile = Form::Of(c.tile);
  Parameters given{c.per_element, c.swizzle_len, c.atom_len};
  Table table(tile, given, size, index);
  Prover prover;
  auto found = [&](const Parameters& f) -> std::optional<TileLayout> {
    auto form = table.TileUnder(f);
    if (!form) return std::nullopt;
    return CanonicalForm(*form, prover).ToLayout();
  };
  if (auto plain = found({0, 0, 0})) return *plain;
  int bits = table.AddressBits();
  for (int b = 1; b <= c.swizzle_len; ++b) {
    for (int m = 0; m + 2 * b <= bits; ++m) {
      for (int s = b; m + s + b <= bits; ++s) {
        if (auto t = found({m, b, s})) return ComposeLayout(m, b, s, *t);
      }
    }
  }
  return std::nullopt;
}

Layout NormalCompose(const ComposeLayoutNode& c) {
  int64_t size = Form::Of(c.tile).Size().value();
  auto found = ComposeOfElements(c, size, [](int64_t x) { return x; });
  return found ? *found : GetRef<ComposeLayout>(&c);  // beyond 62 bits
}

}  // namespace layout
}  // namespace tirx
