/*!
 * The swizzle of a ComposeLayout on memory coordinates (layout.h has the formula).
 */
#ifndef TIRX_LAYOUT_SWIZZLE_H_
#define TIRX_LAYOUT_SWIZZLE_H_
#include <tirx/layout/ops.h>

#include <functional>
#include <optional>

#include "form.h"

namespace tirx {
namespace layout {

/*! The layout as a swizzle; null for a TileLayout, and for swizzle_len 0, which moves nothing. */
const ComposeLayoutNode* SwizzleOf(const Layout& layout);
/*! f keeps every aligned block of this many elements in place: 2^(M + B + S). */
int64_t SwizzlePeriod(const ComposeLayoutNode& c);
int64_t SwizzleAddress(const ComposeLayoutNode& c, int64_t m);
/*! For a symbolic coordinate an expression with one xor. */
Num Swizzle(const ComposeLayoutNode& c, const Num& m, Prover& prover);
/*! Smallest coordinate on m of a tile without its swizzle. */
Num LowestAddress(const Form& tile);
/*! Span of the addresses in whole blocks of 2^(M+B). */
Num SwizzledSpan(const ComposeLayoutNode& c, const Form& tile, Facts facts);

/*! The normal form of a static swizzled layout: see compose_normal.cc. */
Layout NormalCompose(const ComposeLayoutNode& c);
/*! The layout whose element y is element index(y) of a static swizzled layout, for y < size; nothing
 *  when that is no TileLayout under a swizzle of at most as many bits. */
std::optional<Layout> ComposeOfElements(const ComposeLayoutNode& c, int64_t size,
                                        const std::function<int64_t(int64_t)>& index);

}  // namespace layout
}  // namespace tirx
#endif  // TIRX_LAYOUT_SWIZZLE_H_
