// mma_gemm for cuda/sm_100a: grid 8 x 8 x 1, 32 threads, 4096 bytes of shared memory
#include <cuda_fp16.h>

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

extern "C" __global__ void __launch_bounds__(32)
mma_gemm(const __half *__restrict__ A, const __half *__restrict__ B, float *__restrict__ D) {
  const int lane = threadIdx.x;
  const int bx = blockIdx.x;
  const int by = blockIdx.y;
  __shared__ __align__(128) __half As[1024];
  __shared__ __align__(128) __half Bs[1024];
  alignas(4) __half Af[32];
  unsigned *Af_uint32 = (unsigned *)Af;
  alignas(4) __half Bf[32];
  unsigned *Bf_uint32 = (unsigned *)Bf;
  alignas(8) float Df[32];
  #pragma unroll
  for (int i = 0; i < 32; ++i) {
    Df[i] = 0.0f;
  }
  for (int k = 0; k < 16; ++k) {
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
      *(uint4 *)&As[lane * 8 + i * 256] =
          *(const uint4 *)&A[bx * 16384 + k * 32 + lane / 4 * 512 + lane % 4 * 8 + i * 4096];
    }
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
      *(uint4 *)&Bs[lane * 8 + i * 256] =
          *(const uint4 *)&B[by * 16384 + k * 32 + lane / 4 * 512 + lane % 4 * 8 + i * 4096];
    }
    __syncthreads();
    #pragma unroll
    for (int i = 0; i < 2; ++i) {
      #pragma unroll
      for (int j = 0; j < 2; ++j) {
        ldmatrix_m8n8_x4_shared_b16(
            Af_uint32[i * 8 + j * 4], Af_uint32[i * 8 + j * 4 + 1], Af_uint32[i * 8 + j * 4 + 2],
            Af_uint32[i * 8 + j * 4 + 3], &As[i * 512 + j * 16 + lane % 16 * 32 + lane / 16 * 8]);
      }
    }
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
      ldmatrix_m8n8_x4_shared_b16(
          Bf_uint32[i * 4], Bf_uint32[i * 4 + 1], Bf_uint32[i * 4 + 2], Bf_uint32[i * 4 + 3],
          &Bs[i * 256 + lane % 8 * 32 + lane / 8 * 8]);
    }
    #pragma unroll
    for (int i = 0; i < 2; ++i) {
      #pragma unroll
      for (int j = 0; j < 2; ++j) {
        #pragma unroll
        for (int k_1 = 0; k_1 < 4; ++k_1) {
          mma_m16n8k16_f32_f16_f16_f32(
              Df[j * 16 + k_1 * 4], Df[j * 16 + k_1 * 4 + 1], Df[j * 16 + k_1 * 4 + 2],
              Df[j * 16 + k_1 * 4 + 3], Af_uint32[i * 4 + j * 8], Af_uint32[i * 4 + j * 8 + 1],
              Af_uint32[i * 4 + j * 8 + 2], Af_uint32[i * 4 + j * 8 + 3],
              Bf_uint32[i * 2 + k_1 * 4], Bf_uint32[i * 2 + k_1 * 4 + 1], Df[j * 16 + k_1 * 4],
              Df[j * 16 + k_1 * 4 + 1], Df[j * 16 + k_1 * 4 + 2], Df[j * 16 + k_1 * 4 + 3]);
        }
      }
    }
    __syncthreads();
  }
  #pragma unroll
  for (int i = 0; i < 2; ++i) {
    #pragma unroll
    for (int j = 0; j < 2; ++j) {
      #pragma unroll
      for (int k = 0; k < 4; ++k) {
        *(float2 *)&D[bx * 8192 + by * 32 + lane / 4 * 256 + lane % 4 * 2 + i * 4096 + j * 2048 +
                k * 8] =
            *(float2 *)&Df[i * 16 + j * 2 + k * 4];
      }
    }
  }
}
