/*!
 * The replica set is a sum of one set per axis; each is brought to the form that sumset.h chooses for
 * it. When each stride exceeds everything that the smaller ones reach, that is the merged list itself,
 * and the set is not built. Almost every real layout ends there.
 */
#include "replica.h"

#include <tirx/support/diag.h>

#include <algorithm>

namespace tirx {
namespace layout {
namespace {

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

/*! False when the steps overlap and are left as given, or the sums are too many to search. */
bool NormalizeAxis(std::vector<Step>* steps, Overlaps overlaps) {
  if (!Static(*steps) || SortAndMerge(steps)) return true;
  if (overlaps == Overlaps::kAsGiven) return false;
  auto sums = ReplicaSums(*steps);
  if (!sums) return false;
  Decomposition found = StepsOfSums(*sums, steps->front().axis, steps->size());
  if (found.steps) *steps = *found.steps;
  return found.steps.has_value();
}

}  // namespace

std::vector<Step> NormalReplica(const std::vector<Step>& replica, Form* form, Prover& prover,
                                std::vector<Step>* excess, Overlaps overlaps) {
  std::vector<Step> rest = Positive(replica, form), out;
  std::stable_sort(rest.begin(), rest.end(), [](const Step& a, const Step& b) {
    return a.axis != b.axis && GetAxis(a.axis).name < GetAxis(b.axis).name;
  });
  for (size_t i = 0; i < rest.size();) {
    size_t end = i;
    while (end < rest.size() && rest[end].axis == rest[i].axis) ++end;
    std::vector<Step> axis(rest.begin() + i, rest.begin() + end);
    if (!NormalizeAxis(&axis, overlaps) && excess) *excess = axis;
    out.insert(out.end(), axis.begin(), axis.end());
    i = end;
  }
  return out;
}

void CheckNormal(const std::vector<Step>& excess) {
  if (excess.empty()) return;
  Diag("layout", "replica-overlap", {})
      .Message("the replicas overlap in too many ways to choose a normal form")
      .Found("R[" + Text(excess) + "]")
      .Required(
          "strides that exceed the reach of all smaller ones, or at most 65,536 places in few "
          "steps")
      .Hint("write the set of replicas with fewer or separated steps")
      .Throw();
}

}  // namespace layout
}  // namespace tirx
