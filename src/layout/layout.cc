#include <tirx/layout/layout.h>
#include <tirx/support/diag.h>

namespace tirx {

Iter::Iter(PrimExpr extent, PrimExpr stride, ffi::String axis) : ObjectRef(ffi::UnsafeInit{}) {
  auto n = ffi::make_object<IterNode>();
  n->extent = std::move(extent);
  n->stride = std::move(stride);
  n->axis = std::move(axis);
  data_ = std::move(n);
}

TileLayout::TileLayout(ffi::Array<Iter> shard, ffi::Array<Iter> replica,
                       ffi::Map<ffi::String, PrimExpr> offset)
    : Layout(ffi::UnsafeInit{}) {
  auto n = ffi::make_object<TileLayoutNode>();
  n->shard = std::move(shard);
  n->replica = std::move(replica);
  n->offset = std::move(offset);
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

}  // namespace tirx
