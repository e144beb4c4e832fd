/*!
 * Layout maps: functions between boxes of integers, and the language they are written in.
 *
 * A LayoutMap f : D -> C takes a point of the box D = [0,n0) x [0,n1) x .. to one integer per axis
 * of the box C. The nodes below are a closed grammar: every composition and product of maps is a
 * map, kept as it was written when no flatter form exists. What a map computes is defined once, by
 * lowering it to a DAG of 64-bit integer operations (ToIndexDag); evaluation, normal forms and
 * proofs all read that DAG.
 *
 * Arithmetic is checked. A point where a subexpression leaves 64 bits, divides by zero or leaves
 * the domain of the map it feeds has no value: f is not total. For this reason the DAG is its own
 * small language and not PrimExpr, whose factories fold: a subexpression that may fail is never
 * simplified away, not even under `* 0` or `x - x`.
 *
 * The declared codomain is a claim, checked by proof and not by evaluation: f(x) may lie outside.
 */
#ifndef TIRX_LAYOUT_MAP_H_
#define TIRX_LAYOUT_MAP_H_
#include <tirx/layout/index_dag.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/object.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ffi/string.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tirx {

namespace ffi = tvm::ffi;

using Ints = ffi::Array<int64_t>;
using IntRows = ffi::Array<Ints>;

/*! The box [0,n0) x [0,n1) x ..: every extent is at least 1, the number of points fits 63 bits
 *  unless the box is only a codomain. `names` is empty or has one name per axis ("" = unnamed);
 *  names document and select axes, they never change what a map computes. */
class IndexBoxNode : public ffi::Object {
 public:
  Ints extents;
  ffi::Array<ffi::String> names;
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.IndexBox", IndexBoxNode, ffi::Object);
};
class IndexBox : public ffi::ObjectRef {
 public:
  /*! Raises "bad-box". */
  explicit IndexBox(Ints extents, ffi::Array<ffi::String> names = {});
  explicit IndexBox(const std::vector<int64_t>& extents);
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(IndexBox, ffi::ObjectRef, IndexBoxNode);
  size_t rank() const { return (*this)->extents.size(); }
  std::vector<int64_t> Extents() const;
  /*! Number of points, or nothing when it does not fit 63 bits. */
  std::optional<int64_t> Size() const;
};

/*! Base of all maps. */
class LayoutMapNode : public ffi::Object {
 public:
  IndexBox domain{ffi::UnsafeInit{}};
  IndexBox codomain{ffi::UnsafeInit{}};
  /*! The lowered form, made on first use; no part of the value. */
  mutable std::shared_ptr<const IndexDag> lowered;
  /*! Levels of maps below this one; bounded, because walks recurse. No part of the value. */
  int32_t depth{0};
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  static constexpr uint32_t _type_child_slots = 16;
  TVM_FFI_DECLARE_OBJECT_INFO("tx.LayoutMap", LayoutMapNode, ffi::Object);
};
class LayoutMap : public ffi::ObjectRef {
 public:
  explicit LayoutMap(ffi::ObjectPtr<LayoutMapNode> node) : ObjectRef(ffi::UnsafeInit{}) {
    data_ = std::move(node);
  }
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(LayoutMap, ffi::ObjectRef, LayoutMapNode);
};

/*! x -> x on one box. */
class IdentityMapNode : public LayoutMapNode {
 public:
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.LayoutMapIdentity", IdentityMapNode, LayoutMapNode);
};

/*! offset + sum of digit * stride: the CuTe layout. The coordinate of domain axis i is split into
 *  digits of extents shape[i], the first one fastest (CuTe's order); digit (i,k) adds its vector
 *  stride[i][k], which has one entry per codomain axis. The domain extent is the product. Deeper
 *  nesting of a CuTe shape changes no value and is flattened per axis. */
class MixedRadixMapNode : public LayoutMapNode {
 public:
  IntRows shape;
  ffi::Array<IntRows> stride;
  Ints offset;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.LayoutMapMixedRadix", MixedRadixMapNode, LayoutMapNode);
};

/*! f(x) = c XOR XOR(bit b of x_i selects basis[i][b]): linear over GF(2), as Triton's
 *  LinearLayout, plus a translation c. Axis i has ceil(log2(extent)) bits; a ragged extent uses
 *  the part of the envelope below it. basis[i][b] and c have one entry >= 0 per codomain axis. */
