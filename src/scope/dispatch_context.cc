#include <tirx/expr/ops.h>
#include <tirx/scope/dispatch_context.h>
#include <tirx/support/diag.h>

namespace tirx {
namespace {

[[noreturn]] void Refuse(const Buffer& b, std::string found, std::string required) {
  Diag("layout", "no-local-view", b->span)
      .Message("no per-thread view of '" + std::string(b->name) + "'")
      .Found(std::move(found))
      .Required(std::move(required))
      .Throw();
}

int64_t ConstOrRefuse(const Buffer& b, const PrimExpr& e, const char* what) {
  if (auto v = AsInt(e)) return *v;
  Refuse(b, std::string("a symbolic ") + what, "constant extents and strides");
}

/*! Adds to *top the largest step that an iterator takes on the memory axis. */
void AddSpan(const Buffer& b, const ffi::Array<Iter>& iters, int64_t* top) {
  for (const Iter& it : iters) {
    if (it->axis != "m") continue;
    int64_t stride = ConstOrRefuse(b, it->stride, "stride");
    if (stride > 0) *top += (ConstOrRefuse(b, it->extent, "extent") - 1) * stride;
  }
}

int64_t MemoryExtent(const Buffer& b, const TileLayoutNode* layout) {
  int64_t top = 0;
  AddSpan(b, layout->shard, &top);
  AddSpan(b, layout->replica, &top);
  auto offset = layout->offset.find("m");
  if (offset != layout->offset.end()) top += ConstOrRefuse(b, (*offset).second, "offset");
  return top + 1;
}

int64_t FlatExtent(const Buffer& b) {
  int64_t n = 1;
  for (const PrimExpr& e : b->shape) n *= ConstOrRefuse(b, e, "shape");
  return n;
}

}  // namespace

Buffer LocalView(const Buffer& b) {
  if (b->scope != "local") Refuse(b, "scope " + std::string(b->scope), "a buffer in scope local");
  const auto* tile = b->layout.as<TileLayoutNode>();
  if (tile == nullptr && b->layout.defined()) Refuse(b, "a swizzled layout", "a TileLayout");
  int64_t extent = tile == nullptr ? FlatExtent(b) : MemoryExtent(b, tile);
  return Buffer(b->name, b->data, {extent}, b->dtype, Layout(), b->scope, b->elem_offset, b->align,
                b->allocated_addr, b->span);
}

}  // namespace tirx
