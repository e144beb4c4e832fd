/*!
 * Integer facts: interval arithmetic against enumeration, and the analyzer against an evaluator on every point
 * of small domains and on the ends of int64.
 */
#include <gtest/gtest.h>
#include <tirx/arith/analyzer.h>
#include <tirx/expr/functor.h>
#include <tirx/expr/ops.h>
#include <tirx/support/small_vector.h>

#include <cstdlib>
#include <map>
#include <optional>
#include <random>

#include "../../src/arith/interval.h"

namespace tirx {
namespace arith {
namespace {

// ---- small vector ----

TEST(SmallVector, GrowsAndErasesInOrder) {
  SmallVector<int, 2> v;
  for (int i = 0; i < 9; ++i) v.push_back(i);
  v.erase(3);
  SmallVector<int, 2> copy = v;
  v.clear();
  ASSERT_EQ(copy.size(), 8u);
  EXPECT_EQ(copy[2], 2);
  EXPECT_EQ(copy[3], 4);
  EXPECT_EQ(copy.back(), 8);
}

// ---- intervals ----

/*! The least and largest value of op over all pairs from a and b. */
template <typename Op>
ConstBound Enumerate(const ConstBound& a, const ConstBound& b, Op op) {
  ConstBound out{INT64_MAX, INT64_MIN};
  for (int64_t x = a.min; x <= a.max; ++x) {
    for (int64_t y = b.min; y <= b.max; ++y) {
      out = {std::min(out.min, op(x, y)), std::max(out.max, op(x, y))};
    }
  }
  return out;
}

template <typename Visit>
void ForEachInterval(Visit visit) {
  for (int64_t lo = -6; lo <= 6; ++lo) {
    for (int64_t hi = lo; hi <= 6; ++hi) visit(ConstBound{lo, hi});
  }
}

bool Contains(const ConstBound& outer, const ConstBound& inner) {
  return outer.min <= inner.min && outer.max >= inner.max;
}

TEST(Interval, SmallOperationsAreExact) {
  ForEachInterval([](ConstBound a) {
    ForEachInterval([&](ConstBound b) {
      EXPECT_TRUE(AddBound(a, b) == Enumerate(a, b, [](int64_t x, int64_t y) { return x + y; }));
      EXPECT_TRUE(MulBound(a, b) == Enumerate(a, b, [](int64_t x, int64_t y) { return x * y; }));
      bool divides = b.min > 0 || b.max < 0;
      EXPECT_TRUE(!divides || FloorDivBound(a, b) == Enumerate(a, b, FloorDivInt));
    });
  });
}

TEST(Interval, ModuloContainsEveryValue) {
  ForEachInterval([](ConstBound a) {
    for (int64_t m = 1; m < 8; ++m) {
      EXPECT_TRUE(Contains(FloorModBound(a, m), Enumerate(a, {m, m}, FloorModInt)));
    }
  });
}

TEST(Interval, LeavesInt64AsInfinity) {
  ConstBound top{INT64_MAX - 1, INT64_MAX - 1};
  EXPECT_EQ(AddBound(top, {5, 5}).max, ConstBound::kPosInf);
  EXPECT_GE(AddBound(top, {5, 5}).min, INT64_MAX - 1);
  EXPECT_EQ(ScaleBound({INT64_MIN + 1, 3}, -2).max, ConstBound::kPosInf);
  EXPECT_EQ(MulBound({INT64_MIN, 0}, {2, 3}).min, ConstBound::kNegInf);
  EXPECT_TRUE(FloorDivBound({-5, 5}, {-1, 1}) == kEverything);
  EXPECT_TRUE(FloorDivBound({-5, 5}, {3, ConstBound::kPosInf}) == (ConstBound{-2, 1}));
}

// ---- an evaluator of int64 expressions ----

using Env = std::map<const VarNode*, int64_t>;

/*! The value, or nothing where the expression overflows its dtype or divides by zero. */
std::optional<int64_t> Eval(const PrimExpr& e, const Env& env) {
  if (auto* n = e.as<IntImmNode>()) return n->value;
  if (auto* n = e.as<VarNode>()) return env.at(n);
  if (auto* n = e.as<NotNode>()) {
    auto a = Eval(n->a, env);
    return a ? std::optional<int64_t>(*a == 0) : std::nullopt;
  }
  if (auto* n = e.as<CastNode>()) {
    auto a = Eval(n->value, env);
    bool fits = a && *a >= MinValue(n->dtype) && *a <= MaxValue(n->dtype);
    return fits ? a : std::nullopt;
  }
  if (auto* n = e.as<SelectNode>()) {
    auto c = Eval(n->cond, env);
    if (!c) return std::nullopt;
    return Eval(*c ? n->true_value : n->false_value, env);
  }
  auto* n = e.as<BinaryNode>();
  auto a = Eval(n->a, env);
  if (!a) return std::nullopt;
  if (n->kind() == BinOp::kAnd && *a == 0) return 0;
  if (n->kind() == BinOp::kOr && *a != 0) return 1;
  auto b = Eval(n->b, env);
  if (!b) return std::nullopt;
  return FoldInt(n->kind(), n->a.dtype(), *a, *b);
}

/*! Random expressions; `constants` are drawn as often as variables. */
class Generator {
 public:
  Generator(uint64_t seed, DType t, std::vector<Var> vars, std::vector<int64_t> constants)
      : rng_(seed), t_(t), vars_(std::move(vars)), constants_(std::move(constants)) {}

