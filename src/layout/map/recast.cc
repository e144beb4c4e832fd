/*!
 * Maps to memory seen in elements of another width.
 */
#include <numeric>

#include "detail.h"

namespace tirx {
namespace layout {
namespace {

Ints UnitVector(size_t rank, size_t at) {
  std::vector<int64_t> v(rank, 0);
  v[at] = 1;
  return ToInts(v);
}

/*! (.., x, ..) -> (.., x div split, .., x mod split): the unit becomes the last axis. */
LayoutMap UnitsApart(const std::vector<int64_t>& extents, int64_t split, size_t axis) {
  IntRows shape;
  ffi::Array<IntRows> stride;
  size_t rank = extents.size() + 1;
  std::vector<int64_t> reach = extents;
  reach.push_back(split);
  for (size_t i = 0; i < extents.size(); ++i) {
    shape.push_back(i == axis ? Ints{split, extents[i]} : Ints{extents[i]});
    IntRows rows;
    if (i == axis) rows.push_back(UnitVector(rank, rank - 1));
    rows.push_back(UnitVector(rank, i));
    stride.push_back(rows);
  }
  return MixedRadix(shape, stride, ToInts(std::vector<int64_t>(rank, 0)), IndexBox(reach));
}

/*! `map` with the fastest digit of `axis` counting the units that each element splits into. */
LayoutMap InUnits(const LayoutMap& map, int64_t split, int64_t axis) {
  int64_t reach = map->codomain->extents[0];
  LayoutMap both = Product({map, Identity(IndexBox(std::vector<int64_t>{split}))});
  LayoutMap join = MixedRadix({Ints{reach}, Ints{split}}, {{Ints{split}}, {Ints{1}}}, {0},
                              IndexBox(std::vector<int64_t>{CheckedMul(reach, split)}));
  return Compose(join, Compose(both, UnitsApart(map->domain.Extents(), split, axis)));
}

/*! Whether runs of `join` along `axis` are consecutive and aligned, by the strides alone. */
bool DigitsJoin(const MixedRadixMapNode& m, int64_t join, int64_t axis) {
  if (m.offset[0] % join != 0) return false;
  int64_t run = 1;
  for (size_t i = 0; i < m.shape.size(); ++i) {
    for (size_t k = 0; k < m.shape[i].size(); ++k) {
      int64_t extent = m.shape[i][k], stride = m.stride[i][k][0];
      if (extent == 1) continue;
      bool inner = static_cast<int64_t>(i) == axis && run % join != 0;
      if (!inner && stride % join != 0) return false;
      if (!inner) continue;
      if (stride != run || std::gcd(extent * run, join) != std::min(extent * run, join))
        return false;
      run *= extent;
    }
  }
  return run % join == 0;
}

/*! A map in units as a map in runs of `join`, once DigitsJoin holds: the digits that make up the run
 *  are divided out, everything else is a multiple of join. */
LayoutMap JoinDigits(const MixedRadixMapNode& m, int64_t join, int64_t axis,
                     const LayoutMap& like) {
  IntRows shape;
  ffi::Array<IntRows> stride;
  int64_t run = 1;
  for (size_t i = 0; i < m.shape.size(); ++i) {
    std::vector<int64_t> extents;
    IntRows rows;
    for (size_t k = 0; k < m.shape[i].size(); ++k) {
      int64_t extent = m.shape[i][k], step = m.stride[i][k][0];
      bool inner = static_cast<int64_t>(i) == axis && run < join && extent > 1;
      if (inner) {
        run *= extent;
        extent = std::max<int64_t>(1, run / join);
        step = join;
      }
      extents.push_back(extent);
      rows.push_back({step / join});
    }
    shape.push_back(ToInts(extents));
    stride.push_back(rows);
  }
  return MixedRadix(shape, stride, {m.offset[0] / join}, like->codomain, like->domain->names);
}

bool PointsJoin(const LayoutMap& units, int64_t join, int64_t axis) {
  std::vector<int64_t> values = Enumerate(units), extents = units->domain.Extents();
  int64_t step = 1;
  for (size_t i = axis + 1; i < extents.size(); ++i) step *= extents[i];
  for (int64_t x = 0; x < static_cast<int64_t>(values.size()); ++x) {
    int64_t j = x / step % extents[axis] % join, base = values[x - j * step];
    if (base % join != 0 || values[x] != base + j) return false;
  }
  return true;
}

void CheckJoin(const LayoutMap& units, int64_t join, int64_t axis) {
  bool whole = units->domain->extents[axis] % join == 0;
  LayoutMap form = Normalize(units);
  if (form.as<IdentityMapNode>()) form = MixedRadixOfIdentity(form);
  auto* digits = form.as<MixedRadixMapNode>();
  if (whole && digits && DigitsJoin(*digits, join, axis)) return;
  auto n = units->domain.Size();
  if (whole && n && *n <= kFiniteBudget && PointsJoin(units, join, axis)) return;
  Refuse("not-recastable", "the wider elements are not proved to be consecutive, aligned memory",
         "runs of " + std::to_string(join) + " units on axis " + std::to_string(axis),
         "runs that start at a multiple of " + std::to_string(join) + " and have stride 1");
}

}  // namespace

LayoutMap RecastMap(const LayoutMap& map, int64_t from_bits, int64_t to_bits, int64_t axis) {
  if (from_bits < 1 || to_bits < 1 || map->codomain.rank() != 1 || axis < 0 ||
      axis >= static_cast<int64_t>(map->domain.rank())) {
    Refuse("bad-map", "a recast needs a map to one memory axis, widths in bits and a domain axis",
           std::to_string(map->codomain.rank()) + " codomain axes, " + std::to_string(from_bits) +
               " to " + std::to_string(to_bits) + " bits, axis " + std::to_string(axis),
           "one codomain axis, positive widths, an axis of the domain");
  }
  int64_t g = std::gcd(from_bits, to_bits), split = from_bits / g, join = to_bits / g;
  LayoutMap units = InUnits(map, split, axis);
  if (join > 1) CheckJoin(units, join, axis);
  std::vector<int64_t> extents = units->domain.Extents();
  extents[axis] /= join;
  int64_t reach = units->codomain->extents[0];
  auto node = ffi::make_object<RecastMapNode>();
  node->domain = IndexBox(ToInts(extents), map->domain->names);
  node->codomain = IndexBox(Ints{(reach + join - 1) / join}, map->codomain->names);
  node->map = map;
  node->depth = map->depth + 1;
  node->from_bits = from_bits;
  node->to_bits = to_bits;
  node->axis = axis;
  return LayoutMap(std::move(node));
}

std::optional<LayoutMap> RecastForm(const LayoutMap& map) {
  auto* m = map.as<RecastMapNode>();
  int64_t g = std::gcd(m->from_bits, m->to_bits), join = m->to_bits / g;
  LayoutMap form = Normalize(InUnits(m->map, m->from_bits / g, m->axis));
  if (form.as<IdentityMapNode>()) form = MixedRadixOfIdentity(form);
  auto* digits = form.as<MixedRadixMapNode>();
  if (!digits || !DigitsJoin(*digits, join, m->axis)) return std::nullopt;
  return JoinDigits(*digits, join, m->axis, map);
}

}  // namespace layout
}  // namespace tirx
