/*!
 * What each form of the grammar computes, as operations of the index DAG.
 */
#include <mutex>
#include <numeric>

#include "detail.h"

namespace tirx {
namespace layout {
namespace {

using Nodes = std::vector<int32_t>;

Nodes Lower(const LayoutMap& map, DagBuilder* to, const Nodes& at);

/*! Digit k of a coordinate over `extents`, the first one fastest. The last digit needs no mod. */
int32_t Digit(DagBuilder* to, int32_t coord, const Ints& extents, size_t k) {
  int64_t below = 1;
  for (size_t i = 0; i < k; ++i) below *= extents[i];
  int32_t digit = to->Div(coord, below);
  return k + 1 == extents.size() ? digit : to->Mod(digit, extents[k]);
}

Nodes LowerMixedRadix(const MixedRadixMapNode& m, DagBuilder* to, const Nodes& at) {
  Nodes out;
  for (int64_t o : m.offset) out.push_back(to->Const(o));
  for (size_t i = 0; i < m.shape.size(); ++i) {
    for (size_t k = 0; k < m.shape[i].size(); ++k) {
      for (size_t j = 0; j < out.size(); ++j) {
        int64_t stride = m.stride[i][k][j];
        if (stride == 0 || m.shape[i][k] == 1) continue;
        out[j] = to->Add(out[j], to->Mul(Digit(to, at[i], m.shape[i], k), stride));
      }
    }
  }
  return out;
}

Nodes LowerBitLinear(const BitLinearMapNode& m, DagBuilder* to, const Nodes& at) {
  Nodes out;
  for (int64_t c : m.translation) out.push_back(to->Const(c));
  for (size_t i = 0; i < m.basis.size(); ++i) {
    for (size_t b = 0; b < m.basis[i].size(); ++b) {
      int32_t bit = to->And(to->Binary(IndexOp::kShr, at[i], to->Const(b)), 1);
      for (size_t j = 0; j < out.size(); ++j) {
        int64_t image = m.basis[i][b][j];
        if (image != 0) out[j] = to->Xor(out[j], to->Mul(bit, image));
      }
    }
  }
  return out;
}

/*! An outer map sees values inside its domain only; one that reads no coordinate still needs it. */
Nodes LowerCompose(const ComposeMapNode& m, DagBuilder* to, const Nodes& at) {
  Nodes mid = Lower(m.inner, to, at);
  for (size_t i = 0; i < mid.size(); ++i) mid[i] = to->Inside(mid[i], m.outer->domain->extents[i]);
  Nodes out = Lower(m.outer, to, mid);
  for (int32_t v : mid) out[0] = to->After(out[0], v);
  return out;
}

Nodes LowerProduct(const ProductMapNode& m, DagBuilder* to, const Nodes& at) {
  Nodes out;
  size_t axis = 0;
  for (const LayoutMap& f : m.maps) {
    Nodes part(at.begin() + axis, at.begin() + axis + f->domain.rank());
    for (int32_t v : Lower(f, to, part)) out.push_back(v);
    axis += f->domain.rank();
  }
  return out;
}

Nodes LowerTransform(const TransformMapNode& m, DagBuilder* to, const Nodes& at) {
  const TransformEntry& entry = FindTransform(m.name);
  const auto& formula = m.inverted ? entry.inverse : entry.forward;
  if (formula) return formula(to, ToVector(m.params), at);
  // A copy: a DAG that held its own map would never be freed.
  auto copy = Transform(m.name, m.params, m.domain, m.codomain, m.inverted);
  int32_t call = to->AddCall(copy, at);
  Nodes out;
  for (size_t j = 0; j < m.codomain.rank(); ++j) out.push_back(to->CallOutput(call, j));
  return out;
}

/*! The chosen piece, plus a zero that exists only where exactly one predicate holds. */
Nodes LowerPiecewise(const PiecewiseMapNode& m, DagBuilder* to, const Nodes& at) {
  Nodes holds;
  int32_t count = to->Const(0);
  for (const LayoutMap& p : m.predicates) {
    holds.push_back(Lower(p, to, at)[0]);
    count = to->Add(count, to->Inside(holds.back(), 2));
  }
  int32_t one = to->Inside(to->Binary(IndexOp::kSub, count, to->Const(1)), 1);
  Nodes out = Lower(m.pieces[m.pieces.size() - 1], to, at);
  for (size_t k = m.pieces.size() - 1; k-- > 0;) {
    Nodes piece = Lower(m.pieces[k], to, at);
    for (size_t j = 0; j < out.size(); ++j) out[j] = to->Select(holds[k], piece[j], out[j]);
  }
  // Only the last piece would be evaluated where none holds: the check comes first in the chain.
  for (int32_t& v : out) v = to->After(v, one);
  return out;
}

Nodes LowerIndexExpr(const IndexExprMapNode& m, DagBuilder* to, const Nodes& at) {
  Nodes nodes, out;
  for (size_t i = 0; i < m.code.size(); i += 4) {
    IndexOp op = static_cast<IndexOp>(static_cast<int32_t>(m.code[i]));
    if (op == IndexOp::kConst) {
      nodes.push_back(to->Const(m.code[i + 3]));
    } else if (op == IndexOp::kCoord) {
      nodes.push_back(at[m.code[i + 3]]);
    } else {
      nodes.push_back(to->Binary(op, nodes[m.code[i + 1]], nodes[m.code[i + 2]]));
    }
  }
  for (int64_t o : m.outputs) out.push_back(nodes[o]);
  return out;
}

Nodes LowerFiniteTable(const FiniteTableMapNode& m, DagBuilder* to, const Nodes& at) {
  int32_t row = to->Const(0);
  for (size_t i = 0; i < at.size(); ++i) row = to->Add(to->Mul(row, m.domain->extents[i]), at[i]);
  int32_t table = to->AddTable({static_cast<int64_t>(m.codomain.rank()), ToVector(m.values)});
  Nodes out;
  for (size_t j = 0; j < m.codomain.rank(); ++j) out.push_back(to->Table(table, row, j));
  return out;
}

/*! x -> unit steps: x splits into (element, unit), the address counts units, `to` of them make one.
 *  Construction proved that a new element's units are consecutive and aligned. */
Nodes LowerRecast(const RecastMapNode& m, DagBuilder* to, Nodes at) {
  int64_t g = std::gcd(m.from_bits, m.to_bits), split = m.from_bits / g, join = m.to_bits / g;
  int32_t unit = to->Mul(at[m.axis], join);
  at[m.axis] = to->Div(unit, split);
  int32_t address = Lower(m.map, to, at)[0];
  int32_t units = to->Add(to->Mul(address, split), to->Mod(unit, split));
  return {to->Div(units, join)};
}

Nodes Lower(const LayoutMap& map, DagBuilder* to, const Nodes& at) {
  if (map.as<IdentityMapNode>()) return at;
  if (auto* m = map.as<MixedRadixMapNode>()) return LowerMixedRadix(*m, to, at);
  if (auto* m = map.as<BitLinearMapNode>()) return LowerBitLinear(*m, to, at);
  if (auto* m = map.as<TranslateMapNode>()) {
    Nodes out = Lower(m->map, to, at);
    for (size_t j = 0; j < out.size(); ++j) out[j] = to->Add(out[j], to->Const(m->offset[j]));
    return out;
  }
  if (auto* m = map.as<ComposeMapNode>()) return LowerCompose(*m, to, at);
  if (auto* m = map.as<ProductMapNode>()) return LowerProduct(*m, to, at);
  Nodes picked;
  auto* project = map.as<ProjectMapNode>();
  auto* permute = map.as<PermuteMapNode>();
  if (project || permute) {
    for (int64_t a : project ? project->axes : permute->axes) picked.push_back(at[a]);
    return picked;
  }
  if (auto* m = map.as<RecastMapNode>()) return LowerRecast(*m, to, at);
  if (auto* m = map.as<TransformMapNode>()) return LowerTransform(*m, to, at);
  if (auto* m = map.as<PiecewiseMapNode>()) return LowerPiecewise(*m, to, at);
  if (auto* m = map.as<IndexExprMapNode>()) return LowerIndexExpr(*m, to, at);
  return LowerFiniteTable(*map.as<FiniteTableMapNode>(), to, at);
}

std::shared_ptr<const IndexDag> LowerAll(const LayoutMap& map) {
  std::vector<int64_t> extents = map->domain.Extents();
  DagBuilder builder(extents);
  Nodes at;
  for (size_t i = 0; i < extents.size(); ++i) at.push_back(builder.Coord(i));
  Nodes outputs = Lower(map, &builder, at);
  auto dag = std::make_shared<IndexDag>(
      std::move(builder).Finish(std::move(outputs), map->codomain.Extents()));
  const auto& names = map->domain->names;
  for (size_t i = 0; i < names.size(); ++i) {
    if (!names[i].empty()) dag->coord_names[i] = names[i];
  }
  return dag;
}

}  // namespace

const IndexDag& ToIndexDag(const LayoutMap& map) {
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  if (!map->lowered) map->lowered = LowerAll(map);
  return *map->lowered;
}

}  // namespace layout
}  // namespace tirx
