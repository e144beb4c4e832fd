/*!
 * What can be said about a layout map on its whole domain, without evaluating it everywhere.
 *
 * Four facts, each with three values, and UNKNOWN is never success:
 *   total       every point of the domain has a value: no subexpression overflows 64 bits, divides
 *               by zero, shifts by an amount outside 0..63 or leaves the domain of an inner map;
 *   bounds      every value lies in the declared codomain;
 *   injective   no two points that have values share one;
 *   surjective  every point of the codomain is the value of some point.
 * For a map that is not total, the last three speak of the points that have a value.
 *
 * Arguments (source document 001, "What complete means"): exact ranges and digit recovery of
 * affine forms, column rank modulo 2^31-1, rank and affine images over GF(2), cardinality, facts of
 * the parts of compositions and products, registered bijections; and, within a budget of points,
 * exhaustive evaluation. A disproof from anything but counting shows points that were evaluated.
 */
#ifndef TIRX_LAYOUT_PROVE_H_
#define TIRX_LAYOUT_PROVE_H_
#include <tirx/layout/map.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tirx {
namespace layout {

enum class Status : uint8_t { kUnknown, kProven, kDisproven };

struct Fact {
  Status status{Status::kUnknown};
  /*! Why; empty when unknown. */
  std::string argument;
  /*! When disproven. total, bounds: one point of the domain. injective: two points with one value.
   *  surjective: a point of the codomain that is not reached. Empty where counting alone decided
   *  (fewer points than values, or more) and no instance was at hand. */
  std::vector<std::vector<int64_t>> witness;
};

struct LayoutProof {
  Fact total, bounds, injective, surjective;
};

/*! The four facts of `map`. What the analyses leave open is enumerated when the points (of an
 *  independent part of the map) do not exceed `budget` and kFiniteBudget; 0 never enumerates. */
LayoutProof Prove(const LayoutMap& map, int64_t budget = kFiniteBudget);
/*! The same for a lowered map, knowing nothing of the map's grammar. */
LayoutProof ProveDag(const IndexDag& dag, int64_t budget);

/*! The oracle: evaluates every point. All facts stay unknown when the domain has more than
 *  min(budget, kFiniteBudget) points. Shares nothing with Prove but the evaluation of a point. */
LayoutProof AnalyzeFinite(const LayoutMap& map, int64_t budget = kFiniteBudget);
LayoutProof AnalyzeFiniteDag(const IndexDag& dag, int64_t budget);

}  // namespace layout
}  // namespace tirx
#endif  // TIRX_LAYOUT_PROVE_H_
