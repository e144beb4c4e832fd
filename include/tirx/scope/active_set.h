/*!
 * Which threads execute a program point (paper section 4).
 *
 * The active set A is kept for one cluster as the product of a set of threads (linear indices in
 * the CTA) and a set of CTAs (ranks in the cluster), both explicit, and is shown to rules as
 * layouts. An explicit set makes narrowing exact for any condition that is a function of scope ids;
 * where the set, or a team of it, is no progression of lanes and warps, the split says so or
 * refuses.
 *
 * A condition that the compiler cannot evaluate leaves the explicit set as it is (an upper bound)
 * and records the widest team that certainly agrees on it: under `if flag[warp_id]:` each warp is
 * in or out as a whole, so warp collectives are legal there and CTA collectives are not.
 */
#ifndef TIRX_SCOPE_ACTIVE_SET_H_
#define TIRX_SCOPE_ACTIVE_SET_H_
#include <tirx/expr/expr.h>
#include <tirx/layout/layout.h>

#include <bitset>
#include <optional>
#include <string>
#include <vector>

namespace tirx {
namespace scope {

/*! Team kinds from narrow to wide; kGrid stands for "everyone agrees". */
enum class Kind : int32_t { kThread, kWarp, kWarpgroup, kCta, kCluster, kGrid };
const char* KindName(Kind k);
/*! "thread", "warp", "warpgroup", "cta", "cluster"; nothing for other names. */
std::optional<Kind> ParseKind(const std::string& name);

constexpr int kWarpSize = 32;
constexpr int kWarpgroupSize = 128;
/*! Largest CTA and cluster of any target (CUDA C++ programming guide, compute capabilities). */
constexpr int kMaxThreads = 1024;
constexpr int kMaxClusterCtas = 32;

using ThreadSet = std::bitset<kMaxThreads>;
using CtaSet = std::bitset<kMaxClusterCtas>;

struct ActiveSet {
  int num_threads{1};
  int num_ctas{1};  //!< in the cluster
  ThreadSet threads;
  CtaSet ctas;
  Kind agreed{Kind::kGrid};  //!< the widest team whose members certainly agree to be here
  Span doubt;                //!< the condition that set `agreed`
  bool elected{false};       //!< one lane of each warp, which one is known at run time only

  /*! All threads of one cluster (A at kernel entry). */
  static ActiveSet Entry(int num_threads, int num_ctas);
  bool Empty() const { return threads.none() || ctas.none(); }
  /*! Members of teams wider than `k` may disagree on the condition at `where`. */
  void Doubt(Kind k, const Span& where);
};

/*! A layout iterator over positions: extent steps of stride. */
struct Step {
  int64_t extent;
  int64_t stride;
};
/*! The ascending positions as first + nested steps (outermost first, each inner step dividing and
 *  fitting into the next); nothing when they are no such progression. */
std::optional<std::vector<Step>> Decompose(const std::vector<int64_t>& positions);

/*! A split over a team kind; the fields are those of DispatchContextNode. */
struct Team {
  TileLayout inter{ffi::UnsafeInit{}};
  TileLayout intra{ffi::UnsafeInit{}};
  int64_t team_size{1};
  int64_t active{1};
  bool exact{true};
  int64_t first{0};         //!< smallest active position in a team
  std::vector<Step> steps;  //!< active positions in a team: first + steps, outermost first
};

/*!
 * The team switch. Raises a scope error when the members of a team may disagree on being active,
 * when the non-empty teams differ (the teams and their counts are named), or when the active
 * positions of a team are no progression.
 */
Team Split(const ActiveSet& a, Kind kind, const Span& where);
/*! As Split, and requires every non-empty team to be complete; `what` names the operation. */
void RequireFullTeams(const ActiveSet& a, Kind kind, const std::string& what, const Span& where);

/*! Active threads of each team of a kind within one CTA, for messages and tests. */
std::vector<int64_t> CountsPerTeam(const ActiveSet& a, Kind kind);
/*! A as one layout over cta_id, warpid and laneid (or tx); nothing when it is no progression. */
std::optional<TileLayout> ToLayout(const ActiveSet& a);
/*! The rank among the active threads of the team, given the position in the team. */
PrimExpr RankOf(const Team& team, const PrimExpr& position);

}  // namespace scope
}  // namespace tirx
#endif  // TIRX_SCOPE_ACTIVE_SET_H_
