/*!
 * Inference of the launch from the scope ids.
 *
 * Thread-level ids each say how many threads a CTA has: thread_id([n]) n of them, warp_id([w]) w
 * warps (the last may be short), warpgroup_id([g]) g whole warpgroups. CTA-level ids say how many
 * CTAs the grid and a cluster have. The most precise definition decides; every other must agree.
 */
#include "launch.h"

#include <tirx/expr/ops.h>
#include <tirx/support/diag.h>
#include <tvm/ffi/extra/structural_equal.h>

namespace tirx {
namespace scope {

int64_t ThreadExtent(const std::string& kind, int64_t threads) {
  if (kind == "lane_id") return kWarpSize;
  if (kind == "thread_id_in_wg") return kWarpgroupSize;
  if (kind == "warp_id_in_wg") return kWarpgroupSize / kWarpSize;
  if (kind == "warp_id") return (threads + kWarpSize - 1) / kWarpSize;
  if (kind == "warpgroup_id") return threads / kWarpgroupSize;
  return threads;
}

namespace {

using Defs = std::vector<ScopeIdDef>;

[[noreturn]] void ThrowContradiction(const ScopeIdDef& a, const ScopeIdDef& b,
                                     const std::string& found, const std::string& required) {
  Diag("scope", "scope-contradiction", b->span)
      .Message(DefText(b) + " contradicts " + DefText(a))
      .Found(found)
      .Required(required)
      .Hint("leave one extent out and it is inferred: T." + std::string(b->kind) + "()")
      .Note(a->span, DefText(a) + " is here")
      .Throw();
}

int64_t ConstExtent(const ScopeIdDef& def, size_t i) {
  auto v = AsInt(def->extents[i]);
  if (v && *v > 0) return *v;
  Diag("scope", "scope-extent-not-constant", def->span)
      .Message("the extent of " + std::string(def->kind) + " must be a positive constant")
      .Found(v ? std::to_string(*v) : "an expression known at run time only")
      .Required("a positive Python integer: the size of a CTA or cluster is part of the kernel")
      .Throw();
}

int64_t Product(const ScopeIdDef& def) {
  int64_t n = 1;
  for (size_t i = 0; i < def->extents.size(); ++i) n *= ConstExtent(def, i);
  return n;
}

/*! The first definition of a kind with extents, or null. */
const ScopeIdDef* FirstOf(const Defs& defs, const char* kind) {
  for (const ScopeIdDef& d : defs) {
    if (d->kind == kind && !d->extents.empty()) return &d;
  }
  return nullptr;
}

bool Has(const Defs& defs, const char* kind) {
  for (const ScopeIdDef& d : defs) {
    if (d->kind == kind) return true;
  }
  return false;
}

// ---- definitions on their own ----

void CheckShape(const ScopeIdDef& def) {
  std::string kind = def->kind;
  bool many = kind == "cta_id" || kind == "cluster_id" || kind == "cta_id_in_cluster" ||
              kind == "thread_id";
  size_t most = many ? 3 : 1, n = def->vars.size();
  bool counts = n >= 1 && n <= most && (def->extents.empty() || def->extents.size() == n);
  if (counts && !(kind == "thread_id" && def->extents.empty() && n > 1)) return;
  Diag("scope", "scope-id-count", def->span)
      .Message(kind + " defines " + std::to_string(n) + " ids")
      .Found(std::to_string(n) + " names and " + std::to_string(def->extents.size()) + " extents")
      .Required("as many names as extents, at most " + std::to_string(most))
      .Throw();
}

/*! Ids whose extent the hardware fixes. */
void CheckFixed(const ScopeIdDef& def) {
  std::string kind = def->kind;
  bool fixed = kind == "lane_id" || kind == "thread_id_in_wg" || kind == "warp_id_in_wg" ||
               kind == "cta_id_in_pair";
  if (!fixed || def->extents.empty()) return;
  int64_t want = kind == "cta_id_in_pair" ? 2 : ThreadExtent(kind, 0);
  int64_t have = ConstExtent(def, 0);
  if (have == want) return;
  Diag("scope", "scope-extent-fixed", def->span)
      .Message(kind + " has a fixed extent")
      .Found(DefText(def))
      .Required(kind + "([" + std::to_string(want) + "])")
      .Throw();
}

/*! Two definitions of one kind must agree. */
void CheckRepeated(const Defs& defs) {
  for (size_t i = 0; i < defs.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const ScopeIdDef &a = defs[j], &b = defs[i];
      if (a->kind != b->kind || a->extents.empty() || b->extents.empty()) continue;
      if (ffi::StructuralEqual::Equal(a->extents, b->extents)) continue;
      ThrowContradiction(a, b, DefText(b), DefText(a) + ", as before");
    }
  }
}

// ---- threads ----

std::string Threads(int64_t n) { return std::to_string(n) + " threads"; }

/*! Threads of a CTA that a definition asks for. */
int64_t ThreadsAsked(const ScopeIdDef& def) {
  int64_t n = Product(def);
  if (def->kind == "warp_id") return n * kWarpSize;
  if (def->kind == "warpgroup_id") return n * kWarpgroupSize;
  return n;
}

void CheckThreads(const ScopeIdDef& by, const ScopeIdDef& def, int64_t threads) {
  bool agrees = def->kind == "warpgroup_id" ? Product(def) * kWarpgroupSize == threads
                                            : Product(def) == ThreadExtent(def->kind, threads);
  if (agrees) return;
  ThrowContradiction(by, def, DefText(def) + " means " + Threads(ThreadsAsked(def)),
                     DefText(by) + " means " + Threads(threads));
}

[[noreturn]] void ThrowNotInferred(const ScopeIdDef& def, const char* from) {
  Diag("scope", "scope-extent-missing", def->span)
      .Message("the extent of " + std::string(def->kind) + " cannot be inferred")
      .Found(DefText(def) + " and no other scope id that fixes it")
      .Required("an extent here, or " + std::string(from))
      .Throw();
}

int64_t InferThreads(const Defs& defs) {
  const ScopeIdDef* by = nullptr;
  for (const char* kind : {"thread_id", "warp_id", "warpgroup_id"}) {
    const ScopeIdDef* d = FirstOf(defs, kind);
    if (d == nullptr) continue;
    if (by == nullptr) {
      by = d;
    } else {
      CheckThreads(*by, *d, ThreadsAsked(*by));
    }
  }
  if (by != nullptr) return ThreadsAsked(*by);
  for (const ScopeIdDef& d : defs) {
    bool open = d->kind == "thread_id" || d->kind == "warp_id" || d->kind == "warpgroup_id";
    if (open) ThrowNotInferred(d, "one of thread_id([n]), warp_id([n]), warpgroup_id([n])");
  }
  if (Has(defs, "thread_id_in_wg") || Has(defs, "warp_id_in_wg")) return kWarpgroupSize;
  return Has(defs, "lane_id") ? kWarpSize : 1;
}

/*! Ids of a warpgroup exist only in whole warpgroups. */
void CheckWarpgroups(const Defs& defs, int64_t threads) {
  for (const ScopeIdDef& d : defs) {
    std::string kind = d->kind;
    bool wg = kind == "warpgroup_id" || kind == "thread_id_in_wg" || kind == "warp_id_in_wg";
    if (!wg || threads % kWarpgroupSize == 0) continue;
    Diag("scope", "no-whole-warpgroup", d->span)
        .Message(kind + " needs whole warpgroups")
        .Found("a CTA of " + Threads(threads))
        .Required("a multiple of 128 threads")
        .Throw();
  }
}

// ---- CTAs ----

std::array<int64_t, 3> ConstDims(const ScopeIdDef& def) {
  std::array<int64_t, 3> out{1, 1, 1};
  for (size_t i = 0; i < def->extents.size(); ++i) out[i] = ConstExtent(def, i);
  return out;
}

std::array<PrimExpr, 3> Dims(const ScopeIdDef& def) {
  std::array<PrimExpr, 3> out{PrimExpr(1), PrimExpr(1), PrimExpr(1)};
  for (size_t i = 0; i < def->extents.size(); ++i) out[i] = def->extents[i];
  return out;
}

/*! The cluster as grid / clusters, where both are given. */
bool ClusterFromGrid(const ScopeIdDef* grid, const ScopeIdDef* clusters, Launch* out) {
  if (grid == nullptr || clusters == nullptr) return false;
  std::array<PrimExpr, 3> g = Dims(*grid), c = Dims(*clusters);
  for (int d = 0; d < 3; ++d) {
    auto x = AsInt(g[d]), y = AsInt(c[d]);
    bool ok = x && y && *y > 0 && *x % *y == 0;
    if (!ok) return false;
    out->cluster[d] = *x / *y;
  }
  return true;
}

void InferCluster(const Defs& defs, Launch* out) {
  if (const ScopeIdDef* d = FirstOf(defs, "cta_id_in_cluster")) {
    out->cluster = ConstDims(*d);
    return;
  }
  bool known = ClusterFromGrid(FirstOf(defs, "cta_id"), FirstOf(defs, "cluster_id"), out);
  if (known) return;
  for (const ScopeIdDef& d : defs) {
    if (d->kind == "cta_id_in_cluster") {
      ThrowNotInferred(d, "constant extents of both cta_id and cluster_id");
    }
  }
  if (Has(defs, "cta_id_in_pair")) out->cluster[0] = 2;
}

/*! cta_id([g]) with cluster_id([c]) or cta_id_in_cluster([k]): g = c * k, as far as constants tell.
 */
void CheckGrid(const Defs& defs, const Launch& launch) {
  const ScopeIdDef *grid = FirstOf(defs, "cta_id"), *clusters = FirstOf(defs, "cluster_id");
  const ScopeIdDef* cluster = FirstOf(defs, "cta_id_in_cluster");
  if (grid == nullptr) return;
  for (int d = 0; d < 3; ++d) {
    auto g = AsInt(Dims(*grid)[d]);
    if (!g) continue;
    int64_t k = launch.cluster[d];
    std::string axis(1, "xyz"[d]), found = std::to_string(*g) + " CTAs along " + axis;
    if (cluster != nullptr && *g % k != 0) {
      ThrowContradiction(*cluster, *grid, found, "a multiple of " + std::to_string(k));
    }
    if (clusters == nullptr) continue;
    auto c = AsInt(Dims(*clusters)[d]);
    if (!c || *c * k == *g) continue;
    std::string want =
        std::to_string(*c) + " clusters of " + std::to_string(k) + " CTAs along " + axis;
    ThrowContradiction(*clusters, *grid, found, want);
  }
}

void InferGrid(const Defs& defs, Launch* out) {
  if (const ScopeIdDef* d = FirstOf(defs, "cta_id")) {
    out->grid = Dims(*d);
    return;
  }
  std::array<PrimExpr, 3> clusters{PrimExpr(1), PrimExpr(1), PrimExpr(1)};
  if (const ScopeIdDef* d = FirstOf(defs, "cluster_id")) clusters = Dims(*d);
  bool open =
      FirstOf(defs, "cluster_id") == nullptr && FirstOf(defs, "cta_id_in_cluster") == nullptr;
  for (const ScopeIdDef& d : defs) {
    bool asks = d->kind == "cta_id" || d->kind == "cluster_id";
    if (asks && open)
      ThrowNotInferred(d, "cta_id([..]), or cluster_id([..]) and cta_id_in_cluster([..])");
  }
  for (int d = 0; d < 3; ++d) out->grid[d] = clusters[d] * PrimExpr(out->cluster[d]);
}

void CheckPairs(const Defs& defs, const Launch& launch) {
  for (const ScopeIdDef& d : defs) {
    if (d->kind != "cta_id_in_pair" || launch.Ctas() % 2 == 0) continue;
    Diag("scope", "no-cta-pair", d->span)
        .Message("cta_id_in_pair needs clusters of an even number of CTAs")
        .Found("a cluster of " + std::to_string(launch.Ctas()))
        .Required("an even number")
        .Throw();
  }
}

}  // namespace

Launch InferLaunch(const Defs& defs) {
  Launch out;
  for (const ScopeIdDef& d : defs) {
    CheckShape(d);
    CheckFixed(d);
  }
  CheckRepeated(defs);
  out.threads = InferThreads(defs);
  CheckWarpgroups(defs, out.threads);
  InferCluster(defs, &out);
  CheckPairs(defs, out);
  CheckGrid(defs, out);
  InferGrid(defs, &out);
  return out;
}

}  // namespace scope
}  // namespace tirx
