/*!
 * The replica set of one axis is a sum of arithmetic progressions {0, s, .., (e-1)s}, as a set:
 * sums that coincide count once, so [2:1] + [2:1] is [3:1]. Two lists may give one set. The normal
 * form is a function of the set:
 *
 *  1. When the set is a sum in which each stride exceeds everything that the smaller ones reach,
 * that list: the smallest positive element is the first stride, the run in sorted order its extent,
 *     and what remains is determined. Almost every real layout ends here, without building the set.
 *  2. Otherwise the shortest list, the first in order of (stride, extent), found by search.
 */
#include "replica.h"

#include <algorithm>

namespace tirx {
namespace layout {
namespace {

constexpr int64_t kMaxSums = 4096;
constexpr int kSearchBudget = 50000;

bool StrideLess(const Step& a, const Step& b) { return a.stride.value() < b.stride.value(); }

/*! Sorted by stride and merged; true when strides exceed all smaller sums. */
bool SortAndMerge(std::vector<Step>* steps) {
  std::sort(steps->begin(), steps->end(), StrideLess);
  std::vector<Step> out;
  Num reach = 0;
  bool separated = true;
  for (const Step& s : *steps) {
    Num step_reach = s.stride * (s.extent - 1);
    if (!out.empty() && out.back().stride.value() == s.stride.value()) {
      out.back().extent = out.back().extent + s.extent - 1;
    } else if (!out.empty() &&
               (out.back().stride * out.back().extent).value() == s.stride.value()) {
      out.back().extent = out.back().extent * s.extent;
    } else {
      separated = separated && (out.empty() || s.stride.value() > reach.value());
      out.push_back(s);
    }
    reach = reach + step_reach;
  }
  *steps = std::move(out);
  return separated;
}

/*! Splits T into translates of {0, s, .., (e-1)s}; the translates' origins, or nothing. The
 * smallest element that is left starts one, and none of its run was taken: else it would have been,
 * too. */
std::optional<std::vector<int64_t>> Peel(const std::vector<int64_t>& t, int64_t s, int64_t e) {
  std::vector<int64_t> origins;
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

std::optional<std::vector<Step>> SeparatedSteps(std::vector<int64_t> t, AxisId axis) {
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

/*! Depth-first search for exactly `left` more steps with growing strides. */
class Search {
 public:
  Search(const std::vector<int64_t>& target, AxisId axis) : target_(target), axis_(axis) {}
  std::optional<std::vector<Step>> Run() {
    for (int count = 1; count <= 8 && budget_ > 0; ++count) {
      if (Extend({0}, 0, count)) return chosen_;
    }
    return std::nullopt;
  }

 private:
  bool Contains(int64_t v) const { return std::binary_search(target_.begin(), target_.end(), v); }
  bool Fits(const std::vector<int64_t>& sums, int64_t shift) const {
    return std::all_of(sums.begin(), sums.end(), [&](int64_t v) { return Contains(v + shift); });
  }
  int64_t SmallestMissing(const std::vector<int64_t>& sums) const {
    size_t i = 0;
    while (i < sums.size() && sums[i] == target_[i]) ++i;
    return target_[i];
  }
  static std::vector<int64_t> AddRun(const std::vector<int64_t>& sums, int64_t s, int64_t e) {
    std::vector<int64_t> out;
    for (int64_t k = 0; k < e; ++k) {
      for (int64_t v : sums) out.push_back(v + k * s);
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }
  bool Extend(const std::vector<int64_t>& sums, int64_t last, int left) {
    if (sums == target_) return true;
    if (left == 0 || --budget_ <= 0) return false;
    int64_t missing = SmallestMissing(sums);  // needs a new stride of at most this
    for (int64_t s : target_) {
      if (s <= last) continue;
      if (s > missing) break;
      for (int64_t e = 2; Fits(sums, (e - 1) * s); ++e) {
        chosen_.push_back({e, s, axis_});
        if (Extend(AddRun(sums, s, e), s, left - 1)) return true;
        chosen_.pop_back();
      }
    }
    return false;
  }

  const std::vector<int64_t>& target_;
  AxisId axis_;
  std::vector<Step> chosen_;
  int budget_{kSearchBudget};
};

/*! Drops steps that do nothing; turns negative strides around. */
std::vector<Step> Positive(const std::vector<Step>& replica, Form* form) {
  std::vector<Step> out;
  for (Step s : replica) {
    if (s.extent.Is(1) || s.stride.Is(0)) continue;
    if (s.stride.IsConst() && s.stride.value() < 0) {
      form->AddOffset(s.axis, s.stride * (s.extent - 1));
      s.stride = Num(0) - s.stride;
    }
    out.push_back(s);
  }
  return out;
}

bool Static(const std::vector<Step>& steps) {
  return std::all_of(steps.begin(), steps.end(),
                     [](const Step& s) { return s.extent.IsConst() && s.stride.IsConst(); });
}

std::vector<Step> NormalOnAxis(std::vector<Step> steps) {
  if (!Static(steps) || SortAndMerge(&steps)) return steps;
  Num count = 1;
  for (const Step& s : steps) count = count * s.extent;
  if (count.value() > kMaxSums) return steps;
  auto normal = StepsOfSums(ReplicaSums(steps), steps[0].axis);
  return normal ? *normal : steps;
}

}  // namespace

std::vector<int64_t> ReplicaSums(const std::vector<Step>& steps) {
  std::vector<int64_t> out{0};
  for (const Step& s : steps) {
    size_t n = out.size();
    for (int64_t k = 1; k < s.extent.value(); ++k) {
      for (size_t i = 0; i < n; ++i) {
        out.push_back(CheckedAdd(out[i], CheckedMul(k, s.stride.value())));
      }
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
  }
  return out;
}

std::optional<std::vector<Step>> StepsOfSums(const std::vector<int64_t>& sums, AxisId axis) {
  if (auto steps = SeparatedSteps(sums, axis)) return steps;
  return Search(sums, axis).Run();
}

std::vector<Step> NormalReplica(const std::vector<Step>& replica, Form* form, Prover& prover) {
  std::vector<Step> rest = Positive(replica, form), out;
  std::stable_sort(rest.begin(), rest.end(), [](const Step& a, const Step& b) {
    return a.axis != b.axis && GetAxis(a.axis).name < GetAxis(b.axis).name;
  });
  for (size_t i = 0; i < rest.size();) {
    size_t end = i;
    while (end < rest.size() && rest[end].axis == rest[i].axis) ++end;
    std::vector<Step> normal = NormalOnAxis({rest.begin() + i, rest.begin() + end});
    out.insert(out.end(), normal.begin(), normal.end());
    i = end;
  }
  return out;
}

}  // namespace layout
}  // namespace tirx