  PrimExpr Integer(int depth) {
    if (depth == 0 || Pick(8) == 0) {
      return Pick(2) ? PrimExpr(vars_[Pick(vars_.size())]) : Constant();
    }
    if (Pick(12) == 0)
      return MakeSelect(Boolean(depth - 1), Integer(depth - 1), Integer(depth - 1));
    constexpr BinOp kOps[] = {
        BinOp::kAdd,      BinOp::kAdd,      BinOp::kSub,      BinOp::kMul,    BinOp::kFloorDiv,
        BinOp::kFloorDiv, BinOp::kFloorMod, BinOp::kFloorMod, BinOp::kMin,    BinOp::kMax,
        BinOp::kTruncDiv, BinOp::kTruncMod, BinOp::kBitAnd,   BinOp::kBitXor, BinOp::kShr};
    BinOp op = kOps[Pick(std::size(kOps))];
    bool constant = op == BinOp::kShr || (op >= BinOp::kMul && op <= BinOp::kTruncMod && Pick(6));
    PrimExpr a = Integer(depth - 1);
    return MakeBinary(op, a, constant ? Constant() : Integer(depth - 1));
  }
  PrimExpr Boolean(int depth) {
    if (depth > 0 && Pick(4) == 0) {
      PrimExpr a = Boolean(depth - 1);
      return MakeBinary(Pick(2) ? BinOp::kAnd : BinOp::kOr, a, Boolean(depth - 1));
    }
    auto op = static_cast<BinOp>(static_cast<int>(BinOp::kEQ) + Pick(6));
    PrimExpr a = Integer(depth);
    return MakeBinary(op, a, Integer(depth));
  }
  size_t Pick(size_t n) { return rng_() % n; }

