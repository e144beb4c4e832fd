/*!
 * What a dispatch rule knows about the place of a tile call.
 */
#ifndef TIRX_SCOPE_DISPATCH_CONTEXT_H_
#define TIRX_SCOPE_DISPATCH_CONTEXT_H_
#include <tirx/arith/analyzer.h>
#include <tirx/ir/stmt.h>
#include <tirx/ir/target.h>
#include <tirx/scope/scope_ids.h>
#include <tvm/ffi/container/list.h>

namespace tirx {

/*!
 * The team that executes one tile call, and where a rule leaves what it needs besides its code.
 *
 * The active set (paper section 4) is split over the team kind `scope`: `inter` enumerates the
 * teams, `intra` the active threads of one team (section 4.2). Axes: "laneid", "warpid" (in the
 * CTA), "wid_in_wg" and "wgid" (warpgroup split), "cta_id" (rank in the cluster). The grid is not
 * part of the active set: every cluster runs the same program.
 *
 * Rules may append to the three lists: private allocations and `device_init` go to the start of the
 * kernel, `host_init` runs before the launch. One context serves one call.
 */
class DispatchContextNode : public ffi::Object {
 public:
  Target target{ffi::ObjectPtr<TargetNode>(nullptr)};
  ffi::String scope{"thread"};
  arith::Analyzer analyzer{ffi::UnsafeInit{}};  //!< knows loop variables, lets, ids, conditions
  TileLayout inter{ffi::UnsafeInit{}};
  TileLayout intra{ffi::UnsafeInit{}};
  int64_t team_size{1};  //!< threads of a full team
  int64_t active{1};     //!< active threads in each team
  bool full{true};       //!< active == team_size
  bool exact{true};      //!< false: `inter` is the smallest progression that covers the teams
  Var thread_index{ffi::UnsafeInit{}};         //!< linear in the CTA
  PrimExpr thread_in_team{ffi::UnsafeInit{}};  //!< 0 .. active-1, in order of thread index
  PrimExpr lane{ffi::UnsafeInit{}};            //!< thread_index % 32
  PrimExpr warp{ffi::UnsafeInit{}};            //!< thread_index / 32
  int64_t num_threads{1};                      //!< threads per CTA
  ffi::Map<ffi::String, ffi::Any> launch;  //!< {"grid": [x,y,z], "cluster": [x,y,z], "threads": n}
  ffi::List<Buffer> allocs;
  ffi::List<Stmt> device_init;
  ffi::List<Stmt> host_init;
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.DispatchContext", DispatchContextNode, ffi::Object);
};
class DispatchContext : public ffi::ObjectRef {
 public:
  explicit DispatchContext(ffi::ObjectPtr<DispatchContextNode> n) : ObjectRef(std::move(n)) {}
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(DispatchContext, ffi::ObjectRef,
                                                DispatchContextNode);
};

/*!
 * The context of a call at `span` executed by teams of `kind` out of the active set. Raises a scope
 * error when the active set does not split into such teams.
 */
DispatchContext MakeDispatchContext(const Target& target, const scope::IdTable& ids,
                                    const scope::ActiveSet& active, scope::Kind kind,
                                    const arith::Analyzer& analyzer, const Span& span);

/*!
 * Elements that one owner of a buffer holds: the largest memory coordinate plus one (whole swizzle
 * periods), or the product of the shape without a layout. int64 when symbolic.
 */
PrimExpr MemoryExtent(const Buffer& buffer);

/*!
 * The storage that one thread owns of a register buffer, as a flat buffer over the same data:
 * its index is the layout's memory coordinate ("m" axis, offset included), its extent the largest
 * coordinate plus one. A buffer without thread axes gives its own storage. Raises a layout error
 * when the extent is symbolic or the buffer is not in scope "local".
 */
Buffer LocalView(const Buffer& buffer);

}  // namespace tirx
#endif  // TIRX_SCOPE_DISPATCH_CONTEXT_H_
