/*!
 * Scope ids: their extents, and what they are in terms of the hardware's indices.
 */
#ifndef TIRX_SCOPE_SCOPE_IDS_H_
#define TIRX_SCOPE_SCOPE_IDS_H_
#include <tirx/ir/function.h>
#include <tirx/scope/active_set.h>

#include <array>
#include <unordered_map>

namespace tirx {
namespace scope {

/*! How large the launch is, as the scope ids say. */
struct Launch {
  int64_t threads{1};
  std::array<int64_t, 3> cluster{1, 1, 1};
  std::array<PrimExpr, 3> grid{PrimExpr(1), PrimExpr(1), PrimExpr(1)};  //!< in CTAs
  int64_t Ctas() const { return cluster[0] * cluster[1] * cluster[2]; }
};

/*!
 * Infers what the definitions leave out, from the others (warpgroup = 4 warps = 128 threads;
 * grid = clusters x cluster). Raises a scope error that shows both lines when two definitions
 * contradict each other, or one when an extent cannot be inferred.
 */
Launch InferLaunch(const std::vector<ScopeIdDef>& defs);
/*! The extents of `def` in a launch (those given, or inferred). */
ffi::Array<PrimExpr> ExtentsOf(const ScopeIdDef& def, const Launch& launch);

/*! The launch in func->attrs: "tirx.threads", "tirx.grid", "tirx.cluster" (written by
 * ResolveScopes). */
Launch LaunchOf(const PrimFunc& func);
void SetLaunch(ffi::Map<ffi::String, ffi::Any>* attrs, const Launch& launch);

/*! All scope-id definitions below s, in program order. */
std::vector<ScopeIdDef> CollectScopeIds(const Stmt& s);

/*! Each id's meaning as an expression over one linear thread index and the tx.cta_* intrinsics. */
class IdTable {
 public:
  IdTable(const std::vector<ScopeIdDef>& defs, const Launch& launch);
  const Launch& launch() const { return launch_; }
  /*! The linear thread index in the CTA: the user's own `thread_id` (or the lane of a
   *  CTA of one warp) when there is one. */
  const Var& thread_index() const { return thread_index_; }
  /*! The meaning of an id; null for variables that are none. */
  const PrimExpr* Find(const VarNode* v) const;
  /*! All ids in the order of their definitions. */
  const std::vector<std::pair<Var, PrimExpr>>& definitions() const { return definitions_; }
  /*! The user's variable for the lane or the warp index when there is one, else an expression. */
  PrimExpr lane() const { return lane_; }
  PrimExpr warp() const { return warp_; }

 private:
  void Define(const Var& v, const std::string& kind, size_t dim, const ScopeIdDef& def);
  Launch launch_;
  Var thread_index_{ffi::UnsafeInit{}};
  PrimExpr lane_{0}, warp_{0};
  std::vector<std::pair<Var, PrimExpr>> definitions_;
  std::unordered_map<const VarNode*, PrimExpr> by_var_;
};

}  // namespace scope
}  // namespace tirx
#endif  // TIRX_SCOPE_SCOPE_IDS_H_
