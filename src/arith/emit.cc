/*!
 * From nodes back to expressions. `hint` is the original expression at a place: when it already has
 * the form of the node and its parts come back unchanged, it is returned itself.
 */
#include <bit>

#include "graph.h"

namespace tirx {
namespace arith {
namespace {

const BinaryNode* AsBinary(const PrimExprNode* e) {
  return e && KindOf(e) == ExprKind::kBinary ? static_cast<const BinaryNode*>(e) : nullptr;
}

const BinaryNode* AsOp(const PrimExprNode* e, BinOp op) {
  const BinaryNode* n = AsBinary(e);
  return n && n->kind() == op ? n : nullptr;
}

const PrimExprNode* Left(const BinaryNode* n) { return n ? n->a.get() : nullptr; }
const PrimExprNode* Right(const BinaryNode* n) { return n ? n->b.get() : nullptr; }

template <typename T>
const T* HintAs(const PrimExprNode* e, ExprKind kind) {
  return e && KindOf(e) == kind ? static_cast<const T*>(e) : nullptr;
}

bool IsIntHint(const PrimExprNode* e, int64_t v, DType t) {
  auto* n = HintAs<IntImmNode>(e, ExprKind::kIntImm);
  return n && n->value == v && n->dtype == t;
}

PrimExpr ConstantLike(DType t, int64_t v, const PrimExprNode* hint) {
  return IsIntHint(hint, v, t) ? GetRef<PrimExpr>(hint) : PrimExpr(IntImm(t, v));
}

}  // namespace

PrimExpr Graph::Emit(Id id, const PrimExprNode* hint) {
  Node& n = nodes_[id];
  if (n.kind == Kind::kLeaf) return GetRef<PrimExpr>(n.origin);
  if (n.kind == Kind::kConst) return ConstantLike(n.dtype, n.value, hint);
  if (n.emitted && (!hint || hint == n.emitted_hint)) return *n.emitted;
  Span outer = span_;
  if (hint && hint->span.defined()) span_ = hint->span;
  PrimExpr out = EmitNew(id, hint);
  span_ = outer;
  if (!nodes_[id].emitted) {
    nodes_[id].emitted = out;
    nodes_[id].emitted_hint = hint;
  }
  return out;
}

PrimExpr Graph::Rebuild(BinOp op, const PrimExpr& a, const PrimExpr& b, const PrimExprNode* hint) {
  const BinaryNode* n = AsOp(hint, op);
  if (n && n->a.same_as(a) && n->b.same_as(b)) return GetRef<PrimExpr>(hint);
  return MakeBinary(op, a, b, span_);
}

PrimExpr Graph::EmitBinary(BinOp op, Id a, Id b, const PrimExprNode* hint) {
  const BinaryNode* n = AsOp(hint, op);
  PrimExpr left = Emit(a, Left(n));
  return Rebuild(op, left, Emit(b, Right(n)), hint);
}

/*! A product keeps the order in which it was written. */
PrimExpr Graph::EmitProduct(const Node& n, const PrimExprNode* hint) {
  Id a = n.a, b = n.b;
  const BinaryNode* h = AsOp(hint, BinOp::kMul);
  if (h && Emit(b, Left(h)).same_as(h->a) && Emit(a, Right(h)).same_as(h->b)) {
    return GetRef<PrimExpr>(hint);
  }
  return EmitBinary(BinOp::kMul, a, b, hint);
}

PrimExpr Graph::EmitNew(Id id, const PrimExprNode* hint) {
  const Node& n = nodes_[id];  // emitting makes no nodes
  BinOp op = static_cast<BinOp>(n.op);
  switch (n.kind) {
    case Kind::kSum: return EmitSum(id, hint);
    case Kind::kProduct: return EmitProduct(n, hint);
    case Kind::kDigit: return EmitDigit(n, hint);
    case Kind::kBinary: return EmitBinary(op, n.a, n.b, hint);
    case Kind::kGE0:
    case Kind::kEQ0: return EmitBinary(op, n.b, n.c, hint);
    case Kind::kCall: return EmitCall(n, hint);
    case Kind::kNot: {
      auto* h = HintAs<NotNode>(hint, ExprKind::kNot);
      PrimExpr a = Emit(n.a, h ? h->a.get() : nullptr);
      return h && a.same_as(h->a) ? GetRef<PrimExpr>(hint) : tirx::MakeNot(a, span_);
    }
    case Kind::kCast: return EmitAs(n.dtype, n.a, hint);
    case Kind::kSelect: return EmitSelect(n, hint);
    default: return EmitVector(n, hint);
  }
}

PrimExpr Graph::EmitSelect(const Node& n, const PrimExprNode* hint) {
  auto* h = HintAs<SelectNode>(hint, ExprKind::kSelect);
  PrimExpr c = Emit(n.a, h ? h->cond.get() : nullptr);
  PrimExpr t = Emit(n.b, h ? h->true_value.get() : nullptr);
  PrimExpr f = Emit(n.c, h ? h->false_value.get() : nullptr);
  bool same = h && c.same_as(h->cond) && t.same_as(h->true_value) && f.same_as(h->false_value);
  return same ? GetRef<PrimExpr>(hint) : tirx::MakeSelect(c, t, f, span_);
}

PrimExpr Graph::EmitVector(const Node& n, const PrimExprNode* hint) {
  int lanes = static_cast<int>(n.value);
  if (n.kind == Kind::kBroadcast) {
    auto* h = HintAs<BroadcastNode>(hint, ExprKind::kBroadcast);
    PrimExpr v = Emit(n.a, h ? h->value.get() : nullptr);
    return h && v.same_as(h->value) ? GetRef<PrimExpr>(hint) : MakeBroadcast(v, lanes, span_);
  }
  auto* h = HintAs<RampNode>(hint, ExprKind::kRamp);
  PrimExpr base = Emit(n.a, h ? h->base.get() : nullptr);
  PrimExpr stride = Emit(n.b, h ? h->stride.get() : nullptr);
  bool same = h && base.same_as(h->base) && stride.same_as(h->stride);
  return same ? GetRef<PrimExpr>(hint) : MakeRamp(base, stride, lanes, span_);
}

PrimExpr Graph::EmitCall(const Node& n, const PrimExprNode* hint) {
  const CallNode* call = static_cast<const CallNode*>(n.origin);
  auto* h = HintAs<CallNode>(hint, ExprKind::kCall);
  if (!h || h->args.size() != static_cast<size_t>(n.num_terms)) h = call;
  ffi::Array<PrimExpr> args;
  bool same = h->op == call->op;
  for (int32_t i = 0; i < n.num_terms; ++i) {
    PrimExpr arg = Emit(pool_[n.first_term + i].atom, h->args[i].get());
    same = same && arg.same_as(h->args[i]);
    args.push_back(std::move(arg));
  }
  if (same) return GetRef<PrimExpr>(h);
  return Call(call->dtype, call->op, args, call->attrs, span_);
}

PrimExpr Graph::EmitAs(DType t, Id id, const PrimExprNode* hint) {
  if (nodes_[id].dtype == t) return Emit(id, hint);
  auto* h = HintAs<CastNode>(hint, ExprKind::kCast);
  PrimExpr v = Emit(id, h ? h->value.get() : nullptr);
  return h && h->dtype == t && v.same_as(h->value) ? GetRef<PrimExpr>(hint) : MakeCast(t, v, span_);
}

// ---- digits ---------------------------------------------------------------------------------

namespace {

bool IsShiftHint(const PrimExprNode* hint, BinOp op, int64_t power) {
  const BinaryNode* h = AsOp(hint, op);
  if (!h || !std::has_single_bit(static_cast<uint64_t>(power))) return false;
  return IsIntHint(Right(h), std::countr_zero(static_cast<uint64_t>(power)), h->dtype);
}

bool IsMaskHint(const PrimExprNode* hint, int64_t mod) {
  const BinaryNode* h = AsOp(hint, BinOp::kBitAnd);
  return h && IsIntHint(Right(h), mod - 1, h->dtype);
}

}  // namespace

/*! x op constant, where a shift or a mask with the same meaning stays as the user wrote it. */
PrimExpr Graph::EmitStep(BinOp op, int64_t c, DType t, const PrimExprNode* hint,
                         const std::function<PrimExpr(const PrimExprNode*)>& operand) {
  bool bits = op == BinOp::kFloorDiv ? IsShiftHint(hint, BinOp::kShr, c) : IsMaskHint(hint, c);
  if (bits) op = AsBinary(hint)->kind();
  const BinaryNode* h = AsOp(hint, op);
  PrimExpr x = operand(Left(h));
  PrimExpr constant = bits ? h->b : ConstantLike(t, c, Right(h));
  return Rebuild(op, x, constant, hint);
}

/*! x // div % mod, or x % (div*mod) // div where it was written so. */
PrimExpr Graph::EmitDigit(const Node& n, const PrimExprNode* hint) {
  Id x = n.a;
  int64_t div = n.value, mod = n.value2, wide;
  DType t = n.dtype;
  auto leaf = [&](const PrimExprNode* h) { return Emit(x, h); };
  auto quotient = [&](const PrimExprNode* h) {
    return EmitStep(BinOp::kFloorDiv, div, t, h, leaf);
  };
  if (mod == 0) return quotient(hint);
  if (div == 1) return EmitStep(BinOp::kFloorMod, mod, t, hint, leaf);
  const BinaryNode* h = AsBinary(hint);
  bool divides_last = h && (h->kind() == BinOp::kFloorDiv || h->kind() == BinOp::kShr);
  if (divides_last && !__builtin_mul_overflow(div, mod, &wide) && wide <= MaxValue(t)) {
    auto modulo = [&](const PrimExprNode* h) {
      return EmitStep(BinOp::kFloorMod, wide, t, h, leaf);
    };
    return EmitStep(BinOp::kFloorDiv, div, t, hint, modulo);
  }
  return EmitStep(BinOp::kFloorMod, mod, t, hint, quotient);
}

// ---- sums -----------------------------------------------------------------------------------

/*! |coeff| * part in dtype t. */
PrimExpr Graph::EmitPart(const Plan& plan, Term part, DType t, const PrimExprNode* hint) {
  int64_t k = WrapAbs(part.coeff);
  auto value = [&](const PrimExprNode* h) {
    return part.atom == kGroup ? EmitGroup(plan, t, h) : EmitAs(t, part.atom, h);
  };
  if (k == 1) return value(hint);
  if (IsShiftHint(hint, BinOp::kShl, k)) {
    const BinaryNode* h = AsBinary(hint);
    return Rebuild(BinOp::kShl, value(Left(h)), h->b, hint);
  }
  const BinaryNode* h = AsOp(hint, BinOp::kMul);
  if (h && IsIntHint(Left(h), k, t)) return Rebuild(BinOp::kMul, h->a, value(Right(h)), hint);
  PrimExpr x = value(Left(h));
  return Rebuild(BinOp::kMul, x, ConstantLike(t, k, Right(h)), hint);
}

/*! The terms of a narrower dtype, added there and converted once. */
PrimExpr Graph::EmitGroup(const Plan& plan, DType t, const PrimExprNode* hint) {
  DType own = nodes_[plan.group[0].atom].dtype;
  Plan inner = PlanSum(plan.group.begin(), plan.group.size(), plan.group_base, own, false);
  auto* h = HintAs<CastNode>(hint, ExprKind::kCast);
  PrimExpr v = EmitPlan(inner, own, h ? h->value.get() : nullptr);
  return h && h->dtype == t && v.same_as(h->value) ? GetRef<PrimExpr>(hint) : MakeCast(t, v, span_);
}

namespace {

constexpr Id kConstantStep = -3;

/*! A negative step is subtracted, except the one constant that has no opposite. */
BinOp StepOp(const Term& step, DType t) {
  bool lowest = step.atom == kConstantStep && step.coeff == MinValue(t);
  return step.coeff < 0 && !lowest ? BinOp::kSub : BinOp::kAdd;
}

/*! v modulo 2^bits as a constant of unsigned dtype t; v itself for other dtypes. */
int64_t Wrapped(int64_t v, DType t) {
  return IsUnsigned(t) && t.bits < 63 ? FloorModInt(v, int64_t{1} << t.bits) : v;
}

}  // namespace

/*! The first step carries its own sign; every further step is added or subtracted. */
PrimExpr Graph::EmitFirst(const Plan& plan, Term step, DType t, const PrimExprNode* hint) {
  if (step.atom == kConstantStep) return ConstantLike(t, Wrapped(step.coeff, t), hint);
  if (step.coeff > 0) return EmitPart(plan, step, t, hint);
  const BinaryNode* h = AsOp(hint, BinOp::kMul);
  bool left = h && IsIntHint(Left(h), step.coeff, t);
  Term unit{step.atom, 1};
  PrimExpr x = EmitPart(plan, unit, t, left ? Right(h) : Left(h));
  PrimExpr k = ConstantLike(t, step.coeff, left ? Left(h) : Right(h));
  return left ? Rebuild(BinOp::kMul, k, x, hint) : Rebuild(BinOp::kMul, x, k, hint);
}

PrimExpr Graph::EmitPlan(const Plan& plan, DType t, const PrimExprNode* hint) {
  Terms steps;
  bool leading = plan.parts[0].coeff < 0 && plan.base != 0;
  if (leading) steps.push_back({kConstantStep, plan.base});
  int64_t first = plan.parts[0].coeff;
  bool from_zero = !leading && first < 0 && (IsUnsigned(t) || first == -1);
  if (from_zero) steps.push_back({kConstantStep, 0});
  for (const Term& p : plan.parts) steps.push_back(p);
  if (!leading && plan.base != 0) steps.push_back({kConstantStep, plan.base});
  // The original at each partial sum, from the whole down its left side.
  std::vector<const PrimExprNode*> hints(steps.size(), nullptr);
  hints.back() = hint;
  for (size_t i = steps.size(); i-- > 1;) hints[i - 1] = Left(AsOp(hints[i], StepOp(steps[i], t)));
  PrimExpr sum = EmitFirst(plan, steps[0], t, hints[0]);
  for (size_t i = 1; i < steps.size(); ++i) {
    BinOp op = StepOp(steps[i], t);
    const PrimExprNode* right = Right(AsOp(hints[i], op));
    int64_t k = op == BinOp::kSub ? -steps[i].coeff : steps[i].coeff;
    PrimExpr part = steps[i].atom == kConstantStep ? ConstantLike(t, k, right)
                                                   : EmitPart(plan, steps[i], t, right);
    sum = Rebuild(op, sum, part, hints[i]);
  }
  return sum;
}

PrimExpr Graph::EmitSum(Id id, const PrimExprNode* hint) {
  const Node& n = nodes_[id];
  DType t = n.dtype;
  return EmitPlan(PlanSum(TermsOf(n), n.num_terms, n.value, t, n.narrow), t, hint);
}

}  // namespace arith
}  // namespace tirx
