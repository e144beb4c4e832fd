#include <tirx/expr/ops.h>
#include <tirx/ir/functor.h>
#include <tirx/passes/split_host_device.h>
#include <tirx/scope/walker.h>
#include <tirx/support/diag.h>

#include <string>
#include <unordered_set>

namespace tirx {
namespace passes {
namespace {

using VarSet = std::unordered_set<const VarNode*>;

/*! Variables read, in order of first use, and those defined. */
struct FreeVars : StmtVisitor {
  std::vector<Var> used;
  VarSet seen, defined;
  void VisitVar(const VarNode* v) override {
    if (seen.insert(v).second) used.push_back(GetRef<Var>(v));
  }
  void VisitBind(const BindNode* n) override {
    defined.insert(n->var.get());
    StmtVisitor::VisitBind(n);
  }
  void VisitFor(const ForNode* n) override {
    defined.insert(n->loop_var.get());
    StmtVisitor::VisitFor(n);
  }
  void VisitAllocBuffer(const AllocBufferNode* n) override {
    defined.insert(n->buffer->data.get());
    VisitBufferExprs(n->buffer);
  }
  void VisitBuffer(const Buffer& b) override { VisitVar(b->data.get()); }
  bool Uses(const Var& v) const { return seen.count(v.get()) != 0; }
};

void CheckHost(const ffi::Array<Stmt>& host) {
  for (const Stmt& s : host) {
    StmtKind k = KindOf(s);
    if (k == StmtKind::kBind || k == StmtKind::kAssert) continue;
    Diag("script", "host-statement", s->span)
        .Message("this statement cannot run on the host")
        .Found("a statement before T.device_entry() that is neither a let nor an assertion")
        .Required("argument binding, lets and assertions before T.device_entry()")
        .Hint("move it after T.device_entry()")
        .Throw();
  }
}

/*! e with the lets of the host replaced by their values. */
PrimExpr InlineLets(PrimExpr e, const ffi::Array<Stmt>& host) {
  for (size_t i = host.size(); i-- > 0;) {
    if (auto* let = host[i].as<BindNode>()) {
      e = Substitute(e, {{let->var, let->value}});
    }
  }
  return e;
}

/*! Host lets that the device body reads, directly or through each other. */
ffi::Array<Stmt> LetsFor(FreeVars* body, const ffi::Array<Stmt>& host) {
  std::vector<Stmt> reversed;
  for (size_t i = host.size(); i-- > 0;) {
    auto* let = host[i].as<BindNode>();
    if (let == nullptr || !body->Uses(let->var)) continue;
    (*body)(host[i]);
    reversed.push_back(host[i]);
  }
  return ffi::Array<Stmt>(reversed.rbegin(), reversed.rend());
}

template <typename T>
T AttrOr(const PrimFunc& func, const char* key, T otherwise) {
  auto it = func->attrs.find(key);
  return it == func->attrs.end() ? otherwise : (*it).second.template cast<T>();
}

ffi::ObjectPtr<LaunchPlanNode> PlanOf(const PrimFunc& func, const ffi::Array<Stmt>& host) {
  scope::Launch launch = scope::LaunchOf(func);
  auto n = ffi::make_object<LaunchPlanNode>();
  for (const PrimExpr& e : launch.grid) n->grid.push_back(InlineLets(e, host));
  n->cluster = ffi::Array<int64_t>(launch.cluster.begin(), launch.cluster.end());
  n->threads = launch.threads;
  n->dyn_shared_bytes = AttrOr<int64_t>(func, "tirx.dyn_shared_bytes", 0);
  n->static_shared_bytes = AttrOr<int64_t>(func, "tirx.static_shared_bytes", 0);
  n->min_blocks_per_sm = AttrOr<int64_t>(func, "tirx.launch_bounds_min_blocks_per_sm", 0);
  for (const char* key : {"cooperative", "programmatic"}) {
    std::string full = std::string("tirx.") + key;
    n->attrs.Set(key, AttrOr<bool>(func, full.c_str(), false));
  }
  return n;
}

/*! Symbolic extents of the arguments that the device body reads. */
ffi::Array<Var> SymbolsOf(const FreeVars& body, const PrimFunc& func) {
  VarSet params;
  for (const Var& p : func->params) params.insert(p.get());
  for (const auto& b : func->param_buffers) {
    if (b.has_value()) params.insert(b.value()->data.get());
  }
  ffi::Array<Var> out;
  for (const Var& v : body.used) {
    bool symbol = !params.count(v.get()) && !body.defined.count(v.get()) && !IsHandle(v->dtype);
    if (symbol) out.push_back(v);
  }
  return out;
}

PrimFunc DeviceOf(const PrimFunc& func, const ffi::Array<Var>& symbols, const Stmt& body) {
  ffi::Array<Var> params;
  ffi::Array<ffi::Optional<Buffer>> buffers;
  auto add = [&](const Var& v, const ffi::Optional<Buffer>& b) {
    params.push_back(v);
    buffers.push_back(b);
  };
  for (const auto& b : func->param_buffers) {
    if (b.has_value()) add(b.value()->data, b);
  }
  for (size_t i = 0; i < func->params.size(); ++i) {
    if (!func->param_buffers[i].has_value()) add(func->params[i], std::nullopt);
  }
  for (const Var& v : symbols) add(v, std::nullopt);
  return PrimFunc(func->name, params, buffers, body, {{"tirx.stage", ffi::String("native")}},
                  func->span);
}

}  // namespace

Kernel SplitHostDevice(const PrimFunc& func) {
  auto parts = scope::SplitAtEntry(func);
  TVM_FFI_CHECK(parts, InternalError) << "no device entry: run resolve_scopes first";
  CheckHost(parts->host);
  FreeVars free;
  Stmt body = MakeSeq(parts->device);
  free(body);
  ffi::Array<Stmt> lets = LetsFor(&free, parts->host);
  if (!lets.empty()) {
    lets.push_back(body);
    body = MakeSeq(lets);
  }
  auto n = ffi::make_object<KernelNode>();
  using Signature = ffi::Array<ffi::Optional<Buffer>>;
  Signature signature = AttrOr<Signature>(func, "tirx.signature", func->param_buffers);
  n->host = PrimFunc(func->name, func->params, signature, MakeSeq(parts->host), {}, func->span);
  n->symbols = SymbolsOf(free, func);
  n->device = DeviceOf(func, n->symbols, body);
  n->launch = LaunchPlan(ffi::ObjectPtr<LaunchPlanNode>(PlanOf(func, parts->host)));
  return Kernel(std::move(n));
}

}  // namespace passes
}  // namespace tirx
