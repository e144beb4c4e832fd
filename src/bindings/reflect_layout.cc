/*!
 * Registers layouts and their operations with the FFI (compiled at -O1).
 */
#include <tirx/expr/ops.h>
#include <tirx/layout/ops.h>
#include <tvm/ffi/function.h>

namespace tirx {
namespace {

using layout::Facts;
using layout::Shape;
using MaybeAnalyzer = ffi::Optional<arith::Analyzer>;

/*! Holds the analyzer that a Facts pointer points into. */
class FactsOf {
 public:
  explicit FactsOf(const MaybeAnalyzer& a) {
    if (a.has_value()) analyzer_ = a.value();
  }
  operator Facts() const { return analyzer_ ? &*analyzer_ : nullptr; }  // NOLINT

 private:
  std::optional<arith::Analyzer> analyzer_;
};

ffi::Any Plain(const PrimExpr& e) {
  if (auto v = AsInt(e)) return *v;
  return e;
}

ffi::Array<ffi::Any> Flat(const layout::Coordinates& places) {
  ffi::Array<ffi::Any> out;
  for (const auto& [axis, value] : places) {
    out.push_back(axis);
    out.push_back(Plain(value));
  }
  return out;
}

ffi::Array<Iter> Iters(const Shape& extents, const Shape& strides,
                       const ffi::Array<ffi::String>& axes) {
  ffi::Array<Iter> out;
  for (size_t i = 0; i < extents.size(); ++i) out.push_back(Iter(extents[i], strides[i], axes[i]));
  return out;
}

ffi::Array<Range> Ranges(const Shape& begins, const Shape& extents) {
  ffi::Array<Range> out;
  for (size_t i = 0; i < begins.size(); ++i) out.push_back(Range(begins[i], extents[i]));
  return out;
}

std::vector<int64_t> Ints(const ffi::Array<int64_t>& a) { return {a.begin(), a.end()}; }

ffi::Array<ffi::Any> AxisFacts(const AxisInfo& a) {
  return {ffi::String(a.name),        a.is_thread,          a.extent,
          ffi::String(a.extent_from), ffi::String(a.scope), ffi::String(a.subscope)};
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<IterNode>(refl::init(false))
      .def_ro("extent", &IterNode::extent)
      .def_ro("stride", &IterNode::stride)
      .def_ro("axis", &IterNode::axis);
  refl::ObjectDef<LayoutNode>(refl::init(false));
  refl::ObjectDef<TileLayoutNode>(refl::init(false))
      .def_ro("shard", &TileLayoutNode::shard)
      .def_ro("replica", &TileLayoutNode::replica)
      .def_ro("offset", &TileLayoutNode::offset);
  refl::ObjectDef<ComposeLayoutNode>(refl::init(false))
      .def_ro("per_element", &ComposeLayoutNode::per_element)
      .def_ro("swizzle_len", &ComposeLayoutNode::swizzle_len)
      .def_ro("atom_len", &ComposeLayoutNode::atom_len)
      .def_ro("tile_layout", &ComposeLayoutNode::tile);
}

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::GlobalDef def;
  def.def("tx.Iter", [](PrimExpr e, PrimExpr s, ffi::String a) { return Iter(e, s, a); });
  def.def("tx.TileLayout", [](ffi::Array<Iter> s, ffi::Array<Iter> r,
                              ffi::Map<ffi::String, PrimExpr> o) { return TileLayout(s, r, o); });
  def.def("tx.ComposeLayout",
          [](int m, int b, int s, TileLayout t) { return ComposeLayout(m, b, s, t); });
  def.def("tx.layout_make", [](Shape e, Shape s, ffi::Array<ffi::String> a, Shape re, Shape rs,
                               ffi::Array<ffi::String> ra, ffi::Map<ffi::String, PrimExpr> offset) {
    return TileLayout(Iters(e, s, a), Iters(re, rs, ra), offset);
  });
  def.def("tx.layout_row_major", [](Shape shape) { return layout::RowMajor(shape); });
  def.def("tx.layout_size", [](Layout l, ffi::Optional<ffi::String> axis) {
    return Plain(axis.has_value() ? layout::SizeOn(l, axis.value()) : layout::Size(l));
  });
  def.def("tx.layout_span", [](Layout l, ffi::String axis, MaybeAnalyzer a) {
    return Plain(layout::Span(l, axis, FactsOf(a)));
  });
  def.def("tx.layout_apply", [](Layout l, Shape coord, Shape shape, MaybeAnalyzer a) {
    return Flat(layout::Apply(l, coord, shape, FactsOf(a)));
  });
  // (axes, places per element, int64 coordinates [element][place][axis] as bytes)
  def.def("tx.layout_all_places", [](Layout l) -> ffi::Array<ffi::Any> {
    layout::PlaceList list = layout::AllPlaces(l);
    ffi::Array<ffi::String> axes;
    for (const std::string& a : list.axes) axes.push_back(a);
    auto* raw = reinterpret_cast<const char*>(list.coordinates.data());
    return {axes, list.per_element, ffi::Bytes(raw, list.coordinates.size() * sizeof(int64_t))};
  });
  def.def("tx.layout_text", [](Layout l) { return layout::LayoutText(l); });
  def.def("tx.axis_table", []() {
    ffi::Array<ffi::Any> out;
    for (const AxisInfo& a : AllAxes()) out.push_back(AxisFacts(a));
    return out;
  });
  def.def("tx.axis_register", [](ffi::String name, bool is_thread, int64_t extent, ffi::String from,
                                 ffi::String scope, ffi::String subscope) {
    RegisterAxis({name, is_thread, extent, from, scope, subscope, ""});
  });
  def.def("tx.axis_identity", [](ffi::String whole, ffi::String coarse, ffi::String fine,
                                 int64_t n) { RegisterAxisIdentity(whole, coarse, fine, n); });
}

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::GlobalDef def;
  def.def("tx.layout_canonicalize",
          [](Layout l, MaybeAnalyzer a) { return layout::Canonicalize(l, FactsOf(a)); });
  def.def("tx.layout_difference", [](Layout a, Layout b, MaybeAnalyzer an) -> ffi::Array<ffi::Any> {
    auto d = layout::FirstDifference(a, b, FactsOf(an));
    if (!d) return {};
    return {ffi::String(d->kind), d->index};
  });
  def.def("tx.layout_group", [](Layout l, Shape shape, MaybeAnalyzer a) {
    layout::Grouped g = layout::Group(l, shape, FactsOf(a));
    ffi::Array<ffi::Any> out{g.layout};
    for (int64_t s : g.seps) out.push_back(s);
    return out;
  });
  def.def("tx.layout_permute",
          [](Layout l, ffi::Array<int64_t> order) { return layout::Permute(l, Ints(order)); });
  def.def("tx.layout_permute_groups",
          [](Layout l, ffi::Array<int64_t> seps, ffi::Array<int64_t> order) {
            return layout::PermuteByGroups(l, Ints(seps), Ints(order));
          });
  def.def("tx.layout_slice",
          [](Layout l, Shape shape, Shape begins, Shape extents, MaybeAnalyzer a) {
            return layout::Slice(l, shape, Ranges(begins, extents), FactsOf(a));
          });
  def.def("tx.layout_tile",
          [](Layout inner, TileLayout outer, Shape os, Shape is, MaybeAnalyzer a) {
            return layout::Tile(inner, outer, os, is, FactsOf(a));
          });
  def.def("tx.layout_tile_to", [](Layout inner, Shape to, Shape from, MaybeAnalyzer a) {
    return layout::TileTo(inner, to, from, FactsOf(a));
  });
  def.def("tx.layout_direct_sum",
          [](Layout right, TileLayout left, Shape ls, Shape rs, MaybeAnalyzer a) {
            return layout::DirectSum(right, left, ls, rs, FactsOf(a));
          });
  def.def("tx.layout_storage", [](Layout l) { return layout::Storage(l); });
  def.def("tx.layout_owners", [](Layout l) { return layout::Owners(l); });
  def.def("tx.layout_scope", [](Layout l) -> ffi::Array<ffi::String> {
    auto s = layout::GetScope(l);
    if (!s) return {};
    return {s->first, s->second};
  });
}

