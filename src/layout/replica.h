/*!
 * Normal form of the replica set.
 */
#ifndef TIRX_LAYOUT_REPLICA_H_
#define TIRX_LAYOUT_REPLICA_H_
#include "form.h"

namespace tirx {
namespace layout {

/*! Replica iters with the same set of sums, which depends only on that set; the lowest value of
 * iters with negative strides goes to `form`'s offset. */
std::vector<Step> NormalReplica(const std::vector<Step>& replica, Form* form, Prover& prover);

/*! Sorted distinct sums of the steps of one axis. */
std::vector<int64_t> ReplicaSums(const std::vector<Step>& steps);
/*! Steps on `axis` whose sums are exactly `sums` (sorted, starting at 0), or nothing. */
std::optional<std::vector<Step>> StepsOfSums(const std::vector<int64_t>& sums, AxisId axis);

/*! Canonical form of a whole layout (canonical.cc). */
Form CanonicalForm(const Form& f, Prover& prover);

}  // namespace layout
}  // namespace tirx
#endif  // TIRX_LAYOUT_REPLICA_H_