class BitLinearMapNode : public LayoutMapNode {
 public:
  ffi::Array<IntRows> basis;
  Ints translation;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.LayoutMapBitLinear", BitLinearMapNode, LayoutMapNode);
};

/*! map(x) + offset, per codomain axis. */
class TranslateMapNode : public LayoutMapNode {
 public:
  LayoutMap map{ffi::UnsafeInit{}};
  Ints offset;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.LayoutMapTranslate", TranslateMapNode, LayoutMapNode);
};

/*! outer(inner(x)). A value of `inner` outside the domain of `outer` is a failure at that x. */
class ComposeMapNode : public LayoutMapNode {
 public:
  LayoutMap outer{ffi::UnsafeInit{}};
  LayoutMap inner{ffi::UnsafeInit{}};
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.LayoutMapCompose", ComposeMapNode, LayoutMapNode);
};

/*! (x1, x2, ..) -> (f1(x1), f2(x2), ..): axes of domains and codomains in sequence. */
class ProductMapNode : public LayoutMapNode {
 public:
  ffi::Array<LayoutMap> maps;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.LayoutMapProduct", ProductMapNode, LayoutMapNode);
};

/*! x -> (x[axes[0]], x[axes[1]], ..): distinct axes, the others are forgotten. */
class ProjectMapNode : public LayoutMapNode {
 public:
  Ints axes;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.LayoutMapProject", ProjectMapNode, LayoutMapNode);
};

/*! Project with every axis: a reordering, hence a bijection. */
class PermuteMapNode : public LayoutMapNode {
 public:
  Ints axes;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.LayoutMapPermute", PermuteMapNode, LayoutMapNode);
};

/*! The same memory seen in elements of `to_bits` instead of `from_bits`. `map` has one codomain
 *  axis, an address in elements of from_bits. Let g = gcd: every element splits into from_bits/g
 *  units (domain axis `axis` grows by that factor, the unit is its fastest digit), and to_bits/g
 *  consecutive, aligned units make one new element. Built only when that is proved. */
class RecastMapNode : public LayoutMapNode {
 public:
  LayoutMap map{ffi::UnsafeInit{}};
  int64_t from_bits{0};
  int64_t to_bits{0};
  int64_t axis{0};
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.LayoutMapRecast", RecastMapNode, LayoutMapNode);
};

/*! A registered bijection of a box onto a box, for instance the XOR swizzle: "xor_swizzle" with
 *  params (M, B, S) sends the one coordinate x to x ^ ((x & ((2^B-1) << (M+S))) >> S). The
 *  registration supplies evaluator, inverse and the argument for bijectivity. */
class TransformMapNode : public LayoutMapNode {
 public:
  ffi::String name;
  Ints params;
  bool inverted{false};
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.LayoutMapTransform", TransformMapNode, LayoutMapNode);
};

/*! pieces[k](x) for the k whose predicate holds at x. predicates[k] has the same domain and one
 *  output: 1 where piece k holds, 0 elsewhere. A point where none or several hold has no value. */
class PiecewiseMapNode : public LayoutMapNode {
 public:
  ffi::Array<LayoutMap> predicates;
  ffi::Array<LayoutMap> pieces;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.LayoutMapPiecewise", PiecewiseMapNode, LayoutMapNode);
};

/*! A pure integer expression per codomain axis, as a DAG in `code`: four numbers (op, a, b, c) for
 *  each node, operands first (index_dag.h; the pure operations only). outputs[j] is a node. */
class IndexExprMapNode : public LayoutMapNode {
 public:
  Ints code;
  Ints outputs;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.LayoutMapIndexExpr", IndexExprMapNode, LayoutMapNode);
};

/*! Values listed point by point: row-major over the domain (last axis fastest), codomain-rank
 *  numbers for each point. */
class FiniteTableMapNode : public LayoutMapNode {
 public:
  Ints values;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.LayoutMapFiniteTable", FiniteTableMapNode, LayoutMapNode);
};

