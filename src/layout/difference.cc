/*!
 * Equality of placements, with the first linear index at which two layouts differ.
 *
 * TileLayouts compare by normal form; the witness needs no search, because two merged lists agree
 * below their first differing iter and each leaves its own line exactly where its iter ends.
 * Layouts with different swizzles have no common normal form and are compared place by place.
 */
#include <tirx/support/diag.h>

#include <algorithm>
#include <map>

#include "replica.h"
#include "steps.h"
#include "swizzle.h"

namespace tirx {
namespace layout {
namespace {

constexpr int64_t kMaxCompared = 1 << 20;

bool SameSteps(const std::vector<Step>& a, const std::vector<Step>& b, Prover& prover) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].axis != b[i].axis || !prover.Equal(a[i].extent, b[i].extent) ||
        !prover.Equal(a[i].stride, b[i].stride)) {
      return false;
    }
  }
  return true;
}

bool SameOffset(const Form& a, const Form& b, Prover& prover) {
  for (const Form* f : {&a, &b}) {
    for (const auto& entry : f->offset) {
      if (!prover.Equal(a.OffsetOn(entry.first), b.OffsetOn(entry.first))) return false;
    }
  }
  return true;
}

/*! Where D of two different static merged lists of one size first differs. */
int64_t FirstShardDifference(const std::vector<Step>& a, const std::vector<Step>& b) {
  int64_t inner = 1;
  for (size_t i = 1;; ++i) {
    const Step& x = a[a.size() - i];
    const Step& y = b[b.size() - i];
    if (x.axis != y.axis || x.stride.value() != y.stride.value()) return inner;
    if (x.extent.value() != y.extent.value()) {
      return inner * std::min(x.extent.value(), y.extent.value());
    }
    inner *= x.extent.value();
  }
}

[[noreturn]] void ThrowUnproved(const Form& a, const Form& b, const char* required) {
  Diag("layout", "unproved", {})
      .Message("the layouts can be shown neither equal nor different")
      .Found(Text(a) + " and " + Text(b))
      .Required(required)
      .Throw();
}

std::vector<Step> OnAxis(const std::vector<Step>& steps, AxisId axis) {
  std::vector<Step> out;
  for (const Step& s : steps) {
    if (s.axis == axis) out.push_back(s);
  }
  return out;
}

/*! Whether static replica lists with positive strides generate the same set. */
bool SameSums(const std::vector<Step>& a, const std::vector<Step>& b) {
  for (const auto* list : {&a, &b}) {
    for (const Step& s : *list) {
      auto x = ReplicaSums(OnAxis(a, s.axis)), y = ReplicaSums(OnAxis(b, s.axis));
      if (!x || !y) CheckNormal(OnAxis(x ? b : a, s.axis));
      if (*x != *y) return false;
    }
  }
  return true;
}

bool SameReplica(const Form& a, const Form& b, bool normal, Prover& prover) {
  if (SameSteps(a.replica, b.replica, prover)) return true;
  return !normal && a.IsStatic() && b.IsStatic() && SameSums(a.replica, b.replica);
}

std::optional<Difference> DifferenceOfForms(const Form& a, const Form& b, bool normal,
                                            Prover& prover) {
  bool same_shard = SameSteps(a.shard, b.shard, prover);
  bool same_rest = SameOffset(a, b, prover) && SameReplica(a, b, normal, prover);
  if (same_shard && same_rest) return std::nullopt;
  if (!a.IsStatic() || !b.IsStatic()) {
    ThrowUnproved(a, b, "static layouts, or facts that make the canonical forms equal");
  }
  if (a.Size().value() != b.Size().value()) return Difference{"size", 0};
  if (!same_rest) return Difference{"place", 0};
  return Difference{"place", FirstShardDifference(a.shard, b.shard)};
}

