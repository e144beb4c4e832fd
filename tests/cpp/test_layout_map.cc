// The core of layout maps: checked operations, evaluation order, digit forms, inverses and joins,
// each against a few lines of plain arithmetic.
#include <gtest/gtest.h>
#include <tirx/layout/corr.h>
#include <tirx/layout/inverse.h>

#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace tirx {
namespace {

using Point = std::vector<int64_t>;
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

IndexBox Box(const Point& extents) { return IndexBox(extents); }

std::string CodeOf(const ffi::Error& e) {
  std::string text = e.what();
  size_t at = text.find("\"code\":\"") + 8;
  return text.substr(at, text.find('"', at) - at);
}

template <typename F>
std::string Refusal(F f) {
  try {
    f();
  } catch (const ffi::Error& e) {
    return CodeOf(e);
  }
  return "";
}

// {point: value} of the points that have one.
std::map<Point, Point> Graph(const LayoutMap& f) {
  std::map<Point, Point> out;
  ForEachPoint(f->domain.Extents(), [&](const Point& x) {
    PointEvaluator run(layout::ToIndexDag(f));
    Point y(f->codomain.rank());
    if (run(x.data(), y.data())) out[x] = y;
    return true;
  });
  return out;
}

TEST(IndexOps, AgreeWithExactArithmetic) {
  const Point edges{0,  1,  2,    3,    63,       64,       -1,
                    -2, -3, kMax, kMin, kMax - 1, kMin + 1, int64_t{1} << 32};
  using Wide = __int128;
  auto floor_div = [](Wide a, Wide b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); };
  for (int64_t a : edges) {
    for (int64_t b : edges) {
      std::map<IndexOp, Wide> want{{IndexOp::kAdd, Wide(a) + b}, {IndexOp::kSub, Wide(a) - b},
                                   {IndexOp::kMul, Wide(a) * b}, {IndexOp::kLess, a < b},
                                   {IndexOp::kEqual, a == b},    {IndexOp::kXor, a ^ b},
                                   {IndexOp::kAnd, a & b}};
      if (b != 0) {
        want[IndexOp::kFloorDiv] = floor_div(a, b);
        want[IndexOp::kFloorMod] = a - b * floor_div(a, b);
      }
      for (IndexOp op :
           {IndexOp::kAdd, IndexOp::kSub, IndexOp::kMul, IndexOp::kFloorDiv, IndexOp::kFloorMod,
            IndexOp::kLess, IndexOp::kEqual, IndexOp::kXor, IndexOp::kAnd}) {
        int64_t got = 0;
        const char* why = nullptr;
        bool ok = ApplyIndexOp(op, a, b, &got, &why);
        bool fits = want.count(op) && want[op] >= kMin && want[op] <= kMax;
        ASSERT_EQ(ok, fits) << static_cast<int>(op) << " " << a << " " << b;
        if (ok) {
          ASSERT_EQ(Wide(got), want[op]) << static_cast<int>(op) << " " << a << " " << b;
        }
      }
    }
  }
}

TEST(IndexDag, SharesNodesAndFoldsOnlyWhatSucceeds) {
  DagBuilder to({8});
  int32_t x = to.Coord(0);
  EXPECT_EQ(to.Add(x, to.Const(0)), x);
  EXPECT_EQ(to.Mul(x, 1), x);
  EXPECT_EQ(to.Add(to.Mul(x, 3), x), to.Add(to.Mul(x, 3), x));
  EXPECT_EQ(to.at(to.Binary(IndexOp::kAdd, to.Const(2), to.Const(3))).c, 5);
  int32_t trap = to.Binary(IndexOp::kFloorDiv, to.Const(1), to.Const(0));
  EXPECT_EQ(to.at(trap).op, IndexOp::kFloorDiv);
  int32_t zero = to.Mul(trap, 0);
  EXPECT_EQ(to.at(zero).op, IndexOp::kMul);
  EXPECT_EQ(to.Inside(x, 8), x) << "a coordinate is inside its extent";
  EXPECT_NE(to.Inside(x, 7), x);
  EXPECT_EQ(to.After(x, to.Mul(x, 5)), x) << "5 x cannot fail";
  EXPECT_NE(to.After(x, trap), x);
}

