/* A stand-in for libcuda's entry points: device memory is host memory, and every call is written as one
 * line to the file TIRX_RECORD. TIRX_FAKE_ARCH ("90") is the compute capability it reports. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  int id;
  char pad[4];
  union {
    char bytes[64];
    int flag;
    unsigned dims[3];
  } value;
} Attr;
typedef struct {
  unsigned grid[3], block[3], shared;
  void* stream;
  Attr* attrs;
  unsigned num_attrs;
} Config;

static FILE* out(void) {
  static FILE* f;
  if (!f) f = fopen(getenv("TIRX_RECORD"), "a");
  return f;
}
#define LOG(...) (fprintf(out(), __VA_ARGS__), fflush(out()), 0)

static int arch(void) { return getenv("TIRX_FAKE_ARCH") ? atoi(getenv("TIRX_FAKE_ARCH")) : 90; }

int cuInit(unsigned flags) { return LOG("init %u\n", flags); }
int cuDriverGetVersion(int* v) { return *v = 13010, 0; }
int cuGetErrorName(int e, const char** s) { return *s = e == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR", 0; }
int cuGetErrorString(int e, const char** s) { return *s = e == 2 ? "out of memory" : "some error", 0; }
int cuDeviceGetCount(int* n) { return *n = 1, 0; }
int cuDeviceGet(int* d, int i) { return *d = i, 0; }
int cuDeviceGetName(char* s, int n, int d) { return snprintf(s, n, "recorder %d", d), 0; }
int cuDeviceGetAttribute(int* v, int a, int d) {
  (void)d;
  *v = a == 75 ? arch() / 10 : a == 76 ? arch() % 10 : 0;
  return 0;
}
int cuDevicePrimaryCtxRetain(void** c, int d) { return *c = (void*)1, LOG("retain %d\n", d); }
int cuCtxSetCurrent(void* c) { return (void)c, 0; }
int cuModuleLoadData(void** m, const void* image) { return *m = (void*)2, LOG("load %.6s\n", (const char*)image); }
int cuModuleUnload(void* m) { return (void)m, LOG("unload\n"); }
int cuModuleGetFunction(void** f, void* m, const char* n) { return (void)m, *f = (void*)3, LOG("function %s\n", n); }
int cuFuncSetAttribute(void* f, int a, int v) { return (void)f, LOG("attribute %d %d\n", a, v); }
int cuMemAlloc_v2(unsigned long long* p, size_t n) {
  if (getenv("TIRX_FAKE_OOM")) return 2;
  *p = (unsigned long long)malloc(n);
  return LOG("alloc %zu\n", n);
}
int cuMemFree_v2(unsigned long long p) { return free((void*)p), LOG("free\n"); }
int cuMemcpyHtoD_v2(unsigned long long d, const void* s, size_t n) { return memcpy((void*)d, s, n), LOG("h2d %zu\n", n); }
int cuMemcpyDtoH_v2(void* d, unsigned long long s, size_t n) { return memcpy(d, (void*)s, n), LOG("d2h %zu\n", n); }
int cuStreamSynchronize(void* s) { return LOG("sync %llu\n", (unsigned long long)s); }
int cuLaunchKernelEx(const Config* c, void* f, void** params, void** extra) {
  (void)f, (void)extra;
  LOG("launch grid %u,%u,%u block %u,%u,%u shared %u stream %llu", c->grid[0], c->grid[1], c->grid[2], c->block[0],
      c->block[1], c->block[2], c->shared, (unsigned long long)c->stream);
  for (unsigned i = 0; i < c->num_attrs; ++i) {
    Attr* a = &c->attrs[i];
    if (a->id == 4) LOG(" cluster %u,%u,%u", a->value.dims[0], a->value.dims[1], a->value.dims[2]);
    if (a->id == 2) LOG(" cooperative %d", a->value.flag);
    if (a->id == 6) LOG(" programmatic %d", a->value.flag);
  }
  /* The test kernel takes (float* out, int32 n, float scale): the launch writes scale into out[0..n). */
  float* dst = *(float**)params[0];
  int n = *(int*)params[1];
  float scale = *(float*)params[2];
  for (int i = 0; i < n; ++i) dst[i] = scale;
  return LOG(" n %d scale %g\n", n, scale);
}
