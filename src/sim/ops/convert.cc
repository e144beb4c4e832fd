/*!
 * cvt between packed formats. (PTX ISA 9.7.9.21)
 *
 * Two f32 sources: the first goes to the upper half. fp8, fp6 and fp4 results saturate to the
 * largest finite value; .relu turns negative results into +0. ue8m0 drops the sign.
 */
#include <tirx/sim/numeric.h>
#include <tirx/sim/ops.h>

#include <algorithm>
#include <string>

namespace tirx {
namespace sim {
namespace {

enum Rounding : int64_t { kRn, kRz, kRna, kRp };

DType FormatOf(std::string name) {
  if (name.size() > 2 && name.compare(name.size() - 2, 2, "x2") == 0) name.resize(name.size() - 2);
  static const struct {
    const char* name;
    DType t;
  } kFormats[] = {{"f16", kFloat16},
                  {"bf16", kBFloat16},
                  {"f32", kFloat32},
                  {"e4m3", DType{kDLFloat8_e4m3fn, 8, 1}},
                  {"e5m2", DType{kDLFloat8_e5m2, 8, 1}},
                  {"e2m3", DType{kDLFloat6_e2m3fn, 6, 1}},
                  {"e3m2", DType{kDLFloat6_e3m2fn, 6, 1}},
                  {"e2m1", DType{kDLFloat4_e2m1fn, 4, 1}},
                  {"ue8m0", DType{kDLFloat8_e8m0fnu, 8, 1}},
                  {"tf32", DType{kDLFloat, 19, 1}}};
  for (const auto& f : kFormats) {
    if (name == f.name) return f.t;
  }
  return kFloat32;
}

bool IsFormat(DType t, int code) { return t.code == code; }

/*! Bits of one element inside the packed register: fp4 in nibbles, the rest in bytes or halves. */
int Stride(DType t) { return t.bits == 4 ? 4 : t.bits <= 8 ? 8 : t.bits == 16 ? 16 : 32; }

void Prepare(OpCall* c) {
  std::string r = StrAttr(*c, "round", "rn");
  c->p[0] = r == "rz" ? kRz : r == "rna" ? kRna : r == "rp" ? kRp : kRn;
  c->p[1] = IntAttr(*c, "relu", 0);
  c->type = FormatOf(StrAttr(*c, "to", "f16x2"));
  c->from = FormatOf(StrAttr(*c, "from", "f32"));
}

uint32_t ToTf32(int64_t rounding, float x) {
  uint32_t u = std::bit_cast<uint32_t>(x);
  if ((u & 0x7f800000u) == 0x7f800000u) return x != x ? 0x7fffffffu : u;
  if (rounding == kRna) return std::bit_cast<uint32_t>(RoundTf32(x));
  if (rounding == kRn) u += 0xfffu + (u >> 13 & 1);
  return u & 0xffffe000u;
}

/*! Towards zero: a result of round to nearest that is too large in magnitude steps back. */
uint32_t ToHalfRz(DType t, float x) {
  uint32_t r = static_cast<uint32_t>(EncodeScalar(t, x));
  double back = DecodeScalar(t, r);
  return std::fabs(back) > std::fabs(static_cast<double>(x)) ? r - 1 : r;
}

uint32_t ToE8M0(int64_t rounding, double x) {
  if (std::isnan(x)) return 0xff;
  uint32_t up = EncodeSmall(*FindSmallFloat(DType{kDLFloat8_e8m0fnu, 8, 1}), x);
  if (rounding == kRp || up == 0) return up;
  bool exact = std::ldexp(1.0, static_cast<int>(up) - 127) <= std::fabs(x);
  return exact ? up : up - 1;
}

uint32_t ConvertOne(const OpCall& c, double x) {
  if (c.p[1] && (x < 0 || (x == 0 && std::signbit(x)))) x = 0;
  if (c.type.bits == 19) return ToTf32(c.p[0], static_cast<float>(x));
  if (IsFormat(c.type, kDLFloat8_e8m0fnu)) return ToE8M0(c.p[0], x);
  if (c.p[0] == kRz && c.type.bits == 16) return ToHalfRz(c.type, static_cast<float>(x));
  return static_cast<uint32_t>(EncodeScalar(c.type, x));
}

void Convert(Warp& w, const OpCall& c, int32_t) {
  int to = Stride(c.type), from = Stride(c.from);
  uint32_t mask = from == 32 ? ~0u : (1u << from) - 1;
  ForLanes(w.mask, [&](int l) {
    uint32_t out = 0;
    if (from == 32) {  // one or two float32 registers, the first one in the upper half
      for (size_t i = 1; i < c.args.size(); ++i) {
        uint32_t v = ConvertOne(c, w.Row<float>(c.args[i].row)[l]);
        out = to == 32 ? v : (out << to | v);
      }
    } else {
      uint32_t packed = w.Row(c.args[1].row)[l];
      for (int i = 0; i < 2; ++i)
        out |= ConvertOne(c, DecodeScalar(c.from, packed >> (i * from) & mask)) << (i * to);
    }
    w.Row(c.args[0].row)[l] = out;
  });
}

const RegisterMeanings kConversions({{"cvt", Kind::kConvert, &Convert, &Prepare}});

}  // namespace
}  // namespace sim
}  // namespace tirx
