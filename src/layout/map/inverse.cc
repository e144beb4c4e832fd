#include <tirx/layout/inverse.h>
#include <tirx/layout/prove.h>

#include <algorithm>
#include <unordered_map>

#include "detail.h"
#include "recover.h"

namespace tirx {
namespace layout {
namespace {

using Nodes = std::vector<int32_t>;
using Points = std::vector<int64_t>;
using Wide = __int128;

/*! What was found about a map: an inverse, two points of one value, or neither. */
struct Outcome {
  std::optional<Inverse> inverse;
  std::optional<std::pair<Points, Points>> collision;
};
Outcome Found(Inverse inverse) { return {std::move(inverse), std::nullopt}; }
Outcome Collide(Points a, Points b) {
  return {std::nullopt, std::pair{std::move(a), std::move(b)}};
}

Nodes Coordinates(DagBuilder* to, size_t rank) {
  Nodes out;
  for (size_t i = 0; i < rank; ++i) out.push_back(to->Coord(i));
  return out;
}

/*! y -> 1 when g(y) is in the domain of f and f(g(y)) = y. g(y) is in the domain for all y where f
 *  could fail outside it. */
LayoutMap ImagePredicate(const LayoutMap& f, const LayoutMap& g) {
  std::vector<int64_t> extents = f->codomain.Extents();
  DagBuilder to(extents);
  Nodes y = Coordinates(&to, extents.size());
  Nodes x = to.Inline(ToIndexDag(g), y), again = to.Inline(ToIndexDag(f), x);
  int32_t holds = to.Const(1);
  auto also = [&](int32_t node) { holds = to.Binary(IndexOp::kAnd, node, holds); };
  for (size_t i = 0; i < x.size(); ++i) {
    also(to.Binary(IndexOp::kLess, x[i], to.Const(f->domain->extents[i])));
    also(to.Binary(IndexOp::kLess, to.Const(-1), x[i]));
  }
  for (size_t j = 0; j < y.size(); ++j) also(to.Binary(IndexOp::kEqual, again[j], y[j]));
  IndexDag dag = std::move(to).Finish({holds}, {2});
  return FromDag(dag, f->codomain, IndexBox(std::vector<int64_t>{2}));
}

/*! The inverse that g is on the image, cut off elsewhere unless f is onto. */
Inverse OnImage(const LayoutMap& f, const LayoutMap& g, bool onto, const std::string& argument) {
  if (onto) return {Normalize(g), std::nullopt, argument};
  LayoutMap image = ImagePredicate(f, g);
  return {Piecewise({image}, {g}), image, argument};
}

/*! Digits of y in the order of the plan, each kept below its extent so that all x are points. */
LayoutMap ReadDigits(const MixedRadixMapNode& m, const RecoveryPlan& plan) {
  std::vector<int64_t> extents = m.codomain.Extents();
  DagBuilder to(extents);
  Nodes digit(plan.digits.size(), to.Const(0)), x(m.domain.rank(), to.Const(0));
  std::vector<char> known(plan.digits.size(), 0);
  for (const PlanGroup& group : plan.groups) {
    int32_t rest =
        to.Binary(IndexOp::kSub, to.Coord(group.output), to.Const(m.offset[group.output]));
    for (size_t d = 0; d < digit.size(); ++d) {
      int64_t stride = plan.Stride(m, d, group.output);
      if (known[d] && stride) rest = to.Binary(IndexOp::kSub, rest, to.Mul(digit[d], stride));
    }
    for (size_t d : group.digits) {
      int64_t stride = plan.Stride(m, d, group.output), last = plan.digits[d].extent - 1;
      // A negative stride counts the reversed digit upwards.
      if (stride < 0) rest = to.Binary(IndexOp::kSub, rest, to.Const(stride * last));
    }
    for (size_t d : group.digits) {
      int64_t stride = plan.Stride(m, d, group.output), extent = plan.digits[d].extent;
      // No codomain holds two places 2^63 apart, so what stands for that stride is not used.
      int64_t size = stride == INT64_MIN ? INT64_MAX : std::abs(stride);
      digit[d] = to.Mod(to.Div(rest, size), extent);
      rest = to.Mod(rest, size);
      if (stride < 0) digit[d] = to.Binary(IndexOp::kSub, to.Const(extent - 1), digit[d]);
      known[d] = 1;
    }
  }
  for (size_t d = 0; d < digit.size(); ++d) {
    x[plan.digits[d].axis] = to.Add(x[plan.digits[d].axis], to.Mul(digit[d], plan.digits[d].below));
  }
  IndexDag dag = std::move(to).Finish(x, m.domain.Extents());
  return FromDag(dag, m.codomain, m.domain);
}

bool SameSize(const LayoutMap& f) {
  // Injective into a box of the same number of points: onto, when the values are in the box.
  auto n = f->domain.Size(), m = f->codomain.Size();
  return n && m && *n == *m;
}

/*! Whether all values of a mixed-radix map lie in its codomain: each output's extremes do. */
bool InBox(const MixedRadixMapNode& m) {
  for (size_t j = 0; j < m.offset.size(); ++j) {
    __int128 low = m.offset[j], high = m.offset[j];
    for (size_t i = 0; i < m.shape.size(); ++i) {
      for (size_t k = 0; k < m.shape[i].size(); ++k) {
        __int128 reach = static_cast<__int128>(m.stride[i][k][j]) * (m.shape[i][k] - 1);
        (reach < 0 ? low : high) += reach;
      }
    }
    if (low < 0 || high >= m.codomain->extents[j]) return false;
  }
  return true;
}

Outcome InvertMixedRadix(const LayoutMap& f) {
  auto* m = f.as<MixedRadixMapNode>();
  RecoveryPlan plan = PlanRecovery(*m);
  if (!plan.free.empty()) {
    std::vector<int64_t> a(m->domain.rank(), 0), b = a;
    b[plan.digits[plan.free[0]].axis] = plan.digits[plan.free[0]].below;
    return Collide(a, b);
  }
  if (!plan.complete || !InBox(*m)) return {};
  return Found(OnImage(f, ReadDigits(*m, plan), SameSize(f),
                       "digit recovery: every stride exceeds what all smaller ones reach"));
}

/*! Bits that an axis of the inverse's domain needs. */
std::vector<int> BitsOfBox(const IndexBox& box) {
  std::vector<int> out;
  for (int64_t e : box->extents) out.push_back(BitsFor(e));
  return out;
}

LayoutMap LeftInverse(const BitLinearMapNode& m, const BitSolver& solver) {
  std::vector<int> bits = BitsOfBox(m.codomain);
  std::vector<BitVector> columns = solver.LeftInverse(bits);
  std::vector<int64_t> start(m.domain.rank(), 0);
  ffi::Array<IntRows> basis;
  size_t at = 0;
  for (size_t j = 0; j < bits.size(); ++j) {
    IntRows rows;
    for (int b = 0; b < bits[j]; ++b) {
      std::vector<int64_t> x = solver.Point(columns[at++]);
      rows.push_back(ToInts(x));
      if (m.translation[j] >> b & 1) {
        for (size_t i = 0; i < x.size(); ++i) start[i] ^= x[i];
      }
    }
    basis.push_back(rows);
  }
  return BitLinear(m.codomain, m.domain, basis, ToInts(start));
}

/*! Whether all values are in the codomain; the columns alone say it for boxes of powers of two. */
bool BitsInBox(const LayoutMap& f) {
  auto* m = f.as<BitLinearMapNode>();
  std::vector<int64_t> seen = ToVector(m->translation);
  for (const IntRows& axis : m->basis) {
    for (const Ints& row : axis) {
      for (size_t j = 0; j < seen.size(); ++j) seen[j] |= row[j];
    }
  }
  bool inside = true;
  for (size_t j = 0; j < seen.size(); ++j) {
    if (seen[j] >> BitsFor(f->codomain->extents[j])) return false;
    inside = inside && seen[j] < f->codomain->extents[j];
  }
  return inside || Prove(f, 0).bounds.status == Status::kProven;
}

/*! A kernel vector as two points of a box that need not be a power of two: with b its top bit on
 *  the first ragged axis, delta = (2^(b)) XOR (delta XOR 2^b). */
std::pair<std::vector<int64_t>, std::vector<int64_t>> SplitDelta(std::vector<int64_t> delta,
                                                                 const IndexBox& box) {
  std::vector<int64_t> other(delta.size(), 0);
  for (size_t i = 0; i < delta.size(); ++i) {
    if (delta[i] < box->extents[i]) continue;
    other[i] = int64_t{1} << (BitsFor(box->extents[i]) - 1);
    delta[i] ^= other[i];
  }
  return {other, delta};
}

Outcome InvertBitLinear(const LayoutMap& f) {
  auto* m = f.as<BitLinearMapNode>();
  BitSolver solver(*m);
  if (solver.rank() < solver.inputs()) {
    auto [a, b] = SplitDelta(solver.Point(solver.Kernel()[0]), m->domain);
    return Collide(a, b);
  }
  if (!BitsInBox(f)) return {};
  return Found(
      OnImage(f, LeftInverse(*m, solver), SameSize(f), "elimination over GF(2): full column rank"));
}

Inverse InvertTransform(const TransformMapNode& m) {
  LayoutMap back = Transform(m.name, m.params, m.codomain, m.domain, !m.inverted);
  return {back, std::nullopt, "registered: " + BijectionArgument(m)};
}

Inverse InvertPermute(const PermuteMapNode& m) {
  std::vector<int64_t> back(m.axes.size());
  for (size_t k = 0; k < back.size(); ++k) back[m.axes[k]] = static_cast<int64_t>(k);
  return {PermuteAxes(m.codomain, ToInts(back)), std::nullopt, "a permutation of axes"};
}

Outcome InvertParts(const LayoutMap& f, int64_t budget);

/*! The parts' inverses in turn; at most one part may miss values, so that its image decides. Two
 *  points that the first part sends to one value have one value; for later parts that says nothing. */
Outcome InvertCompose(const LayoutMap& f, int64_t budget) {
  std::vector<LayoutMap> factors;
  Factors(f, &factors);
  Outcome all = InvertParts(factors[0], budget);
  for (size_t k = 1; k < factors.size() && all.inverse; ++k) {
    Outcome next = InvertParts(factors[k], budget);
    bool typed = factors[k - 1]->codomain.Extents() == factors[k]->domain.Extents();
    Inverse& inverse = *all.inverse;
    if (!next.inverse || !typed || (next.inverse->image && inverse.image)) return {};
    inverse.map = Compose(inverse.map, next.inverse->map);
    if (inverse.image) inverse.image = Compose(*inverse.image, next.inverse->map);
    if (next.inverse->image) inverse.image = next.inverse->image;
    inverse.argument += "; then " + next.inverse->argument;
  }
  return all;
}

/*! A collision of one factor, with the other coordinates 0. */
Outcome Embedded(const std::pair<Points, Points>& collision, size_t at, size_t rank) {
  Points a(rank, 0), b(rank, 0);
  std::copy(collision.first.begin(), collision.first.end(), a.begin() + at);
  std::copy(collision.second.begin(), collision.second.end(), b.begin() + at);
  return Collide(a, b);
}

Outcome InvertProduct(const ProductMapNode& m, int64_t budget) {
  ffi::Array<LayoutMap> maps;
  std::string argument;
  size_t at = 0;
  for (const LayoutMap& f : m.maps) {
    Outcome part = InvertParts(f, budget);
    if (part.collision) return Embedded(*part.collision, at, m.domain.rank());
    if (!part.inverse || part.inverse->image) return {};
    maps.push_back(part.inverse->map);
    argument += (argument.empty() ? "" : "; ") + part.inverse->argument;
    at += f->domain.rank();
  }
  return Found({Product(maps), std::nullopt, argument});
}

struct HashPoint {
  size_t operator()(const std::vector<int64_t>& p) const {
    uint64_t h = 0;
    for (int64_t v : p) h = (h ^ static_cast<uint64_t>(v)) * 0x9E3779B97F4A7C15ull;
    return h ^ h >> 29;
  }
};

[[noreturn]] void OutsideCodomain(const Points& y) {
  Refuse("outside-codomain", "a value lies outside the codomain", PointText(y),
         "values in the declared codomain", "declare a larger one with with_codomain()");
}

/*! By all values, when the domain and the codomain are small enough to list. */
Outcome InvertTable(const LayoutMap& f, int64_t budget) {
  auto n = f->domain.Size(), m = f->codomain.Size();
  if (!n || *n > budget || !m || *m > kFiniteBudget) return {};
  Points to = f->codomain.Extents(), from = f->domain.Extents(), y(to.size());
  Points values(*m * from.size(), 0), hit(*m, 0), all = Enumerate(f, budget);
  size_t row = 0;
  Outcome twice;
  ForEachPoint(from, [&](const Points& x) {
    for (size_t j = 0; j < y.size(); ++j) {
      y[j] = all[row * y.size() + j];
      if (y[j] < 0 || y[j] >= to[j]) OutsideCodomain(y);
    }
    ++row;
    int64_t at = LinearIndex(to, y);
    int64_t* slot = &values[at * from.size()];
    if (hit[at]) twice = Collide(Points(slot, slot + from.size()), x);
    hit[at] = 1;
    std::copy(x.begin(), x.end(), slot);
    return !twice.collision;
  });
  if (twice.collision) return twice;
  LayoutMap table = FiniteTable(f->codomain, f->domain, ToInts(values));
  std::string argument = "all " + std::to_string(*n) + " points were evaluated";
  if (*n == *m) return Found({table, std::nullopt, argument});
  LayoutMap image = FiniteTable(f->codomain, IndexBox(std::vector<int64_t>{2}), ToInts(hit));
  return Found({Piecewise({image}, {table}), image, argument});
}

/*! By the form of the node alone. */
Outcome InvertForm(const LayoutMap& f, int64_t budget) {
  if (f.as<IdentityMapNode>()) return Found({f, std::nullopt, "the identity"});
  if (f.as<MixedRadixMapNode>()) return InvertMixedRadix(f);
  if (f.as<BitLinearMapNode>()) return InvertBitLinear(f);
  if (auto* t = f.as<TransformMapNode>()) return Found(InvertTransform(*t));
  if (auto* p = f.as<PermuteMapNode>()) return Found(InvertPermute(*p));
  if (f.as<ComposeMapNode>()) return InvertCompose(f, budget);
  if (auto* p = f.as<ProductMapNode>()) return InvertProduct(*p, budget);
  return {};
}

bool HasValue(const LayoutMap& f, const Points& x, const Points& y) {
  PointEvaluator run(ToIndexDag(f));
  Points out(f->codomain.rank());
  return run(x.data(), out.data()) && out == y;
}

/*! Whether both points have a value, the same. */
bool Collides(const LayoutMap& f, const std::pair<Points, Points>& pair) {
  PointEvaluator run(ToIndexDag(f));
  Points out(f->codomain.rank());
  return run(pair.first.data(), out.data()) && HasValue(f, pair.second, out);
}

Outcome InvertParts(const LayoutMap& f, int64_t budget) {
  LayoutMap normal = Normalize(f);
  for (const LayoutMap& form : {normal, f}) {
    Outcome out = InvertForm(form, budget);
    if (out.inverse || (out.collision && Collides(f, *out.collision))) return out;
  }
  return InvertTable(f, budget);
}

}  // namespace

Inverse TryInverse(const LayoutMap& map, int64_t budget) {
  Outcome out = InvertParts(map, budget);
  if (out.inverse) return *out.inverse;
  if (out.collision) {
    Refuse("not-injective", "two points have the same value, so there is no inverse",
           PointText(out.collision->first) + " and " + PointText(out.collision->second),
           "an injective map", "preimage() gives all points of a value");
  }
  Refuse("unproved", "no proof that this map is injective",
         PointText(map->domain.Extents()) + " -> " + PointText(map->codomain.Extents()),
         "strides that each exceed what smaller ones reach, bits of full rank, registered "
         "transforms, or boxes of at most " +
             std::to_string(budget) + " points");
}

namespace {

/*! What is left of y when the known digits are taken off and the reversed ones are added. */
Wide RestOf(const MixedRadixMapNode& m, const RecoveryPlan& plan, const PlanGroup& group,
            const std::vector<Wide>& digit, const Points& y) {
  Wide rest = static_cast<Wide>(y[group.output]) - m.offset[group.output];
  for (size_t d = 0; d < digit.size(); ++d) rest -= digit[d] * plan.Stride(m, d, group.output);
  for (size_t d : group.digits) {
    Wide stride = plan.Stride(m, d, group.output);
    if (stride < 0) rest -= stride * (plan.digits[d].extent - 1);
  }
  return rest;
}

/*! x from the greedy digits of y, as ReadDigits has them, but in wide arithmetic: values of a map
 *  need not lie in its codomain, and their differences not in 64 bits. Whether x gives y back is for
 *  the caller to check. */
Points Candidate(const MixedRadixMapNode& m, const RecoveryPlan& plan, const Points& y) {
  std::vector<Wide> digit(plan.digits.size(), 0);
  for (const PlanGroup& group : plan.groups) {
    Wide rest = RestOf(m, plan, group, digit, y);
    for (size_t d : group.digits) {
      Wide stride = plan.Stride(m, d, group.output), last = plan.digits[d].extent - 1;
      Wide size = stride < 0 ? -stride : stride;
      digit[d] = std::clamp<Wide>(rest / size, 0, last);
      rest -= digit[d] * size;
      if (stride < 0) digit[d] = last - digit[d];
    }
  }
  Points x(m.domain.rank(), 0);
  for (size_t d = 0; d < digit.size(); ++d) {
    x[plan.digits[d].axis] += static_cast<int64_t>(digit[d]) * plan.digits[d].below;
  }
  return x;
}

/*! Domain points of the free digits around x. */
LayoutMap FreeDigits(const MixedRadixMapNode& m, const RecoveryPlan& plan,
                     const std::vector<int64_t>& x) {
  IntRows shape;
  ffi::Array<IntRows> stride;
  for (size_t d : plan.free) {
    std::vector<int64_t> step(m.domain.rank(), 0);
    step[plan.digits[d].axis] = plan.digits[d].below;
    shape.push_back({plan.digits[d].extent});
    stride.push_back({ToInts(step)});
  }
  if (shape.empty()) {
    shape.push_back({1});
    stride.push_back({ToInts(std::vector<int64_t>(m.domain.rank(), 0))});
  }
  return MixedRadix(shape, stride, ToInts(x), m.domain);
}

/*! The listed points (rank numbers each) as a fiber; nothing for none. */
std::optional<LayoutMap> Listed(const IndexBox& domain, const std::vector<int64_t>& points) {
  if (points.empty()) return std::nullopt;
  int64_t n = static_cast<int64_t>(points.size() / domain.rank());
  return FiniteTable(IndexBox(std::vector<int64_t>{n}), domain, ToInts(points));
}

/*! solution XOR the kernel, less what a ragged domain leaves out. */
std::optional<LayoutMap> BitFiber(const LayoutMap& f, const std::vector<int64_t>& y,
                                  int64_t budget) {
  auto* m = f.as<BitLinearMapNode>();
  BitSolver solver(*m);
  auto solution = solver.Solve(y);
  if (!solution) return std::nullopt;
  IntRows basis;
  bool full = true;
  for (int64_t e : m->domain->extents) full = full && (e & (e - 1)) == 0;
  for (const BitVector& k : solver.Kernel()) basis.push_back(ToInts(solver.Point(k)));
  int64_t bits = static_cast<int64_t>(basis.size());
  if (bits > 62)
    Refuse("too-large", "the fiber has more points than 63 bits count", "2^" + std::to_string(bits),
           "2^62");
  LayoutMap all = BitLinear(IndexBox(std::vector<int64_t>{int64_t{1} << bits}), m->domain, {basis},
                            ToInts(solver.Point(*solution)));
  if (full) return all;
  std::vector<int64_t> points, inside, rank = m->domain.Extents();
  points = Enumerate(all, budget);
  for (size_t at = 0; at < points.size(); at += rank.size()) {
    bool ok = true;
    for (size_t i = 0; i < rank.size(); ++i) ok = ok && points[at + i] < rank[i];
    if (ok) inside.insert(inside.end(), points.begin() + at, points.begin() + at + rank.size());
  }
  return Listed(m->domain, inside);
}

std::optional<LayoutMap> SearchFiber(const LayoutMap& f, const std::vector<int64_t>& y,
                                     int64_t budget) {
  DomainSizeWithin(f, budget, "this preimage");
  PointEvaluator run(ToIndexDag(f));
  std::vector<int64_t> found, out(y.size());
  ForEachPoint(f->domain.Extents(), [&](const std::vector<int64_t>& x) {
    if (run(x.data(), out.data()) && out == y) found.insert(found.end(), x.begin(), x.end());
    return true;
  });
  return Listed(f->domain, found);
}

}  // namespace

std::optional<LayoutMap> Fiber(const LayoutMap& map, const std::vector<int64_t>& value,
                               int64_t budget) {
  if (value.size() != map->codomain.rank()) {
    Refuse("rank-mismatch", "the value has the wrong number of coordinates", PointText(value),
           std::to_string(map->codomain.rank()) + " coordinates");
  }
  LayoutMap n = Normalize(map);
  if (n.as<IdentityMapNode>()) n = MixedRadixOfIdentity(n);
  if (auto* m = n.as<MixedRadixMapNode>()) {
    RecoveryPlan plan = PlanRecovery(*m);
    if (plan.complete) {
      std::vector<int64_t> x = Candidate(*m, plan, value);
      if (!HasValue(n, x, value)) return std::nullopt;
      return FreeDigits(*m, plan, x);
    }
  }
  if (n.as<BitLinearMapNode>()) return BitFiber(n, value, budget);
  return SearchFiber(map, value, budget);
}

int64_t ImageSize(const LayoutMap& map, int64_t budget) {
  LayoutMap n = Normalize(map);
  if (n.as<IdentityMapNode>()) n = MixedRadixOfIdentity(n);
  if (auto* m = n.as<MixedRadixMapNode>()) {
    RecoveryPlan plan = PlanRecovery(*m);
    int64_t size = 1;
    for (const PlanDigit& d : plan.digits) size = CheckedMul(size, d.extent);
    for (size_t d : plan.free) size /= plan.digits[d].extent;
    if (plan.complete) return size;
  }
  if (auto* m = n.as<BitLinearMapNode>()) {
    bool full = true;
    for (int64_t e : m->domain->extents) full = full && (e & (e - 1)) == 0;
    BitSolver solver(*m);
    if ((full || solver.rank() == solver.inputs()) && solver.rank() < 63) {
      return full ? int64_t{1} << solver.rank() : DomainSizeWithin(n, INT64_MAX, "");
    }
  }
  std::vector<int64_t> all = Enumerate(map, budget);
  size_t rank = map->codomain.rank();
  std::unordered_map<std::vector<int64_t>, int, HashPoint> seen;
  for (size_t at = 0; at < all.size(); at += rank) {
    seen[std::vector<int64_t>(all.begin() + at, all.begin() + at + rank)] = 1;
  }
  return static_cast<int64_t>(seen.size());
}

}  // namespace layout
}  // namespace tirx
