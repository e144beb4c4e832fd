/*!
 * Arithmetic instructions. (PTX ISA 9.7.3, 9.7.4)
 *
 * Approximate instructions (ex2.approx and others) give the correctly rounded float32, which lies
 * inside the error bounds of the manual; .ftz replaces subnormal inputs and results by zero of the
 * same sign. fma rounds once.
 */
#include <tirx/sim/numeric.h>
#include <tirx/sim/ops.h>

#include <cmath>
#include <string>

namespace tirx {
namespace sim {
namespace {

enum Function : int64_t {
  kExp2,
  kLog2,
  kReciprocal,
  kSqrt,
  kRsqrt,
  kSin,
  kCos,
  kTanh,
  kDivide,
  kFma,
  kAdd,
  kSub,
  kMul,
  kMin,
  kMax,
};

void Prepare(OpCall* c) {
  static constexpr const char* kNames[] = {"exp2", "log2", "reciprocal", "sqrt",   "rsqrt",
                                           "sin",  "cos",  "tanh",       "divide", "fma",
                                           "add",  "sub",  "mul",        "min",    "max"};
  std::string fn = StrAttr(*c, "fn", "add");
  for (int64_t i = 0; i < static_cast<int64_t>(std::size(kNames)); ++i) {
    if (fn == kNames[i]) c->p[0] = i;
  }
  c->p[1] = IntAttr(*c, "ftz", 0);
  std::string t = StrAttr(*c, "dtype", "f16x2");
  c->type = t == "bf16x2" ? kBFloat16 : kFloat16;
}

template <typename T>
T Evaluate(int64_t fn, T a, T b, T c) {
  double x = static_cast<double>(a);
  switch (fn) {
    case kExp2: return static_cast<T>(std::exp2(x));
    case kLog2: return static_cast<T>(std::log2(x));
    case kReciprocal: return static_cast<T>(1.0 / x);
    case kSqrt: return static_cast<T>(std::sqrt(x));
    case kRsqrt: return static_cast<T>(1.0 / std::sqrt(x));
    case kSin: return static_cast<T>(std::sin(x));
    case kCos: return static_cast<T>(std::cos(x));
    case kTanh: return static_cast<T>(std::tanh(x));
    case kDivide: return a / b;
    case kFma: return std::fma(a, b, c);
    case kAdd: return a + b;
    case kSub: return a - b;
    case kMul: return a * b;
    case kMin: return std::fmin(a, b);
    default: return std::fmax(a, b);
  }
}

float Flush(float x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; }

float EvaluateF32(const OpCall& c, float a, float b, float d) {
  if (!c.p[1]) return Evaluate<float>(c.p[0], a, b, d);
  return Flush(Evaluate<float>(c.p[0], Flush(a), Flush(b), Flush(d)));
}

/*! Operands first, first+1, first+2 (those that exist) of a lane. */
template <typename T>
void ReadOperands(Warp& w, const OpCall& c, size_t first, int lane, T* v) {
  for (size_t i = 0; i < 3; ++i)
    v[i] = first + i < c.args.size() ? w.Row<T>(c.args[first + i].row)[lane] : T{0};
}

void Apply(Warp& w, const OpCall& c, size_t first, int32_t dst) {
  bool wide = c.args[first].dtype.bits == 64;
  ForLanes(w.mask, [&](int l) {
    if (wide) {
      double v[3];
      ReadOperands(w, c, first, l, v);
      w.Row<double>(dst)[l] = Evaluate<double>(c.p[0], v[0], v[1], v[2]);
    } else {
      float v[3];
      ReadOperands(w, c, first, l, v);
      w.Row<float>(dst)[l] = EvaluateF32(c, v[0], v[1], v[2]);
    }
  });
}

void Math(Warp& w, const OpCall& c, int32_t) { Apply(w, c, 0, c.dst); }
void MathPtx(Warp& w, const OpCall& c, int32_t) { Apply(w, c, 1, c.args[0].row); }

void PairF32(Warp& w, const OpCall& c, int32_t) {
  ForLanes(w.mask, [&](int l) {
    uint64_t v[3], out = 0;
    ReadOperands(w, c, 1, l, v);
    for (int h = 0; h < 2; ++h) {
      float x[3];
      for (int i = 0; i < 3; ++i)
        x[i] = std::bit_cast<float>(static_cast<uint32_t>(v[i] >> (32 * h)));
      uint32_t bits = std::bit_cast<uint32_t>(Evaluate<float>(c.p[0], x[0], x[1], x[2]));
      out |= static_cast<uint64_t>(bits) << (32 * h);
    }
    w.Row<uint64_t>(c.args[0].row)[l] = out;
  });
}

uint32_t EvaluateHalf(const OpCall& c, uint32_t a, uint32_t b, uint32_t d) {
  bool bf16 = c.type == kBFloat16;
  if (c.p[0] == kFma) return bf16 ? FmaBFloat(a, b, d) : FmaHalf(a, b, d);
  double r = Evaluate<double>(c.p[0], DecodeScalar(c.type, a), DecodeScalar(c.type, b), 0);
  return static_cast<uint32_t>(EncodeScalar(c.type, r));
}

void PairHalf(Warp& w, const OpCall& c, int32_t) {
  ForLanes(w.mask, [&](int l) {
    uint32_t v[3];
    ReadOperands(w, c, 1, l, v);
    uint32_t lo = EvaluateHalf(c, v[0] & 0xffff, v[1] & 0xffff, v[2] & 0xffff);
    uint32_t hi = EvaluateHalf(c, v[0] >> 16, v[1] >> 16, v[2] >> 16);
    w.Row(c.args[0].row)[l] = lo | hi << 16;
  });
}

const RegisterMeanings kMath({
    {"math", Kind::kMath, &Math, &Prepare},
    {"math.ptx", Kind::kMath, &MathPtx, &Prepare},
    {"math.f32x2", Kind::kFp32, &PairF32, &Prepare},
    {"math.half2", Kind::kFp32, &PairHalf, &Prepare},
});

}  // namespace
}  // namespace sim
}  // namespace tirx
