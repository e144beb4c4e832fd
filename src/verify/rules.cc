/*!
 * The table: which statements are legal at which stage, and what each must satisfy.
 */
#include <tirx/expr/ops.h>
#include <tirx/ir/instr.h>
#include <tirx/scope/active_set.h>

#include "checker.h"

namespace tirx {
namespace verify {
namespace {

template <typename Node>
const Node* As(const StmtNode* s) {
  return static_cast<const Node*>(s);
}

void CheckLoop(const StmtNode* s, Checker* c) {
  std::string kind(As<ForNode>(s)->kind);
  bool native = kind == "serial" || kind == "unroll";
  bool known = native || kind == "vectorized" || kind == "parallel";
  if (c->stage() == kNative ? native : known) return;
  c->Report("illegal-loop", "a loop of kind '" + kind + "'", kind,
            c->stage() == kNative ? "serial or unroll" : "serial, unroll, vectorized or parallel");
}

void CheckExit(const StmtNode*, Checker* c) {
  if (c->loops() > 0) return;
  c->Report("exit-outside-loop", "break or continue outside of a loop", "no loop around it",
            "a loop around it");
}

void CheckCondition(const StmtNode* s, Checker* c) {
  const PrimExpr& cond = As<IfThenElseNode>(s)->cond;
  if (IsBool(cond->dtype) && cond->dtype.lanes == 1) return;
  c->Report("condition-not-bool", "the condition of a branch is no bool", DTypeName(cond->dtype),
            "bool");
}

void CheckScopeId(const StmtNode*, Checker* c) {
  if (c->on_device()) return;
  c->Report("scope-id-on-host", "a scope id before T.device_entry()", "host code", "device code");
}

void CheckEntry(const StmtNode*, Checker* c) {
  if (!c->on_device()) return;
  c->Report("repeated-device-entry", "a second T.device_entry()", "two entries", "one");
}

void CheckTileCall(const StmtNode* s, Checker* c) {
  auto* call = As<TilePrimitiveCallNode>(s);
  std::string name = "Tx." + std::string(call->op);
  if (!c->on_device()) {
    c->Report("tile-call-on-host", name + " before T.device_entry()", "host code", "device code");
  }
  if (!call->scope.empty() && !scope::ParseKind(call->scope)) {
    c->Report("unknown-scope", name + " at an unknown scope", std::string(call->scope),
              "thread, warp, warpgroup, cta or cluster");
  }
}

constexpr uint8_t kBoth = kTile | kNative;

/*! One row per StmtKind, in its order. */
std::vector<Row> MakeTable() {
  using K = StmtKind;
  return {
      {K::kSeqStmt, "sequence", kBoth, "names are visible in the rest of it and below", nullptr},
      {K::kBind, "let", kBoth, "its variable is defined once", nullptr},
      {K::kAllocBuffer, "allocation", kBoth, "native: flat; constant in local and shared", nullptr},
      {K::kDeclBuffer, "view", kBoth, "its data variable is visible", nullptr},
      {K::kBufferStore, "store", kBoth, "native: one index, or a run of stride 1", nullptr},
      {K::kEvaluate, "evaluation", kBoth, "calls are intrinsics or instructions", nullptr},
      {K::kFor, "loop", kBoth, "native: serial or unroll", CheckLoop},
      {K::kWhile, "while loop", kBoth, "", nullptr},
      {K::kBreak, "break", kBoth, "inside a loop", CheckExit},
      {K::kContinue, "continue", kBoth, "inside a loop", CheckExit},
      {K::kIfThenElse, "branch", kBoth, "its condition is a bool", CheckCondition},
      {K::kAssert, "assertion", kBoth, "", nullptr},
      {K::kScopeIdDef, "scope id", kTile, "after the device entry", CheckScopeId},
      {K::kExecScope, "team switch", kTile, "", nullptr},
      {K::kFilter, "filter", kTile, "", nullptr},
      {K::kDeviceEntry, "device entry", kBoth, "once", CheckEntry},
      {K::kAttrStmt, "hint", kTile, "", nullptr},
      {K::kTilePrimitiveCall, "tile call", kTile, "on the device, at a known scope", CheckTileCall},
      {K::kOther, "unknown statement", 0, "never", nullptr},
  };
}

}  // namespace

const std::vector<Row>& Table() {
  static const std::vector<Row> table = MakeTable();
  return table;
}

// ---- rules about what statements contain ----

namespace {

bool NeedsConstantSize(const Buffer& b) {
  return b->scope == "local" || b->scope == "shared" || b->scope == "shared.dyn";
}

bool IsOffset(const PrimExpr& e) { return e->dtype == kInt32 || e->dtype == kInt64; }

bool IsNativeIndex(const PrimExpr& e) {
  if (auto* ramp = e.as<RampNode>()) return IsConst(ramp->stride, 1) && IsOffset(ramp->base);
  return IsOffset(e);
}

}  // namespace

void Checker::CheckBuffer(const Buffer& b) {
  if (stage() != kNative || b->scope == "tmem") return;
  std::string name(b->name);
  if (b->shape.size() != 1 || b->layout.defined() || !IsConst(b->elem_offset, 0)) {
    Report("buffer-not-flat", "'" + name + "' is not flat",
           std::to_string(b->shape.size()) + " dimensions", "one extent, no layout, offset 0");
  } else if (NeedsConstantSize(b) && !AsInt(b->shape[0])) {
    Report("size-not-constant", "'" + name + "' has no constant size", "a symbolic extent",
           "a constant number of elements");
  }
  if (b->scope == "shared.dyn" && !(b->allocated_addr.has_value() && AsInt(*b->allocated_addr))) {
    Report("no-shared-address", "'" + name + "' has no place in dynamic shared memory",
           "no address", "a constant allocated_addr");
  }
}

void Checker::CheckIndices(const Buffer& b, const ffi::Array<PrimExpr>& indices) {
  std::string name(b->name);
  for (size_t i = 0; i < indices.size(); ++i) {
    auto v = AsInt(indices[i]), extent = AsInt(b->shape[i]);
    if (!v || (*v >= 0 && (!extent || *v < *extent))) continue;
    Report("index-out-of-range",
           "index " + std::to_string(i) + " of '" + name + "' is out of range", std::to_string(*v),
           extent ? "0 to " + std::to_string(*extent - 1) : "0 or more");
  }
  if (stage() != kNative || b->scope == "tmem") return;
  if (indices.size() == 1 && IsNativeIndex(indices[0])) return;
  Report("illegal-index", "'" + name + "' is not indexed by one element offset",
         indices.empty() ? "no index" : "an index of " + DTypeName(indices[0]->dtype),
         "int32 or int64, or a run of stride 1");
}

void Checker::CheckCall(const CallNode* n) {
  if (stage() != kNative) return;
  std::string op(n->op);
  bool intrinsic = op.compare(0, 3, "tx.") == 0;
  bool known = intrinsic
                   ? (IsPureIntrinsic(n->op) && op != "tx.filter_range") || op == "tx.func_call"
                   : FindInstr(n->op) != nullptr;
  if (known) return;
  Report("illegal-call", "`" + op + "` is not legal at the native stage", op,
         "an intrinsic of expr/ops.h or an instruction");
}

std::vector<Problem> Verify(const PrimFunc& func, const std::string& stage) {
  TVM_FFI_CHECK(stage == "tile" || stage == "native", ValueError) << "no such stage: " << stage;
  return Checker(stage == "native" ? kNative : kTile).Run(func);
}

std::vector<std::vector<std::string>> Rules() {
  std::vector<std::vector<std::string>> out;
  for (const Row& r : Table()) {
    std::string stages = r.stages == kBoth ? "tile, native" : r.stages == kTile ? "tile" : "none";
    out.push_back({r.name, stages, r.rule});
  }
  return out;
}

}  // namespace verify
}  // namespace tirx
