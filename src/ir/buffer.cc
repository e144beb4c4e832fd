#include <tirx/expr/ops.h>
#include <tirx/ir/buffer.h>
#include <tirx/support/diag.h>

#include <string>

namespace tirx {
namespace {

std::string Of(const char* what, const ffi::String& name) {
  return std::string(what) + " of buffer " + std::string(name);
}

/*! CheckIndex, whose message is only composed when it is needed. */
void CheckPlace(const char* what, const ffi::String& name, const PrimExpr& e, const Span& span) {
  if (!IsIndex(e)) CheckIndex(Of(what, name).c_str(), e, span);
}

/*! Expressions of a buffer are reached through every access: they get a part of the depth limit. */
constexpr int kMaxBufferExprDepth = kMaxExprDepth / 4;

void CheckBufferDepth(const char* what, const ffi::String& name, const PrimExpr& e,
                      const Span& span) {
  if (e->depth <= kMaxBufferExprDepth) return;
  Diag("type", "expression-too-deep", span)
      .Message(Of(what, name) + " is nested too deeply")
      .Found("a tree " + std::to_string(e->depth) + " levels deep")
      .Required("at most " + std::to_string(kMaxBufferExprDepth) + " levels")
      .Hint("name it first with `x: T.let = ...`")
      .Throw();
}

void CheckField(const char* what, const ffi::String& name, const PrimExpr& e, const Span& span) {
  CheckPlace(what, name, e, span);
  CheckBufferDepth(what, name, e, span);
}

void CheckShape(const ffi::String& name, const ffi::Array<PrimExpr>& shape, const Span& span) {
  for (const PrimExpr& extent : shape) {
    CheckField("an extent", name, extent, span);
    auto v = AsInt(extent);
    if (!v || *v > 0) continue;
    Diag("type", "bad-shape", span)
        .Message("buffer " + std::string(name) + " has an extent that is not positive")
        .Found(std::to_string(*v))
        .Required("at least 1")
        .Throw();
  }
  if (!shape.empty()) return;
  Diag("type", "bad-shape", span)
      .Message("buffer " + std::string(name) + " has no dimension")
      .Found("shape ()")
      .Required("at least one extent; a scalar has the shape (1,)")
      .Throw();
}

void CheckStorage(const BufferNode* n) {
  bool power_of_two = n->align >= 0 && (n->align & (n->align - 1)) == 0;
  if (IsHandle(n->data->dtype) && !IsVoid(n->dtype) && n->scope.size() > 0 && power_of_two) return;
  Diag("type", "bad-buffer", n->span)
      .Message("buffer " + std::string(n->name) + " cannot exist")
      .Found("data of " + DTypeName(n->data->dtype) + ", elements of " + DTypeName(n->dtype) +
             ", scope \"" + std::string(n->scope) + "\", align " + std::to_string(n->align))
      .Required(
          "a pointer variable, an element dtype, a scope, and an alignment that is 0 or a "
          "power of two (bytes)")
      .Throw();
}

}  // namespace

Buffer::Buffer(ffi::String name, Var data, ffi::Array<PrimExpr> shape, DType dtype, Layout layout,
               ffi::String scope, PrimExpr elem_offset, int align,
               ffi::Optional<PrimExpr> allocated_addr, Span span)
    : ObjectRef(ffi::UnsafeInit{}) {
  CheckShape(name, shape, span);
  CheckField("elem_offset", name, elem_offset, span);
  if (allocated_addr.has_value()) CheckField("allocated_addr", name, *allocated_addr, span);
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
  CheckStorage(n.get());
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
      .Found(std::to_string(found) + (found == 1 ? " index" : " indices"))
      .Required(std::to_string(b->shape.size()) + ", one per dimension")
      .Throw();
}

void CheckIndices(const Buffer& b, const ffi::Array<PrimExpr>& indices, const Span& span) {
  if (indices.size() != b->shape.size()) ThrowRank(b, indices.size(), span);
  for (size_t i = 0; i < indices.size(); ++i) {
    const PrimExpr& e = indices[i];
    bool may_be_vector = i + 1 == indices.size() && IsInteger(e->dtype);
    if (!may_be_vector) CheckPlace("an index", b->name, e, span);
  }
}

void CheckRegion(const BufferRegionNode* n) {
  if (n->region.size() != n->buffer->shape.size()) ThrowRank(n->buffer, n->region.size(), n->span);
  int64_t last = -1;
  for (int64_t d : n->squeezed) {
    bool dimension = d > last && d < static_cast<int64_t>(n->region.size());
    if (!dimension || !IsConst(n->region[d]->extent, 1)) {
      Diag("type", "bad-region", n->span)
          .Message("a squeezed dimension of a region of " + std::string(n->buffer->name) +
                   " is wrong")
          .Found("dimension " + std::to_string(d) + " of " + std::to_string(n->region.size()))
          .Required("increasing dimensions of extent 1")
          .Throw();
    }
    last = d;
  }
}

}  // namespace

BufferLoad::BufferLoad(Buffer buffer, ffi::Array<PrimExpr> indices, Span span)
    : PrimExpr(ffi::UnsafeInit{}) {
  CheckIndices(buffer, indices, span);
  auto n = ffi::make_object<BufferLoadNode>();
  n->dtype = WithLanes(buffer->dtype, buffer->dtype.lanes * LanesOf(indices));
  ExprMeasure measure;
  measure.AddList(indices);
  measure.Finish(n.get(), span);
  n->buffer = std::move(buffer);
  n->indices = std::move(indices);
  n->span = std::move(span);
  data_ = std::move(n);
}

BufferRegion::BufferRegion(Buffer buffer, ffi::Array<Range> region, ffi::Array<int64_t> squeezed,
                           Span span)
    : ObjectRef(ffi::UnsafeInit{}) {
  auto n = ffi::make_object<BufferRegionNode>();
  n->buffer = std::move(buffer);
  n->region = std::move(region);
  n->squeezed = std::move(squeezed);
  n->span = std::move(span);
  CheckRegion(n.get());
  data_ = std::move(n);
}

}  // namespace tirx