TEST(Evaluate, SelectEvaluatesOnlyTheChosenPiece) {
  DagBuilder to({4});
  int32_t x = to.Coord(0);
  int32_t trap = to.Binary(IndexOp::kFloorDiv, to.Const(12), x);
  int32_t out = to.Select(to.Binary(IndexOp::kLess, x, to.Const(1)), to.Const(7), trap);
  IndexDag dag = std::move(to).Finish({out}, {16});
  PointEvaluator run(dag);
  std::vector<int64_t> got;
  for (int64_t i = 0; i < 4; ++i) {
    int64_t y = 0;
    ASSERT_TRUE(run(&i, &y));
    got.push_back(y);
  }
  EXPECT_EQ(got, (std::vector<int64_t>{7, 12, 6, 4}));
}

TEST(Evaluate, FailuresNameTheNode) {
  DagBuilder to({3});
  int32_t quotient = to.Binary(IndexOp::kFloorDiv, to.Const(1), to.Coord(0));
  IndexDag dag = std::move(to).Finish({quotient}, {2});
  PointEvaluator run(dag);
  int64_t x = 0, y = 0;
  EXPECT_FALSE(run(&x, &y));
  EXPECT_EQ(run.fault().node, quotient);
  EXPECT_EQ(run.fault().reason, "division by zero");
  EXPECT_EQ(NodeText(dag, quotient), "(1 // i0)");
}

TEST(Compose, NeedsEveryCoordinateThatEntersTheDomain) {
  LayoutMap wide = layout::MixedRadix({{4}}, {{{1, 2}}}, {0, 0});
  LayoutMap narrow = layout::WithCodomain(wide, Box({4, 4}));
  LayoutMap f = layout::Compose(layout::Project(Box({4, 4}), {0}), narrow);
  EXPECT_EQ(Graph(f), (std::map<Point, Point>{{{0}, {0}}, {{1}, {1}}}));
  EXPECT_EQ(Refusal([&] { layout::Compose(layout::Identity(Box({4})), wide); }), "box-mismatch");
}

// Every sum of two strides over nested shapes, as values.
TEST(Normalize, CoalescesAndKeepsValues) {
  int64_t coalesced = 0;
  for (int64_t a : {1, 2, 3}) {
    for (int64_t b : {1, 2, 4}) {
      for (int64_t s : {0, 1, 2, -1}) {
        for (int64_t t : {0, 1, 2, 3, 4, 6, -2, -3}) {
          LayoutMap f = layout::MixedRadix({{a, b}}, {{{s}, {t}}}, {20}, Box({64}));
          LayoutMap n = layout::Normalize(f);
          ASSERT_EQ(Graph(n), Graph(f));
          auto* m = n.as<MixedRadixMapNode>();
          ASSERT_NE(m, nullptr);
          bool one = a == 1 || b == 1 || t == s * a;
          ASSERT_EQ(m->shape[0].size() == 1, one) << a << " " << b << " " << s << " " << t;
          coalesced += one;
        }
      }
    }
  }
  EXPECT_GT(coalesced, 50);
}

