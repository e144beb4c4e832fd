/*!
 * Registers the driver runtime with the FFI.
 */
#include <tirx/runtime/cuda_driver.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/memory.h>
#include <tvm/ffi/object.h>
#include <tvm/ffi/reflection/registry.h>

#include <memory>

namespace tirx {
namespace ffi = tvm::ffi;
namespace refl = tvm::ffi::reflection;
namespace {

/*! A loaded kernel that Python holds. */
class DeviceKernelNode : public ffi::Object {
 public:
  std::shared_ptr<runtime::DeviceKernel> impl;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.DeviceKernel", DeviceKernelNode, ffi::Object);
};
class DeviceKernelRef : public ffi::ObjectRef {
 public:
  explicit DeviceKernelRef(ffi::ObjectPtr<DeviceKernelNode> n) : ObjectRef(std::move(n)) {}
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(DeviceKernelRef, ffi::ObjectRef, DeviceKernelNode);
};

std::array<uint32_t, 3> ThreeOf(const ffi::Array<int64_t>& a) {
  std::array<uint32_t, 3> out{1, 1, 1};
  for (size_t i = 0; i < a.size() && i < 3; ++i) out[i] = static_cast<uint32_t>(a[i]);
  return out;
}

void Launch(const DeviceKernelRef& kernel, int device, int64_t stream, ffi::Array<int64_t> grid,
            ffi::Array<int64_t> cluster, int64_t threads, int64_t dyn_shared, bool cooperative,
            bool programmatic, ffi::Bytes params, ffi::Array<int64_t> offsets) {
  runtime::LaunchConfig c;
  c.grid = ThreeOf(grid);
  c.cluster = ThreeOf(cluster);
  c.threads = static_cast<uint32_t>(threads);
  c.dyn_shared_bytes = static_cast<uint32_t>(dyn_shared);
  c.cooperative = cooperative;
  c.programmatic = programmatic;
  kernel->impl->Launch(device, static_cast<uint64_t>(stream), c, std::string(params),
                       std::vector<int64_t>(offsets.begin(), offsets.end()));
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<DeviceKernelNode>(refl::init(false));
  refl::GlobalDef def;
  def.def("tx.runtime.query_driver", []() {
    runtime::DriverStatus s = runtime::QueryDriver();
    return ffi::Map<ffi::String, ffi::Any>{{"usable", s.usable},
                                           {"reason", ffi::String(s.reason)},
                                           {"device_count", s.device_count},
                                           {"driver_version", s.driver_version}};
  });
  def.def("tx.runtime.device_arch", [](int d) { return ffi::String(runtime::DeviceArch(d)); });
  def.def("tx.runtime.device_name", [](int d) { return ffi::String(runtime::DeviceName(d)); });
  def.def("tx.runtime.device_kernel", [](ffi::Bytes image, ffi::String name) {
    auto n = ffi::make_object<DeviceKernelNode>();
    n->impl = std::make_shared<runtime::DeviceKernel>(std::string(image), std::string(name));
    return DeviceKernelRef(std::move(n));
  });
  def.def("tx.runtime.launch", &Launch);
  def.def("tx.runtime.mem_alloc", [](int device, int64_t bytes) {
    return static_cast<int64_t>(runtime::MemAlloc(device, static_cast<size_t>(bytes)));
  });
  def.def("tx.runtime.mem_free", [](int device, int64_t address) {
    runtime::MemFree(device, static_cast<uint64_t>(address));
  });
  def.def("tx.runtime.copy_to_device", [](int device, int64_t dst, int64_t src, int64_t bytes) {
    runtime::CopyToDevice(device, static_cast<uint64_t>(dst), reinterpret_cast<const void*>(src),
                          static_cast<size_t>(bytes));
  });
  def.def("tx.runtime.copy_to_host", [](int device, int64_t dst, int64_t src, int64_t bytes) {
    runtime::CopyToHost(device, reinterpret_cast<void*>(dst), static_cast<uint64_t>(src),
                        static_cast<size_t>(bytes));
  });
  def.def("tx.runtime.synchronize", [](int device, int64_t stream) {
    runtime::Synchronize(device, static_cast<uint64_t>(stream));
  });
}

}  // namespace tirx