namespace layout {

/*! Largest domain that is ever enumerated unless a caller says otherwise (source document 001). */
constexpr int64_t kFiniteBudget = 1 << 20;

// Checked constructors. Each raises a LayoutError ("bad-map", "bad-box", "box-mismatch", ..).
LayoutMap Identity(const IndexBox& box);
/*! Without codomain: one axis per stride entry, just large enough for the largest value. `names` are
 *  those of the domain axes. */
LayoutMap MixedRadix(const IntRows& shape, const ffi::Array<IntRows>& stride, const Ints& offset,
                     const std::optional<IndexBox>& codomain = std::nullopt,
                     const ffi::Array<ffi::String>& names = {});
LayoutMap BitLinear(const IndexBox& domain, const IndexBox& codomain,
                    const ffi::Array<IntRows>& basis, const Ints& translation);
LayoutMap Translate(const LayoutMap& map, const Ints& offset,
                    const std::optional<IndexBox>& codomain = std::nullopt);
/*! outer after inner; the codomain of inner lies in the domain of outer, axis by axis. */
LayoutMap Compose(const LayoutMap& outer, const LayoutMap& inner);
LayoutMap Product(const ffi::Array<LayoutMap>& maps);
LayoutMap Project(const IndexBox& box, const Ints& axes);
LayoutMap PermuteAxes(const IndexBox& box, const Ints& axes);
LayoutMap RecastMap(const LayoutMap& map, int64_t from_bits, int64_t to_bits, int64_t axis);
LayoutMap Transform(const ffi::String& name, const Ints& params, const IndexBox& domain,
                    const IndexBox& codomain, bool inverted = false);
LayoutMap Piecewise(const ffi::Array<LayoutMap>& predicates, const ffi::Array<LayoutMap>& pieces);
LayoutMap IndexExpr(const IndexBox& domain, const IndexBox& codomain, const Ints& code,
                    const Ints& outputs);
LayoutMap FiniteTable(const IndexBox& domain, const IndexBox& codomain, const Ints& values);
/*! The same function with another declared codomain of the same rank. */
LayoutMap WithCodomain(const LayoutMap& map, const IndexBox& codomain);

/*! The meaning of a map: one DAG over its domain. Made once per map object and kept; valid as long
 *  as the map lives. */
const IndexDag& ToIndexDag(const LayoutMap& map);

/*! f(coords). Raises "outside-domain" or "no-value", naming the subexpression and the point. */
std::vector<int64_t> Evaluate(const LayoutMap& map, const std::vector<int64_t>& coords);

/*! All values, row-major over the domain, codomain-rank numbers for each point. Raises "too-large"
 *  above `budget` points and "no-value" at the first point that has none. */
std::vector<int64_t> Enumerate(const LayoutMap& map, int64_t budget = kFiniteBudget);

/*!
 * The strongest form that fits, with the same values on the same domain: Identity, MixedRadix
 * (coalesced as CuTe does), BitLinear, a composition of Transforms with such forms, Piecewise, else
 * the map itself or one IndexExpr. Every step is an identity of integers whose side conditions are
 * proved from the ranges of the digits; a map with a subexpression that is not proved to have a
 * value is never rewritten around it.
 */
LayoutMap Normalize(const LayoutMap& map);

/*! What a registered transform brings along. */
struct TransformEntry {
  /*! (builder, params, coordinates) -> outputs, when it is a formula; else empty. */
  std::function<std::vector<int32_t>(DagBuilder*, const std::vector<int64_t>&,
                                     const std::vector<int32_t>&)>
      forward, inverse;
  /*! (params, coordinates) -> Array<int64_t>: evaluators used where there is no formula. */
  ffi::Optional<ffi::Function> call, call_inverse;
  /*! Why it is a bijection between its boxes; empty when the parameters do not fit the boxes. */
  std::function<std::string(const std::vector<int64_t>& params, const std::vector<int64_t>& domain,
                            const std::vector<int64_t>& codomain)>
      bijective;
};
/*! Raises "transform-exists". */
void RegisterTransform(const std::string& name, TransformEntry entry);
/*! Raises "unknown-transform", naming the registered ones. */
const TransformEntry& FindTransform(const std::string& name);
/*! Value of a transform at a point, by its evaluator or formula. Raises "no-value". */
std::vector<int64_t> CallTransform(const TransformMapNode& map, const std::vector<int64_t>& coords);
/*! The argument of the registration that `map` is a bijection onto its codomain. */
std::string BijectionArgument(const TransformMapNode& map);

}  // namespace layout
}  // namespace tirx
#endif  // TIRX_LAYOUT_MAP_H_
