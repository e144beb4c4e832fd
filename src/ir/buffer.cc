#include <tirx/expr/ops.h>
#include <tirx/ir/buffer.h>
#include <tirx/support/diag.h>

namespace tirx {

Buffer::Buffer(ffi::String name, Var data, ffi::Array<PrimExpr> shape, DType dtype, Layout layout,
               ffi::String scope, PrimExpr elem_offset, int align,
               ffi::Optional<PrimExpr> allocated_addr, Span span)
    : ObjectRef(ffi::UnsafeInit{}) {
  auto n = ffi::make_object<BufferNode>();
  n->name = std::move(name);
  n->data = std::move(data);
  n->shape = std::move(shape);
  n->dtype = dtype;
  n->layout = std::move(layout);
  n->scope = std::move(scope);
  n->elem_offset = std::move(elem_offset);
  n->align = align;
  n->allocated_addr = std::move(allocated_addr);
  n->span = std::move(span);
  data_ = std::move(n);
}

Buffer Buffer::Make(ffi::String name, ffi::Array<PrimExpr> shape, DType dtype, ffi::String scope,
                    Layout layout) {
  Var data(std::string(name) + "_ptr", kHandle, PointerType(ElementOf(dtype), scope));
  return Buffer(name, data, std::move(shape), dtype, std::move(layout), scope);
}

namespace {

int LanesOf(const ffi::Array<PrimExpr>& indices) {
  return indices.empty() ? 1 : indices.back()->dtype.lanes;
}

[[noreturn]] void ThrowRank(const Buffer& b, size_t found, const Span& span) {
  Diag("type", "wrong-number-of-indices", span)
      .Message("buffer " + std::string(b->name) + " is indexed with the wrong rank")
      .Found(std::to_string(found) + " indices")
      .Required(std::to_string(b->shape.size()) + ", one per dimension")
      .Throw();
}

}  // namespace

BufferLoad::BufferLoad(Buffer buffer, ffi::Array<PrimExpr> indices, Span span)
    : PrimExpr(ffi::UnsafeInit{}) {
  if (indices.size() != buffer->shape.size()) ThrowRank(buffer, indices.size(), span);
  auto n = ffi::make_object<BufferLoadNode>();
  n->dtype = WithLanes(buffer->dtype, buffer->dtype.lanes * LanesOf(indices));
  for (const PrimExpr& i : indices) n->depth = std::max(n->depth, i->depth + 1);
  CheckExprDepth(n->depth, span);
  n->buffer = std::move(buffer);
  n->indices = std::move(indices);
  n->span = std::move(span);
  data_ = std::move(n);
}

BufferRegion::BufferRegion(Buffer buffer, ffi::Array<Range> region, ffi::Array<int64_t> squeezed,
                           Span span)
    : ObjectRef(ffi::UnsafeInit{}) {
  if (region.size() != buffer->shape.size()) ThrowRank(buffer, region.size(), span);
  auto n = ffi::make_object<BufferRegionNode>();
  n->buffer = std::move(buffer);
  n->region = std::move(region);
  n->squeezed = std::move(squeezed);
  n->span = std::move(span);
  data_ = std::move(n);
}

}  // namespace tirx
