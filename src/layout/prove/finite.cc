// The oracle: the four facts by evaluating every point. Nothing here is shared with the analyses.
#include <tirx/layout/prove.h>

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>

namespace tirx {
namespace layout {
namespace {

struct HashPoint {
  size_t operator()(const std::vector<int64_t>& p) const {
    uint64_t h = 0x9e3779b97f4a7c15ull;
    for (int64_t v : p) h = (h ^ static_cast<uint64_t>(v)) * 0xff51afd7ed558ccdull, h ^= h >> 32;
    return h;
  }
};

/*! Number of points, or nothing above the budget. */
std::optional<int64_t> PointsWithin(const std::vector<int64_t>& extents, int64_t budget) {
  int64_t points = 1;
  for (int64_t n : extents) {
    if (__builtin_mul_overflow(points, n, &points)) return std::nullopt;
  }
  if (points > std::min(budget, kFiniteBudget)) return std::nullopt;
  return points;
}

class Enumeration {
 public:
  explicit Enumeration(const IndexDag& dag) : dag_(dag), evaluate_(dag) {}

  LayoutProof Run(int64_t points) {
    seen_.reserve(points);
    ForEachPoint(dag_.domain, [&](const std::vector<int64_t>& p) {
      Visit(p);
      return true;
    });
    const std::string argument = "all " + std::to_string(points) + " points evaluated";
    Settle(no_value_, argument, &proof_.total);
    Settle(outside_, argument, &proof_.bounds);
    Settle(collision_, argument, &proof_.injective);
    Settle(FirstMissed(), argument, &proof_.surjective);
    return std::move(proof_);
  }

 private:
  using Points = std::vector<std::vector<int64_t>>;

  void Visit(const std::vector<int64_t>& p) {
    std::vector<int64_t> value(dag_.outputs.size());
    if (!evaluate_(p.data(), value.data())) {
      if (no_value_.empty()) no_value_ = {p};
      return;
    }
    bool inside = true;
    for (size_t j = 0; j < value.size(); ++j) {
      inside &= value[j] >= 0 && value[j] < dag_.codomain[j];
    }
    if (!inside && outside_.empty()) outside_ = {p};
    auto [at, fresh] = seen_.emplace(std::move(value), p);
    if (!fresh && collision_.empty()) collision_ = {at->second, p};
  }

  static void Settle(const Points& witness, const std::string& argument, Fact* fact) {
    *fact = {witness.empty() ? Status::kProven : Status::kDisproven, argument, witness};
  }

  /*! The first codomain point in row-major order without preimage. Distinct values come before it, so it
   *  is found within as many steps as there are points. */
  Points FirstMissed() const {
    Points missed;
    ForEachPoint(dag_.codomain, [&](const std::vector<int64_t>& y) {
      if (!seen_.count(y)) missed = {y};
      return missed.empty();
    });
    return missed;
  }

  const IndexDag& dag_;
  PointEvaluator evaluate_;
  LayoutProof proof_;
  Points no_value_, outside_, collision_;
  std::unordered_map<std::vector<int64_t>, std::vector<int64_t>, HashPoint> seen_;
};

}  // namespace

LayoutProof AnalyzeFiniteDag(const IndexDag& dag, int64_t budget) {
  auto points = PointsWithin(dag.domain, budget);
  if (!points) return {};
  return Enumeration(dag).Run(*points);
}

LayoutProof AnalyzeFinite(const LayoutMap& map, int64_t budget) {
  return AnalyzeFiniteDag(ToIndexDag(map), budget);
}

}  // namespace layout
}  // namespace tirx
