/*!
 * The team switch: A = inter x intra (paper section 4.2).
 */
#include <tirx/expr/ops.h>
#include <tirx/support/diag.h>

#include "teams.h"

namespace tirx {
namespace scope {
namespace {

/*! One team of a kind in the CTA: its index and its active positions (from 0 in the team). */
struct Instance {
  int64_t index;
  std::vector<int64_t> positions;
};

int64_t TeamSize(Kind kind, const ActiveSet& a) {
  switch (kind) {
    case Kind::kThread: return 1;
    case Kind::kWarp: return kWarpSize;
    case Kind::kWarpgroup: return kWarpgroupSize;
    case Kind::kCta: return a.num_threads;
    default: return static_cast<int64_t>(a.num_threads) * a.num_ctas;
  }
}

/*! The non-empty teams of one CTA, for kinds up to the CTA. */
std::vector<Instance> InstancesOf(const ActiveSet& a, Kind kind) {
  int64_t size = TeamSize(std::min(kind, Kind::kCta), a);
  std::vector<Instance> out;
  for (int64_t t : Members(a.threads, a.num_threads)) {
    if (out.empty() || out.back().index != t / size) out.push_back({t / size, {}});
    out.back().positions.push_back(t % size);
  }
  return out;
}

/*! "0-3, 8": ascending numbers as ranges. */
std::string Ranges(const std::vector<int64_t>& v) {
  std::string out;
  for (size_t i = 0; i < v.size();) {
    size_t j = i;
    while (j + 1 < v.size() && v[j + 1] == v[j] + 1) ++j;
    out += (out.empty() ? "" : ", ") + std::to_string(v[i]);
    if (j > i) out += "-" + std::to_string(v[j]);
    i = j + 1;
  }
  return out;
}

/*! Which threads of the CTA a team has, in the words a user reads ("warps 4-6", "threads 0-15"). */
std::string Describe(const Instance& t, int64_t team_size) {
  std::vector<int64_t> threads, warps;
  for (int64_t p : t.positions) threads.push_back(t.index * team_size + p);
  for (int64_t p : threads) {
    if (p % kWarpSize == 0) warps.push_back(p / kWarpSize);
  }
  bool whole = warps.size() * kWarpSize == threads.size();
  return whole ? "warps " + Ranges(warps) : "threads " + Ranges(threads);
}

std::string Count(const Instance& t, Kind kind, int64_t team_size) {
  std::string n = std::to_string(t.positions.size());
  return std::string(KindName(kind)) + " " + std::to_string(t.index) + " has " + n + " of " +
         std::to_string(team_size) + " (" + Describe(t, team_size) + ")";
}

[[noreturn]] void ThrowDiffer(const Instance& x, const Instance& y, Kind kind, int64_t size,
                              const Span& where) {
  std::string k = KindName(kind);
  Diag("scope", "unequal-teams", where)
      .Message("the active threads do not split into equal " + k + "s")
      .Found(Count(x, kind, size) + "; " + Count(y, kind, size))
      .Required("the same active threads in every " + k + " that takes part")
      .Hint("let whole " + k + "s take part, or use a narrower scope")
      .Throw();
}

/*! Teams of `kind` must agree on the conditions around the operation. */
void CheckAgreed(const ActiveSet& a, Kind kind, const std::string& what, const Span& where) {
  if (kind <= a.agreed) return;
  std::string k = KindName(kind);
  std::string by =
      a.agreed == Kind::kThread ? "each thread" : std::string("each ") + KindName(a.agreed);
  Diag("scope", "partial-team", where)
      .Message(what + " needs its whole " + k + ", but only some of its threads may get here")
      .Found("a condition that " + by + " decides for itself")
      .Required("a condition that all threads of the " + k + " agree on")
      .Hint("move it out of the branch, or use a scope no wider than " +
            std::string(KindName(a.agreed)))
      .Note(a.doubt, "the condition is here")
      .Throw();
}

ThreadAxes AxesOf(Kind kind) {
  if (kind == Kind::kWarpgroup) return {"wid_in_wg", "tid_in_wg"};
  return {"warpid", "tx"};
}

[[noreturn]] void ThrowIrregular(const Instance& t, Kind kind, int64_t size, const Span& where) {
  Diag("scope", "irregular-team", where)
      .Message(std::string("the active threads of a ") + KindName(kind) +
               " form no regular pattern")
      .Found(Count(t, kind, size))
      .Required("a range of threads, or equally spaced lanes and warps")
      .Hint("narrow with one range per axis, for instance `if 2 <= warp_id < 4:`")
      .Throw();
}

void FillInter(const ActiveSet& a, Kind kind, const std::vector<Instance>& teams, Team* out) {
  LayoutParts parts;
  std::vector<int64_t> ctas = Members(a.ctas, a.num_ctas);
  out->exact =
      kind == Kind::kCluster ? parts.Add({0}, "cta_id", true) : parts.Add(ctas, "cta_id", true);
  if (kind == Kind::kThread) {
    std::vector<int64_t> threads = Members(a.threads, a.num_threads);
    if (!parts.AddThreads(threads, {"warpid", "tx"})) out->exact = parts.Add(threads, "tx", true);
  } else if (kind <= Kind::kWarpgroup) {
    std::vector<int64_t> index;
    for (const Instance& t : teams) index.push_back(t.index);
    bool exact = parts.Add(index, kind == Kind::kWarp ? "warpid" : "wgid", true);
    out->exact = out->exact && exact;
  }
  out->inter = parts.Build();
}

/*! The pattern of one team: its layout, and the steps that number its threads. */
void FillIntra(const ActiveSet& a, Kind kind, const Instance& team, const Span& where, Team* out) {
  LayoutParts parts;
  std::vector<int64_t> positions = team.positions;
  bool ok = true;
  if (kind == Kind::kCluster) {
    std::vector<int64_t> ctas = Members(a.ctas, a.num_ctas);
    ok = parts.Add(ctas, "cta_id", false);
    positions.clear();
    for (int64_t c : ctas) {
      for (int64_t p : team.positions) positions.push_back(c * a.num_threads + p);
    }
  }
  if (kind == Kind::kWarp) {
    ok = ok && parts.Add(team.positions, "laneid", false);
  } else {
    ok = ok && parts.AddThreads(team.positions, AxesOf(kind));
  }
  auto steps = Decompose(positions);
  if (!ok || !steps) ThrowIrregular(team, kind, TeamSize(std::min(kind, Kind::kCta), a), where);
  out->intra = parts.Build();
  out->active = static_cast<int64_t>(positions.size());
  out->first = positions[0];
  out->steps = std::move(*steps);
}

std::vector<Instance> EqualInstances(const ActiveSet& a, Kind kind, const Span& where) {
  std::vector<Instance> teams = InstancesOf(a, kind);
  int64_t size = TeamSize(std::min(kind, Kind::kCta), a);
  for (size_t i = 1; i < teams.size(); ++i) {
    if (teams[i].positions != teams[0].positions)
      ThrowDiffer(teams[0], teams[i], kind, size, where);
  }
  return teams;
}

[[noreturn]] void ThrowShort(const std::string& what, const Instance& t, Kind kind, int64_t size,
                             const Span& where) {
  std::string k = KindName(kind);
  Diag("scope", "partial-team", where)
      .Message(what + " needs its whole " + k)
      .Found(Count(t, kind, size))
      .Required("all " + std::to_string(size) + " threads of the " + k)
      .Hint("let whole " + k + "s take part in the condition around it")
      .Throw();
}

}  // namespace

std::vector<int64_t> CountsPerTeam(const ActiveSet& a, Kind kind) {
  std::vector<int64_t> out;
  for (const Instance& t : InstancesOf(a, kind)) {
    out.resize(t.index + 1);
    out.back() = static_cast<int64_t>(t.positions.size());
  }
  return out;
}

Team Split(const ActiveSet& a, Kind kind, const Span& where) {
  Team out;
  out.team_size = TeamSize(kind, a);
  if (kind == Kind::kThread) {
    FillInter(a, kind, {}, &out);
    out.intra = TileLayout({Iter(1, 1, "laneid")});
    return out;
  }
  CheckAgreed(a, kind, "a " + std::string(KindName(kind)) + "-scope operation", where);
  std::vector<Instance> teams = EqualInstances(a, kind, where);
  FillInter(a, kind, teams, &out);
  FillIntra(a, kind, teams[0], where, &out);
  return out;
}

void RequireFullTeams(const ActiveSet& a, Kind kind, const std::string& what, const Span& where) {
  if (kind == Kind::kThread) return;
  CheckAgreed(a, kind, what, where);
  int64_t size = TeamSize(std::min(kind, Kind::kCta), a);
  for (const Instance& t : InstancesOf(a, kind)) {
    if (static_cast<int64_t>(t.positions.size()) != size) ThrowShort(what, t, kind, size, where);
  }
  if (kind == Kind::kCluster && static_cast<int>(a.ctas.count()) != a.num_ctas) {
    Diag("scope", "partial-team", where)
        .Message(what + " needs its whole cluster")
        .Found(std::to_string(a.ctas.count()) + " of " + std::to_string(a.num_ctas) + " CTAs")
        .Required("all CTAs of the cluster")
        .Throw();
  }
}

}  // namespace scope
}  // namespace tirx
