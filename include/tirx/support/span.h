/*!
 * Source locations. Every IR node carries one; structural equality and hashing ignore it.
 */
#ifndef TIRX_SUPPORT_SPAN_H_
#define TIRX_SUPPORT_SPAN_H_
#include <tvm/ffi/memory.h>
#include <tvm/ffi/object.h>
#include <tvm/ffi/string.h>

#include <utility>

namespace tirx {
namespace ffi = tvm::ffi;

/*! A half-open range of source text: lines count from 1, columns from 0 (as in Python's ast). */
class SpanNode : public ffi::Object {
 public:
  ffi::String file;
  int64_t line{0};
  int64_t column{0};
  int64_t end_line{0};
  int64_t end_column{0};
  SpanNode() = default;
  SpanNode(ffi::String f, int64_t l, int64_t c, int64_t el, int64_t ec)
      : file(std::move(f)), line(l), column(c), end_line(el), end_column(ec) {}
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.Span", SpanNode, ffi::Object);
};

/*! Nullable reference: a null Span means "no source line is known" (compiler-made nodes). */
class Span : public ffi::ObjectRef {
 public:
  Span(ffi::String f, int64_t l, int64_t c, int64_t el, int64_t ec)
      : ObjectRef(ffi::make_object<SpanNode>(std::move(f), l, c, el, ec)) {}
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Span, ffi::ObjectRef, SpanNode);
};

}  // namespace tirx
#endif  // TIRX_SUPPORT_SPAN_H_