/*! Evaluates a static layout place by place. */
class Evaluator {
 public:
  explicit Evaluator(const Layout& layout)
      : swizzle_(layout.as<ComposeLayoutNode>()), form_(Form::Of(TileOf(layout))) {
    std::vector<Step> on_m;
    for (const Step& s : form_.replica) {
      if (s.axis == kMemoryAxis) on_m.push_back(s);
    }
    auto sums = ReplicaSums(on_m);
    if (!sums) CheckNormal(on_m);
    replica_on_m_ = *sums;
  }
  const Form& form() const { return form_; }

  /*! Coordinates other than m, and the sorted addresses on m. */
  std::pair<std::map<AxisId, int64_t>, std::vector<int64_t>> Places(int64_t x) {
    Accumulator acc;
    AddDigits(form_.shard, x, prover_, &acc);
    std::map<AxisId, int64_t> others;
    int64_t m = form_.OffsetOn(kMemoryAxis).value();
    for (const auto& [axis, value] : acc.entries()) {
      if (axis == kMemoryAxis) {
        m = CheckedAdd(m, value.value());
      } else if (value.value() != 0) {
        others[axis] = value.value();
      }
    }
    std::vector<int64_t> addresses;
    for (int64_t r : replica_on_m_) addresses.push_back(Address(CheckedAdd(m, r)));
    std::sort(addresses.begin(), addresses.end());
    return {std::move(others), std::move(addresses)};
  }
  /*! Offset and replicas without the m axis: the same for every element. */
  Form Constant() const {
    Form out;
    for (const Step& s : form_.replica) {
      if (s.axis != kMemoryAxis) out.replica.push_back(s);
    }
    for (const auto& [axis, value] : form_.offset) {
      if (axis != kMemoryAxis) out.AddOffset(axis, value);
    }
    return out;
  }

 private:
  int64_t Address(int64_t m) const { return swizzle_ ? SwizzleAddress(*swizzle_, m) : m; }

  const ComposeLayoutNode* swizzle_;
  Form form_;
  Prover prover_;
  std::vector<int64_t> replica_on_m_;
};

std::optional<Difference> DifferenceByEvaluation(const Layout& a, const Layout& b) {
  Evaluator ea(a), eb(b);
  const Form &fa = ea.form(), &fb = eb.form();
  if (!fa.IsStatic() || !fb.IsStatic() || fa.Size().value() > kMaxCompared) {
    ThrowUnproved(fa, fb, "static layouts of at most 1,048,576 elements when the swizzles differ");
  }
  if (fa.Size().value() != fb.Size().value()) return Difference{"size", 0};
  Prover prover;
  Form ca = ea.Constant(), cb = eb.Constant();
  if (!SameOffset(ca, cb, prover) || !SameReplica(ca, cb, false, prover)) {
    return Difference{"place", 0};
  }
  for (int64_t x = 0; x < fa.Size().value(); ++x) {
    if (ea.Places(x) != eb.Places(x)) return Difference{"place", x};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Difference> FirstDifference(const Layout& a, const Layout& b, Facts facts) {
  Prover prover(facts);
  std::vector<Step> excess;
  Layout ca = ShortForm(a, prover, &excess, Overlaps::kAsGiven),
         cb = ShortForm(b, prover, &excess, Overlaps::kAsGiven);
  auto* sa = ca.as<ComposeLayoutNode>();
  auto* sb = cb.as<ComposeLayoutNode>();
  bool same_swizzle = sa && sb && sa->per_element == sb->per_element &&
                      sa->swizzle_len == sb->swizzle_len && sa->atom_len == sb->atom_len;
  // The swizzle is a bijection, so equal swizzles compare as their tiles.
  if ((sa || sb) && !same_swizzle) return DifferenceByEvaluation(ca, cb);
  return DifferenceOfForms(Form::Of(TileOf(ca)), Form::Of(TileOf(cb)), excess.empty(), prover);
}

}  // namespace layout
}  // namespace tirx
