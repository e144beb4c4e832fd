/*!
 * Launching on NVIDIA devices through the CUDA driver API.
 *
 * libcuda is opened on first use and never at import, so that the package works where there is no
 * GPU. The few types below restate the driver's binary interface (CUDA Driver API reference,
 * sections "Types used by CUDA driver", CUlaunchConfig, CUlaunchAttribute), because no CUDA header
 * may be needed to build. TIRX_CUDA_DRIVER names another library with the same entry points.
 */
#ifndef TIRX_RUNTIME_CUDA_DRIVER_H_
#define TIRX_RUNTIME_CUDA_DRIVER_H_
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace tirx {
namespace runtime {

/*! Whether the driver can be used; `reason` says why not. Never throws. */
struct DriverStatus {
  bool usable{false};
  std::string reason;
  int device_count{0};
  int driver_version{0};  //!< 13010 for CUDA 13.1
};
DriverStatus QueryDriver();

/*! "sm_90" of a device. */
std::string DeviceArch(int device);
std::string DeviceName(int device);

struct LaunchConfig {
  std::array<uint32_t, 3> grid{1, 1, 1};
  std::array<uint32_t, 3> cluster{1, 1, 1};  //!< {1,1,1}: no cluster attribute
  uint32_t threads{1};
  uint32_t dyn_shared_bytes{0};
  bool cooperative{false};
  bool programmatic{false};  //!< programmatic stream serialization (dependent launch)
};

/*! One kernel of a cubin; loaded per device on first launch there. Thread safe. */
class DeviceKernel {
 public:
  DeviceKernel(std::string image, std::string name)
      : image_(std::move(image)), name_(std::move(name)) {}
  ~DeviceKernel();
  DeviceKernel(const DeviceKernel&) = delete;
  DeviceKernel& operator=(const DeviceKernel&) = delete;
  /*!
   * Asynchronous launch. `params` holds the kernel's parameters back to back; offsets[i] is where
   * parameter i starts. `stream` is the caller's CUstream (0: the default stream).
   */
  void Launch(int device, uint64_t stream, const LaunchConfig& config, const std::string& params,
              const std::vector<int64_t>& offsets);

 private:
  struct Loaded {
    void* module{nullptr};
    void* function{nullptr};
    uint32_t dyn_shared_bytes{0};
    bool wide_cluster{false};
  };
  Loaded* Load(int device, const LaunchConfig& config);
  std::string image_;
  std::string name_;
  std::mutex lock_;
  std::map<int, Loaded> loaded_;
};

// Device memory, for callers whose tensors live on the host. Addresses are CUdeviceptr.
uint64_t MemAlloc(int device, size_t bytes);
void MemFree(int device, uint64_t address);
void CopyToDevice(int device, uint64_t dst, const void* src, size_t bytes);
void CopyToHost(int device, void* dst, uint64_t src, size_t bytes);
void Synchronize(int device, uint64_t stream);

}  // namespace runtime
}  // namespace tirx
#endif  // TIRX_RUNTIME_CUDA_DRIVER_H_
