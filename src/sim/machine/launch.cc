/*!
 * From a program and arguments to a machine that can run.
 */
#include <tirx/sim/compile.h>
#include <tirx/sim/machine.h>
#include <tirx/support/diag.h>

#include <algorithm>

namespace tirx {
namespace sim {
namespace {

std::optional<int64_t> EvalBinary(const BinaryNode* n, const HostEnv& env) {
  auto a = EvalHost(n->a, env), b = EvalHost(n->b, env);
  if (!a || !b) return std::nullopt;
  return FoldInt(n->kind(), n->a->dtype, *a, *b);
}

[[noreturn]] void ThrowReadOnly(const Program& p, size_t i) {
  Diag("launch", "argument-readonly", Span())
      .Message("an argument of " + p.name + " does not fit")
      .Found("a read-only array for " + p.param_names[i])
      .Required("an array that can be written, as the kernel writes " + p.param_names[i])
      .Throw();
}

void BindArguments(Machine* m, const std::vector<Argument>& args, HostEnv* env) {
  const Program& p = *m->prog;
  TVM_FFI_CHECK(args.size() == p.params.size(), ValueError)
      << p.name << " takes " << p.params.size() << " arguments, got " << args.size();
  m->segments = std::vector<Segment>(args.size());
  for (size_t i = 0; i < args.size(); ++i) {
    const Argument& arg = args[i];
    int64_t value = arg.scalar;
    if (arg.is_buffer) {
      if (arg.read_only && (p.param_access[i] & 2)) ThrowReadOnly(p, i);
      Segment& s = m->segments[i];
      s.name = p.param_names[i];
      s.host = arg.host;
      s.bytes = arg.bytes;
      s.sparse = arg.sparse;
      s.skew = static_cast<int64_t>(reinterpret_cast<uintptr_t>(arg.host) % 16);
      value = static_cast<int64_t>(((kFirstGlobalSegment + i) << kSegmentShift) + s.skew);
    } else {
      (*env)[p.params[i].get()] = value;
    }
    m->scalars[p.scalar_consts.size() + p.param_scalar[i]] = value;
  }
}

void EvaluateRefs(Machine* m, const HostEnv& env) {
  for (MemRef& r : m->refs) {
    r.first = EvalHost(r.first_expr, env).value_or(0);
    auto extent = EvalHost(r.extent_expr, env);
    // An extent that depends on device values is limited by its allocation only.
    r.extent = extent ? *extent : int64_t{1} << 50;
  }
}

int64_t GridExtent(const LaunchPlan& plan, size_t d, const HostEnv& env) {
  if (d >= plan->grid.size()) return 1;
  auto n = EvalHost(plan->grid[d], env);
  TVM_FFI_CHECK(n.has_value(), ValueError)
      << "a grid extent depends on values that are not arguments";
  return std::max<int64_t>(*n, 0);
}

void CheckClusters(const Machine* m) {
  for (int d = 0; d < 3; ++d) {
    if (m->grid[d] % m->cluster[d] == 0) continue;
    Diag("launch", "launch-limits", m->prog->kernel->device->span)
        .Message("the grid is not made of whole clusters")
        .Found(std::to_string(m->grid[d]) + " CTAs along dimension " + std::to_string(d))
        .Required("a multiple of " + std::to_string(m->cluster[d]))
        .Throw();
  }
}

}  // namespace

std::optional<int64_t> EvalHost(const PrimExpr& e, const HostEnv& env) {
  switch (KindOf(e)) {
    case ExprKind::kIntImm: return AsInt(e);
    case ExprKind::kVar: {
      auto it = env.find(static_cast<const VarNode*>(e.get()));
      return it == env.end() ? std::nullopt : std::optional<int64_t>(it->second);
    }
    case ExprKind::kCast: return EvalHost(static_cast<const CastNode*>(e.get())->value, env);
    case ExprKind::kBinary: return EvalBinary(static_cast<const BinaryNode*>(e.get()), env);
    case ExprKind::kSelect: {
      auto* n = static_cast<const SelectNode*>(e.get());
      auto c = EvalHost(n->cond, env);
      if (!c) return std::nullopt;
      return EvalHost(*c ? n->true_value : n->false_value, env);
    }
    default: return std::nullopt;
  }
}

namespace {

[[noreturn]] void RefuseLaunch(const Kernel& k, const std::string& found,
                               const std::string& required) {
  Diag("launch", "launch-limits", k->device->span)
      .Message("the target cannot launch " + std::string(k->device->name))
      .Found(found)
      .Required(required)
      .Throw();
}

/*! What the driver would refuse (CUDA C++ Programming Guide, compute capabilities). */
void CheckPlan(const Kernel& k, const Target& t) {
  const LaunchPlan& plan = k->launch;
  int64_t threads = t->Limit("threads_per_cta", 1024),
          shared = t->Limit("shared_bytes_per_cta", 232448);
  if (plan->threads < 1 || plan->threads > threads) {
    RefuseLaunch(k, std::to_string(plan->threads) + " threads per CTA",
                 "1 to " + std::to_string(threads));
  }
  int64_t bytes = plan->dyn_shared_bytes + plan->static_shared_bytes, ctas = 1;
  if (bytes > shared) {
    RefuseLaunch(k, std::to_string(bytes) + " bytes of shared memory",
                 "at most " + std::to_string(shared));
  }
  for (int64_t extent : plan->cluster) ctas *= extent;
  if (ctas > 1 && !t->Has("cluster")) {
    RefuseLaunch(k, "a cluster of " + std::to_string(ctas) + " CTAs on " + std::string(t->arch),
                 "a target with the feature \"cluster\"");
  }
}

}  // namespace

Program Compile(const Kernel& kernel, const Target& target, const Options& options) {
  CheckPlan(kernel, target);
  Program p(kernel, target);
  p.name = std::string(kernel->device->name);
  p.options = options;
  p.num_rows = kFirstRow;
  p.num_scalars = kFirstScalar;
  Compiler(&p).Run();
  return p;
}

void Launch(Machine* m, const Program& program, const std::vector<Argument>& args, HostEnv env) {
  m->prog = &program;
  m->opt = program.options;
  m->refs = program.refs;
  m->scalars.assign(program.scalar_consts.rbegin(), program.scalar_consts.rend());
  m->scalars.resize(program.scalar_consts.size() + program.num_scalars);
  BindArguments(m, args, &env);
  EvaluateRefs(m, env);
  const LaunchPlan& plan = program.kernel->launch;
  for (size_t d = 0; d < 3; ++d) {
    m->grid[d] = GridExtent(plan, d, env);
    m->cluster[d] = d < plan->cluster.size() ? std::max<int64_t>(plan->cluster[d], 1) : 1;
  }
  CheckClusters(m);
  m->threads = plan->threads;
  if (m->opt.counters) {
    m->counters.executed.assign(program.code.size(), 0);
    m->counters.lines.resize(program.spans.size());
  }
  RunAll(m);
}

}  // namespace sim
}  // namespace tirx
