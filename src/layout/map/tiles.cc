/*!
 * TileLayouts as maps and correspondences, and back.
 */
#include <tirx/layout/axis.h>
#include <tirx/layout/corr.h>
#include <tirx/layout/ops.h>

#include <algorithm>

#include "../form.h"
#include "detail.h"

namespace tirx {
namespace layout {
namespace {

constexpr const char* kSwizzle = "xor_swizzle";

Form StaticForm(const Layout& layout) {
  Form form = Form::Of(TileOf(layout));
  if (form.IsStatic()) return form;
  Refuse("symbolic", "a layout map has constant extents, strides and offsets", Text(form),
         "constants", "substitute the variables first");
}

/*! Axes of a layout in order of first mention; m when there are none. */
std::vector<AxisId> AxesOf(const Form& form, bool swizzled) {
  std::vector<AxisId> axes;
  auto mention = [&](AxisId a) {
    if (std::find(axes.begin(), axes.end(), a) == axes.end()) axes.push_back(a);
  };
  for (const Step& s : form.shard) mention(s.axis);
  for (const Step& s : form.replica) mention(s.axis);
  for (const auto& [axis, value] : form.offset) mention(axis);
  if (axes.empty() || swizzled) mention(kMemoryAxis);
  return axes;
}

Ints Along(const std::vector<AxisId>& axes, AxisId axis, int64_t stride) {
  std::vector<int64_t> v(axes.size(), 0);
  v[std::find(axes.begin(), axes.end(), axis) - axes.begin()] = stride;
  return ToInts(v);
}

/*! Linear index x replica digits -> coordinates, before any swizzle. */
LayoutMap PlaceMap(const Form& form, const std::vector<AxisId>& axes) {
  Ints extents;
  IntRows vectors;
  for (size_t i = form.shard.size(); i-- > 0;) {  // innermost first: the fastest digit
    extents.push_back(form.shard[i].extent.value());
    vectors.push_back(Along(axes, form.shard[i].axis, form.shard[i].stride.value()));
  }
  if (extents.empty()) {
    extents.push_back(1);
    vectors.push_back(ToInts(std::vector<int64_t>(axes.size(), 0)));
  }
  IntRows shape{extents};
  ffi::Array<IntRows> stride{vectors};
  ffi::Array<ffi::String> names{""};
  for (size_t r = 0; r < form.replica.size(); ++r) {
    shape.push_back({form.replica[r].extent.value()});
    stride.push_back({Along(axes, form.replica[r].axis, form.replica[r].stride.value())});
    names.push_back("r" + std::to_string(r));
  }
  std::vector<int64_t> offset;
  for (AxisId a : axes) offset.push_back(form.OffsetOn(a).value());
  return MixedRadix(shape, stride, ToInts(offset), std::nullopt, names);
}

ffi::Array<ffi::String> NamesOf(const std::vector<AxisId>& axes) {
  ffi::Array<ffi::String> names;
  for (AxisId a : axes) names.push_back(GetAxis(a).name);
  return names;
}

void CheckAddress(const Form& form) {
  int64_t low = form.OffsetOn(kMemoryAxis).value();
  for (const auto* steps : {&form.shard, &form.replica}) {
    for (const Step& s : *steps) {
      if (s.axis != kMemoryAxis) continue;
      low =
          CheckedAdd(low, std::min<int64_t>(0, CheckedMul(s.stride.value(), s.extent.value() - 1)));
    }
  }
  if (low >= 0) return;
  Refuse("negative-address", "a swizzled layout reaches negative addresses", std::to_string(low),
         "addresses of at least 0: the transform acts on [0, n)");
}

/*! Identity on every axis but m, where the swizzle is. */
LayoutMap SwizzleMap(const ComposeLayoutNode& c, const IndexBox& box,
                     const std::vector<AxisId>& axes) {
  Ints params{c.per_element, c.swizzle_len, c.atom_len};
  ffi::Array<LayoutMap> maps;
  for (size_t j = 0; j < axes.size(); ++j) {
    IndexBox one({box->extents[j]}, {box->names[j]});
    maps.push_back(axes[j] == kMemoryAxis ? Transform(kSwizzle, params, one, one) : Identity(one));
  }
  return maps.size() == 1 ? maps[0] : Product(maps);
}

/*! The places of Logical x Replica. */
LayoutMap Places(const Layout& layout, const Form& form) {
  auto* swizzle = layout.as<ComposeLayoutNode>();
  bool swizzled = swizzle && swizzle->swizzle_len > 0;
  std::vector<AxisId> axes = AxesOf(form, swizzled);
  LayoutMap place = PlaceMap(form, axes);
  std::vector<int64_t> extents = place->codomain.Extents();
  if (swizzled) {
    CheckAddress(form);
    int64_t block = int64_t{1} << (swizzle->per_element + swizzle->swizzle_len);
    int64_t& m = extents[std::find(axes.begin(), axes.end(), kMemoryAxis) - axes.begin()];
    m = CheckedMul((m - 1) / block + 1, block);
  }
  auto* radix = place.as<MixedRadixMapNode>();
  IndexBox box(ToInts(extents), NamesOf(axes));
  place = MixedRadix(radix->shape, radix->stride, radix->offset, box, place->domain->names);
  return swizzled ? Compose(SwizzleMap(*swizzle, box, axes), place) : place;
}

/*! Coordinates of `shape` (and further axes as they are) -> linear index, row-major. */
LayoutMap RowMajorIndex(const std::vector<int64_t>& shape, const IndexBox& box) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = CheckedMul(strides[i], shape[i]);
  bool fits = !shape.empty() && CheckedMul(strides[0], shape[0]) == box->extents[0];
  if (!fits) {
    Refuse("size-mismatch", "the shape does not have as many elements as the layout",
           PointText(shape), std::to_string(box->extents[0]) + " elements");
  }
  IntRows extents;
  ffi::Array<IntRows> vectors;
  size_t rank = box.rank();
  ffi::Array<ffi::String> names;
  auto axis = [&](int64_t extent, size_t output, int64_t stride, const ffi::String& name) {
    std::vector<int64_t> v(rank, 0);
    v[output] = stride;
    extents.push_back({extent});
    vectors.push_back({ToInts(v)});
    names.push_back(name);
  };
  for (size_t i = 0; i < shape.size(); ++i) axis(shape[i], 0, strides[i], "");
  for (size_t j = 1; j < rank; ++j) axis(box->extents[j], j, 1, box->names[j]);
  return MixedRadix(extents, vectors, ToInts(std::vector<int64_t>(rank, 0)), box, names);
}

/*! `places` with the linear index replaced by coordinates of `shape`; a swizzle stays outermost. */
LayoutMap Reshaped(const LayoutMap& places, const std::vector<int64_t>& shape) {
  if (shape.empty()) return places;
  LayoutMap index = RowMajorIndex(shape, places->domain);
  auto* c = places.as<ComposeMapNode>();
  if (!c) return Normalize(Compose(places, index));
  return Compose(c->outer, MixedRadixOfIdentity(Compose(c->inner, index)));
}

}  // namespace

LayoutMap AsMap(const Layout& layout, const std::vector<int64_t>& shape) {
  Form form = StaticForm(layout);
  if (!form.replica.empty()) {
    Refuse("replicated", "a layout with replicas has several places per element and is no map",
           LayoutText(layout), "a layout without replicas", "corr_of() keeps every copy");
  }
  return Reshaped(Places(layout, form), shape);
}

LayoutCorr CorrOf(const Layout& layout, const std::vector<int64_t>& shape) {
  LayoutMap place = Reshaped(Places(layout, StaticForm(layout)), shape);
  std::vector<int64_t> kept;
  for (size_t i = 0; i < std::max<size_t>(1, shape.size()); ++i) kept.push_back(i);
  if (kept.size() == place->domain.rank()) return LayoutCorr(Identity(place->domain), place);
  return LayoutCorr(Project(place->domain, ToInts(kept)), place);
}

namespace {

[[noreturn]] void NotATile(const std::string& found, const std::string& required) {
  Refuse("not-a-tile-layout", "no TileLayout has this map", found, required);
}

/*! Axis name of every output. */
std::vector<ffi::String> AxisNames(const IndexBox& box) {
  std::vector<ffi::String> out;
  for (size_t j = 0; j < box.rank(); ++j) {
    ffi::String name = box->names.empty() ? ffi::String("") : box->names[j];
    if (name.empty() && box.rank() == 1) name = "m";
    if (name.empty()) NotATile("a codomain axis without a name", "an axis name for each output");
    FindAxis(name);
    out.push_back(name);
  }
  return out;
}

/*! One digit as an iter: it may move along one axis only. */
Iter IterOf(int64_t extent, const Ints& stride, const std::vector<ffi::String>& names) {
  size_t at = 0, moving = 0;
  for (size_t j = 0; j < stride.size(); ++j) {
    if (stride[j] == 0) continue;
    at = j;
    ++moving;
  }
  if (moving > 1) NotATile("stride " + PointText(ToVector(stride)), "digits on one axis each");
  return Iter(extent, stride[at], moving == 0 ? ffi::String("m") : names[at]);
}

/*! Iters of domain axes [from, to), outermost first. */
ffi::Array<Iter> ItersOf(const MixedRadixMapNode& m, size_t from, size_t to,
                         const std::vector<ffi::String>& names) {
  ffi::Array<Iter> out;
  for (size_t i = from; i < to; ++i) {
    for (size_t k = m.shape[i].size(); k-- > 0;) {
      out.push_back(IterOf(m.shape[i][k], m.stride[i][k], names));
    }
  }
  return out;
}

/*! A map whose first `logical` axes are the tile and whose others are replicas. */
TileLayout TileOfMap(const LayoutMap& map, size_t logical) {
  LayoutMap n = Normalize(map);
  if (n.as<IdentityMapNode>()) n = MixedRadixOfIdentity(n);
  auto* m = n.as<MixedRadixMapNode>();
  if (!m)
    NotATile(PointText(map->domain.Extents()) + " -> " + PointText(map->codomain.Extents()),
             "a mixed-radix map");
  std::vector<ffi::String> names = AxisNames(map->codomain);
  ffi::Map<ffi::String, PrimExpr> offset;
  for (size_t j = 0; j < names.size(); ++j) {
    PrimExpr value(m->offset[j]);
    if (m->offset[j] != 0) offset.Set(names[j], value);
  }
  return TileLayout(ItersOf(*m, 0, logical, names), ItersOf(*m, logical, m->shape.size(), names),
                    offset);
}

/*! The swizzle on m of a transform, alone or in a product with identities; nothing otherwise. */
const TransformMapNode* SwizzleIn(const LayoutMap& outer) {
  auto* product = outer.as<ProductMapNode>();
  ffi::Array<LayoutMap> parts = product ? product->maps : ffi::Array<LayoutMap>{outer};
  const TransformMapNode* found = nullptr;
  for (const LayoutMap& part : parts) {
    if (part.as<IdentityMapNode>()) continue;
    auto* t = part.as<TransformMapNode>();
    if (!t || t->name != kSwizzle || found) return nullptr;
    found = t;
  }
  bool on_memory = found && AxisNames(found->codomain)[0] == "m";
  return on_memory ? found : nullptr;
}

Layout LayoutOfPlaces(const LayoutMap& map, size_t logical) {
  auto* c = map.as<ComposeMapNode>();
  const TransformMapNode* swizzle = c ? SwizzleIn(c->outer) : nullptr;
  if (!swizzle) return TileOfMap(map, logical);
  LayoutMap inner = WithCodomain(c->inner, map->codomain);
  return ComposeLayout(static_cast<int>(swizzle->params[0]), static_cast<int>(swizzle->params[1]),
                       static_cast<int>(swizzle->params[2]), TileOfMap(inner, logical));
}

}  // namespace

Layout ToTileLayout(const LayoutMap& map) { return LayoutOfPlaces(map, map->domain.rank()); }

Layout CorrToTileLayout(const LayoutCorr& corr) {
  size_t logical = corr->left->codomain.rank();
  std::vector<int64_t> axes;
  for (size_t i = 0; i < logical; ++i) axes.push_back(static_cast<int64_t>(i));
  bool rest = logical <= corr->left->domain.rank();
  bool keeps = rest && SameForm(corr->left, Project(corr->left->domain, ToInts(axes)));
  if (!keeps)
    NotATile("a left leg that is no projection", "left keeps the leading axes as they are");
  return LayoutOfPlaces(corr->right, logical);
}

}  // namespace layout
}  // namespace tirx
