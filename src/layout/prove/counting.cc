// Arguments that count points: the pigeonhole principle and equal cardinalities.
#include <algorithm>
#include <map>

#include "facts.h"

namespace tirx {
namespace layout {
namespace prove {
namespace {

/*! How many values the ranges of the outputs allow. */
Count ValuesAllowed(const Analysis& a, const IndexDag& dag) {
  Count out({});
  for (int32_t node : dag.outputs) {
    Interval r = a.nodes[node].range;
    unsigned __int128 width = static_cast<unsigned __int128>(r.hi - r.lo) + 1;
    out *= width >> 64 ? ~uint64_t{0} : static_cast<uint64_t>(width);
    if (width >> 64) out *= 2;
  }
  return out;
}

std::string Sizes(const Count& points, const char* than, const Count& values) {
  return points.Text() + " points, " + than + " " + values.Text() + " values";
}

}  // namespace

void CountValues(const Analysis& a, Evidence* e) {
  if (e->proof().total.status != Status::kProven) return;
  Count points(e->dag().domain), values = ValuesAllowed(a, e->dag());
  if (values < points) e->Disprove(&e->proof().injective, Sizes(points, "at most", values));
}

void SeekByPigeonhole(const Analysis& a, int64_t budget, Evidence* e) {
  const Fact& fact = e->proof().injective;
  bool counted = fact.status == Status::kDisproven && fact.witness.empty();
  int64_t limit = std::min(budget, kFiniteBudget);
  if (!counted || !(ValuesAllowed(a, e->dag()) < Count({limit}))) return;
  std::map<Point, Point> first;
  ForEachPoint(e->dag().domain, [&](const Point& p) {
    auto value = e->ValueAt(p);
    if (!value) return true;
    auto [at, fresh] = first.emplace(*value, p);
    return fresh || !e->TryCollision(at->second, p, fact.argument);
  });
}

void CountPlaces(Evidence* e) {
  LayoutProof& proof = e->proof();
  auto proven = [](const Fact& f) { return f.status == Status::kProven; };
  Count points(e->dag().domain), places(e->codomain());
  if (points < places) e->Disprove(&proof.surjective, Sizes(points, "needed", places));
  if (!proven(proof.total) || !proven(proof.bounds)) return;
  if (places < points) e->Disprove(&proof.injective, Sizes(points, "at most", places));
  if (!(points == places)) return;
  const std::string equal = ", and as many points as values";
  if (proven(proof.injective)) e->Prove(&proof.surjective, "injective" + equal);
  if (proven(proof.surjective)) e->Prove(&proof.injective, "surjective" + equal);
  if (proof.surjective.status == Status::kDisproven) {
    e->Disprove(&proof.injective, "not surjective" + equal);
  }
  if (proof.injective.status == Status::kDisproven) {
    e->Disprove(&proof.surjective, "not injective" + equal);
  }
}

}  // namespace prove
}  // namespace layout
}  // namespace tirx
