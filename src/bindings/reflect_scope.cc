/*!
 * Registers execution scopes and dispatch contexts with the FFI (compiled at -O1).
 */
#include <tirx/scope/dispatch_context.h>
#include <tirx/scope/walker.h>
#include <tvm/ffi/function.h>

namespace tirx {
namespace {

template <size_t N>
ffi::Array<int64_t> MembersOf(const std::bitset<N>& set) {
  ffi::Array<int64_t> out;
  for (size_t i = 0; i < N; ++i) {
    if (set[i]) out.push_back(static_cast<int64_t>(i));
  }
  return out;
}

ffi::Map<ffi::String, ffi::Any> ToMap(const scope::Place& p) {
  ffi::Map<ffi::String, ffi::Any> out;
  out.Set("call", p.call);
  out.Set("threads", MembersOf(p.active.threads));
  out.Set("ctas", MembersOf(p.active.ctas));
  out.Set("agreed", ffi::String(scope::KindName(p.active.agreed)));
  out.Set("elected", p.active.elected);
  std::optional<TileLayout> layout = scope::ToLayout(p.active);
  out.Set("layout", layout ? ffi::Any(*layout) : ffi::Any(nullptr));
  return out;
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<DispatchContextNode>(refl::init(false))
      .def_ro("target", &DispatchContextNode::target)
      .def_ro("scope", &DispatchContextNode::scope)
      .def_ro("analyzer", &DispatchContextNode::analyzer)
      .def_ro("inter", &DispatchContextNode::inter)
      .def_ro("intra", &DispatchContextNode::intra)
      .def_ro("team_size", &DispatchContextNode::team_size)
      .def_ro("active", &DispatchContextNode::active)
      .def_ro("full", &DispatchContextNode::full)
      .def_ro("exact", &DispatchContextNode::exact)
      .def_ro("thread_index", &DispatchContextNode::thread_index)
      .def_ro("thread_in_team", &DispatchContextNode::thread_in_team)
      .def_ro("lane", &DispatchContextNode::lane)
      .def_ro("warp", &DispatchContextNode::warp)
      .def_ro("num_threads", &DispatchContextNode::num_threads)
      .def_ro("launch", &DispatchContextNode::launch)
      .def_ro("allocs", &DispatchContextNode::allocs)
      .def_ro("device_init", &DispatchContextNode::device_init)
      .def_ro("host_init", &DispatchContextNode::host_init);
  refl::GlobalDef def;
  def.def("tx.local_view", &LocalView);
  def.def("tx.active_sets", [](PrimFunc func) {
    ffi::Array<ffi::Any> out;
    for (const scope::Place& p : scope::PlacesOf(func)) out.push_back(ToMap(p));
    return out;
  });
}

}  // namespace tirx
