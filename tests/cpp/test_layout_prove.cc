// Proofs about index DAGs against evaluation of every point: all GF(2) matrices of 3x3, random
// expressions, ragged boxes, and facts that must stay unknown.
#include <gtest/gtest.h>
#include <tirx/layout/prove.h>

#include <cstdlib>
#include <iostream>
#include <random>
#include <set>

namespace tirx {
namespace {

using layout::Fact;
using layout::LayoutProof;
using layout::Status;
using Extents = std::vector<int64_t>;
using Point = std::vector<int64_t>;
using Op = IndexOp;

constexpr Status kUnknown = Status::kUnknown;
constexpr Status kProven = Status::kProven;
constexpr Status kDisproven = Status::kDisproven;

uint64_t Seed() {
  const char* text = std::getenv("TIRX_FUZZ_SEED");
  return text ? std::strtoull(text, nullptr, 10) : 20260301;
}

std::string Describe(const IndexDag& dag) {
  auto list = [](const Extents& v) {
    std::string s;
    for (int64_t n : v) s += (s.empty() ? "" : ",") + std::to_string(n);
    return "(" + s + ")";
  };
  std::string s = list(dag.domain) + " -> " + list(dag.codomain) + ":";
  for (int32_t o : dag.outputs) s += " " + NodeText(dag, o);
  return s;
}

/*! The definition, written out once more: values of all points by a map. */
struct Truth {
  bool total{true}, bounds{true}, injective{true}, surjective{false};
};

bool InBox(const Point& y, const Extents& box) {
  for (size_t j = 0; j < y.size(); ++j) {
    if (y[j] < 0 || y[j] >= box[j]) return false;
  }
  return true;
}

Truth TruthOf(const IndexDag& dag) {
  Truth t;
  PointEvaluator evaluate(dag);
  std::set<Point> seen, reached;
  ForEachPoint(dag.domain, [&](const Point& p) {
    Point y(dag.outputs.size());
    if (!evaluate(p.data(), y.data())) {
      t.total = false;
      return true;
    }
    bool in = InBox(y, dag.codomain);
    t.bounds &= in;
    if (in) reached.insert(y);
    t.injective &= seen.insert(y).second;
    return true;
  });
  double places = 1;
  for (int64_t n : dag.codomain) places *= static_cast<double>(n);
  t.surjective = static_cast<double>(reached.size()) == places;
  return t;
}

/*! A witness shows what it claims. */
void CheckWitnesses(const IndexDag& dag, const LayoutProof& proof) {
  PointEvaluator evaluate(dag);
  auto value = [&](const Point& p) -> std::optional<Point> {
    EXPECT_TRUE(p.size() == dag.domain.size() && InBox(p, dag.domain));
    Point y(dag.outputs.size());
    if (!evaluate(p.data(), y.data())) return std::nullopt;
    return y;
  };
  for (const Point& p : proof.total.witness) EXPECT_FALSE(value(p));
  for (const Point& p : proof.bounds.witness) {
    EXPECT_TRUE(value(p) && !InBox(*value(p), dag.codomain));
  }
  if (!proof.injective.witness.empty()) {
    const Point &p = proof.injective.witness[0], &q = proof.injective.witness[1];
    EXPECT_TRUE(p != q && value(p) && value(p) == value(q));
  }
  for (const Point& y : proof.surjective.witness) {
    EXPECT_TRUE(InBox(y, dag.codomain));
    ForEachPoint(dag.domain, [&](const Point& p) {
      EXPECT_NE(value(p), y);
      return true;
    });
  }
}

struct Tally {
  int64_t maps{0}, decided{0}, unknown{0}, bare{0};
  void Add(const Fact& f) {
    ++(f.status == kUnknown ? unknown : decided);
    bare += f.status == kDisproven && f.witness.empty();
  }
};

bool Agrees(const Fact& f, bool truth) {
  return f.status == kUnknown || (f.status == kProven) == truth;
}

/*! Every answer is the truth, and every witness is one. */
LayoutProof Check(const IndexDag& dag, Tally* tally, int64_t budget = 0) {
  LayoutProof p = layout::ProveDag(dag, budget);
  Truth t = TruthOf(dag);
  bool right = Agrees(p.total, t.total) && Agrees(p.bounds, t.bounds) &&
               Agrees(p.injective, t.injective) && Agrees(p.surjective, t.surjective);
  EXPECT_TRUE(right) << Describe(dag) << "\n  total: " << p.total.argument
                     << "\n  bounds: " << p.bounds.argument
                     << "\n  injective: " << p.injective.argument
                     << "\n  surjective: " << p.surjective.argument;
  CheckWitnesses(dag, p);
  ++tally->maps;
  for (const Fact* f : {&p.total, &p.bounds, &p.injective, &p.surjective}) tally->Add(*f);
  return p;
}

void Print(const char* what, const Tally& t) {
  std::cout << what << ": " << t.maps << " maps, " << t.decided << " facts decided (" << t.bare
            << " by counting alone), " << t.unknown << " unknown, all right\n";
}

// ---- GF(2) ---------------------------------------------------------------------------------------

/*! The matrix whose column b is 3 bits of `matrix`, from `bits` of the axes in sequence. */
IndexDag BitMatrixDag(const Extents& domain, const Extents& codomain, int matrix, int64_t offset) {
  DagBuilder b(domain);
  std::vector<int32_t> outs(codomain.size());
  auto part = [&](int64_t v, size_t j) {
    return codomain.size() == 1 ? v : (j == 0 ? v >> 1 : v & 1);
  };
  for (size_t j = 0; j < outs.size(); ++j) outs[j] = b.Const(part(offset, j));
  int column = 0;
  for (size_t axis = 0; axis < domain.size(); ++axis) {
    for (int bit = 0; (int64_t{1} << bit) < domain[axis]; ++bit, ++column) {
      int64_t image = (matrix >> (3 * column)) & 7;
      int32_t x = b.And(b.Binary(Op::kShr, b.Coord(axis), b.Const(bit)), 1);
      for (size_t j = 0; j < outs.size(); ++j) {
        outs[j] = b.Xor(outs[j], b.Mul(x, part(image, j)));
      }
    }
  }
  return std::move(b).Finish(outs, codomain);
}

TEST(LayoutProve, AllMatricesOverTwoOfThreeBits) {
  const std::vector<Extents> domains = {{8}, {2, 4}, {2, 2, 2}, {5}, {6}, {7}, {2, 3}, {3, 2}};
  Tally tally;
  for (const Extents& domain : domains) {
    for (const Extents& codomain : {Extents{8}, Extents{6}, Extents{4, 2}}) {
      for (int matrix = 0; matrix < 512; ++matrix) {
        for (int64_t offset = 0; offset < 8; ++offset) {
          LayoutProof p = Check(BitMatrixDag(domain, codomain, matrix, offset), &tally);
          ASSERT_EQ(p.total.status, kProven);
          ASSERT_NE(p.bounds.status, kUnknown);
          ASSERT_NE(p.injective.status, kUnknown);
          if (HasFailure()) FAIL() << "matrix " << matrix << " offset " << offset;
        }
      }
    }
  }
  Print("3x3 GF(2) matrices", tally);
}

TEST(LayoutProve, AgreementOnBasisVectorsIsNotLinearity) {
  // x*x is x at 0 and 1, and at 2 it is 4 as a linear map with columns (1, 4) says; at 3 it is not.
  DagBuilder b({4});
  int32_t square = b.Binary(Op::kMul, b.Coord(0), b.Coord(0));
  IndexDag dag = std::move(b).Finish({b.And(square, 7)}, {8});
  LayoutProof p = layout::ProveDag(dag, 0);
  EXPECT_EQ(p.bounds.status, kProven);
  EXPECT_EQ(p.injective.status, kUnknown);  // 1 and 3 collide: 9 & 7 = 1
  Tally tally;
  EXPECT_EQ(Check(dag, &tally, 64).injective.status, kDisproven);
}

TEST(LayoutProve, SixtyFiveBits) {
  Extents box(13, 32);
  DagBuilder b(box);
  std::vector<int32_t> outs;
  for (int i = 0; i < 13; ++i) {
    outs.push_back(i == 0 ? b.Coord(0) : b.Xor(b.Coord(i), outs.back()));
  }
  LayoutProof p = layout::ProveDag(std::move(b).Finish(outs, box), 0);
  for (const Fact* f : {&p.total, &p.bounds, &p.injective, &p.surjective}) {
    EXPECT_EQ(f->status, kProven) << f->argument;
  }
  EXPECT_EQ(p.injective.argument, "full column rank over GF(2)");
}

TEST(LayoutProve, SixtyFiveBitsWithAKernel) {
  Extents box(13, 32);
  DagBuilder b(box);
  std::vector<int32_t> outs;
  for (int i = 0; i < 13; ++i) outs.push_back(b.Xor(b.Coord(i), b.Coord((i + 1) % 13)));
  IndexDag dag = std::move(b).Finish(outs, box);
  LayoutProof p = layout::ProveDag(dag, 0);
  ASSERT_EQ(p.injective.status, kDisproven);
  ASSERT_EQ(p.surjective.status, kDisproven);
  PointEvaluator evaluate(dag);
  Point first(13), second(13);
  ASSERT_TRUE(evaluate(p.injective.witness[0].data(), first.data()));
  ASSERT_TRUE(evaluate(p.injective.witness[1].data(), second.data()));
  EXPECT_EQ(first, second);
  EXPECT_EQ(p.surjective.witness.size(), 1u);
}

// ---- affine --------------------------------------------------------------------------------------

IndexDag StridedDag(const Extents& domain, const std::vector<int64_t>& strides, int64_t base,
                    int64_t extent) {
  DagBuilder b(domain);
  int32_t sum = b.Const(base);
  for (size_t i = 0; i < domain.size(); ++i) {
    sum = b.Add(sum, b.Mul(b.Coord(i), strides[i]));
  }
  return std::move(b).Finish({sum}, {extent});
}

TEST(LayoutProve, EveryStridedLayoutOfTwoAndThreeAxes) {
  Tally tally;
  for (int64_t a = -7; a <= 7; ++a) {
    for (int64_t b = -7; b <= 7; ++b) {
      for (const Extents& domain : {Extents{3, 4}, Extents{2, 5}, Extents{4, 4}, Extents{1, 6}}) {
        int64_t low = std::min<int64_t>(a, 0) * (domain[0] - 1);
        low += std::min<int64_t>(b, 0) * (domain[1] - 1);
        for (int64_t slack : {0, 1}) {
          Check(StridedDag(domain, {a, b}, slack - low, 12), &tally);
          Check(StridedDag(domain, {a, b}, slack - low, 20), &tally);
        }
      }
    }
  }
  for (int64_t a = 1; a <= 9; ++a) {
    for (int64_t b = 1; b <= 9; ++b) {
      for (int64_t c = -4; c <= 4; ++c) {
        Check(StridedDag({2, 3, 3}, {a, b, c}, c < 0 ? -2 * c : 0, 18), &tally);
        Check(StridedDag({2, 3, 3}, {a, b, c}, c < 0 ? -2 * c : 0, 30), &tally);
      }
    }
  }
  Print("strided layouts", tally);
}

TEST(LayoutProve, RankModuloAPrime) {
  // Neither row dominates, yet the determinant of (1 1; 1 2) is 1.
  DagBuilder b({8, 8});
  int32_t x = b.Coord(0), y = b.Coord(1);
  IndexDag dag = std::move(b).Finish({b.Add(x, y), b.Add(x, b.Mul(y, 2))}, {16, 22});
  Tally tally;
  LayoutProof p = Check(dag, &tally);
  EXPECT_EQ(p.injective.argument, "full column rank modulo 2^31-1");
  // A determinant of exactly 2^31 - 1 is zero modulo the prime: that proves nothing.
  const int64_t n = 1 << 20, prime = (int64_t{1} << 31) - 1;
  ASSERT_EQ(int64_t{50000} * 42950 - 711 * 23, prime);
  DagBuilder c({n, n});
  x = c.Coord(0), y = c.Coord(1);
  int32_t first = c.Add(c.Mul(x, 50000), c.Mul(y, 711));
  int32_t second = c.Add(c.Mul(x, 23), c.Mul(y, 42950));
  dag = std::move(c).Finish({first, second}, {int64_t{1} << 40, int64_t{1} << 40});
  EXPECT_EQ(layout::ProveDag(dag, 0).injective.argument, "full column rank over the rationals");
}

TEST(LayoutProve, StridesWithOneDependency) {
  // 5x + 3y and 3y + 7z stay the same only along (21, -35, 15).
  DagBuilder b({6, 8, 6});
  int32_t middle = b.Mul(b.Coord(1), 3);
  std::vector<int32_t> outs = {b.Add(b.Mul(b.Coord(0), 5), middle),
                               b.Add(middle, b.Mul(b.Coord(2), 7))};
  Tally tally;
  LayoutProof p = Check(std::move(b).Finish(outs, {47, 57}), &tally);
  EXPECT_EQ(p.injective.argument, "the one dependency of the strides exceeds an extent");
}

TEST(LayoutProve, ResiduesOfStrides) {
  // 7x + 6y = 7x' + 6y' needs a step of 6 in x and 7 in y.
  Tally tally;
  EXPECT_EQ(Check(StridedDag({6, 8}, {7, 6}, 0, 80), &tally).injective.status, kProven);
  EXPECT_EQ(Check(StridedDag({7, 7}, {7, 6}, 0, 80), &tally).injective.status, kProven);
  EXPECT_EQ(Check(StridedDag({7, 8}, {7, 6}, 0, 80), &tally).injective.status, kDisproven);
}

TEST(LayoutProve, CancellationHidesNoFault) {
  const int64_t big = std::numeric_limits<int64_t>::max();
  DagBuilder b({4});
  int32_t x = b.Coord(0), far = b.Add(b.Const(big - 2), x);
  IndexDag dag = std::move(b).Finish({b.Binary(Op::kSub, far, b.Const(big - 2))}, {4});
  LayoutProof p = layout::ProveDag(dag, 0);
  EXPECT_EQ(p.total.status, kDisproven);
  EXPECT_EQ(p.total.witness, (std::vector<Point>{{3}}));
  EXPECT_NE(p.injective.status, kProven);
  DagBuilder d({4});
  x = d.Coord(0);
  int32_t zero = d.Binary(Op::kFloorDiv, d.Const(6), d.Binary(Op::kSub, x, d.Const(2)));
  dag = std::move(d).Finish({d.Add(x, d.Mul(zero, 0))}, {4});
  p = layout::ProveDag(dag, 0);
  EXPECT_EQ(p.total.status, kDisproven);
  EXPECT_EQ(p.total.witness, (std::vector<Point>{{2}}));
}

TEST(LayoutProve, DigitsOfOneCoordinate) {
  // ((4, 3), 5) split off one coordinate of 60, padded and reversed.
  DagBuilder b({60});
  int32_t x = b.Coord(0);
  int32_t sum = b.Add(b.Mul(b.Mod(x, 4), 16), b.Mul(b.Mod(b.Div(x, 4), 3), -5));
  IndexDag dag =
      std::move(b).Finish({b.Add(b.Add(sum, b.Const(10)), b.Mul(b.Div(x, 12), 64))}, {320});
  Tally tally;
  LayoutProof p = Check(dag, &tally);
  EXPECT_EQ(p.injective.status, kProven) << p.injective.argument;
  EXPECT_EQ(p.bounds.status, kProven);
  EXPECT_EQ(p.surjective.witness.size(), 1u);
}

TEST(LayoutProve, RaggedDigits) {
  Tally tally;
  for (int64_t n = 1; n <= 40; ++n) {
    for (int64_t cut : {2, 3, 4, 5, 8}) {
      for (int64_t low : {1, 2, 7, 9, -3}) {
        for (int64_t high : {1, 4, 8, 10, -5}) {
          DagBuilder b({n});
          int32_t x = b.Coord(0);
          int32_t sum = b.Add(b.Mul(b.Mod(x, cut), low), b.Mul(b.Div(x, cut), high));
          IndexDag dag = std::move(b).Finish({b.Add(sum, b.Const(20))}, {60});
          LayoutProof p = Check(dag, &tally);
          ASSERT_EQ(p.total.status, kProven);
          ASSERT_NE(p.bounds.status, kUnknown);
        }
      }
    }
  }
  Print("ragged digits", tally);
}

// ---- random expressions --------------------------------------------------------------------------

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  int64_t Pick(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(engine_);
  }

