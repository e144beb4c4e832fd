// k for cuda/sm_90a: grid 4 x 1 x 1, 128 threads
#include <cuda_fp16.h>

template <int cp_size = 16>
__device__ __forceinline__ void cp_async_cg_shared_global(
    void *dst, const void *src, unsigned src_size = cp_size) {
  asm volatile(
      "cp.async.cg.shared.global [%0], [%1], %2, %3;"
      :
      : "r"((unsigned)__cvta_generic_to_shared(dst)), "l"(src), "n"(cp_size), "r"(src_size)
      : "memory");
}

__device__ __forceinline__ void cp_async_commit_group() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int n>
__device__ __forceinline__ void cp_async_wait_group() {
  asm volatile("cp.async.wait_group %0;" :: "n"(n) : "memory");
}

__device__ __forceinline__ void ldmatrix_m8n8_x4_shared_b16(
    unsigned &r0, unsigned &r1, unsigned &r2, unsigned &r3, const void *addr) {
  asm volatile(
      "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
      : "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3)
      : "r"((unsigned)__cvta_generic_to_shared(addr))
      : "memory");
}

__device__ __forceinline__ void mma_m16n8k16_f32_f16_f16_f32(
    float &d0, float &d1, float &d2, float &d3, unsigned a0, unsigned a1, unsigned a2, unsigned a3,
    unsigned b0, unsigned b1, float c0, float c1, float c2, float c3) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"
      : "=f"(d0), "=f"(d1), "=f"(d2), "=f"(d3)
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1), "f"(c0), "f"(c1), "f"(c2), "f"(c3));
}

// N values that are loaded and stored as one.
template <typename T, int N>
struct alignas(sizeof(T) * N) vec {
  T lane[N];
};

template <typename T, int N>
__device__ __forceinline__ vec<T, N> operator+(vec<T, N> a, vec<T, N> b) {
  vec<T, N> c;
#pragma unroll
  for (int i = 0; i < N; ++i) c.lane[i] = a.lane[i] + b.lane[i];
  return c;
}

template <typename T, int N>
__device__ __forceinline__ vec<T, N> operator*(vec<T, N> a, vec<T, N> b) {
  vec<T, N> c;
#pragma unroll
  for (int i = 0; i < N; ++i) c.lane[i] = a.lane[i] * b.lane[i];
  return c;
}

template <int N, typename T>
__device__ __forceinline__ vec<T, N> broadcast(T x) {
  vec<T, N> v;
#pragma unroll
  for (int i = 0; i < N; ++i) v.lane[i] = x;
  return v;
}

template <typename T>
__device__ __forceinline__ T atomic_add(T *address, T value) {
  return atomicAdd(address, value);
}
__device__ __forceinline__ long long atomic_add(long long *address, long long value) {
  return (long long)atomicAdd((unsigned long long *)address, (unsigned long long)value);
}

__device__ __forceinline__ bool elect_sync() {
  int result;
  asm volatile(
      "{\n"
      "  .reg .pred p;\n"
      "  elect.sync _|p, 0xffffffff;\n"
      "  selp.b32 %0, 1, 0, p;\n"
      "}"
      : "=r"(result));
  return result != 0;
}

extern "C" __global__ void __launch_bounds__(128)
k(const float *__restrict__ A, float *__restrict__ B, const __half *__restrict__ H, int n) {
  const int bx = blockIdx.x;
  const int tx = threadIdx.x;
  const int base = bx * 1024 + tx * 4;
  alignas(16) float r[4];
  float x = 0.5f;
  *(float4 *)r = *(const float4 *)&A[base];
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    r[i] = r[i] * x + 2.0f;
  }
  if (base < n) {
    *(float4 *)&B[base] = *(float4 *)r;
  }
  alignas(4) __half frag[8];
  unsigned *frag_words = (unsigned *)frag;
  alignas(16) float acc[4];
  __shared__ __align__(16) __half tile[1024];
  for (int i = 0; i < 4; ++i) {
    acc[i] = 0.0f;
  }
  cp_async_cg_shared_global(&tile[tx * 8], &H[base]);
  cp_async_commit_group();
  cp_async_wait_group<0>();
  __syncthreads();
  ldmatrix_m8n8_x4_shared_b16(
      frag_words[0], frag_words[1], frag_words[2], frag_words[3], &tile[tx * 8]);
  mma_m16n8k16_f32_f16_f16_f32(
      acc[0], acc[1], acc[2], acc[3], frag_words[0], frag_words[1], frag_words[2], frag_words[3],
      frag_words[0], frag_words[1], acc[0], acc[1], acc[2], acc[3]);
  *(vec<float, 4> *)r = *(vec<float, 4> *)acc * *(vec<float, 4> *)r + broadcast<4>(1.0f);
  B[base] = __shfl_xor_sync(0xffffffffu, acc[0], 16);
  atomic_add(B, 1.0f);
  if (elect_sync()) {
    B[0] = exp2f(r[0]);
  } else if (tx < 3 && bx < 2) {
    B[1] = r[1] - (r[2] - r[3]);
  } else {
    if (!(base < 5000)) __trap();  // base is in range
  }
}
