#include "structure.h"

#include "facts.h"

namespace tirx {
namespace layout {
namespace prove {
namespace {

bool Proven(const Fact& f) { return f.status == Status::kProven; }

void Bijection(const TransformMapNode& map, Evidence* e) {
  const std::string argument = BijectionArgument(map);
  if (argument.empty()) return;
  LayoutProof& proof = e->proof();
  for (Fact* f : {&proof.total, &proof.bounds, &proof.injective, &proof.surjective}) {
    e->Prove(f, argument);
  }
}

/*! outer(inner(x)). Counterexamples of a part are tried on the whole, which decides. */
void Composition(const ComposeMapNode& map, Evidence* e) {
  LayoutProof inner = Prove(map.inner, 0), outer = Prove(map.outer, 0), &proof = e->proof();
  if (Proven(inner.total) && Proven(inner.bounds) && Proven(outer.total)) {
    e->Prove(&proof.total, "both maps of a composition are total");
  }
  if (Proven(outer.bounds)) e->Prove(&proof.bounds, "outer map: " + outer.bounds.argument);
  if (Proven(inner.injective) && Proven(outer.injective)) {
    e->Prove(&proof.injective, "composition of injections: " + inner.injective.argument + "; " +
                                   outer.injective.argument);
  }
  bool meets = map.inner->codomain.Extents() == map.outer->domain.Extents();
  if (meets && Proven(inner.surjective) && Proven(outer.surjective)) {
    e->Prove(&proof.surjective, "composition of surjections: " + inner.surjective.argument + "; " +
                                    outer.surjective.argument);
  }
  for (const Point& x : inner.total.witness) e->TryPoint(x, inner.total.argument);
  const auto& pair = inner.injective.witness;
  if (pair.size() == 2) e->TryCollision(pair[0], pair[1], inner.injective.argument);
  for (const Point& y : outer.surjective.witness) e->Missed(y, outer.surjective.argument);
}

/*! Adding a constant keeps points apart. */
void Translation(const TranslateMapNode& map, Evidence* e) {
  LayoutProof inner = Prove(map.map, 0);
  if (Proven(inner.injective)) e->Prove(&e->proof().injective, inner.injective.argument);
  const auto& pair = inner.injective.witness;
  if (pair.size() == 2) e->TryCollision(pair[0], pair[1], inner.injective.argument);
}

/*! Every value is a value of some piece. */
void Pieces(const PiecewiseMapNode& map, Evidence* e) {
  for (const LayoutMap& piece : map.pieces) {
    if (!Proven(Prove(piece, 0).bounds)) return;
  }
  e->Prove(&e->proof().bounds, "bounds of every piece");
}

void Factors(const ProductMapNode& map, Evidence* e) {
  std::vector<Part> parts;
  std::vector<LayoutProof> proofs;
  int32_t axis = 0, output = 0;
  for (const LayoutMap& f : map.maps) {
    parts.push_back({});
    for (size_t i = 0; i < f->domain.rank(); ++i) parts.back().axes.push_back(axis++);
    for (size_t i = 0; i < f->codomain.rank(); ++i) parts.back().outputs.push_back(output++);
    proofs.push_back(Prove(f, 0));
  }
  Fill(JoinParts(e->dag(), parts, proofs), &e->proof());
}

}  // namespace

void FromStructure(const LayoutMap& map, LayoutProof* proof) {
  Evidence e(ToIndexDag(map), *proof);
  if (auto* m = map.as<TransformMapNode>()) Bijection(*m, &e);
  if (auto* m = map.as<ComposeMapNode>()) Composition(*m, &e);
  if (auto* m = map.as<TranslateMapNode>()) Translation(*m, &e);
  if (auto* m = map.as<PiecewiseMapNode>()) Pieces(*m, &e);
  if (auto* m = map.as<ProductMapNode>()) Factors(*m, &e);
  CountPlaces(&e);
  *proof = e.proof();
}

}  // namespace prove
}  // namespace layout
}  // namespace tirx
