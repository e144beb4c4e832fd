#include <gtest/gtest.h>
#include <tirx/sim/alu.h>
#include <tirx/sim/machine.h>
#include <tirx/sim/numeric.h>
#include <tirx/sim/ops.h>

#include <cmath>
#include <cstring>
#include <random>

namespace tirx {
namespace sim {
namespace {

bool SameFloat(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

TEST(SimNumeric, HalvesSurviveTheRoundTrip) {
  for (uint32_t h = 0; h < 0x10000; ++h) {
    float f = HalfToFloat(h);
    uint32_t back = FloatToHalf(f);
    EXPECT_TRUE(std::isnan(f) ? back == 0x7fff : back == h) << h;
    float b = BFloatToFloat(h);
    EXPECT_TRUE(std::isnan(b) ? FloatToBFloat(b) == 0x7fff : FloatToBFloat(b) == h) << h;
  }
}

TEST(SimNumeric, HalfDecodesByItsDefinition) {
  for (uint32_t h = 0; h < 0x8000; ++h) {
    int e = static_cast<int>(h >> 10), m = static_cast<int>(h & 1023);
    double want = e == 31  ? (m ? NAN : INFINITY)
                  : e == 0 ? std::ldexp(m, -24)
                           : std::ldexp(m + 1024, e - 25);
    EXPECT_TRUE(SameFloat(HalfToFloat(h), want)) << h;
    EXPECT_TRUE(SameFloat(HalfToFloat(h | 0x8000), -want) || std::isnan(want)) << h;
  }
}

/*! No other code is nearer to x; a tie goes to the even code. */
TEST(SimNumeric, SmallFloatsRoundToTheNearestCode) {
  std::mt19937 rng(1);
  for (int code = kDLFloat8_e3m4; code <= kDLFloat4_e2m1fn; ++code) {
    if (code == kDLFloat8_e8m0fnu) continue;
    const SmallFloat& f = *FindSmallFloat(DType{static_cast<uint8_t>(code), 8, 1});
    double top = DecodeSmall(f, f.max_code);
    std::uniform_real_distribution<double> exponent(std::log2(top) - 20, std::log2(top) + 1);
    for (int i = 0; i < 2000; ++i) {
      double x = std::min(std::exp2(exponent(rng)), top);
      uint32_t got = EncodeSmall(f, x);
      double error = std::fabs(DecodeSmall(f, got) - x);
      for (int c = 0; c <= f.max_code; ++c) {
        double other = std::fabs(DecodeSmall(f, c) - x);
        EXPECT_FALSE(other < error ||
                     (other == error && got % 2 == 1 && c % 2 == 0 && c != static_cast<int>(got)))
            << code << " " << x << " " << got << " " << c;
      }
    }
  }
}

TEST(SimNumeric, OverflowSaturatesOrNot) {
  const SmallFloat& e4m3 = *FindSmallFloat(DType{kDLFloat8_e4m3fn, 8, 1});
  EXPECT_EQ(EncodeSmall(e4m3, 464, false), 0x7eu);  // the tie goes to the even code
  EXPECT_EQ(EncodeSmall(e4m3, 465, false), 0x7fu);
  EXPECT_EQ(EncodeSmall(e4m3, -1e9), 0xfeu);
  const SmallFloat& e5m2 = *FindSmallFloat(DType{kDLFloat8_e5m2, 8, 1});
  EXPECT_EQ(EncodeSmall(e5m2, 61440, false), 0x7cu);
  EXPECT_EQ(EncodeSmall(e5m2, INFINITY), 0x7bu);
}

TEST(SimNumeric, FusedMultiplyAddOfHalvesIsExact) {
  std::mt19937 rng(2);
  for (int i = 0; i < 200000; ++i) {
    uint32_t a = rng() & 0x7bff, b = rng() & 0x7bff, c = (rng() & 0x7bff) | (rng() & 0x8000);
    long double exact = static_cast<long double>(HalfToFloat(a)) * HalfToFloat(b) + HalfToFloat(c);
    // 64 bits of significand hold the sum unless it spans more; those cases are decided by the tie.
    double nearest = static_cast<double>(exact);
    if (static_cast<long double>(nearest) != exact) continue;
    uint32_t want = static_cast<uint32_t>(EncodeScalar(kFloat16, nearest));
    ASSERT_EQ(FmaHalf(a, b, c), want) << a << " " << b << " " << c;
  }
}

/*! 129/128 * 1.5 is a tie of bfloat16; an addend of 2^-100 decides it although a double loses it. */
TEST(SimNumeric, FusedMultiplyAddKeepsAStickyBit) {
  EXPECT_EQ(FmaBFloat(0x3f81, 0x3fc0, 0x0000), 0x3fc2u);
  EXPECT_EQ(FmaBFloat(0x3f81, 0x3fc0, 0x0d80), 0x3fc2u);
  EXPECT_EQ(FmaBFloat(0x3f81, 0x3fc0, 0x8d80), 0x3fc1u);
}

TEST(SimMemory, SparsePagesAreMadeOnDemandAndPoisoned) {
  SparseMemory m;
  int64_t far = int64_t{1} << 40;
  EXPECT_EQ(*m.At(far), 0xff);
  uint8_t in[6] = {1, 2, 3, 4, 5, 6}, out[6];
  m.Write(far + SparseMemory::kPageBytes - 3, in, 6);
  m.Read(far + SparseMemory::kPageBytes - 3, out, 6);
  EXPECT_EQ(std::memcmp(in, out, 6), 0);
  EXPECT_EQ(m.pages(), 2u);
}

TEST(SimNames, MasksAreRanges) {
  EXPECT_EQ(MaskName(1), "lane 0");
  EXPECT_EQ(MaskName(0xffffffff), "lanes 0-31");
  EXPECT_EQ(MaskName(0x8000000f), "lanes 0-3,31");
}

TEST(SimAlu, EveryOperatorHasAHandlerForTheClassesItIsDefinedOn) {
  for (int op = 0; op < kNumBinOps; ++op) {
    auto kind = static_cast<BinOp>(op);
    bool bits = kind >= BinOp::kBitAnd || IsLogical(kind);
    for (Cls c : {Cls::kI32, Cls::kU32, Cls::kI64, Cls::kU64}) {
      EXPECT_NE(BinaryFn(kind, c), nullptr) << BinOpName(kind);
      EXPECT_EQ(ScalarBinaryFn(kind, c) == nullptr, kind == BinOp::kDiv) << BinOpName(kind);
    }
    for (Cls c : {Cls::kF32, Cls::kF64})
      EXPECT_EQ(BinaryFn(kind, c) == nullptr, bits) << BinOpName(kind);
  }
}

TEST(SimOps, MeaningsAreFoundByName) {
  EXPECT_NE(FindMeaning("mma"), nullptr);
  EXPECT_EQ(FindMeaning("no-such-meaning"), nullptr);
}

}  // namespace
}  // namespace sim
}  // namespace tirx
