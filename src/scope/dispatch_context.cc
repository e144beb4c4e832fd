#include <tirx/expr/functor.h>
#include <tirx/expr/ops.h>
#include <tirx/layout/ops.h>
#include <tirx/scope/dispatch_context.h>
#include <tirx/support/diag.h>

namespace tirx {
namespace {

[[noreturn]] void Refuse(const Buffer& b, std::string found, std::string required) {
  Diag("layout", "no-local-view", b->span)
      .Message("no per-thread view of '" + std::string(b->name) + "'")
      .Found(std::move(found))
      .Required(std::move(required))
      .Throw();
}

/*! Position of the running thread in its team. */
PrimExpr PositionIn(scope::Kind kind, const scope::IdTable& ids) {
  const scope::Launch& launch = ids.launch();
  const PrimExpr& tid = ids.thread_index();
  switch (kind) {
    case scope::Kind::kThread: return 0;
    case scope::Kind::kWarp: return ids.lane();
    case scope::Kind::kWarpgroup:
      return launch.threads <= scope::kWarpgroupSize ? tid : FloorMod(tid, scope::kWarpgroupSize);
    case scope::Kind::kCta: return tid;
    default:
      if (launch.Ctas() == 1) return tid;
      return Call(kInt32, "tx.cluster_cta_rank", {}) * PrimExpr(launch.threads) + tid;
  }
}

ffi::Map<ffi::String, ffi::Any> LaunchMap(const scope::Launch& launch) {
  ffi::Map<ffi::String, ffi::Any> out;
  out.Set("grid", ffi::Array<PrimExpr>(launch.grid.begin(), launch.grid.end()));
  out.Set("cluster", ffi::Array<int64_t>(launch.cluster.begin(), launch.cluster.end()));
  out.Set("threads", launch.threads);
  return out;
}

/*! Computes in 64 bits: variables are widened where they are read. */
struct Widen : ExprMutator {
  PrimExpr VisitVar(const Var& v) override { return MakeCast(kInt64, v); }
};

}  // namespace

DispatchContext MakeDispatchContext(const Target& target, const scope::IdTable& ids,
                                    const scope::ActiveSet& active, scope::Kind kind,
                                    const arith::Analyzer& analyzer, const Span& span) {
  scope::Team team = scope::Split(active, kind, span);
  auto n = ffi::make_object<DispatchContextNode>();
  n->target = target;
  n->scope = scope::KindName(kind);
  n->analyzer = analyzer;
  n->inter = team.inter;
  n->intra = team.intra;
  n->team_size = team.team_size;
  n->active = team.active;
  n->full = team.active == team.team_size;
  n->exact = team.exact;
  n->thread_index = ids.thread_index();
  n->thread_in_team = scope::RankOf(team, PositionIn(kind, ids));
  n->lane = ids.lane();
  n->warp = ids.warp();
  n->num_threads = ids.launch().threads;
  n->launch = LaunchMap(ids.launch());
  return DispatchContext(std::move(n));
}

PrimExpr MemoryExtent(const Buffer& b) {
  if (b->layout.defined()) {
    TileLayout tile = layout::TileOf(b->layout);
    PrimExpr extent = layout::Span(b->layout, "m");
    auto offset = tile->offset.find("m");
    if (offset != tile->offset.end()) extent = extent + (*offset).second;
    return AsInt(extent) ? extent : Widen()(extent);
  }
  PrimExpr n = 1;
  for (const PrimExpr& e : b->shape) n = n * (AsInt(e) ? e : MakeCast(kInt64, e));
  return n;
}

Buffer LocalView(const Buffer& b) {
  if (b->scope != "local") Refuse(b, "scope " + std::string(b->scope), "a buffer in scope local");
  PrimExpr extent = MemoryExtent(b);
  if (!AsInt(extent)) Refuse(b, "a symbolic extent", "constant extents and strides");
  return Buffer(b->name, b->data, {extent}, b->dtype, Layout(), b->scope, b->elem_offset, b->align,
                b->allocated_addr, b->span);
}

}  // namespace tirx