 private:
  PrimExpr Constant() { return IntImm(t_, constants_[Pick(constants_.size())]); }
  std::mt19937_64 rng_;
  DType t_;
  std::vector<Var> vars_;
  std::vector<int64_t> constants_;
};

uint64_t Seed() {
  const char* text = std::getenv("TIRX_FUZZ_SEED");
  return text ? std::strtoull(text, nullptr, 10) : 12345;
}

/*! e and its simplified form agree wherever e is defined; its facts hold there. */
void Check(const Analyzer& analyzer, const PrimExpr& e, const std::vector<Env>& points) {
  PrimExpr s = analyzer.Simplify(e);
  ConstBound b = analyzer.Bound(e);
  ModularSet m = analyzer.Modular(e);
  for (const Env& env : points) {
    auto want = Eval(e, env);
    if (!want) continue;
    ASSERT_EQ(Eval(s, env), want);
    ASSERT_GE(*want, b.min);
    ASSERT_LE(*want, b.max);
    int64_t rest = 0;
    bool fits = !__builtin_sub_overflow(*want, m.base, &rest);
    ASSERT_TRUE(!fits || (m.coeff == 0 ? rest == 0 : rest % m.coeff == 0));
  }
}

TEST(Analyzer, EveryPointOfSmallDomains) {
  std::cout << "TIRX_FUZZ_SEED=" << Seed() << "\n";
  Var x("x"), y("y"), w("w");
  Analyzer analyzer;
  analyzer.Bind(x, Range(0, 24));
  analyzer.Bind(y, Range(-5, 11));
  analyzer.Bind(w, Range(0, 9));
  analyzer.BindModular(w, 4, 0);
  std::vector<Env> points;
  for (int64_t i = 0; i < 24; ++i) {
    for (int64_t j = -5; j < 6; ++j)
      points.push_back({{x.get(), i}, {y.get(), j}, {w.get(), i % 3 * 4}});
  }
  Generator g(Seed(), kInt32, {x, y, w}, {0, 1, 2, 3, 4, 6, 8, 12, 16, -1, -3});
  for (int i = 0; i < 4000; ++i) {
    PrimExpr e = g.Pick(4) ? g.Integer(4) : g.Boolean(3);
    Check(analyzer, e, points);
    if (testing::Test::HasFatalFailure()) FAIL() << "expression " << i << " of seed " << Seed();
  }
}

TEST(Analyzer, EndsOfInt64) {
  const int64_t ends[] = {INT64_MIN, INT64_MIN + 1, -1, 0, 1, 7, INT64_MAX - 1, INT64_MAX};
  Var x("x", kInt64), y("y", kInt64);
  Analyzer analyzer;
  analyzer.Bind(y, Range(IntImm(kInt64, INT64_MAX - 8), IntImm(kInt64, 8)));
  std::vector<Env> points;
  for (int64_t v : ends) {
    points.push_back({{x.get(), v}, {y.get(), INT64_MAX - 1}});
    points.push_back({{x.get(), v}, {y.get(), INT64_MAX - 8}});
  }
  std::vector<int64_t> constants(std::begin(ends), std::end(ends));
  Generator g(Seed() + 1, kInt64, {x, y}, constants);
  for (int i = 0; i < 4000; ++i) {
    Check(analyzer, g.Pick(3) ? g.Integer(3) : g.Boolean(2), points);
    if (testing::Test::HasFatalFailure()) FAIL() << "expression " << i << " of seed " << Seed();
  }
}

TEST(Analyzer, ConditionsHoldOnlyInsideTheirScope) {
  Var n("n"), i("i");
  Analyzer analyzer;
  int64_t outer = analyzer.Enter(MakeBinary(BinOp::kGE, n, 4));
  int64_t inner = analyzer.Enter(LT(i, n));
  EXPECT_TRUE(analyzer.CanProve(LE(i + PrimExpr(1), n)));
  EXPECT_EQ(analyzer.Bound(n).min, 4);
  analyzer.Exit(outer);  // leaves the inner one too
  EXPECT_FALSE(analyzer.CanProve(LE(i + PrimExpr(1), n)));
  analyzer.Exit(inner);  // has nothing left to forget
  EXPECT_EQ(analyzer.Bound(n).min, INT32_MIN);
}

TEST(Analyzer, BindingAgainForgets) {
  Var v("v");
  Analyzer analyzer;
  analyzer.Bind(v, Range(0, 4));
  analyzer.BindModular(v, 2, 0);
  analyzer.Bind(v, Range(10, 3));
  EXPECT_EQ(analyzer.Bound(v).min, 10);
  EXPECT_EQ(analyzer.Modular(v).coeff, 1);
}

TEST(Analyzer, SymbolicRangesProveDivisions) {
  Var n("n"), m("m"), i("i"), j("j");
  Analyzer analyzer;
  analyzer.Enter(MakeBinary(BinOp::kGE, n, 1));
  analyzer.Bind(i, Range(0, m));
  analyzer.Bind(j, Range(0, n));
  EXPECT_TRUE(analyzer.Simplify(FloorDiv(i * n + j, n)).same_as(i));
  EXPECT_TRUE(analyzer.Simplify(FloorMod(i * n + j, n)).same_as(j));
  EXPECT_TRUE(analyzer.CanProve(LT(i * n + j, m * n)));
  EXPECT_FALSE(analyzer.CanProve(LT(i * n + j + PrimExpr(1), m * n)));
}

TEST(Analyzer, LetsAreLookedThroughInProofsOnly) {
  Var tid("tid"), warp("warp"), lane("lane");
  Analyzer analyzer;
  analyzer.Bind(tid, Range(0, 256));
  analyzer.Bind(warp, FloorDiv(tid, 32));
  analyzer.Bind(lane, FloorMod(tid, 32));
  PrimExpr e = warp * PrimExpr(32) + lane;
  EXPECT_TRUE(analyzer.Simplify(e).same_as(e));
  EXPECT_TRUE(analyzer.CanProveEqual(e, tid));
  WithConstraint first(analyzer, EQ(warp, 0));
  EXPECT_EQ(analyzer.Bound(tid).max, 31);
}

}  // namespace
}  // namespace arith
}  // namespace tirx
