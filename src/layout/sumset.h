/*!
 * Sets of sums of steps: what the replicas of one axis are.
 *
 * {0, s, .., (e-1)s} + {0, t, .., (f-1)t} + .. as a set: sums that coincide count once. Several lists
 * may give one set; StepsOfSums chooses one as a function of the set alone.
 */
#ifndef TIRX_LAYOUT_SUMSET_H_
#define TIRX_LAYOUT_SUMSET_H_
#include <optional>
#include <vector>

#include "form.h"

namespace tirx {
namespace layout {

/*! Sorted distinct sums of static steps; nothing when there are more than 65,536. */
std::optional<std::vector<int64_t>> ReplicaSums(const std::vector<Step>& steps);

struct Decomposition {
  std::optional<std::vector<Step>> steps;
  /*! False when the search gave up: then no list is known, and none is excluded. */
  bool decided{true};
};
/*!
 * The steps of `axis` whose sums are exactly `sums` (sorted, starting at 0):
 *
 *  1. the list in which each stride exceeds all smaller sums, when there is one;
 *  2. else the shortest list (of at most `most` steps), the first in order of (stride, extent).
 */
Decomposition StepsOfSums(const std::vector<int64_t>& sums, AxisId axis, size_t most = 8);
/*! The shortest list of steps with strides that are multiples of `unit` whose sums, added to `known`, are
 * exactly `whole` (both sorted, starting at 0). */
Decomposition StepsBetween(const std::vector<int64_t>& known, const std::vector<int64_t>& whole,
                           AxisId axis, int64_t unit, size_t most = 8);

}  // namespace layout
}  // namespace tirx
#endif  // TIRX_LAYOUT_SUMSET_H_
