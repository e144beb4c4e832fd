/*!
 * Bank phases of a warp's access and the widest access that a layout allows (banks.h).
 */
#include <tirx/layout/banks.h>
#include <tirx/support/diag.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>

#include "steps.h"
#include "swizzle.h"

namespace tirx {
namespace layout {
namespace {

[[noreturn]] void Refuse(const char* code, const std::string& message, const std::string& found,
                         const std::string& required) {
  Diag("layout", code, {}).Message(message).Found(found).Required(required).Throw();
}

void CheckWidth(int64_t width) {
  if (width >= 1 && width <= 16 && std::has_single_bit(static_cast<uint64_t>(width))) return;
  Refuse("bad-access", "shared memory has no access of this width",
         std::to_string(width) + " bytes per lane", "1, 2, 4, 8 or 16 bytes");
}

void CheckLanes(size_t lanes) {
  if (lanes <= static_cast<size_t>(kWarpLanes)) return;
  Refuse("bad-access", "an access is that of one warp", std::to_string(lanes) + " lanes",
         "at most 32 lanes");
}

int64_t LanesPerPhase(int64_t width) { return width <= 4 ? 32 : 128 / width; }

BankPhase Phase(const LaneAddresses& addresses, size_t first, size_t last, int64_t width) {
  BankPhase out;
  std::map<int64_t, uint32_t> words;
  for (size_t lane = first; lane < last; ++lane) {
    if (!addresses[lane]) continue;
    uint32_t bit = uint32_t{1} << lane;
    out.lanes |= bit;
    int64_t word = FloorDivInt(*addresses[lane], kBankBytes);
    for (int64_t k = 0; k < std::max<int64_t>(1, width / kBankBytes); ++k) words[word + k] |= bit;
  }
  std::array<int64_t, kBanks> load{};
  for (const auto& [word, lanes] : words) {
    out.words.push_back({word, lanes});
    ++load[static_cast<size_t>(FloorModInt(word, kBanks))];
  }
  out.wavefronts = *std::max_element(load.begin(), load.end());
  return out;
}

}  // namespace

std::vector<BankPhase> BankPhases(const LaneAddresses& addresses, int64_t width) {
  CheckWidth(width);
  CheckLanes(addresses.size());
  for (const auto& a : addresses) {
    if (!a || FloorModInt(*a, width) == 0) continue;
    Refuse("misaligned", "an access starts at a multiple of its width",
           "byte " + std::to_string(*a), "a multiple of " + std::to_string(width) + " bytes");
  }
  std::vector<BankPhase> out;
  size_t step = static_cast<size_t>(LanesPerPhase(width));
  for (size_t first = 0; first < addresses.size(); first += step) {
    BankPhase phase = Phase(addresses, first, std::min(first + step, addresses.size()), width);
    if (phase.lanes) out.push_back(std::move(phase));
  }
  return out;
}

namespace {

/*! Memory coordinates of the elements of a static layout with one place per element. */
class MemoryMap {
 public:
  explicit MemoryMap(const Layout& layout) : swizzle_(layout.as<ComposeLayoutNode>()) {
    Form f = Form::Of(TileOf(layout));
    if (!f.IsStatic()) {
      Refuse("symbolic", "bank conflicts are counted on constants", Text(f),
             "constant extents, strides and offsets");
    }
    Check(f.shard);
    Check(f.replica);
    for (const Step& s : f.replica) {
      if (s.extent.Is(1) || s.stride.Is(0)) continue;
      Refuse("replicated", "an element of a bank question has one place", "replica " + Text(s),
             "a layout without replicas");
    }
    for (const auto& entry : f.offset) CheckAxis(entry.first, "offset");
    offset_ = f.OffsetOn(kMemoryAxis).value();
    for (size_t i = f.shard.size(); i-- > 0;) {
      steps_.emplace_back(f.shard[i].extent.value(), f.shard[i].stride.value());
    }
    size_ = f.Size().value();
  }

