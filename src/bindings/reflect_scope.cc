/*!
 * Registers execution scopes and dispatch contexts with the FFI (compiled at -O1).
 */
#include <tirx/scope/dispatch_context.h>
#include <tvm/ffi/function.h>

namespace tirx {

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
  refl::GlobalDef().def("tx.local_view", &LocalView);
}

}  // namespace tirx
