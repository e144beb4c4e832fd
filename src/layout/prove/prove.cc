// The order of arguments: independent parts, affine forms, GF(2) forms, counting, suspects, and at
// the end enumeration within the budget. Each step only fills in what is still unknown.
#include <algorithm>

#include "facts.h"
#include "structure.h"

namespace tirx {
namespace layout {
namespace {

using prove::Analysis;
using prove::Evidence;

void ProveTotal(const Analysis& a, Evidence* e) {
  bool safe = std::all_of(e->dag().outputs.begin(), e->dag().outputs.end(),
                          [&](int32_t node) { return a.nodes[node].safe; });
  if (safe) e->Prove(&e->proof().total, "every subexpression has a proven range");
}

void ProveBounds(const Analysis& a, Evidence* e) {
  for (size_t j = 0; j < e->dag().outputs.size(); ++j) {
    const prove::NodeFacts& f = a.nodes[e->dag().outputs[j]];
    if (!f.safe || !f.range.Within(0, e->codomain()[j] - 1)) return;
  }
  e->Prove(&e->proof().bounds, "exact ranges of the outputs");
}

/*! Extremes of affine outputs are attained: outside the codomain they are counterexamples. */
void DisproveBounds(const Analysis& a, const prove::Rows& rows, Evidence* e) {
  for (const auto& [output, form] : rows) {
    prove::Point low, high;
    if (a.box.Min(*form, &low) < 0) e->TryPoint(low, "minimum of an affine output");
    if (a.box.Max(*form, &high) >= e->codomain()[output]) {
      e->TryPoint(high, "maximum of an affine output");
    }
  }
}

/*! A total output whose range stays away from an end of its extent misses that end. */
void MissedEnds(const Analysis& a, Evidence* e) {
  for (size_t j = 0; j < e->dag().outputs.size(); ++j) {
    const prove::NodeFacts& f = a.nodes[e->dag().outputs[j]];
    if (!f.safe) continue;
    prove::Point y(e->codomain().size(), 0);
    if (f.range.hi < e->codomain()[j] - 1) y[j] = e->codomain()[j] - 1;
    if (y[j] > 0 || f.range.lo > 0) e->Missed(y, "outside the range of an output");
  }
}

void ProveInjective(const prove::Recovery& recovery, Evidence* e) {
  if (!recovery.Complete()) return;
  const char* how = recovery.by_residue ? "mixed-radix digits recovered by dominance and residues"
                                        : "mixed-radix digits recovered by dominance";
  e->Prove(&e->proof().injective, recovery.by_rank ? "full column rank modulo 2^31-1" : how);
}

/*! Points at which something could go wrong, the origin and the unit-bit points among them. */
void TrySuspects(const Analysis& a, Evidence* e) {
  const auto& domain = e->dag().domain;
  prove::Point p(domain.size(), 0);
  const std::string argument = "evaluated";
  auto open = [&] {
    const LayoutProof& proof = e->proof();
    return proof.total.status == Status::kUnknown || proof.bounds.status == Status::kUnknown;
  };
  if (!open()) return;
  e->TryPoint(p, argument);
  for (size_t i = 0; i < a.suspects.size() && open(); ++i) e->TryPoint(a.suspects[i], argument);
  for (size_t axis = 0; axis < domain.size() && open(); ++axis) {
    for (int b = 0; b < prove::BitsOf(domain[axis]); ++b) {
      p[axis] = int64_t{1} << b;
      e->TryPoint(p, argument);
    }
    p[axis] = domain[axis] - 1;
    e->TryPoint(p, argument);
    p[axis] = 0;
  }
}

void AffineFacts(const Analysis& a, Evidence* e, prove::Recovery* recovery) {
  prove::Rows rows = prove::AffineRows(e->dag(), a);
  DisproveBounds(a, rows, e);
  *recovery = prove::RecoverDigits(a.box, rows);
  ProveInjective(*recovery, e);
  prove::CoverCodomain(a.box, rows, e);
  if (!recovery->Complete()) prove::SeekCollision(a.box, rows, *recovery, e);
}

LayoutProof ProvePart(const IndexDag& dag, int64_t budget) {
  prove::Result result = prove::ProveOnePart(dag);
  if (prove::Decided(result.proof)) return result.proof;
  Evidence e(dag, std::move(result.proof));
  prove::ProveByCases(result.analysis, &e);
  if (budget > 0 && !prove::Decided(e.proof())) {
    prove::Fill(AnalyzeFiniteDag(dag, budget), &e.proof());
    prove::SeekByPigeonhole(result.analysis, budget, &e);
  }
  return e.proof();
}

}  // namespace

prove::Result prove::ProveOnePart(const IndexDag& dag) {
  Evidence e(dag);
  Analysis a = Analyze(dag);
  ProveTotal(a, &e);
  ProveBounds(a, &e);
  MissedEnds(a, &e);
  Recovery recovery;
  AffineFacts(a, &e, &recovery);
  BitBounds(a, &e);
  BitInjectivity(a, recovery, &e);
  TrySuspects(a, &e);
  CountPlaces(&e);
  CountValues(a, &e);
  if (Decided(e.proof())) return {e.proof(), std::move(a)};
  BitSurjectivity(a, &e);
  CountPlaces(&e);
  const Fact& surjective = e.proof().surjective;
  if (surjective.status == Status::kDisproven && surjective.witness.empty()) {
    SeekUndecodable(a.box, AffineRows(dag, a), recovery, &e);
  }
  return {e.proof(), std::move(a)};
}

LayoutProof ProveDag(const IndexDag& dag, int64_t budget) {
  std::vector<prove::Part> parts = prove::SplitParts(dag);
  if (parts.empty()) return ProvePart(dag, budget);
  std::vector<LayoutProof> proofs;
  for (const prove::Part& part : parts) proofs.push_back(ProvePart(part.dag, budget));
  LayoutProof whole = prove::JoinParts(dag, parts, proofs);
  if (!prove::Decided(whole) && budget > 0) prove::Fill(AnalyzeFiniteDag(dag, budget), &whole);
  return whole;
}

LayoutProof Prove(const LayoutMap& map, int64_t budget) {
  LayoutProof proof = ProveDag(ToIndexDag(map), 0);
  if (!prove::Decided(proof)) prove::FromStructure(map, &proof);
  if (!prove::Decided(proof) && budget > 0) prove::Fill(ProveDag(ToIndexDag(map), budget), &proof);
  return proof;
}

}  // namespace layout
}  // namespace tirx
