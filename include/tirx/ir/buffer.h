/*!
 * Buffers and accesses to them.
 */
#ifndef TIRX_IR_BUFFER_H_
#define TIRX_IR_BUFFER_H_
#include <tirx/expr/expr.h>
#include <tirx/layout/layout.h>

namespace tirx {

/*!
 * A typed tensor in one memory scope: "global", "shared" (static), "shared.dyn", "local", "tmem",
 * "trn.sbuf", "trn.psum", "trn.hbm".
 *
 * Tile stage: accesses use `shape.size()` logical indices and `layout` says where elements are.
 * Native stage: `shape` is one extent (elements) and `layout` is null: an access is a flat element
 * index from `data`. Two buffers with one `data` variable alias the same storage; a view of another
 * dtype or shape is a second Buffer with the same `data`.
 */
class BufferNode : public ffi::Object {
 public:
  ffi::String name;
  Var data{ffi::UnsafeInit{}};  //!< pointer variable; its PointerType scope equals `scope`
  ffi::Array<PrimExpr> shape;
  DType dtype{kFloat32};
  Layout layout;  //!< null: row-major on axis m (or flat, at native stage)
  ffi::String scope{"global"};
  PrimExpr elem_offset{0};  //!< elements of dtype from `data` to element 0
  /*! Promised byte alignment of element 0. 0: `data` is aligned to 16 bytes (kernel parameters,
   *  checked at the call, and allocations), and element 0 as elem_offset says. */
  int32_t align{0};
  ffi::Optional<PrimExpr> allocated_addr;  //!< fixed address within the scope (bytes; tmem: column)
  Span span;
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindFreeVar;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.Buffer", BufferNode, ffi::Object);
};
class Buffer : public ffi::ObjectRef {
 public:
  explicit Buffer(ffi::ObjectPtr<BufferNode> n) : ObjectRef(std::move(n)) {}
  Buffer(ffi::String name, Var data, ffi::Array<PrimExpr> shape, DType dtype, Layout layout = {},
         ffi::String scope = "global", PrimExpr elem_offset = 0, int align = 0,
         ffi::Optional<PrimExpr> allocated_addr = std::nullopt, Span span = {});
  /*! A fresh buffer with its own pointer variable. */
  static Buffer Make(ffi::String name, ffi::Array<PrimExpr> shape, DType dtype,
                     ffi::String scope = "global", Layout layout = {});
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(Buffer, ffi::ObjectRef, BufferNode);
};

/*! buffer[indices]. The last index may be a Ramp (native stage: a vector access of its lanes). */
class BufferLoadNode : public PrimExprNode {
 public:
  Buffer buffer{ffi::UnsafeInit{}};
  ffi::Array<PrimExpr> indices;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.BufferLoad", BufferLoadNode, PrimExprNode);
};
class BufferLoad : public PrimExpr {
 public:
  BufferLoad(Buffer buffer, ffi::Array<PrimExpr> indices, Span span = {});
  explicit BufferLoad(ffi::ObjectPtr<BufferLoadNode> n) : PrimExpr(std::move(n)) {}
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(BufferLoad, PrimExpr, BufferLoadNode);
};

/*! buffer[r0, r1, ...] with one Range per dimension: an operand of a tile primitive. A scalar
 *  index is a Range of extent 1 listed in `squeezed` (the operand's rank does not count it). */
class BufferRegionNode : public ffi::Object {
 public:
  Buffer buffer{ffi::UnsafeInit{}};
  ffi::Array<Range> region;
  ffi::Array<int64_t> squeezed;
  Span span;
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.BufferRegion", BufferRegionNode, ffi::Object);
};
class BufferRegion : public ffi::ObjectRef {
 public:
  BufferRegion(Buffer buffer, ffi::Array<Range> region, ffi::Array<int64_t> squeezed = {},
               Span span = {});
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(BufferRegion, ffi::ObjectRef, BufferRegionNode);
};

}  // namespace tirx
#endif  // TIRX_IR_BUFFER_H_
