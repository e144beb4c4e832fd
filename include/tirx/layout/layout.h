/*!
 * Layouts: where the elements of a logical tile are.
 *
 * A TileLayout maps a logical index to a set of coordinates on named axes,
 * L(x) = { D(x) + r + O | r in R } (paper section 3.1): x is flattened row-major, split over the
 * shard extents innermost first, each digit times its stride accumulates on the iter's axis, the
 * offset is added, and every combination of replica steps gives one coordinate. A ComposeLayout
 * swizzles the memory coordinate of a TileLayout.
 *
 * This room knows mathematics only: no statements, no targets. Operations are in ops.h; each is
 * exact or refuses with an error that names what could not be proved.
 */
#ifndef TIRX_LAYOUT_LAYOUT_H_
#define TIRX_LAYOUT_LAYOUT_H_
#include <tirx/expr/expr.h>

#include <string>
#include <vector>

namespace tirx {

/*! One iterator: `extent` steps of `stride` on `axis`. "m" is the linear memory axis. */
class IterNode : public ffi::Object {
 public:
  PrimExpr extent{ffi::UnsafeInit{}};
  PrimExpr stride{ffi::UnsafeInit{}};
  ffi::String axis;
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.Iter", IterNode, ffi::Object);
};
class Iter : public ffi::ObjectRef {
 public:
  Iter(PrimExpr extent, PrimExpr stride, ffi::String axis);
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(Iter, ffi::ObjectRef, IterNode);
};

/*! Base of the layout classes (no virtuals: Python may derive). */
class LayoutNode : public ffi::Object {
 public:
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  static constexpr uint32_t _type_child_slots = 8;
  TVM_FFI_DECLARE_OBJECT_INFO("tx.Layout", LayoutNode, ffi::Object);
};
class Layout : public ffi::ObjectRef {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Layout, ffi::ObjectRef, LayoutNode);
};

class TileLayoutNode : public LayoutNode {
 public:
  ffi::Array<Iter> shard;                  //!< D, outermost first
  ffi::Array<Iter> replica;                //!< R
  ffi::Map<ffi::String, PrimExpr> offset;  //!< O: axis -> offset; absent is 0
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.TileLayout", TileLayoutNode, LayoutNode);
};
class TileLayout : public Layout {
 public:
  TileLayout(ffi::Array<Iter> shard, ffi::Array<Iter> replica = {},
             ffi::Map<ffi::String, PrimExpr> offset = {});
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(TileLayout, Layout, TileLayoutNode);
};

/*!
 * Swizzled memory: with m the memory coordinate ("m" axis, offset included) of `tile` in elements,
 * addr(m) = f(m >> M) * 2^M + (m mod 2^M), f(x) = x ^ ((x & ((2^B-1) << S)) >> S);
 * M = per_element, B = swizzle_len, S = atom_len, S >= B (layout page of the design).
 */
class ComposeLayoutNode : public LayoutNode {
 public:
  int32_t per_element{0};
  int32_t swizzle_len{0};
  int32_t atom_len{0};
  TileLayout tile{ffi::UnsafeInit{}};
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.ComposeLayout", ComposeLayoutNode, LayoutNode);
};
class ComposeLayout : public Layout {
 public:
  ComposeLayout(int per_element, int swizzle_len, int atom_len, TileLayout tile);
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(ComposeLayout, Layout, ComposeLayoutNode);
};

}  // namespace tirx
#endif  // TIRX_LAYOUT_LAYOUT_H_
