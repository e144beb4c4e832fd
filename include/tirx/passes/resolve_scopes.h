/*!
 * ResolveScopes: what the source leaves out about execution scopes is filled in.
 */
#ifndef TIRX_PASSES_RESOLVE_SCOPES_H_
#define TIRX_PASSES_RESOLVE_SCOPES_H_
#include <tirx/ir/function.h>
#include <tirx/ir/target.h>

namespace tirx {
namespace passes {

/*!
 * After it every scope id has extents, every tile call a scope, the launch stands in the function's
 * attributes ("tirx.threads", "tirx.grid", "tirx.cluster"), and so do the launch hints that the
 * body gave with T.attr (keys "tirx.*"). Raises user errors for a missing or repeated device_entry,
 * scope ids before it, contradicting or missing extents, and CTAs or clusters larger than the
 * target's.
 */
PrimFunc ResolveScopes(const PrimFunc& func, const Target& target);

}  // namespace passes
}  // namespace tirx
#endif  // TIRX_PASSES_RESOLVE_SCOPES_H_
