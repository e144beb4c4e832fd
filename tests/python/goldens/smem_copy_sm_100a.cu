// stage for cuda/sm_100a: grid 16 x 1 x 1, 128 threads, 32768 bytes of shared memory
#include <cuda_fp16.h>

extern "C" __global__ void __launch_bounds__(128)
stage(const __half *__restrict__ A, __half *__restrict__ B) {
  const int tx = threadIdx.x;
  const int bx = blockIdx.x;
  __shared__ __align__(128) __half sm[16384];
  #pragma unroll
  for (int i = 0; i < 16; ++i) {
    *(uint4 *)&sm[tx * 8 + i * 1024] = *(const uint4 *)&A[bx * 16384 + tx * 8 + i * 1024];
  }
  __syncthreads();
  #pragma unroll
  for (int i = 0; i < 16; ++i) {
    *(uint4 *)&B[bx * 16384 + tx * 8 + i * 1024] = *(uint4 *)&sm[tx * 8 + i * 1024];
  }
}
