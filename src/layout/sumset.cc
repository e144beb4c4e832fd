/*!
 * Finding the steps of a set of sums.
 *
 * A set S = A + X with A = {0, s, .., (e-1)s} is a union of translates of A, so every maximal run
 * x, x+s, x+2s, .. inside S has at least e members. That bounds the extent of every stride that can
 * occur at all, and leaves few candidates. The search adds steps by growing stride; the smallest element that
 * is still missing needs a new stride of at most its size, and the last step is determined by the largest
 * element.
 */
#include "sumset.h"

#include <algorithm>

namespace tirx {
namespace layout {
namespace {

constexpr size_t kMaxSums = 1 << 16;
constexpr size_t kMaxTerms = 1 << 22;
constexpr int64_t kSearchWork = 1 << 27;  // about half a second

using Sums = std::vector<int64_t>;

/*! Splits T into translates of {0, s, .., (e-1)s}; the translates' origins, or nothing. The smallest
 * element that is left starts one, and none of its run was taken: else it would have been, too. */
std::optional<Sums> Peel(const Sums& t, int64_t s, int64_t e) {
  Sums origins;
  std::vector<bool> used(t.size(), false);
  for (size_t i = 0; i < t.size(); ++i) {
    if (used[i]) continue;
    origins.push_back(t[i]);
    for (int64_t k = 0; k < e; ++k) {
      auto it = std::lower_bound(t.begin(), t.end(), t[i] + k * s);
      if (it == t.end() || *it != t[i] + k * s) return std::nullopt;
      used[it - t.begin()] = true;
    }
  }
  return origins;
}

std::optional<std::vector<Step>> SeparatedSteps(Sums t, AxisId axis) {
  std::vector<Step> out;
  int64_t reach = 0;
  while (t.size() > 1) {
    int64_t s = t[1], e = 2;
    if (s <= reach) return std::nullopt;
    while (e < static_cast<int64_t>(t.size()) && t[e] == e * s) ++e;
    auto rest = Peel(t, s, e);
    if (!rest) return std::nullopt;
    out.push_back({e, s, axis});
    reach += (e - 1) * s;
    t = std::move(*rest);
  }
  return out;
}

/*! base + {0, s, .., (e-1)s} */
Sums AddRun(const Sums& base, int64_t s, int64_t e) {
  Sums out;
  out.reserve(base.size() * static_cast<size_t>(e));
  for (int64_t k = 0; k < e; ++k) {
    for (int64_t v : base) out.push_back(v + k * s);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

class Search {
 public:
  Search(const Sums& target, AxisId axis, int64_t unit)
      : target_(target), axis_(axis), unit_(unit), longest_(target.size(), -1) {}

  Decomposition Run(const Sums& known, size_t most) {
    bool inside = known.back() <= target_.back() && Fits(known, 0);
    for (size_t count = 0; inside && count <= most && work_ > 0; ++count) {
      if (Extend(known, 0, count)) return {chosen_, true};
    }
    if (inside && work_ > 0 && Extend(known, 0, target_.size())) return {chosen_, true};
    return {std::nullopt, work_ > 0};
  }

 private:
  bool Contains(int64_t v) {
    --work_;
    return std::binary_search(target_.begin(), target_.end(), v);
  }
  bool Fits(const Sums& sums, int64_t shift) {
    return std::all_of(sums.begin(), sums.end(), [&](int64_t v) { return Contains(v + shift); });
  }
  int64_t SmallestMissing(const Sums& sums) const {
    size_t i = 0;
    while (i < sums.size() && sums[i] == target_[i]) ++i;
    return target_[i];
  }
  /*! Largest extent of the stride target_[i] in any decomposition: the shortest maximal run. */
  int64_t LongestExtent(size_t i) {
    if (longest_[i] >= 0) return longest_[i];
    int64_t s = target_[i], out = static_cast<int64_t>(target_.size());
    for (size_t x = 0; x < target_.size() && out >= 2; ++x) {
      if (Contains(target_[x] - s)) continue;  // not the start of a run
      int64_t run = 1;
      while (run < out && Contains(target_[x] + run * s)) ++run;
      out = run;
    }
    return longest_[i] = out;
  }
  bool Extend(const Sums& sums, size_t last, size_t left) {
    if (sums == target_) return true;
    if (left == 0) return false;
    int64_t missing = SmallestMissing(sums), rest = target_.back() - sums.back();
    for (size_t i = last + 1; i < target_.size() && target_[i] <= missing && work_ > 0; ++i) {
      int64_t s = target_[i];
      if (s % unit_ != 0) continue;
      int64_t most = std::min(LongestExtent(i), rest / s + 1);
      if (left == 1 && (rest % s != 0 || rest / s + 1 > most)) continue;
      int64_t least = left == 1 ? rest / s + 1 : 2;
      for (int64_t e = 2; e <= most && Fits(sums, (e - 1) * s); ++e) {
        if (e >= least && With({e, s, axis_}, sums, i, left)) return true;
      }
    }
    return false;
  }
  bool With(const Step& step, const Sums& sums, size_t i, size_t left) {
    chosen_.push_back(step);
    int64_t e = step.extent.value();
    work_ -= 8 * static_cast<int64_t>(sums.size()) * e;  // they are sorted
    if (Extend(AddRun(sums, step.stride.value(), e), i, left - 1)) return true;
    chosen_.pop_back();
    return false;
  }

  const Sums& target_;
  AxisId axis_;
  int64_t unit_;
  std::vector<int64_t> longest_;
  std::vector<Step> chosen_;
  int64_t work_{kSearchWork};
};

}  // namespace

std::optional<Sums> ReplicaSums(const std::vector<Step>& steps) {
  Sums out{0};
  for (const Step& s : steps) {
    int64_t e = s.extent.value(), reach = CheckedMul(s.stride.value(), e - 1);
    if (e > static_cast<int64_t>(kMaxTerms) || out.size() * e > kMaxTerms) return std::nullopt;
    CheckedAdd(out.front(), reach);
    CheckedAdd(out.back(), reach);
    out = AddRun(out, s.stride.value(), e);
    if (out.size() > kMaxSums) return std::nullopt;
  }
  return out;
}

Decomposition StepsOfSums(const Sums& sums, AxisId axis, size_t most) {
  if (auto steps = SeparatedSteps(sums, axis)) return {steps, true};
  return Search(sums, axis, 1).Run({0}, most);
}

Decomposition StepsBetween(const Sums& known, const Sums& whole, AxisId axis, int64_t unit,
                           size_t most) {
  return Search(whole, axis, unit).Run(known, most);
}

}  // namespace layout
}  // namespace tirx
