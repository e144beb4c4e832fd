/*!
 * Normal form of the replica set.
 */
#ifndef TIRX_LAYOUT_REPLICA_H_
#define TIRX_LAYOUT_REPLICA_H_
#include "form.h"
#include "sumset.h"

namespace tirx {
namespace layout {

/*! How replicas whose sums overlap are written. */
enum class Overlaps {
  kNormal,   //!< in the form that depends on the set only; searched (sumset.h)
  kAsGiven,  //!< sorted and merged, which is cheap
};

/*! Replica iters with the same set of sums, sorted by axis; the lowest value of iters with negative
 * strides goes to `form`'s offset. Static iters depend only on the set, unless `excess` is set: to the
 * iters of an axis that overlap and were left as given, or have too many sums to search. */
std::vector<Step> NormalReplica(const std::vector<Step>& replica, Form* form, Prover& prover,
                                std::vector<Step>* excess = nullptr,
                                Overlaps overlaps = Overlaps::kNormal);

/*! Canonical form of a whole layout (canonical.cc); `excess` and `overlaps` as above. */
Form CanonicalForm(const Form& f, Prover& prover, std::vector<Step>* excess = nullptr,
                   Overlaps overlaps = Overlaps::kNormal);

/*! `layout` with its tile in canonical form and B as small as the tile's addresses admit. */
Layout ShortForm(const Layout& layout, Prover& prover, std::vector<Step>* excess,
                 Overlaps overlaps);

/*! Refuses to call a form normal when `excess` is not empty. */
void CheckNormal(const std::vector<Step>& excess);

}  // namespace layout
}  // namespace tirx
#endif  // TIRX_LAYOUT_REPLICA_H_
