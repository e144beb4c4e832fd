#include <dlfcn.h>
#include <tirx/runtime/cuda_driver.h>
#include <tirx/support/diag.h>

#include <cstdlib>
#include <cstring>
#include <memory>

namespace tirx {
namespace runtime {
namespace {

using Result = int;  // CUresult; 0 is CUDA_SUCCESS
using Handle = void*;

// CUlaunchAttributeID and CUfunction_attribute, CUdevice_attribute values.
constexpr int kAttrCooperative = 2;
constexpr int kAttrClusterDimension = 4;
constexpr int kAttrProgrammatic = 6;
constexpr int kFuncMaxDynamicShared = 8;
constexpr int kFuncNonPortableCluster = 14;
constexpr int kDeviceMajor = 75;
constexpr int kDeviceMinor = 76;
/*! Clusters of more CTAs than this need the non-portable opt-in (Programming Guide, clusters). */
constexpr uint32_t kPortableCluster = 8;

struct LaunchAttribute {
  int id;
  char pad[4];
  union {
    char bytes[64];
    int flag;
    uint32_t dims[3];
  } value;
};
static_assert(sizeof(LaunchAttribute) == 72, "CUlaunchAttribute is 72 bytes");

struct RawLaunchConfig {
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t shared_bytes;
  Handle stream;
  LaunchAttribute* attrs;
  uint32_t num_attrs;
};
static_assert(sizeof(RawLaunchConfig) == 56, "CUlaunchConfig is 56 bytes");

/*! The entry points in use, with the versioned names that the headers' macros select. */
struct Api {
  Result (*Init)(unsigned);
  Result (*DriverGetVersion)(int*);
  Result (*GetErrorName)(Result, const char**);
  Result (*GetErrorString)(Result, const char**);
  Result (*DeviceGetCount)(int*);
  Result (*DeviceGet)(int*, int);
  Result (*DeviceGetName)(char*, int, int);
  Result (*DeviceGetAttribute)(int*, int, int);
  Result (*DevicePrimaryCtxRetain)(Handle*, int);
  Result (*CtxSetCurrent)(Handle);
  Result (*ModuleLoadData)(Handle*, const void*);
  Result (*ModuleUnload)(Handle);
  Result (*ModuleGetFunction)(Handle*, Handle, const char*);
  Result (*FuncSetAttribute)(Handle, int, int);
  Result (*LaunchKernelEx)(const RawLaunchConfig*, Handle, void**, void**);
  Result (*MemAlloc)(uint64_t*, size_t);
  Result (*MemFree)(uint64_t);
  Result (*MemcpyHtoD)(uint64_t, const void*, size_t);
  Result (*MemcpyDtoH)(void*, uint64_t, size_t);
  Result (*StreamSynchronize)(Handle);
  std::string error;  // why the library could not be opened, or ""
};

template <typename F>
void Resolve(void* lib, const char* name, F* slot, std::string* error) {
  *slot = reinterpret_cast<F>(dlsym(lib, name));
  if (*slot == nullptr && error->empty()) {
    *error = std::string("the CUDA driver library has no entry point ") + name;
  }
}

void ResolveAll(void* lib, Api* api) {
  std::string* e = &api->error;
  Resolve(lib, "cuInit", &api->Init, e);
  Resolve(lib, "cuDriverGetVersion", &api->DriverGetVersion, e);
  Resolve(lib, "cuGetErrorName", &api->GetErrorName, e);
  Resolve(lib, "cuGetErrorString", &api->GetErrorString, e);
  Resolve(lib, "cuDeviceGetCount", &api->DeviceGetCount, e);
  Resolve(lib, "cuDeviceGet", &api->DeviceGet, e);
  Resolve(lib, "cuDeviceGetName", &api->DeviceGetName, e);
  Resolve(lib, "cuDeviceGetAttribute", &api->DeviceGetAttribute, e);
  Resolve(lib, "cuDevicePrimaryCtxRetain", &api->DevicePrimaryCtxRetain, e);
  Resolve(lib, "cuCtxSetCurrent", &api->CtxSetCurrent, e);
  Resolve(lib, "cuModuleLoadData", &api->ModuleLoadData, e);
  Resolve(lib, "cuModuleUnload", &api->ModuleUnload, e);
  Resolve(lib, "cuModuleGetFunction", &api->ModuleGetFunction, e);
  Resolve(lib, "cuFuncSetAttribute", &api->FuncSetAttribute, e);
  Resolve(lib, "cuLaunchKernelEx", &api->LaunchKernelEx, e);
  Resolve(lib, "cuMemAlloc_v2", &api->MemAlloc, e);
  Resolve(lib, "cuMemFree_v2", &api->MemFree, e);
  Resolve(lib, "cuMemcpyHtoD_v2", &api->MemcpyHtoD, e);
  Resolve(lib, "cuMemcpyDtoH_v2", &api->MemcpyDtoH, e);
  Resolve(lib, "cuStreamSynchronize", &api->StreamSynchronize, e);
}

std::string ErrorText(const Api& api, Result r) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (api.GetErrorName) api.GetErrorName(r, &name);
  if (api.GetErrorString) api.GetErrorString(r, &text);
  std::string out = name ? name : "CUDA error " + std::to_string(r);
  return text ? out + " (" + text + ")" : out;
}

std::unique_ptr<Api> OpenApi() {
  auto api = std::make_unique<Api>();
  const char* path = std::getenv("TIRX_CUDA_DRIVER");
  void* lib = dlopen(path ? path : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (lib == nullptr) {
    api->error = std::string("the CUDA driver library could not be opened: ") + dlerror();
    return api;
  }
  ResolveAll(lib, api.get());
  if (!api->error.empty()) return api;
  if (Result r = api->Init(0); r != 0) api->error = "cuInit failed: " + ErrorText(*api, r);
  return api;
}

const Api& TheApi() {
  static const Api* api = OpenApi().release();
  return *api;
}

[[noreturn]] void ThrowDriver(const std::string& what, const std::string& found,
                              const std::string& hint) {
  Diag("launch", "driver-refused", {})
      .Message(what)
      .Found(found)
      .Required("a working CUDA driver and device")
      .Hint(hint)
      .Throw();
}

const Api& UsableApi() {
  const Api& api = TheApi();
  if (!api.error.empty()) {
    ThrowDriver("no CUDA device can be used", api.error,
                "run in the simulator (mode=\"simulate\"), or see `tirx doctor`");
  }
  return api;
}

void Check(Result r, const char* call) {
  if (r == 0) return;
  ThrowDriver(std::string(call) + " failed", ErrorText(TheApi(), r), "");
}

#define TIRX_CU(call) Check(UsableApi().call, "cu" #call)

int DeviceHandle(int device) {
  int handle = 0;
  TIRX_CU(DeviceGet(&handle, device));
  return handle;
}

/*! Makes the device's primary context current: the one that torch and the runtime API share. */
void Activate(int device) {
  static std::mutex lock;
  static std::map<int, Handle> contexts;
  std::lock_guard<std::mutex> guard(lock);
  Handle& context = contexts[device];
  if (context == nullptr) TIRX_CU(DevicePrimaryCtxRetain(&context, DeviceHandle(device)));
  TIRX_CU(CtxSetCurrent(context));
}

LaunchAttribute Flag(int id) {
  LaunchAttribute a;
  std::memset(&a, 0, sizeof(a));
  a.id = id;
  a.value.flag = 1;
  return a;
}

std::vector<LaunchAttribute> AttributesOf(const LaunchConfig& c) {
  std::vector<LaunchAttribute> out;
  if (c.cluster[0] * c.cluster[1] * c.cluster[2] > 1) {
    LaunchAttribute a = Flag(kAttrClusterDimension);
    for (int i = 0; i < 3; ++i) a.value.dims[i] = c.cluster[i];
    out.push_back(a);
  }
  if (c.cooperative) out.push_back(Flag(kAttrCooperative));
  if (c.programmatic) out.push_back(Flag(kAttrProgrammatic));
  return out;
}

}  // namespace

DriverStatus QueryDriver() {
  DriverStatus s;
  const Api& api = TheApi();
  s.reason = api.error;
  if (!s.reason.empty()) return s;
  api.DriverGetVersion(&s.driver_version);
  if (Result r = api.DeviceGetCount(&s.device_count); r != 0) s.reason = ErrorText(api, r);
  if (s.reason.empty() && s.device_count == 0) s.reason = "the driver reports no device";
  s.usable = s.reason.empty();
  return s;
}

std::string DeviceArch(int device) {
  int major = 0, minor = 0, handle = DeviceHandle(device);
  TIRX_CU(DeviceGetAttribute(&major, kDeviceMajor, handle));
  TIRX_CU(DeviceGetAttribute(&minor, kDeviceMinor, handle));
  return "sm_" + std::to_string(major) + std::to_string(minor);
}

std::string DeviceName(int device) {
  char name[256] = {0};
  TIRX_CU(DeviceGetName(name, sizeof(name), DeviceHandle(device)));
  return name;
}

DeviceKernel::~DeviceKernel() {
  // Best effort: at interpreter exit the context may be gone, and a failure here helps nobody.
  for (auto& [device, entry] : loaded_) {
    if (entry.module) TheApi().ModuleUnload(entry.module);
  }
}

DeviceKernel::Loaded* DeviceKernel::Load(int device, const LaunchConfig& config) {
  std::lock_guard<std::mutex> guard(lock_);
  Loaded& entry = loaded_[device];
  if (entry.function == nullptr) {
    TIRX_CU(ModuleLoadData(&entry.module, image_.data()));
    TIRX_CU(ModuleGetFunction(&entry.function, entry.module, name_.c_str()));
  }
  if (config.dyn_shared_bytes > entry.dyn_shared_bytes) {
    TIRX_CU(FuncSetAttribute(entry.function, kFuncMaxDynamicShared,
                             static_cast<int>(config.dyn_shared_bytes)));
    entry.dyn_shared_bytes = config.dyn_shared_bytes;
  }
  uint32_t ctas = config.cluster[0] * config.cluster[1] * config.cluster[2];
  if (ctas > kPortableCluster && !entry.wide_cluster) {
    TIRX_CU(FuncSetAttribute(entry.function, kFuncNonPortableCluster, 1));
    entry.wide_cluster = true;
  }
  return &entry;
}

void DeviceKernel::Launch(int device, uint64_t stream, const LaunchConfig& config,
                          const std::string& params, const std::vector<int64_t>& offsets) {
  Activate(device);
  Loaded* entry = Load(device, config);
  std::vector<void*> pointers;
  pointers.reserve(offsets.size());
  for (int64_t o : offsets) pointers.push_back(const_cast<char*>(params.data()) + o);
  std::vector<LaunchAttribute> attrs = AttributesOf(config);
  RawLaunchConfig raw;
  std::memset(&raw, 0, sizeof(raw));
  for (int i = 0; i < 3; ++i) raw.grid[i] = config.grid[i];
  raw.block[0] = config.threads;
  raw.block[1] = raw.block[2] = 1;
  raw.shared_bytes = config.dyn_shared_bytes;
  raw.stream = reinterpret_cast<Handle>(stream);
  raw.attrs = attrs.empty() ? nullptr : attrs.data();
  raw.num_attrs = static_cast<uint32_t>(attrs.size());
  TIRX_CU(LaunchKernelEx(&raw, entry->function, pointers.data(), nullptr));
}

uint64_t MemAlloc(int device, size_t bytes) {
  Activate(device);
  uint64_t address = 0;
  TIRX_CU(MemAlloc(&address, bytes == 0 ? 1 : bytes));
  return address;
}

void MemFree(int device, uint64_t address) {
  Activate(device);
  TIRX_CU(MemFree(address));
}

void CopyToDevice(int device, uint64_t dst, const void* src, size_t bytes) {
  Activate(device);
  if (bytes != 0) TIRX_CU(MemcpyHtoD(dst, src, bytes));
}

void CopyToHost(int device, void* dst, uint64_t src, size_t bytes) {
  Activate(device);
  if (bytes != 0) TIRX_CU(MemcpyDtoH(dst, src, bytes));
}

void Synchronize(int device, uint64_t stream) {
  Activate(device);
  TIRX_CU(StreamSynchronize(reinterpret_cast<Handle>(stream)));
}

}  // namespace runtime
}  // namespace tirx
