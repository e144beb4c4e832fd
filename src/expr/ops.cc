#include <tirx/expr/ops.h>
#include <tirx/support/diag.h>

#include <limits>
#include <string>
#include <unordered_set>

namespace tirx {

void CheckExprDepth(int32_t depth, const Span& span) {
  if (depth <= kMaxExprDepth) return;
  Diag("type", "expression-too-deep", span)
      .Message("this expression is nested too deeply")
      .Found("a tree " + std::to_string(depth) + " levels deep")
      .Required("at most " + std::to_string(kMaxExprDepth) + " levels")
      .Hint("name intermediate values with `x: T.let = ...`, or accumulate into a scalar")
      .Throw();
}

int64_t FloorDivInt(int64_t a, int64_t b) {
  int64_t q = a / b;
  return (a % b != 0 && (a % b < 0) != (b < 0)) ? q - 1 : q;
}

int64_t FloorModInt(int64_t a, int64_t b) {
  int64_t r = a % b;
  return (r != 0 && (r < 0) != (b < 0)) ? r + b : r;
}

namespace {

bool FitsInt(DType t, int64_t v) { return v >= MinValue(t) && v <= MaxValue(t); }

std::optional<int64_t> FoldDivision(BinOp op, int64_t a, int64_t b) {
  if (b == 0 || (b == -1 && a == std::numeric_limits<int64_t>::min())) return std::nullopt;
  switch (op) {
    case BinOp::kFloorDiv: return FloorDivInt(a, b);
    case BinOp::kFloorMod: return FloorModInt(a, b);
    case BinOp::kTruncDiv: return a / b;
    default: return a % b;
  }
}

std::optional<int64_t> FoldShift(BinOp op, DType t, int64_t a, int64_t b) {
  if (b < 0 || b >= t.bits) return std::nullopt;
  if (op == BinOp::kShr) return a >> b;
  int64_t out;
  if (b == 63 || __builtin_mul_overflow(a, int64_t{1} << b, &out)) return std::nullopt;
  return out;
}

std::optional<int64_t> FoldRaw(BinOp op, DType t, int64_t a, int64_t b) {
  int64_t out = 0;
  switch (op) {
    case BinOp::kAdd: return __builtin_add_overflow(a, b, &out) ? std::nullopt : std::optional(out);
    case BinOp::kSub: return __builtin_sub_overflow(a, b, &out) ? std::nullopt : std::optional(out);
    case BinOp::kMul: return __builtin_mul_overflow(a, b, &out) ? std::nullopt : std::optional(out);
    case BinOp::kFloorDiv:
    case BinOp::kFloorMod:
    case BinOp::kTruncDiv:
    case BinOp::kTruncMod: return FoldDivision(op, a, b);
    case BinOp::kMin: return std::min(a, b);
    case BinOp::kMax: return std::max(a, b);
    case BinOp::kEQ: return a == b;
    case BinOp::kNE: return a != b;
    case BinOp::kLT: return a < b;
    case BinOp::kLE: return a <= b;
    case BinOp::kGT: return a > b;
    case BinOp::kGE: return a >= b;
    case BinOp::kAnd: return a != 0 && b != 0;
    case BinOp::kOr: return a != 0 || b != 0;
    case BinOp::kBitAnd: return a & b;
    case BinOp::kBitOr: return a | b;
    case BinOp::kBitXor: return a ^ b;
    case BinOp::kShl:
    case BinOp::kShr: return FoldShift(op, t, a, b);
    case BinOp::kDiv: return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::optional<int64_t> FoldInt(BinOp op, DType t, int64_t a, int64_t b) {
  if (IsUnsigned(t) && t.bits == 64 && (a < 0 || b < 0)) return std::nullopt;
  auto v = FoldRaw(op, t, a, b);
  if (v && !IsComparison(op) && !IsLogical(op) && !FitsInt(t, *v)) return std::nullopt;
  return v;
}

PrimExpr MakeConst(DType t, int64_t value) {
  DType e = ElementOf(t);
  PrimExpr c = IsFloat(e) ? PrimExpr(FloatImm(e, static_cast<double>(value)))
                          : PrimExpr(IntImm(e, value));
  return t.lanes == 1 ? c : MakeBroadcast(c, t.lanes);
}

namespace {

/*! An int32/int64 constant adapts to any integer or float dtype that can hold it. */
bool AdaptLiteral(PrimExpr* e, DType t) {
  auto* n = e->as<IntImmNode>();
  if (!n || !IsSigned(n->dtype)) return false;
  DType elem = ElementOf(t);
  if (IsFloat(elem)) {
    *e = FloatImm(elem, static_cast<double>(n->value));
    return true;
  }
  if (!IsInteger(elem) || n->value < MinValue(elem) || n->value > MaxValue(elem)) return false;
  *e = IntImm(elem, n->value);
  return true;
}

/*! A float32 literal adapts to any other float dtype. */
bool AdaptFloatLiteral(PrimExpr* e, DType t) {
  auto* n = e->as<FloatImmNode>();
  if (!n || !(n->dtype == kFloat32) || !IsFloat(t)) return false;
  *e = FloatImm(ElementOf(t), n->value);
  return true;
}

DType PromoteInts(DType a, DType b) {
  if (IsBool(a)) return b;
  if (IsBool(b)) return a;
  if (a.bits != b.bits) return a.bits > b.bits ? a : b;
  return IsUnsigned(a) ? a : b;
}

[[noreturn]] void ThrowMixed(const char* what, DType a, DType b, const Span& span) {
  Diag("type", "mixed-dtypes", span)
      .Message(std::string("the operands of ") + what + " have different dtypes")
      .Found(DTypeName(a) + " and " + DTypeName(b))
      .Required("one dtype on both sides")
      .Hint("convert one side, for instance x.astype(\"" + DTypeName(a) + "\")")
      .Throw();
}

/*! Applies the literal and promotion rules to scalars of different dtype. */
void MatchScalars(const char* what, PrimExpr* a, PrimExpr* b, const Span& span) {
  DType ta = (*a)->dtype, tb = (*b)->dtype;
  if (ta == tb) return;
  bool a_lit = (*a).as<IntImmNode>() != nullptr, b_lit = (*b).as<IntImmNode>() != nullptr;
  if (b_lit && !a_lit && AdaptLiteral(b, ta)) return;
  if (a_lit && !b_lit && AdaptLiteral(a, tb)) return;
  if (AdaptFloatLiteral(b, ta) || AdaptFloatLiteral(a, tb)) return;
  bool ia = IsInteger(ta) || IsBool(ta), ib = IsInteger(tb) || IsBool(tb);
  if (ia && ib) {
    DType t = PromoteInts(ta, tb);
    *a = MakeCast(t, *a, span);
    *b = MakeCast(t, *b, span);
    return;
  }
  if (ia && IsFloat(tb)) {
    *a = MakeCast(tb, *a, span);
  } else if (ib && IsFloat(ta)) {
    *b = MakeCast(ta, *b, span);
  } else {
    ThrowMixed(what, ta, tb, span);
  }
}

void MatchOperands(const char* what, PrimExpr* a, PrimExpr* b, const Span& span) {
  int la = (*a)->dtype.lanes, lb = (*b)->dtype.lanes;
  if (la == lb && la == 1) return MatchScalars(what, a, b, span);
  if (la == 1) {
    PrimExpr probe = MakeConst(ElementOf((*b)->dtype), 0);
    MatchScalars(what, a, &probe, span);
    *a = MakeBroadcast(*a, lb, span);
  } else if (lb == 1) {
    PrimExpr probe = MakeConst(ElementOf((*a)->dtype), 0);
    MatchScalars(what, b, &probe, span);
    *b = MakeBroadcast(*b, la, span);
  }
  if ((*a)->dtype != (*b)->dtype) ThrowMixed(what, (*a)->dtype, (*b)->dtype, span);
}

bool MayHaveEffect(const PrimExpr& e) {
  if (auto* n = e.as<CallNode>()) {
    if (!IsPureIntrinsic(n->op)) return true;
    for (const PrimExpr& arg : n->args) {
      if (MayHaveEffect(arg)) return true;
    }
    return false;
  }
  if (auto* n = e.as<BinaryNode>()) return MayHaveEffect(n->a) || MayHaveEffect(n->b);
  if (auto* n = e.as<CastNode>()) return MayHaveEffect(n->value);
  if (auto* n = e.as<SelectNode>()) {
    return MayHaveEffect(n->cond) || MayHaveEffect(n->true_value) || MayHaveEffect(n->false_value);
  }
  if (auto* n = e.as<NotNode>()) return MayHaveEffect(n->a);
  return !(e.as<VarNode>() || e.as<IntImmNode>() || e.as<FloatImmNode>());
}

/*! x op constant, constant op x: identities that hold for every x. */
std::optional<PrimExpr> FoldIdentity(BinOp op, const PrimExpr& a, const PrimExpr& b) {
  auto ca = AsInt(a), cb = AsInt(b);
  bool integer = IsInteger(a->dtype);
  switch (op) {
    case BinOp::kAdd:
      if (cb == 0 && integer) return a;
      if (ca == 0 && integer) return b;
      break;
    case BinOp::kSub:
      if (cb == 0 && integer) return a;
      break;
    case BinOp::kMul:
      if (cb == 1 && integer) return a;
      if (ca == 1 && integer) return b;
      if (cb == 0 && integer && !MayHaveEffect(a)) return b;
      if (ca == 0 && integer && !MayHaveEffect(b)) return a;
      break;
    case BinOp::kFloorDiv:
    case BinOp::kTruncDiv:
      if (cb == 1) return a;
      break;
    case BinOp::kFloorMod:
    case BinOp::kTruncMod:
      if (cb == 1 && !MayHaveEffect(a)) return MakeConst(a->dtype, 0);
      break;
    case BinOp::kAnd:
      if (ca) return *ca ? b : a;
      if (cb == 1) return a;
      break;
    case BinOp::kOr:
      if (ca) return *ca ? a : b;
      if (cb == 0) return a;
      break;
    default:
      break;
  }
  return std::nullopt;
}

PrimExpr AsCondition(PrimExpr e, const Span& span) {
  if (IsBool(e->dtype)) return e;
  if (IsInteger(e->dtype)) return MakeBinary(BinOp::kNE, e, MakeConst(e->dtype, 0), span);
  Diag("type", "not-a-condition", span)
      .Message("a condition is needed here")
      .Found("a value of " + DTypeName(e->dtype))
      .Required("bool or an integer")
      .Throw();
}

void CheckOperator(BinOp op, DType t, const Span& span) {
  bool bits = op >= BinOp::kBitAnd || op == BinOp::kFloorMod || op == BinOp::kTruncMod;
  bool ok = IsInteger(t) || (IsBool(t) && (op >= BinOp::kEQ || op == BinOp::kMin ||
                                           op == BinOp::kMax)) ||
            (IsFloat(t) && !bits) || (IsHandle(t) && (op == BinOp::kEQ || op == BinOp::kNE));
  if (ok) return;
  Diag("type", "operator-not-defined", span)
      .Message(std::string("operator ") + BinOpName(op) + " is not defined for this dtype")
      .Found(DTypeName(t))
      .Required(bits ? "an integer dtype" : "an integer or float dtype")
      .Throw();
}

}  // namespace

PrimExpr MakeBinary(BinOp op, PrimExpr a, PrimExpr b, Span span) {
  if (IsLogical(op)) {
    a = AsCondition(a, span);
    b = AsCondition(b, span);
  }
  MatchOperands(BinOpName(op), &a, &b, span);
  if (IsBool(a->dtype) && !IsLogical(op) && !IsComparison(op) && op < BinOp::kBitAnd &&
      op != BinOp::kMin && op != BinOp::kMax) {
    a = MakeCast(WithLanes(kInt32, a->dtype.lanes), a, span);
    b = MakeCast(WithLanes(kInt32, b->dtype.lanes), b, span);
  }
  DType t = a->dtype;
  CheckOperator(op, ElementOf(t), span);
  if (op == BinOp::kDiv && IsInteger(ElementOf(t))) op = BinOp::kTruncDiv;
  if (op == BinOp::kFloorDiv && IsFloat(ElementOf(t))) {
    return Call(t, "tx.floor", {MakeBinary(BinOp::kDiv, a, b, span)}, {}, span);
  }
  DType result = IsComparison(op) || IsLogical(op) ? WithLanes(kBool, t.lanes) : t;
  if (auto ca = AsInt(a), cb = AsInt(b); ca && cb) {
    if (auto v = FoldInt(op, t, *ca, *cb)) return IntImm(result, *v);
  }
  if (auto folded = FoldIdentity(op, a, b)) return *folded;
  auto n = ffi::make_object<BinaryNode>();
  n->dtype = result;
  n->op = static_cast<int32_t>(op);
  n->depth = std::max(a->depth, b->depth) + 1;
  CheckExprDepth(n->depth, span);
  n->a = std::move(a);
  n->b = std::move(b);
  n->span = std::move(span);
  return Binary(std::move(n));
}

PrimExpr MakeNot(PrimExpr a, Span span) {
  a = AsCondition(a, span);
  if (auto v = AsInt(a)) return IntImm(kBool, *v == 0);
  if (auto* inner = a.as<NotNode>()) return inner->a;
  auto n = ffi::make_object<NotNode>();
  n->dtype = a->dtype;
  n->depth = a->depth + 1;
  CheckExprDepth(n->depth, span);
  n->a = std::move(a);
  n->span = std::move(span);
  return Not(std::move(n));
}

PrimExpr MakeSelect(PrimExpr cond, PrimExpr t, PrimExpr f, Span span) {
  cond = AsCondition(cond, span);
  MatchOperands("select", &t, &f, span);
  if (auto v = AsInt(cond)) return *v ? t : f;
  auto n = ffi::make_object<SelectNode>();
  n->dtype = t->dtype;
  n->depth = std::max({cond->depth, t->depth, f->depth}) + 1;
  CheckExprDepth(n->depth, span);
  n->cond = std::move(cond);
  n->true_value = std::move(t);
  n->false_value = std::move(f);
  n->span = std::move(span);
  return Select(std::move(n));
}

namespace {

/*! A constant converted to scalar dtype t, when the conversion is exact or defined. */
std::optional<PrimExpr> FoldCast(DType t, const PrimExpr& value) {
  if (t.lanes != 1) return std::nullopt;
  if (auto* n = value.as<IntImmNode>()) {
    if (IsBool(t)) return IntImm(t, n->value != 0);
    bool unsigned64 = IsUnsigned(n->dtype) && n->dtype.bits == 64 && n->value < 0;
    if (unsigned64) return std::nullopt;
    if (IsInteger(t) && FitsInt(t, n->value)) return IntImm(t, n->value);
    bool exact = n->value >= -(int64_t{1} << 53) && n->value <= (int64_t{1} << 53);
    if (IsFloat(t) && exact) return FloatImm(t, static_cast<double>(n->value));
    return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

PrimExpr MakeCast(DType t, PrimExpr value, Span span) {
  if (value->dtype == t) return value;
  if (value->dtype.lanes == 1 && t.lanes > 1) {
    return MakeBroadcast(MakeCast(ElementOf(t), value, span), t.lanes, span);
  }
  if (value->dtype.lanes != t.lanes) ThrowMixed("cast", value->dtype, t, span);
  if (auto folded = FoldCast(t, value)) return *folded;
  auto n = ffi::make_object<CastNode>();
  n->dtype = t;
  n->depth = value->depth + 1;
  CheckExprDepth(n->depth, span);
  n->value = std::move(value);
  n->span = std::move(span);
  return Cast(std::move(n));
}

PrimExpr MakeRamp(PrimExpr base, PrimExpr stride, int lanes, Span span) {
  MatchScalars("ramp", &base, &stride, span);
  if (lanes == 1) return base;
  auto n = ffi::make_object<RampNode>();
  n->dtype = WithLanes(base->dtype, lanes);
  n->lanes = lanes;
  n->depth = std::max(base->depth, stride->depth) + 1;
  CheckExprDepth(n->depth, span);
  n->base = std::move(base);
  n->stride = std::move(stride);
  n->span = std::move(span);
  return Ramp(std::move(n));
}

PrimExpr MakeBroadcast(PrimExpr value, int lanes, Span span) {
  if (lanes == 1) return value;
  auto n = ffi::make_object<BroadcastNode>();
  n->dtype = WithLanes(value->dtype, lanes);
  n->lanes = lanes;
  n->depth = value->depth + 1;
  CheckExprDepth(n->depth, span);
  n->value = std::move(value);
  n->span = std::move(span);
  return Broadcast(std::move(n));
}

bool IsPureIntrinsic(const ffi::String& op) {
  static const std::unordered_set<std::string> pure = {
      "tx.exp",   "tx.exp2",        "tx.log",          "tx.log2",
      "tx.sqrt",  "tx.rsqrt",       "tx.sin",          "tx.cos",
      "tx.tanh",  "tx.erf",         "tx.abs",          "tx.floor",
      "tx.ceil",  "tx.round",       "tx.trunc",        "tx.pow",
      "tx.fma",   "tx.bitwise_not", "tx.popcount",     "tx.clz",
      "tx.reinterpret", "tx.filter_range", "tx.thread_index", "tx.cta_index", "tx.cta_extent",
      "tx.cluster_cta_index", "tx.cluster_cta_rank", "tx.address_of"};
  return pure.count(std::string(op)) != 0;
}

}  // namespace tirx
