/*!
 * mma.sync m16n8k*: D = A B + C with dense operands. (PTX ISA 9.7.14.5)
 *
 * Fragments, with g = lane / 4 and q = lane % 4: a row of A (16 rows) or a column of B (8 columns)
 * is 16 or 32 bytes along K. Register j of A holds bytes 16(j/2)+4q .. +3 of row g+8(j%2); register
 * j of B bytes 16j+4q .. +3 of column g; element i of C and D is row g+8(i/2), column 2q+i%2.
 *
 * Numerics. The manual leaves order and intermediate rounding open. Here (mma_accumulate="f32") the
 * sum starts with C and adds the products in order of k, each product and each sum rounded to
 * float32 (products of f16, bf16, tf32 and fp8 operands are exact unless they underflow); "f64"
 * adds exact products in float64 and rounds once. An f16 result is rounded once more at the end.
 * tf32 operands lose their low 13 bits. Integers accumulate exactly and wrap, or clamp with
 * .satfinite.
 */
#include <tirx/sim/numeric.h>
#include <tirx/sim/ops.h>

#include <algorithm>
#include <cstring>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__)
#define TIRX_SIM_CLONES __attribute__((target_clones("default", "arch=x86-64-v3")))
#else
#define TIRX_SIM_CLONES
#endif

