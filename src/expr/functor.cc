#include <tirx/expr/functor.h>
#include <tirx/expr/ops.h>

#include <array>

namespace tirx {
namespace {

constexpr int kSlots = PrimExprNode::_type_child_slots + 1;

std::array<ExprKind, kSlots> MakeKindTable() {
  std::array<ExprKind, kSlots> table;
  table.fill(ExprKind::kOther);
  auto set = [&](int32_t index, ExprKind kind) {
    int32_t slot = index - PrimExprNode::RuntimeTypeIndex();
    if (slot >= 0 && slot < kSlots) table[slot] = kind;
  };
  set(VarNode::RuntimeTypeIndex(), ExprKind::kVar);
  set(IntImmNode::RuntimeTypeIndex(), ExprKind::kIntImm);
  set(FloatImmNode::RuntimeTypeIndex(), ExprKind::kFloatImm);
  set(StringImmNode::RuntimeTypeIndex(), ExprKind::kStringImm);
  set(BinaryNode::RuntimeTypeIndex(), ExprKind::kBinary);
  set(NotNode::RuntimeTypeIndex(), ExprKind::kNot);
  set(SelectNode::RuntimeTypeIndex(), ExprKind::kSelect);
  set(CastNode::RuntimeTypeIndex(), ExprKind::kCast);
  set(RampNode::RuntimeTypeIndex(), ExprKind::kRamp);
  set(BroadcastNode::RuntimeTypeIndex(), ExprKind::kBroadcast);
  set(CallNode::RuntimeTypeIndex(), ExprKind::kCall);
  return table;
}

template <typename T>
const T* Down(const PrimExpr& e) {
  return static_cast<const T*>(e.get());
}

}  // namespace

ExprKind KindOf(const PrimExprNode* n) {
  static const std::array<ExprKind, kSlots> table = MakeKindTable();
  static const int32_t base = PrimExprNode::RuntimeTypeIndex();
  uint32_t slot = static_cast<uint32_t>(n->type_index() - base);
  return slot < kSlots ? table[slot] : ExprKind::kOther;
}

void ExprVisitor::VisitExpr(const PrimExpr& e) {
  switch (KindOf(e)) {
    case ExprKind::kVar: return VisitVar(Down<VarNode>(e));
    case ExprKind::kIntImm:
    case ExprKind::kFloatImm:
    case ExprKind::kStringImm: return VisitConst(e.get());
    case ExprKind::kBinary: return VisitBinary(Down<BinaryNode>(e));
    case ExprKind::kNot: return VisitNot(Down<NotNode>(e));
    case ExprKind::kSelect: return VisitSelect(Down<SelectNode>(e));
    case ExprKind::kCast: return VisitCast(Down<CastNode>(e));
    case ExprKind::kRamp: return VisitRamp(Down<RampNode>(e));
    case ExprKind::kBroadcast: return VisitBroadcast(Down<BroadcastNode>(e));
    case ExprKind::kCall: return VisitCall(Down<CallNode>(e));
    case ExprKind::kOther: return VisitOther(e.get());
  }
}

void ExprVisitor::VisitBinary(const BinaryNode* n) {
  VisitExpr(n->a);
  VisitExpr(n->b);
}
void ExprVisitor::VisitNot(const NotNode* n) { VisitExpr(n->a); }
void ExprVisitor::VisitSelect(const SelectNode* n) {
  VisitExpr(n->cond);
  VisitExpr(n->true_value);
  VisitExpr(n->false_value);
}
void ExprVisitor::VisitCast(const CastNode* n) { VisitExpr(n->value); }
void ExprVisitor::VisitRamp(const RampNode* n) {
  VisitExpr(n->base);
  VisitExpr(n->stride);
}
void ExprVisitor::VisitBroadcast(const BroadcastNode* n) { VisitExpr(n->value); }
void ExprVisitor::VisitCall(const CallNode* n) {
  for (const PrimExpr& arg : n->args) VisitExpr(arg);
}

PrimExpr ExprMutator::VisitExpr(const PrimExpr& e) {
  switch (KindOf(e)) {
    case ExprKind::kVar: return VisitVar(GetRef<Var>(Down<VarNode>(e)));
    case ExprKind::kIntImm:
    case ExprKind::kFloatImm:
    case ExprKind::kStringImm: return e;
    case ExprKind::kBinary: return VisitBinary(GetRef<Binary>(Down<BinaryNode>(e)));
    case ExprKind::kNot: return VisitNot(GetRef<Not>(Down<NotNode>(e)));
    case ExprKind::kSelect: return VisitSelect(GetRef<Select>(Down<SelectNode>(e)));
    case ExprKind::kCast: return VisitCast(GetRef<Cast>(Down<CastNode>(e)));
    case ExprKind::kRamp: return VisitRamp(GetRef<Ramp>(Down<RampNode>(e)));
    case ExprKind::kBroadcast: return VisitBroadcast(GetRef<Broadcast>(Down<BroadcastNode>(e)));
    case ExprKind::kCall: return VisitCall(GetRef<Call>(Down<CallNode>(e)));
    case ExprKind::kOther: return VisitOther(e);
  }
  return e;
}

PrimExpr ExprMutator::VisitBinary(const Binary& e) {
  PrimExpr a = VisitExpr(e->a), b = VisitExpr(e->b);
  if (a.same_as(e->a) && b.same_as(e->b)) return e;
  return MakeBinary(e->kind(), a, b, e->span);
}
PrimExpr ExprMutator::VisitNot(const Not& e) {
  PrimExpr a = VisitExpr(e->a);
  return a.same_as(e->a) ? PrimExpr(e) : MakeNot(a, e->span);
}
PrimExpr ExprMutator::VisitSelect(const Select& e) {
  PrimExpr c = VisitExpr(e->cond), t = VisitExpr(e->true_value), f = VisitExpr(e->false_value);
  if (c.same_as(e->cond) && t.same_as(e->true_value) && f.same_as(e->false_value)) return e;
  return MakeSelect(c, t, f, e->span);
}
PrimExpr ExprMutator::VisitCast(const Cast& e) {
  PrimExpr v = VisitExpr(e->value);
  return v.same_as(e->value) ? PrimExpr(e) : MakeCast(e->dtype, v, e->span);
}
PrimExpr ExprMutator::VisitRamp(const Ramp& e) {
  PrimExpr b = VisitExpr(e->base), s = VisitExpr(e->stride);
  if (b.same_as(e->base) && s.same_as(e->stride)) return e;
  return MakeRamp(b, s, e->lanes, e->span);
}
PrimExpr ExprMutator::VisitBroadcast(const Broadcast& e) {
  PrimExpr v = VisitExpr(e->value);
  return v.same_as(e->value) ? PrimExpr(e) : MakeBroadcast(v, e->lanes, e->span);
}
PrimExpr ExprMutator::VisitCall(const Call& e) {
  ffi::Array<PrimExpr> args = VisitArray(e->args);
  return args.same_as(e->args) ? PrimExpr(e) : Call(e->dtype, e->op, args, e->attrs, e->span);
}

ffi::Array<PrimExpr> ExprMutator::VisitArray(const ffi::Array<PrimExpr>& a) {
  ffi::Array<PrimExpr> out = a;  // shares storage until the first Set
  for (size_t i = 0; i < a.size(); ++i) {
    PrimExpr e = a[i], v = VisitExpr(e);
    if (!v.same_as(e)) out.Set(static_cast<int64_t>(i), std::move(v));
  }
  return out;
}

}  // namespace tirx
