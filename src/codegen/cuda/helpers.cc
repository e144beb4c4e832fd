/*!
 * Source of the helper functions that printed kernels may need. Each appears at most once and only
 * when something calls it.
 */
#include <tirx/support/diag.h>

#include "cuda_printer.h"

namespace tirx {
namespace codegen {
namespace {

struct Snippet {
  std::vector<std::string> needs;
  std::string source;
};

std::string VecOperator(const std::string& symbol) {
  return "template <typename T, int N>\n"
         "__device__ __forceinline__ vec<T, N> operator" +
         symbol +
         "(vec<T, N> a, vec<T, N> b) {\n"
         "  vec<T, N> c;\n"
         "#pragma unroll\n"
         "  for (int i = 0; i < N; ++i) c.lane[i] = a.lane[i] " +
         symbol +
         " b.lane[i];\n"
         "  return c;\n"
         "}\n";
}

std::string SpecialRegister(const std::string& name, const std::string& reg) {
  return "__device__ __forceinline__ int " + name +
         "() {\n"
         "  int r;\n"
         "  asm(\"mov.u32 %0, %%" +
         reg +
         ";\" : \"=r\"(r));\n"
         "  return r;\n"
         "}\n";
}

constexpr const char* kFloorDiv = R"(// a / b rounded towards minus infinity.
template <typename T>
__device__ __forceinline__ T floordiv(T a, T b) {
  T q = a / b;
  return a % b != 0 && (a % b < 0) != (b < 0) ? q - 1 : q;
}
)";

constexpr const char* kFloorMod = R"(// The remainder of floor division: it has the sign of b.
template <typename T>
__device__ __forceinline__ T floormod(T a, T b) {
  T r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
)";

constexpr const char* kBitCast = R"(template <typename To, typename From>
__device__ __forceinline__ To bit_cast(const From &from) {
  static_assert(sizeof(To) == sizeof(From), "bit_cast keeps the size");
  To to;
  memcpy(&to, &from, sizeof(To));
  return to;
}
)";

constexpr const char* kLoadNibble = R"(// Element i of packed 4-bit values.
template <typename T>
__device__ __forceinline__ T load_nibble(const unsigned char *values, long long i) {
  T x;
  x.__x = (values[i >> 1] >> (i & 1) * 4) & 15;
  return x;
}
)";

constexpr const char* kStoreNibble = R"(template <typename T>
__device__ __forceinline__ void store_nibble(unsigned char *values, long long i, T x) {
  int shift = (i & 1) * 4;
  values[i >> 1] = (values[i >> 1] & ~(15 << shift)) | (x.__x & 15) << shift;
}
)";

constexpr const char* kVec = R"(// N values that are loaded and stored as one.
template <typename T, int N>
struct alignas(sizeof(T) * N) vec {
  T lane[N];
};
)";

constexpr const char* kBroadcast = R"(template <int N, typename T>
__device__ __forceinline__ vec<T, N> broadcast(T x) {
  vec<T, N> v;
#pragma unroll
  for (int i = 0; i < N; ++i) v.lane[i] = x;
  return v;
}
)";

constexpr const char* kRamp = R"(template <int N, typename T>
__device__ __forceinline__ vec<T, N> ramp(T base, T stride) {
  vec<T, N> v;
#pragma unroll
  for (int i = 0; i < N; ++i) v.lane[i] = base + i * stride;
  return v;
}
)";

constexpr const char* kCast = R"(template <typename To, typename From, int N>
__device__ __forceinline__ vec<To, N> cast(vec<From, N> x) {
  vec<To, N> v;
#pragma unroll
  for (int i = 0; i < N; ++i) v.lane[i] = (To)x.lane[i];
  return v;
}
)";

constexpr const char* kMap = R"(// f on each lane.
template <typename F, typename... Ts, int N>
__device__ __forceinline__ auto map(F f, vec<Ts, N>... x) -> vec<decltype(f(x.lane[0]...)), N> {
  vec<decltype(f(x.lane[0]...)), N> v;
#pragma unroll
  for (int i = 0; i < N; ++i) v.lane[i] = f(x.lane[i]...);
  return v;
}
)";

const std::map<std::string, Snippet>& Snippets() {
  static const auto* table = new std::map<std::string, Snippet>{
      {"floordiv", {{}, kFloorDiv}},
      {"floormod", {{}, kFloorMod}},
      {"bit_cast", {{}, kBitCast}},
      {"load_nibble", {{}, kLoadNibble}},
      {"store_nibble", {{}, kStoreNibble}},
      {"vec", {{}, kVec}},
      {"vec+", {{"vec"}, VecOperator("+")}},
      {"vec-", {{"vec"}, VecOperator("-")}},
      {"vec*", {{"vec"}, VecOperator("*")}},
      {"vec/", {{"vec"}, VecOperator("/")}},
      {"broadcast", {{"vec"}, kBroadcast}},
      {"ramp", {{"vec"}, kRamp}},
      {"cast", {{"vec"}, kCast}},
      {"map", {{"vec"}, kMap}},
      {"cluster_cta_x", {{}, SpecialRegister("cluster_cta_x", "cluster_ctaid.x")}},
      {"cluster_cta_y", {{}, SpecialRegister("cluster_cta_y", "cluster_ctaid.y")}},
      {"cluster_cta_z", {{}, SpecialRegister("cluster_cta_z", "cluster_ctaid.z")}},
      {"cluster_cta_rank", {{}, SpecialRegister("cluster_cta_rank", "cluster_ctarank")}},
  };
  return *table;
}

}  // namespace

void CudaPrinter::Helper(const std::string& name, const std::string& source) {
  if (helper_names_.insert(name).second) helpers_.push_back(source);
}

const std::string& CudaPrinter::UseHelper(const std::string& name) {
  auto it = Snippets().find(name);
  for (const std::string& need : it->second.needs) UseHelper(need);
  Helper(name, it->second.source);
  return it->first;
}

}  // namespace codegen
}  // namespace tirx
