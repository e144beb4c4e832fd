#include <tirx/expr/ops.h>
#include <tirx/scope/active_set.h>

#include <numeric>

#include "teams.h"

namespace tirx {
namespace scope {

const char* KindName(Kind k) {
  static const char* names[] = {"thread", "warp", "warpgroup", "cta", "cluster", "grid"};
  return names[static_cast<int>(k)];
}

std::optional<Kind> ParseKind(const std::string& name) {
  for (Kind k : {Kind::kThread, Kind::kWarp, Kind::kWarpgroup, Kind::kCta, Kind::kCluster}) {
    if (name == KindName(k)) return k;
  }
  return std::nullopt;
}

ActiveSet ActiveSet::Entry(int num_threads, int num_ctas) {
  ActiveSet a;
  a.num_threads = num_threads;
  a.num_ctas = num_ctas;
  a.threads = ~ThreadSet() >> (kMaxThreads - num_threads);
  a.ctas = ~CtaSet() >> (kMaxClusterCtas - num_ctas);
  return a;
}

void ActiveSet::Doubt(Kind k, const Span& where) {
  if (k >= agreed) return;
  agreed = k;
  doubt = where;
}

std::optional<std::vector<Step>> Decompose(const std::vector<int64_t>& positions) {
  std::vector<Step> steps;  // innermost first while building
  std::vector<int64_t> p = positions;
  while (p.size() > 1) {
    int64_t stride = p[1] - p[0];
    size_t run = 2;
    while (run < p.size() && p[run] - p[run - 1] == stride) ++run;
    if (p.size() % run != 0) return std::nullopt;
    std::vector<int64_t> outer;
    for (size_t i = 0; i < p.size(); ++i) {
      if (p[i] - p[i / run * run] != static_cast<int64_t>(i % run) * stride) return std::nullopt;
      if (i % run == 0) outer.push_back(p[i]);
    }
    if (!steps.empty() && stride % steps.back().stride != 0) return std::nullopt;
    if (!steps.empty() && stride < steps.back().extent * steps.back().stride) return std::nullopt;
    steps.push_back({static_cast<int64_t>(run), stride});
    p = std::move(outer);
  }
  std::reverse(steps.begin(), steps.end());
  return steps;
}

PrimExpr RankOf(const Team& team, const PrimExpr& position) {
  if (team.active == 1) return 0;
  PrimExpr x = position - PrimExpr(team.first);
  PrimExpr rank = 0;
  int64_t outer = 0;  // stride of the next outer step; 0: none, x has no higher digits
  for (const Step& s : team.steps) {
    PrimExpr digit = outer == 0 ? x : FloorMod(x, outer);
    rank = rank * PrimExpr(s.extent) + FloorDiv(digit, s.stride);
    outer = s.stride;
  }
  return rank;
}

namespace {

/*! Iterators of the steps on an axis; a single point is one iterator of extent 1. */
void AppendIters(const std::vector<Step>& steps, const char* axis, ffi::Array<Iter>* out) {
  if (steps.empty()) out->push_back(Iter(1, 1, axis));
  for (const Step& s : steps) out->push_back(Iter(s.extent, s.stride, axis));
}

void SetOffset(int64_t first, const char* axis, ffi::Map<ffi::String, PrimExpr>* out) {
  if (first != 0) out->Set(axis, PrimExpr(first));
}

/*! The smallest progression that contains the positions. */
std::vector<Step> Cover(const std::vector<int64_t>& p) {
  int64_t stride = 0;
  for (int64_t v : p) stride = std::gcd(stride, v - p[0]);
  if (stride == 0) return {};
  return {{(p.back() - p[0]) / stride + 1, stride}};
}

}  // namespace

bool LayoutParts::Add(const std::vector<int64_t>& positions, const char* axis, bool may_cover) {
  auto steps = Decompose(positions);
  bool exact = steps.has_value();
  if (!exact && !may_cover) return false;
  AppendIters(exact ? *steps : Cover(positions), axis, &iters);
  SetOffset(positions[0], axis, &offset);
  return exact;
}

namespace {

/*! The lane set of every warp in positions, when it is the same for all of them. */
bool IsProduct(const std::vector<int64_t>& positions, std::vector<int64_t>* warps,
               std::vector<int64_t>* lanes) {
  std::vector<int64_t> current;
  auto close = [&]() {
    if (lanes->empty()) *lanes = current;
    bool same = *lanes == current;
    current.clear();
    return same;
  };
  for (int64_t p : positions) {
    int64_t warp = p / kWarpSize;
    if (warps->empty() || warps->back() != warp) {
      if (!warps->empty() && !close()) return false;
      warps->push_back(warp);
    }
    current.push_back(p % kWarpSize);
  }
  return close();
}

}  // namespace

bool LayoutParts::AddThreads(const std::vector<int64_t>& positions, const ThreadAxes& axes) {
  std::vector<int64_t> warps, lanes;
  if (IsProduct(positions, &warps, &lanes) && Decompose(warps) && Decompose(lanes)) {
    return Add(warps, axes.warp, false) && Add(lanes, "laneid", false);
  }
  return Add(positions, axes.linear, false);
}

std::optional<TileLayout> ToLayout(const ActiveSet& a) {
  LayoutParts parts;
  bool ok = parts.Add(Members(a.ctas, a.num_ctas), "cta_id", false) &&
            parts.AddThreads(Members(a.threads, a.num_threads), {"warpid", "tx"});
  if (!ok) return std::nullopt;
  return parts.Build();
}

}  // namespace scope
}  // namespace tirx
