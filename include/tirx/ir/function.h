/*!
 * Functions, modules, and what a function becomes after SplitHostDevice.
 */
#ifndef TIRX_IR_FUNCTION_H_
#define TIRX_IR_FUNCTION_H_
#include <tirx/ir/stmt.h>

namespace tirx {

/*!
 * One function of the script language. `param_buffers[i]` is the buffer that parameter i (a handle)
 * binds, or null for a scalar parameter. attrs: "tirx.stage" ("tile" when absent, "native"),
 * "tirx.launch_bounds_min_blocks_per_sm", and the user's T.func_attr entries.
 */
class PrimFuncNode : public ffi::Object {
 public:
  ffi::String name;
  ffi::Array<Var> params;
  ffi::Array<ffi::Optional<Buffer>> param_buffers;
  Stmt body{ffi::UnsafeInit{}};
  ffi::Map<ffi::String, ffi::Any> attrs;
  Span span;
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.PrimFunc", PrimFuncNode, ffi::Object);
};
class PrimFunc : public ffi::ObjectRef {
 public:
  PrimFunc(ffi::String name, ffi::Array<Var> params,
           ffi::Array<ffi::Optional<Buffer>> param_buffers, Stmt body,
           ffi::Map<ffi::String, ffi::Any> attrs = {}, Span span = {});
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(PrimFunc, ffi::ObjectRef, PrimFuncNode);
};

class IRModuleNode : public ffi::Object {
 public:
  ffi::Map<ffi::String, PrimFunc> functions;
  ffi::Map<ffi::String, ffi::Any> attrs;
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.IRModule", IRModuleNode, ffi::Object);
};
class IRModule : public ffi::ObjectRef {
 public:
  IRModule(ffi::Map<ffi::String, PrimFunc> functions, ffi::Map<ffi::String, ffi::Any> attrs = {});
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(IRModule, ffi::ObjectRef, IRModuleNode);
};

/*!
 * How a device function is launched. Extents are expressions over the kernel's scalar parameters
 * (symbolic shapes included). threads is the flat CTA size; cluster is in CTAs.
 */
class LaunchPlanNode : public ffi::Object {
 public:
  ffi::Array<PrimExpr> grid;    //!< x, y, z in CTAs
  ffi::Array<int64_t> cluster;  //!< x, y, z in CTAs; {1,1,1}: no cluster launch
  int64_t threads{1};
  int64_t dyn_shared_bytes{0};
  int64_t static_shared_bytes{0};
  int64_t min_blocks_per_sm{0};           //!< 0: not stated
  ffi::Map<ffi::String, ffi::Any> attrs;  //!< {"cooperative": bool, "programmatic": bool}
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.LaunchPlan", LaunchPlanNode, ffi::Object);
};
class LaunchPlan : public ffi::ObjectRef {
 public:
  explicit LaunchPlan(ffi::ObjectPtr<LaunchPlanNode> n) : ObjectRef(std::move(n)) {}
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(LaunchPlan, ffi::ObjectRef, LaunchPlanNode);
};

/*!
 * A kernel: the host signature, the device function and its launch.
 * host.params / host.param_buffers describe the call's arguments (tile-stage shapes and strides, for
 * argument checks). device.params are, in order, one global pointer per buffer parameter, then the
 * scalar parameters, then the symbolic extents (`symbols`) that the body uses; device.body is
 * native-stage and device.param_buffers are flat.
 */
class KernelNode : public ffi::Object {
 public:
  PrimFunc host{ffi::UnsafeInit{}};
  PrimFunc device{ffi::UnsafeInit{}};
  ffi::Array<Var> symbols;
  LaunchPlan launch{ffi::UnsafeInit{}};
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.Kernel", KernelNode, ffi::Object);
};
class Kernel : public ffi::ObjectRef {
 public:
  explicit Kernel(ffi::ObjectPtr<KernelNode> n) : ObjectRef(std::move(n)) {}
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(Kernel, ffi::ObjectRef, KernelNode);
};

}  // namespace tirx
#endif  // TIRX_IR_FUNCTION_H_
