/*!
 * Strongest forms.
 */
#include <tvm/ffi/extra/structural_equal.h>

#include "../prove/node_facts.h"
#include "detail.h"
#include "digits.h"
#include "fit.h"
#include "recover.h"

namespace tirx {
namespace layout {
namespace {

using Maybe = std::optional<LayoutMap>;

/*! Maps of at most this many points are listed when no rule finds a form. */
constexpr int64_t kFitPoints = 4096;

LayoutMap Radix(const MixedRadixForm& form, const LayoutMap& map) {
  IntRows shape;
  ffi::Array<IntRows> stride;
  for (size_t i = 0; i < form.digits.size(); ++i) {
    shape.push_back(ToInts(form.digits[i]));
    IntRows rows;
    for (const auto& vector : form.strides[i]) rows.push_back(ToInts(vector));
    stride.push_back(rows);
  }
  return MixedRadix(shape, stride, ToInts(form.offset), map->codomain, map->domain->names);
}

/*! Whether every output is its coordinate, onto the same box. */
bool IsIdentity(const MixedRadixForm& form, const LayoutMap& map) {
  if (map->domain.Extents() != map->codomain.Extents()) return false;
  for (size_t i = 0; i < form.digits.size(); ++i) {
    if (form.offset[i] != 0 || form.digits[i].size() != 1) return false;
    for (size_t j = 0; j < form.digits.size(); ++j) {
      if (form.digits[i][0] > 1 && form.strides[i][0][j] != (i == j)) return false;
    }
  }
  return true;
}

LayoutMap FromForm(const MixedRadixForm& form, const LayoutMap& map) {
  bool same_names = ffi::StructuralEqual()(map->domain->names, map->codomain->names);
  return IsIdentity(form, map) && same_names ? Identity(map->domain) : Radix(form, map);
}

LayoutMap FromBits(const BitBasis& bits, const LayoutMap& map) {
  ffi::Array<IntRows> basis;
  for (const auto& axis : bits.basis) {
    IntRows rows;
    for (const auto& column : axis) rows.push_back(ToInts(column));
    basis.push_back(rows);
  }
  return BitLinear(map->domain, map->codomain, basis, ToInts(bits.translation));
}

/*! All values of a small map; nothing when it is large or has no value somewhere. */
std::optional<std::vector<int64_t>> Listed(const LayoutMap& map) {
  auto n = map->domain.Size();
  if (!n || *n > kFitPoints) return std::nullopt;
  const IndexDag& dag = ToIndexDag(map);
  PointEvaluator run(dag);
  size_t rank = dag.outputs.size(), row = 0;
  std::vector<int64_t> values(*n * rank);
  bool total = ForEachPoint(dag.domain, [&](const std::vector<int64_t>& x) {
    return run(x.data(), &values[rank * row++]);
  });
  return total ? std::optional(values) : std::nullopt;
}

/*! Identity, MixedRadix or BitLinear, when the map is one of them: by rules, then by its values. */
Maybe Flat(const LayoutMap& map) {
  const IndexDag& dag = ToIndexDag(map);
  if (auto form = ToMixedRadix(dag)) return FromForm(*form, map);
  auto values = Listed(map);
  auto form = values ? FitMixedRadix(dag.domain, dag.outputs.size(), *values) : std::nullopt;
  if (form) return FromForm(*form, map);
  if (auto bits = BitFormOf(map)) {
    LayoutMap linear = FromBits(*bits, map);
    auto digits = ToMixedRadix(ToIndexDag(linear));  // columns that only move bits
    return digits ? FromForm(*digits, map) : linear;
  }
  auto fit = values ? FitBitLinear(dag.domain, dag.outputs.size(), *values) : std::nullopt;
  return fit ? Maybe(FromBits(*fit, map)) : std::nullopt;
}

/*! Whether b undoes a by registration; the XOR swizzle undoes itself. */
bool Undoes(const LayoutMap& b, const LayoutMap& a) {
  auto *x = a.as<TransformMapNode>(), *y = b.as<TransformMapNode>();
  bool same = x && y && x->name == y->name && ToVector(x->params) == ToVector(y->params) &&
              x->domain.Extents() == y->codomain.Extents();
  return same && (x->inverted != y->inverted || x->name == "xor_swizzle");
}

/*! Factors that flatten together are one; transforms stay themselves, or go in pairs. */
LayoutMap Chain(const LayoutMap& map) {
  std::vector<LayoutMap> factors, kept;
  Factors(map, &factors);
  for (const LayoutMap& f : factors) {
    if (!kept.empty() && Undoes(f, kept.back())) {
      kept.back() = Identity(kept.back()->domain);
    } else {
      kept.push_back(f.as<TransformMapNode>() ? f : Normalize(f));
    }
    while (kept.size() > 1) {
      Maybe both = Flat(Compose(kept[kept.size() - 1], kept[kept.size() - 2]));
      if (!both) break;
      kept.resize(kept.size() - 2, kept[0]);
      kept.push_back(*both);
    }
  }
  LayoutMap out = kept[0];
  for (size_t k = 1; k < kept.size(); ++k) out = Compose(kept[k], out);
  return out;
}

LayoutMap Factorwise(const ProductMapNode& m) {
  ffi::Array<LayoutMap> maps;
  for (const LayoutMap& f : m.maps) {
    LayoutMap n = Normalize(f);
    if (auto* p = n.as<ProductMapNode>()) {
      for (const LayoutMap& inner : p->maps) maps.push_back(inner);
    } else {
      maps.push_back(n);
    }
  }
  return Product(maps);
}

/*! The constant that a predicate is proved to be. */
std::optional<int64_t> Constant(const LayoutMap& predicate) {
  auto form = ToMixedRadix(ToIndexDag(predicate));
  if (!form) return std::nullopt;
  for (const auto& axis : form->strides) {
    for (const auto& stride : axis) {
      if (stride[0] != 0) return std::nullopt;
    }
  }
  return form->offset[0];
}

/*! Pieces that hold nowhere go; one that holds everywhere, alone, is the map. */
LayoutMap Pieces(const LayoutMap& map) {
  auto* m = map.as<PiecewiseMapNode>();
  ffi::Array<LayoutMap> predicates, pieces;
  bool everywhere = false;
  for (size_t k = 0; k < m->pieces.size(); ++k) {
    auto constant = Constant(m->predicates[k]);
    if (constant && *constant == 0) continue;
    everywhere = everywhere || (constant && *constant == 1);
    predicates.push_back(m->predicates[k]);
    pieces.push_back(Normalize(m->pieces[k]));
  }
  if (pieces.empty()) return map;
  if (everywhere && pieces.size() == 1) return WithCodomain(pieces[0], map->codomain);
  return WithCodomain(Piecewise(predicates, pieces), map->codomain);
}

/*! The DAG itself, when lowering needed none of its guards. */
LayoutMap Expression(const LayoutMap& map) {
  const IndexDag& dag = ToIndexDag(map);
  for (const IndexNode& n : dag.nodes) {
    if (n.op > IndexOp::kEqual) return map;
  }
  return FromDag(dag, map->domain, map->codomain);
}

}  // namespace

void Factors(const LayoutMap& map, std::vector<LayoutMap>* out) {
  auto* c = map.as<ComposeMapNode>();
  if (!c) return out->push_back(map);
  Factors(c->inner, out);
  Factors(c->outer, out);
}

std::optional<BitBasis> BitFormOf(const LayoutMap& map) {
  const IndexDag& dag = ToIndexDag(map);
  prove::Analysis facts = prove::Analyze(dag);
  size_t rank = dag.outputs.size();
  std::vector<std::vector<int64_t>> columns;
  BitBasis out;
  for (int64_t extent : dag.domain) {
    out.basis.emplace_back(BitsFor(extent), std::vector<int64_t>(rank, 0));
  }
  for (size_t j = 0; j < rank; ++j) {
    const auto& form = facts.nodes[dag.outputs[j]].bits;
    if (!form || form->Support() >> 63) return std::nullopt;
    out.translation.push_back(static_cast<int64_t>(form->constant));
    for (const prove::BitTerm& t : form->terms) {
      size_t axis = 0, bit = t.bit;
      while (bit >= out.basis[axis].size()) bit -= out.basis[axis++].size();
      out.basis[axis][bit][j] = static_cast<int64_t>(t.column);
    }
  }
  return out;
}

LayoutMap MixedRadixOfIdentity(const LayoutMap& map) {
  return Radix(*ToMixedRadix(ToIndexDag(map)), map);
}

bool SameForm(const LayoutMap& a, const LayoutMap& b) {
  auto x = ToMixedRadix(ToIndexDag(a)), y = ToMixedRadix(ToIndexDag(b));
  return x && y && x->digits == y->digits && x->strides == y->strides && x->offset == y->offset;
}

LayoutMap Normalize(const LayoutMap& map) {
  if (map.as<IdentityMapNode>()) return map;
  if (map.as<RecastMapNode>()) {
    if (Maybe form = RecastForm(map)) return Normalize(*form);
  }
  if (Maybe flat = Flat(map)) return *flat;
  bool final =
      map.as<BitLinearMapNode>() || map.as<TransformMapNode>() || map.as<FiniteTableMapNode>();
  if (final) return map;
  if (map.as<PiecewiseMapNode>()) return Pieces(map);
  if (map.as<ComposeMapNode>()) return Chain(map);
  if (auto* m = map.as<ProductMapNode>()) return Factorwise(*m);
  if (auto* t = map.as<TranslateMapNode>()) {
    LayoutMap inner = Normalize(t->map);
    bool moved = false;
    for (int64_t o : t->offset) moved = moved || o != 0;
    if (auto* c = inner.as<ComposeMapNode>(); c && !moved && c->outer.as<TransformMapNode>()) {
      return Translate(inner, t->offset, t->codomain);
    }
    return Expression(Translate(inner, t->offset, t->codomain));
  }
  return Expression(map);
}

}  // namespace layout
}  // namespace tirx