  int64_t operator()(int64_t x) const {
    if (x < 0 || x >= size_) {
      Refuse("out-of-range", "the access names an element outside the layout",
             "element " + std::to_string(x), "0 <= element < " + std::to_string(size_));
    }
    int64_t m = offset_;
    for (auto [extent, stride] : steps_) {
      m = CheckedAdd(m, CheckedMul(x % extent, stride));
      x /= extent;
    }
    return swizzle_ ? SwizzleAddress(*swizzle_, m) : m;
  }

 private:
  static void CheckAxis(AxisId axis, const std::string& what) {
    if (axis == kMemoryAxis) return;
    Refuse("thread-axis", "bank conflicts are a question about one linear memory", what,
           "iters on m only (layout.storage() keeps those)");
  }
  static void Check(const std::vector<Step>& steps) {
    for (const Step& s : steps) {
      if (!s.extent.Is(1) && !s.stride.Is(0)) CheckAxis(s.axis, Text(s));
    }
  }

  const ComposeLayoutNode* swizzle_;
  std::vector<std::pair<int64_t, int64_t>> steps_;  //!< innermost first
  int64_t offset_{0}, size_{0};
};

/*! Byte address of the run of `n` elements at `run`, checked to be neighbours. */
int64_t RunAddress(const MemoryMap& map, const int64_t* run, int64_t n, int64_t bits,
                   int64_t base) {
  int64_t first = map(run[0]);
  for (int64_t j = 1; j < n; ++j) {
    int64_t m = map(run[j]);
    if (m == first + j) continue;
    Refuse("not-contiguous", "the elements of one lane's access are not neighbours in memory",
           "element " + std::to_string(run[0]) + " at " + std::to_string(first) + ", element " +
               std::to_string(run[j]) + " at " + std::to_string(m),
           "place " + std::to_string(first + j) + " for the latter");
  }
  int64_t bit = CheckedMul(first, bits);
  if (bit % 8) {
    Refuse("misaligned", "an access starts at a whole byte", "bit " + std::to_string(bit),
           "a multiple of 8 bits");
  }
  return CheckedAdd(base, bit / 8);
}

}  // namespace

LaneAddresses AddressesOf(const Layout& layout, const std::vector<int64_t>& elements,
                          int64_t per_lane, int64_t bits, int64_t base) {
  if (per_lane < 1 || bits < 1 || static_cast<int64_t>(elements.size()) % per_lane) {
    Refuse("bad-access", "every lane touches the same number of elements",
           std::to_string(elements.size()) + " elements, " + std::to_string(per_lane) + " per lane",
           "a multiple");
  }
  CheckLanes(elements.size() / static_cast<size_t>(per_lane));
  MemoryMap map(layout);
  LaneAddresses out;
  for (size_t i = 0; i < elements.size(); i += static_cast<size_t>(per_lane)) {
    const int64_t* run = &elements[i];
    out.push_back(run[0] == -1 ? std::nullopt
                               : std::optional(RunAddress(map, run, per_lane, bits, base)));
  }
  return out;
}

namespace {

/*! Largest power of two that divides n; `cap` when n is 0. */
int64_t PowerOfTwoIn(int64_t n, int64_t cap) { return n == 0 ? cap : std::min(cap, n & -n); }

/*! Elements per access under constraints, and the tightest of them. */
class Constraints {
 public:
  explicit Constraints(int64_t cap) : elements_(cap) {}
  void Divide(int64_t divisor, const std::string& what) {
    int64_t v = PowerOfTwoIn(divisor, elements_);
    if (v < elements_) limit_ = what;
    elements_ = v;
  }
  void AtMost(int64_t n, const std::string& what) {
    if (n < elements_) limit_ = what;
    elements_ = std::min(elements_, n);
  }
  int64_t elements() const { return elements_; }
  const std::string& limit() const { return limit_; }

