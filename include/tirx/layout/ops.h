/*!
 * The algebra of layouts (paper, section 5.1).
 *
 * Every operation is exact or raises a LayoutError (family "layout") that names what is impossible
 * or could not be proved; none approximates. The meaning of each is stated on placements, the set
 * L(x) = { D(x) + r + O | r in R } for every linear index x; an axis that is not mentioned has
 * coordinate 0. Arithmetic on constants is checked against 64 bits.
 *
 * Symbolic extents are at least 1 and symbolic strides at least 0: the contract of a layout that
 * has them. Symbolic coordinates lie inside their shape. Facts about variables come from
 * `analyzer`; with null, only what holds for every value is used.
 */
#ifndef TIRX_LAYOUT_OPS_H_
#define TIRX_LAYOUT_OPS_H_
#include <tirx/arith/analyzer.h>
#include <tirx/layout/axis.h>
#include <tirx/layout/layout.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tirx {
namespace layout {

using Facts = const arith::Analyzer*;
using Shape = ffi::Array<PrimExpr>;
using Coordinates = std::vector<std::pair<ffi::String, PrimExpr>>;

/*! Row-major strides of `shape` on axis m. */
TileLayout RowMajor(const Shape& shape);
/*! The TileLayout under a layout: itself, or the tile of a ComposeLayout. */
TileLayout TileOf(const Layout& layout);

/*! Number of elements: the product of the shard extents. */
PrimExpr Size(const Layout& layout);
/*! Product of the extents of the shard iters on `axis`. */
PrimExpr SizeOn(const Layout& layout, const ffi::String& axis);
/*! Largest minus smallest coordinate on `axis` over all elements and replicas, plus 1. For a
 *  ComposeLayout on m: of whole swizzle atoms. */
PrimExpr Span(const Layout& layout, const ffi::String& axis, Facts facts = nullptr);

/*!
 * The first place (all replica digits 0) of the element at `coord`. `shape` admits the layout when
 * its product is the size; without it `coord` is linear (one value) or has one value per shard
 * iter. Axes come in order of first mention. Raises "out-of-range" for constants outside.
 */
Coordinates Apply(const Layout& layout, const Shape& coord, const Shape& shape = {},
                  Facts facts = nullptr);
/*! Apply's coordinate on m: the element index into a buffer's memory. */
PrimExpr MemoryIndex(const Layout& layout, const Shape& coord, const Shape& shape,
                     Facts facts = nullptr);

/*! Places of every element in order of the linear index, for tables and drawings. */
struct PlaceList {
  /*! In order of first mention. */
  std::vector<std::string> axes;
  /*! Distinct places of one element (the same number for all). */
  int64_t per_element{1};
  /*! [element][place][axis] */
  std::vector<int64_t> coordinates;
};
constexpr int64_t kMaxPlaces = int64_t{1} << 22;
/*! Raises "not-static" for symbolic layouts, "too-large" above kMaxPlaces. */
PlaceList AllPlaces(const Layout& layout);

/*!
 * The normal form: two static layouts with the same placements get equal objects, whatever their
 * iters, replicas, offsets and swizzles. Unit iters are dropped, iters merged, zero strides put on m,
 * replicas given positive strides and the least list of steps; a swizzled layout that is a TileLayout
 * becomes one. Symbolic layouts are shortened as far as is proved. Raises "replica-overlap" for
 * overlapping replicas with too many sums to search, "swizzle-too-large" beyond 2^21 swizzled places.
 */
Layout Canonicalize(const Layout& layout, Facts facts = nullptr);

/*! The first linear index whose places differ, or nothing. */
struct Difference {
  /*! "size" when the two have different sizes, else "place". */
  std::string kind;
  int64_t index{0};
};
/*! Raises "unproved" when symbolic layouts can be shown neither equal nor different. */
std::optional<Difference> FirstDifference(const Layout& a, const Layout& b, Facts facts = nullptr);

/*! `layout` rewritten so that dimension d of `shape` is shard iters [seps[d], seps[d+1]). */
struct Grouped {
  Layout layout;
  std::vector<int64_t> seps;
};
Grouped Group(const Layout& layout, const Shape& shape, Facts facts = nullptr);
/*! Shard iters in a new order: the layout of the transposed tile. */
Layout Permute(const Layout& layout, const std::vector<int64_t>& order);
Layout PermuteByGroups(const Layout& layout, const std::vector<int64_t>& seps,
                       const std::vector<int64_t>& order);

/*!
 * The layout of the box `region` of a tile of `shape`: slice(y) = layout(min + y) for every y in
 * the extents of the region. Starts may be symbolic; a start inside an iter is accepted when the
 * box is proved to stay inside it. Raises "slice-not-a-layout" or "unproved".
 */
Layout Slice(const Layout& layout, const Shape& shape, const ffi::Array<Range>& region,
             Facts facts = nullptr);

/*! T(x | y) = outer(x) * span(inner) + inner(y), per axis; dimensions interleave as (outer_d,
 * inner_d). A swizzled inner needs spans that are whole periods. */
Layout Tile(const Layout& inner, const TileLayout& outer, const Shape& outer_shape,
            const Shape& inner_shape, Facts facts = nullptr);
/*! Tile with a row-major outer on m so that the result has shape `to`. */
Layout TileTo(const Layout& inner, const Shape& to, const Shape& from, Facts facts = nullptr);
/*! T(x | y) = left(x) + right(y). */
Layout DirectSum(const Layout& right, const TileLayout& left, const Shape& left_shape,
                 const Shape& right_shape, Facts facts = nullptr);
/*! The outer with Tile(inner, outer) = tiled, in normal form; nothing when there is none. These four
 *  questions raise "unproved" when symbolic layouts leave that open. */
std::optional<TileLayout> TileOuterOf(const Layout& tiled, const Layout& inner,
                                      const Shape& tiled_shape, const Shape& inner_shape,
                                      Facts facts = nullptr);
/*! The inner with Tile(inner, outer) = tiled, swizzled as tiled is; nothing when there is none. */
std::optional<Layout> TileInnerOf(const Layout& tiled, const TileLayout& outer,
                                  const Shape& tiled_shape, const Shape& outer_shape,
                                  Facts facts = nullptr);
/*! The missing addend of a direct sum whose interleaved shape is (left_0, right_0, ..): the left of
 *  a right that is swizzled as the sum is, or the right, swizzled so. */
std::optional<TileLayout> DirectSumLeftOf(const Layout& sum, const Layout& right,
                                          const Shape& shape, const Shape& right_shape,
                                          Facts facts = nullptr);
std::optional<Layout> DirectSumRightOf(const Layout& sum, const TileLayout& left,
                                       const Shape& shape, const Shape& left_shape,
                                       Facts facts = nullptr);

/*! Every element becomes `num` consecutive smaller ones (x -> x*num + j) on the memory axis of the
 *  innermost iter (m when that iter is on a thread axis). */
Layout Unpack(const Layout& layout, int64_t num, Facts facts = nullptr);
/*! The inverse: `num` consecutive, aligned elements become one. Raises "not-packable". */
Layout Pack(const Layout& layout, int64_t num, Facts facts = nullptr);
/*! The same bits seen as elements of another width (4- and 6-bit included). */
Layout Recast(const Layout& layout, int64_t from_bits, int64_t to_bits, Facts facts = nullptr);
/*! A stride-0 iter of `extent` before shard iter `position`. */
Layout Broadcast(const Layout& layout, const PrimExpr& extent, int64_t position,
                 const ffi::String& axis);
/*! What one owner stores: the parts on memory axes. */
Layout Storage(const Layout& layout);
/*! What says who owns: the parts on thread axes. */
TileLayout Owners(const Layout& layout);
/*! (owner kind, team kind), e.g. ("thread", "warp"); nothing without thread axes. */
std::optional<std::pair<std::string, std::string>> GetScope(const Layout& layout);
/*! Thread axes re-expressed on `axes` by the axis identities. Raises "axis-not-convertible". */
Layout ConvertAxes(const Layout& layout, const ffi::Array<ffi::String>& axes,
                   Facts facts = nullptr);

/*!
 * Largest power of two v <= limit such that every aligned run of v elements along dimension `dim`
 * of `shape` is consecutive on m, has one owner, and starts at a multiple of v. Of a swizzled layout
 * it is that of the tile, at most one chunk: sound, and perhaps smaller than the largest.
 */
int64_t ContiguousRun(const Layout& layout, const Shape& shape, int64_t dim, int64_t limit,
                      Facts facts = nullptr);

/*! "S[(8, 4):(4@laneid, 1)] + R[2:4@warpid] + 5@warpid": what tirx.layout reads back. */
std::string LayoutText(const Layout& layout);

}  // namespace layout
}  // namespace tirx
#endif  // TIRX_LAYOUT_OPS_H_
