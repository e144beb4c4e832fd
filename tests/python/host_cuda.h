// Runs printed CUDA C++ on the host, for comparing it with the simulator. One thread of the CTA is one
// std::thread; a CTA runs after the other. Only what the printer may use without hardware instructions.
#include <barrier>
#include <cmath>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#define __global__
#define __device__
#define __forceinline__ inline
#define __shared__ static
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))

struct HostIndex {
  unsigned x, y, z;
};
inline thread_local HostIndex threadIdx;
inline HostIndex blockIdx, gridDim;
inline std::barrier<>* host_barrier;

struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(8) int2 {
  int x, y;
};
struct alignas(16) int4 {
  int x, y, z, w;
};
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};

#define HOST_MIN_MAX(T)                            \
  inline T min(T a, T b) { return b < a ? b : a; } \
  inline T max(T a, T b) { return a < b ? b : a; }
HOST_MIN_MAX(int)
HOST_MIN_MAX(unsigned)
HOST_MIN_MAX(long long)
HOST_MIN_MAX(unsigned long long)

template <typename To, typename From>
To host_bits(From from) {
  To to;
  std::memcpy(&to, &from, sizeof(to));
  return to;
}
inline float __int_as_float(int x) { return host_bits<float>(x); }
inline float __uint_as_float(unsigned x) { return host_bits<float>(x); }
inline int __float_as_int(float x) { return host_bits<int>(x); }
inline unsigned __float_as_uint(float x) { return host_bits<unsigned>(x); }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(x); }
inline void __syncthreads() { host_barrier->arrive_and_wait(); }
inline void __trap() { std::abort(); }

inline void host_launch(unsigned ctas, unsigned threads, const std::function<void()>& kernel) {
  gridDim = {ctas, 1, 1};
  for (unsigned cta = 0; cta < ctas; ++cta) {
    blockIdx = {cta, 0, 0};
    std::barrier<> barrier(threads);
    host_barrier = &barrier;
    std::vector<std::thread> all;
    for (unsigned t = 0; t < threads; ++t) {
      all.emplace_back([&, t] {
        threadIdx = {t, 0, 0};
        kernel();
      });
    }
    for (std::thread& t : all) t.join();
  }
}
