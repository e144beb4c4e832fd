/*!
 * Layout correspondences: relations between two boxes with an explicit occurrence space.
 */
#ifndef TIRX_LAYOUT_CORR_H_
#define TIRX_LAYOUT_CORR_H_
#include <tirx/layout/layout.h>
#include <tirx/layout/map.h>

#include <vector>

namespace tirx {

/*! left : F -> A and right : F -> B over one occurrence space F. It relates left(f) to right(f) for
 *  every f where both legs have a value. A function f : A -> B is (identity, f); a placement with
 *  replicas is (projection to the logical part, place) over Logical x Replica, so that every copy
 *  has a coordinate. Neither leg is claimed to be injective. */
class LayoutCorrNode : public ffi::Object {
 public:
  LayoutMap left{ffi::UnsafeInit{}};
  LayoutMap right{ffi::UnsafeInit{}};
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.LayoutCorr", LayoutCorrNode, ffi::Object);
};
class LayoutCorr : public ffi::ObjectRef {
 public:
  /*! Raises "box-mismatch" when the legs have different domains. */
  LayoutCorr(LayoutMap left, LayoutMap right);
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(LayoutCorr, ffi::ObjectRef, LayoutCorrNode);
};

namespace layout {

/*! The legs swapped: the relation read backwards. */
LayoutCorr Converse(const LayoutCorr& corr);
/*! The relational product on A x C and B x D: the product of both legs. */
LayoutCorr ProductCorr(const LayoutCorr& a, const LayoutCorr& b);
/*!
 * outer after inner: a is related to c when some b of the box they share is related to both. The occurrence space joins
 * the two on b. It is one of them where the leg towards b of the other is injective or a
 * projection; otherwise it is their product, with legs that have a value only where the two agree
 * on b. Raises "box-mismatch".
 */
LayoutCorr ComposeCorr(const LayoutCorr& outer, const LayoutCorr& inner);
/*! The pairs (left(f), right(f)) for all f, row-major, as one number for each coordinate; points
 *  where a leg has no value are left out. Raises "too-large". */
std::vector<int64_t> CorrPairs(const LayoutCorr& corr, int64_t budget = kFiniteBudget);

/*!
 * The map of a layout without replicas from its linear index, or from coordinates of `shape`
 * (row-major, as many elements), to its named axes in order of first mention. A swizzle is a
 * registered transform after the map of the tile. The codomain is just large enough for the largest
 * coordinates (whole swizzle blocks on m). Raises "replicated", "symbolic" or "negative-address".
 */
LayoutMap AsMap(const Layout& layout, const std::vector<int64_t>& shape = {});
/*! Logical x Replica: left is the logical index, right the place; one axis of the occurrence space
 *  per replica iter. */
LayoutCorr CorrOf(const Layout& layout, const std::vector<int64_t>& shape = {});
/*! The layout whose map this is, over the row-major linear index of the domain; axes by the names of
 *  the codomain ("m" for a single unnamed one). Raises "not-a-tile-layout". */
Layout ToTileLayout(const LayoutMap& map);
/*! The same with replicas: left must forget the trailing axes and keep the others. */
Layout CorrToTileLayout(const LayoutCorr& corr);

}  // namespace layout
}  // namespace tirx
#endif  // TIRX_LAYOUT_CORR_H_
