#include <tirx/expr/ops.h>
#include <tirx/ir/functor.h>
#include <tirx/scope/scope_ids.h>
#include <tvm/ffi/extra/structural_equal.h>

#include <string>

#include "launch.h"

namespace tirx {
namespace scope {

std::string DefText(const ScopeIdDef& def) {
  std::string out = std::string(def->kind) + "(";
  for (size_t i = 0; i < def->extents.size(); ++i) {
    auto v = AsInt(def->extents[i]);
    out += (i == 0 ? "[" : ", ") + (v ? std::to_string(*v) : std::string("..."));
  }
  return out + (def->extents.empty() ? ")" : "])");
}

std::vector<ScopeIdDef> CollectScopeIds(const Stmt& s) {
  struct Collector : StmtVisitor {
    std::vector<ScopeIdDef> defs;
    void VisitExpr(const PrimExpr&) override {}
    void VisitScopeIdDef(const ScopeIdDefNode* n) override {
      defs.push_back(GetRef<ScopeIdDef>(n));
    }
  } collector;
  collector(s);
  return std::move(collector.defs);
}

ffi::Array<PrimExpr> ExtentsOf(const ScopeIdDef& def, const Launch& launch) {
  if (!def->extents.empty()) return def->extents;
  std::string kind = def->kind;
  std::array<PrimExpr, 3> each{PrimExpr(1), PrimExpr(1), PrimExpr(1)};
  if (kind == "cta_id") {
    each = launch.grid;
  } else if (kind == "cluster_id") {
    for (int d = 0; d < 3; ++d) each[d] = FloorDiv(launch.grid[d], launch.cluster[d]);
  } else if (kind == "cta_id_in_cluster") {
    for (int d = 0; d < 3; ++d) each[d] = PrimExpr(launch.cluster[d]);
    if (def->vars.size() == 1) each[0] = PrimExpr(launch.Ctas());
  } else if (kind == "cta_id_in_pair") {
    each[0] = 2;
  } else {
    each[0] = PrimExpr(ThreadExtent(kind, launch.threads));
  }
  return ffi::Array<PrimExpr>(each.begin(), each.begin() + def->vars.size());
}

Launch LaunchOf(const PrimFunc& func) {
  Launch out;
  auto threads = func->attrs.find("tirx.threads");
  TVM_FFI_CHECK(threads != func->attrs.end(), InternalError)
      << "the launch is not resolved: run resolve_scopes first";
  out.threads = (*threads).second.cast<int64_t>();
  auto grid = func->attrs.at("tirx.grid").cast<ffi::Array<PrimExpr>>();
  auto cluster = func->attrs.at("tirx.cluster").cast<ffi::Array<int64_t>>();
  for (int d = 0; d < 3; ++d) {
    out.grid[d] = grid[d];
    out.cluster[d] = cluster[d];
  }
  return out;
}

void SetLaunch(ffi::Map<ffi::String, ffi::Any>* attrs, const Launch& launch) {
  attrs->Set("tirx.threads", launch.threads);
  attrs->Set("tirx.grid", ffi::Array<PrimExpr>(launch.grid.begin(), launch.grid.end()));
  attrs->Set("tirx.cluster", ffi::Array<int64_t>(launch.cluster.begin(), launch.cluster.end()));
}

// ---- what ids mean ----

namespace {

PrimExpr Intrinsic(const char* op) { return Call(kInt32, op, {}); }
PrimExpr Intrinsic(const char* op, int64_t dim) { return Call(kInt32, op, {PrimExpr(dim)}); }

/*! x // by, without the division when x < by. */
PrimExpr Div(const PrimExpr& x, int64_t by, int64_t bound) {
  return bound <= by ? PrimExpr(0) : FloorDiv(x, by);
}
PrimExpr Mod(const PrimExpr& x, int64_t by, int64_t bound) {
  return bound <= by ? x : FloorMod(x, by);
}

/*! Digit `dim` (0 is innermost) of x in a mixed radix of constant extents. */
PrimExpr Digit(const PrimExpr& x, const ffi::Array<PrimExpr>& extents, size_t dim, int64_t bound) {
  int64_t below = 1;
  for (size_t i = 0; i < dim; ++i) below *= AsInt(extents[i]).value_or(1);
  PrimExpr q = below == 1 ? x : FloorDiv(x, below);
  int64_t extent = AsInt(extents[dim]).value_or(1);
  return Mod(q, extent, (bound + below - 1) / below);
}

PrimExpr ThreadMeaning(const std::string& kind, const PrimExpr& tid, int64_t threads) {
  if (kind == "lane_id") return Mod(tid, kWarpSize, threads);
  if (kind == "warp_id") return Div(tid, kWarpSize, threads);
  if (kind == "thread_id_in_wg") return Mod(tid, kWarpgroupSize, threads);
  if (kind == "warpgroup_id") return Div(tid, kWarpgroupSize, threads);
  return Div(Mod(tid, kWarpgroupSize, threads), kWarpSize, threads);  // warp_id_in_wg
}

PrimExpr ClusterMeaning(const std::string& kind, size_t dim, size_t ndim, const Launch& launch) {
  int64_t extent = launch.cluster[dim];
  if (kind == "cta_id_in_pair") return FloorMod(Intrinsic("tx.cluster_cta_rank"), 2);
  if (kind == "cluster_id") return FloorDiv(Intrinsic("tx.cta_index", dim), extent);
  if (ndim == 1) return launch.Ctas() == 1 ? PrimExpr(0) : Intrinsic("tx.cluster_cta_rank");
  return extent == 1 ? PrimExpr(0) : Intrinsic("tx.cluster_cta_index", dim);
}

PrimExpr CtaMeaning(size_t dim, const Launch& launch) {
  return IsConst(launch.grid[dim], 1) ? PrimExpr(0) : Intrinsic("tx.cta_index", dim);
}

}  // namespace

IdTable::IdTable(const std::vector<ScopeIdDef>& defs, const Launch& launch)
    : launch_(launch), thread_index_("tid") {
  for (const ScopeIdDef& def : defs) {
    bool whole = (def->kind == "thread_id" && def->vars.size() == 1) ||
                 (def->kind == "lane_id" && launch.threads <= kWarpSize);
    if (!whole || def->vars[0]->dtype != kInt32) continue;
    thread_index_ = def->vars[0];
    break;
  }
  lane_ = ThreadMeaning("lane_id", thread_index_, launch.threads);
  warp_ = ThreadMeaning("warp_id", thread_index_, launch.threads);
  for (const ScopeIdDef& def : defs) {
    for (size_t d = 0; d < def->vars.size(); ++d) Define(def->vars[d], def->kind, d, def);
  }
}

void IdTable::Define(const Var& v, const std::string& kind, size_t dim, const ScopeIdDef& def) {
  if (v.same_as(thread_index_)) return;
  PrimExpr meaning = 0;
  if (kind == "thread_id") {
    meaning = Digit(thread_index_, ExtentsOf(def, launch_), dim, launch_.threads);
  } else if (kind == "cta_id") {
    meaning = CtaMeaning(dim, launch_);
  } else if (kind.compare(0, 3, "cta") == 0 || kind == "cluster_id") {
    meaning = ClusterMeaning(kind, dim, def->vars.size(), launch_);
  } else {
    meaning = ThreadMeaning(kind, thread_index_, launch_.threads);
    bool computed = v->dtype == kInt32 && !AsInt(meaning);
    if (computed && kind == "lane_id" && lane_.as<VarNode>() == nullptr) lane_ = v;
    if (computed && kind == "warp_id" && warp_.as<VarNode>() == nullptr) warp_ = v;
  }
  meaning = MakeCast(v->dtype, meaning);
  definitions_.emplace_back(v, meaning);
  by_var_.emplace(v.get(), meaning);
}

const PrimExpr* IdTable::Find(const VarNode* v) const {
  auto it = by_var_.find(v);
  return it == by_var_.end() ? nullptr : &it->second;
}

}  // namespace scope
}  // namespace tirx