 private:
  int64_t elements_;
  std::string limit_;
};

/*! Largest power of two v with v elements of `bits` in whole `align_bytes`; 0 for none. */
int64_t ElementsInAlignment(int64_t bits, int64_t align_bytes) {
  int64_t align = CheckedMul(align_bytes, 8), n = align / bits;
  return align % bits ? 0 : (n & -n);
}

bool Moves(const Step& s) { return s.axis == kMemoryAxis && !s.extent.Is(1); }

/*! The iters of `layout` by dimension, merged. */
std::vector<std::vector<Step>> Dimensions(const Form& f, const Shape& shape, Prover& prover) {
  StepGroups g = GroupSteps(f.shard, ToNums(shape), prover);
  std::vector<std::vector<Step>> out;
  for (size_t d = 0; d < shape.size(); ++d) out.push_back(MergeSteps(g.Dim(d), prover));
  return out;
}

size_t CheckDim(int64_t dim, size_t rank) {
  int64_t n = static_cast<int64_t>(rank), at = dim < 0 ? dim + n : dim;
  if (at >= 0 && at < n) return static_cast<size_t>(at);
  Refuse("out-of-range", "the shape has no such dimension", "dimension " + std::to_string(dim),
         "-" + std::to_string(n) + " <= dim < " + std::to_string(n));
}

/*! The run along one dimension, then every other step that an access may start at. */
void ConstrainBySteps(const Form& f, const Shape& shape, size_t dim, Prover& prover,
                      Constraints* c) {
  auto dims = Dimensions(f, shape, prover);
  std::vector<Step> others = f.replica;
  if (dims[dim].empty() || dims[dim].back().axis != kMemoryAxis || !dims[dim].back().stride.Is(1)) {
    c->AtMost(1, dims[dim].empty() ? "the dimension has one element"
                                   : "innermost iter " + Text(dims[dim].back()));
  } else {
    Step run = dims[dim].back();
    dims[dim].pop_back();
    c->Divide(prover.Divisor(run.extent), "run " + Text(run));
  }
  for (const auto& list : dims) others.insert(others.end(), list.begin(), list.end());
  for (const Step& s : others) {
    if (Moves(s)) c->Divide(prover.Divisor(s.stride), "iter " + Text(s));
  }
  Num offset = f.OffsetOn(kMemoryAxis);
  c->Divide(prover.Divisor(offset), "offset " + Text(offset));
}

[[noreturn]] void RefuseAccess(int64_t bits, const std::string& found,
                               const std::string& required) {
  Refuse("no-access",
         "elements of " + std::to_string(bits) + " bits cannot be accessed one by one here", found,
         required);
}

}  // namespace

int64_t AlignedElements(int64_t bits, int64_t align_bytes, int64_t granule,
                        const std::vector<int64_t>& divisors) {
  int64_t v = std::min(ElementsInAlignment(bits, align_bytes), granule);
  for (int64_t d : divisors) v = PowerOfTwoIn(d, v);
  return v;
}

AccessWidth WidestAccess(const Layout& layout, const Shape& shape, int64_t dim, int64_t bits,
                         int64_t align_bytes, int64_t limit, Facts facts) {
  size_t at = CheckDim(dim, shape.size());
  if (bits < 1 || align_bytes < 1 || limit < 1) {
    Refuse("bad-access", "widths and alignments are positive",
           std::to_string(bits) + " bits, alignment " + std::to_string(align_bytes) + ", at most " +
               std::to_string(limit) + " bytes",
           "1 or more");
  }
  Prover prover(facts);
  Constraints c(int64_t{1} << 62);
  int64_t aligned = ElementsInAlignment(bits, align_bytes);
  if (aligned == 0) {
    RefuseAccess(bits, "memory aligned to " + std::to_string(align_bytes) + " bytes",
                 "an alignment of whole elements");
  }
  c.AtMost(aligned, "alignment " + std::to_string(align_bytes));
  ConstrainBySteps(Form::Of(TileOf(layout)), shape, at, prover, &c);
  if (auto* swizzle = SwizzleOf(layout)) {
    int64_t granule = int64_t{1} << swizzle->per_element;
    c.AtMost(granule, "swizzle granule of " + std::to_string(granule) + " elements");
  }
  c.AtMost(static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(CheckedMul(limit, 8) / bits))),
           "at most " + std::to_string(limit) + " bytes");
  int64_t total = c.elements() * bits;
  if (total == 0 || total % 8 || !std::has_single_bit(static_cast<uint64_t>(total))) {
    RefuseAccess(bits, std::to_string(c.elements()) + " elements at a time (" + c.limit() + ")",
                 "a power of two of whole bytes");
  }
  return {total / 8, c.elements(), c.limit()};
}

}  // namespace layout
}  // namespace tirx
