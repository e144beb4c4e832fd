/*!
 * Registers layout maps with the FFI (compiled at -O1).
 */
#include <tirx/layout/corr.h>
#include <tirx/layout/inverse.h>
#include <tirx/layout/map.h>
#include <tvm/ffi/function.h>

namespace tirx {
namespace {

namespace refl = tvm::ffi::reflection;
using layout::TransformEntry;
using MaybeBox = ffi::Optional<IndexBox>;

std::vector<int64_t> ToVector(const Ints& a) { return {a.begin(), a.end()}; }
Ints ToInts(const std::vector<int64_t>& v) { return Ints(v.begin(), v.end()); }

std::optional<IndexBox> Maybe(const MaybeBox& box) {
  if (box.has_value()) return box.value();
  return std::nullopt;
}

/*! [domain, codomain, code (op, a, b, c per node), outputs]: what analyses in Python read. */
ffi::Array<Ints> Flat(const IndexDag& dag) {
  Ints code;
  for (const IndexNode& n : dag.nodes) {
    for (int64_t v :
         {static_cast<int64_t>(n.op), static_cast<int64_t>(n.a), static_cast<int64_t>(n.b), n.c}) {
      code.push_back(v);
    }
  }
  ffi::Array<Ints> out{ToInts(dag.domain), ToInts(dag.codomain), code,
                       ToInts({dag.outputs.begin(), dag.outputs.end()})};
  for (const IndexTable& t : dag.tables) {
    Ints rows{t.columns};
    for (int64_t v : t.values) rows.push_back(v);
    out.push_back(rows);
  }
  return out;
}

/*! Evaluators and the proof hook of a transform that Python registers. */
TransformEntry PythonTransform(const ffi::Function& call, const ffi::Function& call_inverse,
                               const ffi::Function& bijective) {
  auto argument = [bijective](const std::vector<int64_t>& params,
                              const std::vector<int64_t>& domain,
                              const std::vector<int64_t>& codomain) {
    return std::string(
        bijective(ToInts(params), ToInts(domain), ToInts(codomain)).cast<ffi::String>());
  };
  return {{}, {}, call, call_inverse, argument};
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<IndexBoxNode>(refl::init(false))
      .def_ro("extents", &IndexBoxNode::extents)
      .def_ro("names", &IndexBoxNode::names);
  refl::ObjectDef<LayoutMapNode>(refl::init(false))
      .def_ro("domain_box", &LayoutMapNode::domain)
      .def_ro("codomain_box", &LayoutMapNode::codomain);
  refl::ObjectDef<IdentityMapNode>(refl::init(false));
  refl::ObjectDef<MixedRadixMapNode>(refl::init(false))
      .def_ro("shape", &MixedRadixMapNode::shape)
      .def_ro("stride", &MixedRadixMapNode::stride)
      .def_ro("offset", &MixedRadixMapNode::offset);
  refl::ObjectDef<BitLinearMapNode>(refl::init(false))
      .def_ro("basis", &BitLinearMapNode::basis)
      .def_ro("translation", &BitLinearMapNode::translation);
  refl::ObjectDef<TranslateMapNode>(refl::init(false))
      .def_ro("map", &TranslateMapNode::map)
      .def_ro("offset", &TranslateMapNode::offset);
  refl::ObjectDef<ComposeMapNode>(refl::init(false))
      .def_ro("outer", &ComposeMapNode::outer)
      .def_ro("inner", &ComposeMapNode::inner);
  refl::ObjectDef<ProductMapNode>(refl::init(false)).def_ro("maps", &ProductMapNode::maps);
}

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<ProjectMapNode>(refl::init(false)).def_ro("axes", &ProjectMapNode::axes);
  refl::ObjectDef<PermuteMapNode>(refl::init(false)).def_ro("axes", &PermuteMapNode::axes);
  refl::ObjectDef<RecastMapNode>(refl::init(false))
      .def_ro("map", &RecastMapNode::map)
      .def_ro("from_bits", &RecastMapNode::from_bits)
      .def_ro("to_bits", &RecastMapNode::to_bits)
      .def_ro("axis", &RecastMapNode::axis);
  refl::ObjectDef<TransformMapNode>(refl::init(false))
      .def_ro("name", &TransformMapNode::name)
      .def_ro("params", &TransformMapNode::params)
      .def_ro("inverted", &TransformMapNode::inverted);
  refl::ObjectDef<PiecewiseMapNode>(refl::init(false))
      .def_ro("predicates", &PiecewiseMapNode::predicates)
      .def_ro("pieces", &PiecewiseMapNode::pieces);
  refl::ObjectDef<IndexExprMapNode>(refl::init(false))
      .def_ro("code", &IndexExprMapNode::code)
      .def_ro("outputs", &IndexExprMapNode::outputs);
  refl::ObjectDef<FiniteTableMapNode>(refl::init(false))
      .def_ro("values", &FiniteTableMapNode::values);
}

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::GlobalDef def;
  def.def("tx.index_box",
          [](Ints extents, ffi::Array<ffi::String> names) { return IndexBox(extents, names); });
  def.def("tx.map_identity", [](IndexBox box) { return layout::Identity(box); });
  def.def("tx.map_mixed_radix",
          [](IntRows shape, ffi::Array<IntRows> stride, Ints offset, MaybeBox codomain) {
            return layout::MixedRadix(shape, stride, offset, Maybe(codomain));
          });
  def.def("tx.map_bit_linear",
          [](IndexBox domain, IndexBox codomain, ffi::Array<IntRows> basis, Ints translation) {
            return layout::BitLinear(domain, codomain, basis, translation);
          });
  def.def("tx.map_translate", [](LayoutMap map, Ints offset, MaybeBox codomain) {
    return layout::Translate(map, offset, Maybe(codomain));
  });
  def.def("tx.map_compose", [](LayoutMap f, LayoutMap g) { return layout::Compose(f, g); });
  def.def("tx.map_product", [](ffi::Array<LayoutMap> maps) { return layout::Product(maps); });
  def.def("tx.map_project", [](IndexBox box, Ints axes, bool all) {
    return all ? layout::PermuteAxes(box, axes) : layout::Project(box, axes);
  });
  def.def("tx.map_recast", [](LayoutMap map, int64_t from, int64_t to, int64_t axis) {
    return layout::RecastMap(map, from, to, axis);
  });
  def.def("tx.map_transform",
          [](ffi::String name, Ints params, IndexBox domain, IndexBox codomain, bool inverted) {
            return layout::Transform(name, params, domain, codomain, inverted);
          });
  def.def("tx.map_piecewise", [](ffi::Array<LayoutMap> predicates, ffi::Array<LayoutMap> pieces) {
    return layout::Piecewise(predicates, pieces);
  });
  def.def("tx.map_index_expr", [](IndexBox domain, IndexBox codomain, Ints code, Ints outputs) {
    return layout::IndexExpr(domain, codomain, code, outputs);
  });
  def.def("tx.map_finite_table", [](IndexBox domain, IndexBox codomain, Ints values) {
    return layout::FiniteTable(domain, codomain, values);
  });
  def.def("tx.map_with_codomain",
          [](LayoutMap map, IndexBox box) { return layout::WithCodomain(map, box); });
}

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::GlobalDef def;
  def.def("tx.map_eval", [](LayoutMap map, Ints coords) {
    return ToInts(layout::Evaluate(map, ToVector(coords)));
  });
  def.def("tx.map_table", [](LayoutMap map) {
    std::vector<int64_t> values = layout::Enumerate(map);
    return ffi::Bytes(reinterpret_cast<const char*>(values.data()),
                      values.size() * sizeof(int64_t));
  });
  def.def("tx.map_inverse", [](LayoutMap map, int64_t budget) {
    layout::Inverse inverse = layout::TryInverse(map, budget);
    ffi::Array<ffi::Any> out{inverse.map, ffi::String(inverse.argument)};
    if (inverse.image) out.push_back(*inverse.image);
    return out;
  });
  def.def("tx.map_fiber",
          [](LayoutMap map, Ints value, int64_t budget) -> ffi::Optional<LayoutMap> {
            auto fiber = layout::Fiber(map, ToVector(value), budget);
            if (!fiber) return std::nullopt;
            return *fiber;
          });
  def.def("tx.map_difference", [](LayoutMap a, LayoutMap b, int64_t budget) -> ffi::Optional<Ints> {
    auto point = layout::Difference(a, b, budget);
    if (!point) return std::nullopt;
    return ToInts(*point);
  });
  def.def("tx.map_image_size",
          [](LayoutMap map, int64_t budget) { return layout::ImageSize(map, budget); });
  def.def("tx.map_normalize", [](LayoutMap map) { return layout::Normalize(map); });
  def.def("tx.map_dag", [](LayoutMap map) { return Flat(layout::ToIndexDag(map)); });
  def.def("tx.map_text", [](LayoutMap map, int64_t output) {
    const IndexDag& dag = layout::ToIndexDag(map);
    return ffi::String(NodeText(dag, dag.outputs[output]));
  });
  def.def("tx.map_register_transform", [](ffi::String name, ffi::Function call,
                                          ffi::Function call_inverse, ffi::Function bijective) {
    layout::RegisterTransform(name, PythonTransform(call, call_inverse, bijective));
  });
  def.def("tx.map_bijection_argument", [](LayoutMap map) {
    auto* t = map.as<TransformMapNode>();
    return ffi::String(t ? layout::BijectionArgument(*t) : "");
  });
}

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<LayoutCorrNode>(refl::init(false))
      .def_ro("left", &LayoutCorrNode::left)
      .def_ro("right", &LayoutCorrNode::right);
  refl::GlobalDef def;
  def.def("tx.corr_make", [](LayoutMap left, LayoutMap right) { return LayoutCorr(left, right); });
  def.def("tx.corr_compose",
          [](LayoutCorr outer, LayoutCorr inner) { return layout::ComposeCorr(outer, inner); });
  def.def("tx.corr_product", [](LayoutCorr a, LayoutCorr b) { return layout::ProductCorr(a, b); });
  def.def("tx.corr_pairs",
          [](LayoutCorr corr, int64_t budget) { return ToInts(layout::CorrPairs(corr, budget)); });
  def.def("tx.corr_of", [](Layout l, Ints shape) { return layout::CorrOf(l, ToVector(shape)); });
  def.def("tx.map_of", [](Layout l, Ints shape) { return layout::AsMap(l, ToVector(shape)); });
  def.def("tx.map_to_tile", [](LayoutMap map) { return layout::ToTileLayout(map); });
  def.def("tx.corr_to_tile", [](LayoutCorr corr) { return layout::CorrToTileLayout(corr); });
}

}  // namespace tirx