namespace tirx {
namespace sim {
namespace {

enum Element : int64_t { kF16, kBF16, kTF32, kE4M3, kE5M2, kS8, kU8 };
enum Accumulator : int64_t { kAccF32, kAccF16, kAccS32 };

int64_t ElementOf(const std::string& name) {
  static constexpr const char* kNames[] = {"f16", "bf16", "tf32", "e4m3", "e5m2", "s8", "u8"};
  auto it = std::find(std::begin(kNames), std::end(kNames), name);
  return it - std::begin(kNames);
}

int Bits(int64_t e) { return e <= kBF16 ? 16 : e == kTF32 ? 32 : 8; }

void Prepare(OpCall* c) {
  c->p[0] = IntAttr(*c, "k", 16);
  c->p[1] = ElementOf(StrAttr(*c, "a", "f16"));
  c->p[2] = ElementOf(StrAttr(*c, "b", "f16"));
  std::string acc = StrAttr(*c, "acc", "f32");
  c->p[3] = acc == "f16" ? kAccF16 : acc == "s32" ? kAccS32 : kAccF32;
  c->p[4] = IntAttr(*c, "satfinite", 0);
}

/*! Words of the operand as rows of 4 or 8: [row][word]. */
struct Words {
  uint32_t a[16][8];
  uint32_t b[8][8];
};

void Gather(Warp& w, const OpCall& c, int nc, int na, int nb, Words* out) {
  for (int j = 0; j < na; ++j) {
    const uint32_t* r = w.Row(c.args[nc + j].row);
    for (int l = 0; l < kLanes; ++l) out->a[(l >> 2) + 8 * (j & 1)][4 * (j >> 1) + (l & 3)] = r[l];
  }
  for (int j = 0; j < nb; ++j) {
    const uint32_t* r = w.Row(c.args[nc + na + j].row);
    for (int l = 0; l < kLanes; ++l) out->b[l >> 2][4 * j + (l & 3)] = r[l];
  }
}

/*! n words of elements e to float values. */
void Decode(int64_t e, const uint32_t* words, int n, float* out) {
  switch (e) {
    case kF16:
      for (int i = 0; i < n; ++i) {
        out[2 * i] = HalfToFloat(words[i] & 0xffffu);
        out[2 * i + 1] = HalfToFloat(words[i] >> 16);
      }
      return;
    case kBF16:
      for (int i = 0; i < n; ++i) {
        out[2 * i] = BFloatToFloat(words[i] & 0xffffu);
        out[2 * i + 1] = std::bit_cast<float>(words[i] & 0xffff0000u);
      }
      return;
    case kTF32:
      for (int i = 0; i < n; ++i) out[i] = TruncTf32(std::bit_cast<float>(words[i]));
      return;
    default: {
      static const float* e4m3 = SmallTable(*FindSmallFloat(DType{kDLFloat8_e4m3fn, 8, 1}));
      static const float* e5m2 = SmallTable(*FindSmallFloat(DType{kDLFloat8_e5m2, 8, 1}));
      const float* table = e == kE4M3 ? e4m3 : e5m2;
      for (int i = 0; i < 4 * n; ++i) out[i] = table[words[i / 4] >> (i % 4 * 8) & 0xffu];
    }
  }
}

TIRX_SIM_CLONES void Multiply32(int k, const float (*a)[32], const float (*b)[8], float (*acc)[8]) {
  for (int m = 0; m < 16; ++m) {
    for (int i = 0; i < k; ++i) {
      float x = a[m][i];
      for (int n = 0; n < 8; ++n) acc[m][n] += x * b[i][n];
    }
  }
}

TIRX_SIM_CLONES void Multiply64(int k, const float (*a)[32], const float (*b)[8], float (*acc)[8]) {
  for (int m = 0; m < 16; ++m) {
    double sum[8];
    for (int n = 0; n < 8; ++n) sum[n] = acc[m][n];
    for (int i = 0; i < k; ++i) {
      for (int n = 0; n < 8; ++n) sum[n] += static_cast<double>(a[m][i]) * b[i][n];
    }
    for (int n = 0; n < 8; ++n) acc[m][n] = static_cast<float>(sum[n]);
  }
}

void LoadAccumulator(Warp& w, const OpCall& c, size_t first, float (*acc)[8]) {
  for (int l = 0; l < kLanes; ++l) {
    for (int i = 0; i < 4; ++i) {
      float* place = &acc[(l >> 2) + 8 * (i >> 1)][2 * (l & 3) + (i & 1)];
      *place = c.p[3] == kAccF16
                   ? HalfToFloat(w.Row(c.args[first + i / 2].row)[l] >> (i % 2 * 16) & 0xffffu)
                   : w.Row<float>(c.args[first + i].row)[l];
    }
  }
}

void StoreAccumulator(Warp& w, const OpCall& c, const float (*acc)[8]) {
  for (int l = 0; l < kLanes; ++l) {
    float v[4];
    for (int i = 0; i < 4; ++i) v[i] = acc[(l >> 2) + 8 * (i >> 1)][2 * (l & 3) + (i & 1)];
    if (c.p[3] == kAccF16) {
      for (int j = 0; j < 2; ++j) {
        w.Row(c.args[j].row)[l] = FloatToHalf(v[2 * j]) | FloatToHalf(v[2 * j + 1]) << 16;
      }
    } else {
      for (int i = 0; i < 4; ++i) w.Row<float>(c.args[i].row)[l] = v[i];
    }
  }
}

void FloatMma(Warp& w, const OpCall& c, const Words& words, int row_words, size_t first_c) {
  int k = static_cast<int>(c.p[0]);
  alignas(64) float a[16][32], column[32], b[32][8], acc[16][8];
  for (int m = 0; m < 16; ++m) Decode(c.p[1], words.a[m], row_words, a[m]);
  for (int n = 0; n < 8; ++n) {
    Decode(c.p[2], words.b[n], row_words, column);
    for (int i = 0; i < k; ++i) b[i][n] = column[i];
  }
  LoadAccumulator(w, c, first_c, acc);
  if (w.m->opt.mma_f64) {
    Multiply64(k, a, b, acc);
  } else {
    Multiply32(k, a, b, acc);
  }
  StoreAccumulator(w, c, acc);
}

int32_t Byte(int64_t e, uint32_t word, int i) {
  uint32_t v = word >> (i % 4 * 8) & 0xffu;
  return e == kS8 ? static_cast<int8_t>(v) : static_cast<int32_t>(v);
}

void IntMma(Warp& w, const OpCall& c, const Words& words, size_t first_c) {
  int k = static_cast<int>(c.p[0]);
  int32_t out[4][kLanes];
  for (int l = 0; l < kLanes; ++l) {
    for (int i = 0; i < 4; ++i) {
      int m = (l >> 2) + 8 * (i >> 1), n = 2 * (l & 3) + (i & 1);
      int64_t sum = w.Row<int32_t>(c.args[first_c + i].row)[l];
      for (int x = 0; x < k; ++x) {
        sum += static_cast<int64_t>(Byte(c.p[1], words.a[m][x / 4], x)) *
               Byte(c.p[2], words.b[n][x / 4], x);
      }
      if (c.p[4]) sum = std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX);
      out[i][l] = static_cast<int32_t>(sum);
    }
  }
  for (int i = 0; i < 4; ++i) std::copy_n(out[i], kLanes, w.Row<int32_t>(c.args[i].row));
}

void Mma(Warp& w, const OpCall& c, int32_t loc) {
  if (!RequireWholeWarp(w, c, loc)) return;
  int nc = c.p[3] == kAccF16 ? 2 : 4;
  int row_words = static_cast<int>(c.p[0]) * Bits(c.p[1]) / 32;
  int na = row_words / 2, nb = row_words / 4;
  Words words;
  Gather(w, c, nc, na, nb, &words);
  size_t first_c = static_cast<size_t>(nc + na + nb);
  if (c.p[3] == kAccS32) {
    IntMma(w, c, words, first_c);
  } else {
    FloatMma(w, c, words, row_words, first_c);
  }
}

const RegisterMeanings kMma({{"mma", Kind::kMma, &Mma, &Prepare}});

}  // namespace
}  // namespace sim
}  // namespace tirx