TEST(Inverse, EveryPermutationOfFiveDigits) {
  Point order{0, 1, 2, 3, 4}, extents{2, 3, 2, 1, 5};
  do {
    std::vector<int64_t> stride(5);
    int64_t below = 1;
    for (int64_t d : order) {
      stride[d] = below;
      below *= extents[d];
    }
    IntRows digits;
    for (int64_t s : stride) digits.push_back({s});
    LayoutMap f = layout::MixedRadix({Ints(extents.begin(), extents.end())}, {digits}, {0});
    layout::Inverse back = layout::TryInverse(f, 0);
    ASSERT_FALSE(back.image.has_value());
    for (const auto& [x, y] : Graph(f)) ASSERT_EQ(layout::Evaluate(back.map, y), x);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(Inverse, All3x3BitMatrices) {
  int64_t invertible = 0;
  for (int64_t m = 0; m < 512; ++m) {
    IntRows columns{{m & 7}, {m >> 3 & 7}, {m >> 6}};
    for (int64_t extent : {8, 6}) {
      LayoutMap f = layout::BitLinear(Box({extent}), Box({8}), {columns}, {5});
      std::set<Point> image;
      std::map<Point, Point> graph = Graph(f);
      for (const auto& [x, y] : graph) image.insert(y);
      bool injective = image.size() == graph.size();
      std::string code = Refusal([&] {
        layout::Inverse back = layout::TryInverse(f, 0);
        for (const auto& [x, y] : graph) ASSERT_EQ(layout::Evaluate(back.map, y), x);
        for (int64_t y = 0; y < 8; ++y) {
          bool hit = image.count({y}) != 0;
          ASSERT_EQ(!back.image || layout::Evaluate(*back.image, {y})[0] == 1, hit);
        }
      });
      ASSERT_EQ(code, injective ? "" : "not-injective") << m;
      ASSERT_EQ(layout::ImageSize(f), static_cast<int64_t>(image.size()));
      invertible += injective;
    }
  }
  EXPECT_EQ(invertible, 2 * 168) << "GL(3,2) has 168 elements, and 6 points decide full rank too";
}

TEST(Fiber, SolvesWithoutEnumerating) {
  IntRows columns;
  for (int b = 0; b < 62; ++b) columns.push_back({int64_t{1} << (b / 2)});
  LayoutMap f = layout::BitLinear(Box({int64_t{1} << 62}), Box({int64_t{1} << 31}), {columns}, {3});
  auto fiber = layout::Fiber(f, {12345}, 0);
  ASSERT_TRUE(fiber.has_value());
  EXPECT_EQ((*fiber)->domain.Size(), int64_t{1} << 31);
  for (int64_t k : {int64_t{0}, int64_t{99}, (int64_t{1} << 31) - 1}) {
    EXPECT_EQ(layout::Evaluate(f, layout::Evaluate(*fiber, {k})), Point{12345});
  }
}

TEST(Corr, JoinIsRelationalComposition) {
  std::vector<LayoutMap> legs{layout::Identity(Box({4})), layout::Project(Box({4, 2}), {0}),
                              layout::FiniteTable(Box({3}), Box({4}), {2, 2, 1}),
                              layout::FiniteTable(Box({4}), Box({4}), {3, 1, 0, 2})};
  auto relation = [](const LayoutCorr& c) {
    std::set<std::pair<int64_t, int64_t>> out;
    std::vector<int64_t> flat = layout::CorrPairs(c);
    for (size_t i = 0; i < flat.size(); i += 2) out.insert({flat[i], flat[i + 1]});
    return out;
  };
  auto linear = [](const LayoutMap& leg) {
    IntRows shape;
    ffi::Array<IntRows> stride;
    int64_t below = 1;
    for (int64_t e : leg->domain->extents) {
      shape.push_back({e});
      stride.push_back({Ints{below}});
      below *= e;
    }
    return layout::MixedRadix(shape, stride, {0}, Box({16}));
  };
  for (const LayoutMap& one : legs) {
    for (const LayoutMap& two : legs) {
      LayoutCorr r(linear(one), one), s(two, linear(two));
      std::set<std::pair<int64_t, int64_t>> want;
      for (auto [a, b] : relation(r)) {
        for (auto [b2, c] : relation(s)) {
          if (b == b2) want.insert({a, c});
        }
      }
      ASSERT_EQ(relation(layout::ComposeCorr(s, r)), want);
    }
  }
}

TEST(Maps, DeepChainsAreRefusedOrRun) {
  LayoutMap step = layout::FiniteTable(Box({4}), Box({4}), {1, 2, 3, 0}), f = step;
  std::string code;
  int64_t levels = 0;
  while (code.empty() && levels < 100000) {
    code = Refusal([&] { f = layout::Compose(step, f); });
    ++levels;
  }
  EXPECT_EQ(code, "too-deep");
  EXPECT_EQ(layout::Evaluate(f, {0})[0], levels % 4);
  EXPECT_EQ(layout::Evaluate(layout::Normalize(f), {1})[0], (levels + 1) % 4);
}

}  // namespace
}  // namespace tirx