  /*! base + A*x with small coefficients. */
  IndexDag Affine() {
    Extents domain(Pick(1, 4)), codomain(Pick(1, 3));
    for (int64_t& n : domain) n = Pick(1, 6);
    DagBuilder b(domain);
    std::vector<int32_t> outs;
    for (int64_t& n : codomain) {
      int64_t size = Pick(2, 9);
      n = Pick(1, 90);
      outs.push_back(b.Const(Pick(0, 40)));
      for (size_t axis = 0; axis < domain.size(); ++axis) {
        outs.back() = b.Add(outs.back(), b.Mul(b.Coord(axis), Pick(-size, size)));
      }
    }
    return std::move(b).Finish(outs, codomain);
  }

  /*! A DAG over a small box whose constants are what index arithmetic has. */
  IndexDag Dag() {
    Extents domain(Pick(1, 3));
    for (int64_t& n : domain) n = Pick(1, 8);
    DagBuilder b(domain);
    std::vector<int32_t> pool;
    for (size_t i = 0; i < domain.size(); ++i) pool.push_back(b.Coord(i));
    for (int64_t steps = Pick(1, 12); steps > 0; --steps) pool.push_back(Step(&b, pool));
    std::vector<int32_t> outs(Pick(1, 2));
    for (int32_t& o : outs)
      o = pool[pool.size() - 1 - Pick(0, std::min<int64_t>(3, pool.size() - 1))];
    return std::move(b).Finish(outs, Codomain(outs.size()));
  }

