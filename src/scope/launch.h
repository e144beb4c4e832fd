/*!
 * Shared by scope_ids.cc and launch.cc.
 */
#ifndef TIRX_SRC_SCOPE_LAUNCH_H_
#define TIRX_SRC_SCOPE_LAUNCH_H_
#include <tirx/scope/scope_ids.h>

#include <string>

namespace tirx {
namespace scope {

/*! "warp_id([8])" or "warp_id()": a definition as the user wrote it. */
std::string DefText(const ScopeIdDef& def);
/*! The extent of a one-dimensional thread-level id when a CTA has `threads` threads. */
int64_t ThreadExtent(const std::string& kind, int64_t threads);

}  // namespace scope
}  // namespace tirx
#endif  // TIRX_SRC_SCOPE_LAUNCH_H_