namespace {

template <typename L>
ffi::Optional<Layout> OrNone(std::optional<L> l) {
  if (!l) return std::nullopt;
  return Layout(*l);
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::GlobalDef def;
  def.def("tx.layout_tile_outer_of",
          [](Layout tiled, Layout inner, Shape ts, Shape is, MaybeAnalyzer a) {
            return OrNone(layout::TileOuterOf(tiled, inner, ts, is, FactsOf(a)));
          });
  def.def("tx.layout_tile_inner_of",
          [](Layout tiled, TileLayout outer, Shape ts, Shape os, MaybeAnalyzer a) {
            return OrNone(layout::TileInnerOf(tiled, outer, ts, os, FactsOf(a)));
          });
  def.def("tx.layout_sum_left_of",
          [](Layout sum, Layout right, Shape s, Shape rs, MaybeAnalyzer a) {
            return OrNone(layout::DirectSumLeftOf(sum, right, s, rs, FactsOf(a)));
          });
  def.def("tx.layout_sum_right_of",
          [](Layout sum, TileLayout left, Shape s, Shape ls, MaybeAnalyzer a) {
            return OrNone(layout::DirectSumRightOf(sum, left, s, ls, FactsOf(a)));
          });
  def.def("tx.layout_pack",
          [](Layout l, int64_t n, MaybeAnalyzer a) { return layout::Pack(l, n, FactsOf(a)); });
  def.def("tx.layout_unpack",
          [](Layout l, int64_t n, MaybeAnalyzer a) { return layout::Unpack(l, n, FactsOf(a)); });
  def.def("tx.layout_recast", [](Layout l, int64_t from, int64_t to, MaybeAnalyzer a) {
    return layout::Recast(l, from, to, FactsOf(a));
  });
  def.def("tx.layout_broadcast", [](Layout l, PrimExpr extent, int64_t at, ffi::String axis) {
    return layout::Broadcast(l, extent, at, axis);
  });
  def.def("tx.layout_convert_axes", [](Layout l, ffi::Array<ffi::String> axes, MaybeAnalyzer a) {
    return layout::ConvertAxes(l, axes, FactsOf(a));
  });
  def.def("tx.layout_contiguous_run",
          [](Layout l, Shape shape, int64_t dim, int64_t limit, MaybeAnalyzer a) {
            return layout::ContiguousRun(l, shape, dim, limit, FactsOf(a));
          });
}

}  // namespace tirx