 private:
  Extents Codomain(size_t rank) {
    Extents out(rank);
    for (int64_t& n : out) n = Pick(0, 2) ? Pick(1, 16) : Pick(1, 64);
    return out;
  }

  int64_t Constant() {
    switch (Pick(0, 6)) {
      case 0: return int64_t{1} << Pick(0, 5);
      case 1: return (int64_t{1} << Pick(1, 5)) - 1;
      case 2: return Pick(-3, 3);
      case 3: return Pick(0, 40) ? Pick(1, 12) : std::numeric_limits<int64_t>::max() - Pick(0, 9);
      default: return Pick(0, 9);
    }
  }

  int32_t Step(DagBuilder* b, const std::vector<int32_t>& pool) {
    auto any = [&] { return pool[Pick(0, static_cast<int64_t>(pool.size()) - 1)]; };
    Op op = static_cast<Op>(Pick(2, 12));
    int32_t x = any(), y = Pick(0, 2) ? b->Const(Constant()) : any();
    if (Pick(0, 9) == 0) std::swap(x, y);
    if (Pick(0, 19) == 0) return b->Inside(x, Pick(1, 20));
    if (Pick(0, 19) == 0) return b->Select(x, y, any());
    return b->Binary(op, x, y);
  }

  std::mt19937_64 engine_;
};

TEST(LayoutProve, PiecesOfHugeDomains) {
  // x below 2^40, x + 5 from there on: cut at the comparison, nothing enumerated.
  const int64_t half = int64_t{1} << 40;
  DagBuilder b({2 * half});
  int32_t x = b.Coord(0), low = b.Binary(Op::kLess, x, b.Const(half));
  int32_t value = b.Select(low, x, b.Add(x, b.Const(5)));
  LayoutProof p = layout::ProveDag(std::move(b).Finish({value}, {2 * half + 5}), 0);
  EXPECT_EQ(p.total.status, kProven);
  EXPECT_EQ(p.bounds.status, kProven);
  EXPECT_EQ(p.injective.status, kProven);
  EXPECT_EQ(p.surjective.witness, (std::vector<Point>{{half}}));
}

TEST(LayoutProve, RandomExpressions) {
  std::cout << "TIRX_FUZZ_SEED=" << Seed() << "\n";
  Random random(Seed());
  Tally tally;
  for (int i = 0; i < 6000 && !HasFailure(); ++i) {
    Check(random.Dag(), &tally, i % 4 == 0 ? 1 << 12 : 0);
  }
  Print("random expressions", tally);
  EXPECT_GT(tally.decided, 2 * tally.unknown);
}

TEST(LayoutProve, RandomIntegerMatrices) {
  Random random(Seed() + 2);
  Tally tally;
  for (int i = 0; i < 4000 && !HasFailure(); ++i) Check(random.Affine(), &tally);
  Print("random integer matrices", tally);
  EXPECT_GT(tally.decided, 10 * tally.unknown);
}

TEST(LayoutProve, OracleAgreesWithTheDefinition) {
  Random random(Seed() + 1);
  for (int i = 0; i < 500 && !HasFailure(); ++i) {
    IndexDag dag = random.Dag();
    LayoutProof p = layout::AnalyzeFiniteDag(dag, 1 << 12);
    Truth t = TruthOf(dag);
    EXPECT_EQ(p.total.status == kProven, t.total) << Describe(dag);
    EXPECT_EQ(p.bounds.status == kProven, t.bounds) << Describe(dag);
    EXPECT_EQ(p.injective.status == kProven, t.injective) << Describe(dag);
    EXPECT_EQ(p.surjective.status == kProven, t.surjective) << Describe(dag);
    CheckWitnesses(dag, p);
    EXPECT_TRUE(dag.domain == Extents{1} ||
                layout::AnalyzeFiniteDag(dag, 0).total.status == kUnknown);
  }
}

// ---- unknown -------------------------------------------------------------------------------------

TEST(LayoutProve, UnknownWithoutABudget) {
  DagBuilder b({8, 6});
  int32_t x = b.Coord(0), y = b.Coord(1);
  int32_t product = b.Binary(Op::kMul, x, b.Add(y, b.Const(1)));
  IndexDag dag = std::move(b).Finish({b.Add(product, y)}, {64});
  LayoutProof p = layout::ProveDag(dag, 0);
  EXPECT_EQ(p.total.status, kProven);
  EXPECT_EQ(p.bounds.status, kProven);
  EXPECT_EQ(p.injective.status, kUnknown);
  EXPECT_EQ(layout::ProveDag(dag, 47).injective.status, kUnknown);
  EXPECT_EQ(layout::ProveDag(dag, 48).injective.status, kDisproven);
}

TEST(LayoutProve, TheBudgetIsCapped) {
  DagBuilder b({1 << 21});
  int32_t x = b.Coord(0);
  int32_t square = b.Binary(Op::kMul, x, x);
  IndexDag dag = std::move(b).Finish({square}, {int64_t{1} << 43});
  EXPECT_EQ(layout::ProveDag(dag, int64_t{1} << 40).injective.status, kUnknown);
  EXPECT_EQ(layout::AnalyzeFiniteDag(dag, int64_t{1} << 40).total.status, kUnknown);
}

}  // namespace
}  // namespace tirx
