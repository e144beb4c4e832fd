#include <tirx/layout/layout.h>
#include <tirx/layout/ops.h>
#include <tirx/support/diag.h>

#include "form.h"

namespace tirx {
namespace {

void CheckInteger(const PrimExpr& e, const char* what) {
  if (IsInteger(e->dtype) && e->dtype.lanes == 1) return;
  Diag("layout", "not-an-integer", {})
      .Message(std::string("a layout's ") + what + " must be an integer")
      .Found(layout::Text(e) + " of " + DTypeName(e->dtype))
      .Required("an int or a scalar integer expression")
      .Throw();
}

}  // namespace

Iter::Iter(PrimExpr extent, PrimExpr stride, ffi::String axis) : ObjectRef(ffi::UnsafeInit{}) {
  CheckInteger(extent, "extent");
  CheckInteger(stride, "stride");
  layout::CheckExtents({layout::Num(extent)});
  FindAxis(axis);
  auto n = ffi::make_object<IterNode>();
  n->extent = std::move(extent);
  n->stride = std::move(stride);
  n->axis = std::move(axis);
  data_ = std::move(n);
}

TileLayout::TileLayout(ffi::Array<Iter> shard, ffi::Array<Iter> replica,
                       ffi::Map<ffi::String, PrimExpr> offset)
    : Layout(ffi::UnsafeInit{}) {
  ffi::Map<ffi::String, PrimExpr> moved;  // zero offsets are not written down
  for (const auto& [axis, value] : offset) {
    CheckInteger(value, "offset");
    FindAxis(axis);
    if (!IsConst(value, 0)) moved.Set(axis, value);
  }
  auto n = ffi::make_object<TileLayoutNode>();
  n->shard = std::move(shard);
  n->replica = std::move(replica);
  n->offset = std::move(moved);
  data_ = std::move(n);
}

ComposeLayout::ComposeLayout(int per_element, int swizzle_len, int atom_len, TileLayout tile)
    : Layout(ffi::UnsafeInit{}) {
  if (per_element < 0 || swizzle_len < 0 || atom_len < swizzle_len ||
      per_element + swizzle_len + atom_len > 62) {
    Diag("layout", "bad-swizzle", {})
        .Message("a swizzle needs 0 <= swizzle_len <= atom_len and 0 <= per_element")
        .Found("per_element=" + std::to_string(per_element) + ", swizzle_len=" +
               std::to_string(swizzle_len) + ", atom_len=" + std::to_string(atom_len))
        .Required("S >= B so that the swizzle is its own inverse")
        .Throw();
  }
  auto n = ffi::make_object<ComposeLayoutNode>();
  n->per_element = per_element;
  n->swizzle_len = swizzle_len;
  n->atom_len = atom_len;
  n->tile = std::move(tile);
  data_ = std::move(n);
}

namespace layout {

TileLayout RowMajor(const Shape& shape) {
  Form f;
  std::vector<Num> extents = ToNums(shape);
  CheckExtents(extents);
  Num stride = 1;
  for (size_t d = extents.size(); d-- > 0;) {
    f.shard.insert(f.shard.begin(), {extents[d], stride, kMemoryAxis});
    stride = stride * extents[d];
  }
  return f.ToLayout();
}

TileLayout TileOf(const Layout& layout) {
  if (auto* c = layout.as<ComposeLayoutNode>()) return c->tile;
  if (auto* t = layout.as<TileLayoutNode>()) return GetRef<TileLayout>(t);
  Diag("layout", "unknown-layout", {})
      .Message("this kind of layout has no layout operations")
      .Found(layout.defined() ? std::string(layout->GetTypeKey()) : std::string("None"))
      .Required("a TileLayout or a ComposeLayout")
      .Throw();
}

std::string LayoutText(const Layout& layout) {
  std::string tile = Text(Form::Of(TileOf(layout)));
  auto* c = layout.as<ComposeLayoutNode>();
  if (!c) return tile;
  return "ComposeLayout(" + std::to_string(c->per_element) + ", " + std::to_string(c->swizzle_len) +
         ", " + std::to_string(c->atom_len) + ", TileLayout(" + tile + "))";
}

}  // namespace layout
}  // namespace tirx
