#include <tirx/expr/ops.h>
#include <tirx/support/diag.h>

#include <limits>
#include <string>
#include <unordered_set>

#include "fold.h"
#include "promote.h"

namespace tirx {

void ExprMeasure::Finish(PrimExprNode* node, const Span& span) const {
  node->depth = depth_ + 1;
  if (node->depth > kMaxExprDepth) {
    Diag("type", "expression-too-deep", span)
        .Message("this expression is nested too deeply")
        .Found("a tree " + std::to_string(node->depth) + " levels deep")
        .Required("at most " + std::to_string(kMaxExprDepth) + " levels")
        .Hint("name intermediate values with `x: T.let = ...`, or accumulate into a scalar")
        .Throw();
  }
  if (size_ > kMaxExprSize) {
    Diag("type", "expression-too-large", span)
        .Message("this expression is too large")
        .Found("a tree of " + std::to_string(size_) + " nodes, a shared part counted at each use")
        .Required("at most " + std::to_string(kMaxExprSize) + " nodes")
        .Hint("name intermediate values with `x: T.let = ...`")
        .Throw();
  }
  node->size = static_cast<int32_t>(size_);
}

namespace {

/*! What can neither be printed nor stored. */
void CheckKeepable(const ffi::Any& value, const Span& span) {
  static const std::unordered_set<std::string> refused = {
      "ffi.BigInt", "ffi.Function", "ffi.Module", "ffi.Tensor", "ffi.OpaquePyObject"};
  if (refused.count(value.GetTypeKey()) == 0) return;
  Diag("type", "bad-value", span)
      .Message("an attribute cannot hold this value")
      .Found("a value of type " + value.GetTypeKey())
      .Required("None, bools, 64-bit integers, floats, strings, IR, and lists and dicts of those")
      .Throw();
}

}  // namespace

void ExprMeasure::AddValue(const ffi::Any& value, const Span& span, int32_t level) {
  if (level > kMaxValueDepth) {
    Diag("type", "value-too-deep", span)
        .Message("an attribute's value is nested too deeply")
        .Found("lists or dicts in each other, more than " + std::to_string(kMaxValueDepth))
        .Required("at most " + std::to_string(kMaxValueDepth) + " levels")
        .Throw();
  }
  if (value.as<PrimExprNode>()) {
    Add(value.cast<PrimExpr>(), level);
  } else if (value.as<ffi::ArrayObj>()) {
    for (const ffi::Any& v : value.cast<ffi::Array<ffi::Any>>()) AddValue(v, span, level + 1);
  } else if (value.as<ffi::MapObj>()) {
    for (const auto& [k, v] : value.cast<ffi::Map<ffi::Any, ffi::Any>>()) {
      AddValue(v, span, level + 1);
    }
  } else if (value.type_index() >= ffi::TypeIndex::kTVMFFIStaticObjectBegin) {
    CheckKeepable(value, span);
  }
}

void CheckValue(const ffi::Any& value, const Span& span) { ExprMeasure().AddValue(value, span); }

PrimExpr MakeConst(DType t, int64_t value) {
  DType e = ElementOf(t);
  PrimExpr c =
      IsFloat(e) ? PrimExpr(FloatImm(e, static_cast<double>(value))) : PrimExpr(IntImm(e, value));
  return t.lanes == 1 ? c : MakeBroadcast(c, t.lanes);
}

namespace {

bool IsShift(BinOp op) { return op == BinOp::kShl || op == BinOp::kShr; }

/*! Operators that a bool has of its own; for the others it is the integer 0 or 1, as in Python. */
bool KeepsBool(BinOp op) {
  return IsLogical(op) || IsComparison(op) || op == BinOp::kMin || op == BinOp::kMax ||
         (op >= BinOp::kBitAnd && !IsShift(op));
}

void CheckOperator(BinOp op, DType t, const Span& span) {
  bool bits = op >= BinOp::kBitAnd || op == BinOp::kFloorMod || op == BinOp::kTruncMod;
  bool ok = IsInteger(t) || IsBool(t) || (IsFloat(t) && !bits) ||
            (IsHandle(t) && (op == BinOp::kEQ || op == BinOp::kNE));
  if (ok) return;
  Diag("type", "operator-not-defined", span)
      .Message(std::string("operator ") + BinOpName(op) + " is not defined for this dtype")
      .Found(DTypeName(t))
      .Required(bits ? "an integer dtype" : "an integer or float dtype")
      .Throw();
}

[[noreturn]] void ThrowDivision(DType t, const Span& span) {
  Diag("type", "ambiguous-division", span)
      .Message("`/` on integers is not defined: Python and C disagree about it")
      .Found("operands of " + DTypeName(t))
      .Required("a float operand, or an integer division by name")
      .Hint("use a // b, T.truncdiv(a, b), or convert one side to a float dtype")
      .Throw();
}

PrimExpr NewBinary(BinOp op, DType result, PrimExpr a, PrimExpr b, Span span) {
  auto n = ffi::make_object<BinaryNode>();
  ExprMeasure measure;
  measure.Add(a);
  measure.Add(b);
  measure.Finish(n.get(), span);
  n->dtype = result;
  n->op = static_cast<int32_t>(op);
  n->a = std::move(a);
  n->b = std::move(b);
  n->span = std::move(span);
  return Binary(std::move(n));
}

/*! Conditions for `and`/`or`, one dtype on both sides, integers for bool arithmetic. */
void PrepareOperands(BinOp op, PrimExpr* a, PrimExpr* b, const Span& span) {
  if (IsLogical(op)) {
    *a = AsCondition(*a, span);
    *b = AsCondition(*b, span);
  }
  MatchOperands(BinOpName(op), a, b, span);
  DType t = (*a)->dtype;
  if (IsBool(t) && !KeepsBool(op)) {
    *a = MakeCast(WithLanes(kInt32, t.lanes), *a, span);
    *b = MakeCast(WithLanes(kInt32, t.lanes), *b, span);
  }
}

}  // namespace

PrimExpr MakeBinary(BinOp op, PrimExpr a, PrimExpr b, Span span) {
  PrepareOperands(op, &a, &b, span);
  DType t = a->dtype, element = ElementOf(t);
  CheckOperator(op, element, span);
  if (op == BinOp::kDiv && IsInteger(element)) ThrowDivision(t, span);
  if (op == BinOp::kFloorDiv && IsFloat(element)) {
    return Call(t, "tx.floor", {MakeBinary(BinOp::kDiv, a, b, span)}, {}, span);
  }
  DType result = IsComparison(op) || IsLogical(op) ? WithLanes(kBool, t.lanes) : t;
  auto* ca = a.as<IntImmNode>();
  auto* cb = b.as<IntImmNode>();
  if (ca && cb) {
    if (auto v = FoldInt(op, t, ca->value, cb->value)) return IntImm(result, *v);
  }
  if (auto folded = FoldIdentity(op, a, b)) return *folded;
  return NewBinary(op, result, std::move(a), std::move(b), std::move(span));
}

PrimExpr MakeNot(PrimExpr a, Span span) {
  a = AsCondition(a, span);
  if (auto v = AsInt(a)) return IntImm(kBool, *v == 0);
  if (auto* inner = a.as<NotNode>()) return inner->a;
  auto n = ffi::make_object<NotNode>();
  ExprMeasure measure;
  measure.Add(a);
  measure.Finish(n.get(), span);
  n->dtype = a->dtype;
  n->a = std::move(a);
  n->span = std::move(span);
  return Not(std::move(n));
}

namespace {

void CheckSelectLanes(const PrimExpr& cond, PrimExpr* t, PrimExpr* f, const Span& span) {
  int lanes = cond->dtype.lanes;
  if (lanes == 1 || lanes == (*t)->dtype.lanes) return;
  if ((*t)->dtype.lanes != 1) {
    Diag("type", "mixed-lanes", span)
        .Message("the condition and the values of a select have different lanes")
        .Found(DTypeName(cond->dtype) + " and " + DTypeName((*t)->dtype))
        .Required("a scalar condition, or one lane of condition per lane of value")
        .Throw();
  }
  *t = MakeBroadcast(*t, lanes, span);
  *f = MakeBroadcast(*f, lanes, span);
}

}  // namespace

PrimExpr MakeSelect(PrimExpr cond, PrimExpr t, PrimExpr f, Span span) {
  cond = AsCondition(cond, span);
  MatchOperands("select", &t, &f, span);
  if (auto v = AsInt(cond)) return *v ? t : f;
  CheckSelectLanes(cond, &t, &f, span);
  auto n = ffi::make_object<SelectNode>();
  ExprMeasure measure;
  measure.Add(cond);
  measure.Add(t);
  measure.Add(f);
  measure.Finish(n.get(), span);
  n->dtype = t->dtype;
  n->cond = std::move(cond);
  n->true_value = std::move(t);
  n->false_value = std::move(f);
  n->span = std::move(span);
  return Select(std::move(n));
}

namespace {

void CheckCast(DType from, DType to, const Span& span) {
  bool numbers = !IsHandle(from) && !IsHandle(to) && !IsVoid(from) && !IsVoid(to);
  if (numbers && from.lanes == to.lanes) return;
  Diag d("type", "no-such-cast", span);
  d.Message("there is no conversion between these dtypes")
      .Found(DTypeName(from) + " to " + DTypeName(to))
      .Required("numbers with the same number of lanes");
  if (IsHandle(from) || IsHandle(to)) d.Hint("T.reinterpret keeps the bits of a pointer");
  d.Throw();
}

}  // namespace

PrimExpr MakeCast(DType t, PrimExpr value, Span span) {
  if (value->dtype == t) return value;
  if (value->dtype.lanes == 1 && t.lanes > 1) {
    return MakeBroadcast(MakeCast(ElementOf(t), value, span), t.lanes, span);
  }
  CheckCast(value->dtype, t, span);
  if (auto* wide = value.as<BroadcastNode>()) {
    return MakeBroadcast(MakeCast(ElementOf(t), wide->value, span), wide->lanes, span);
  }
  if (auto folded = FoldCast(t, value)) return *folded;
  auto n = ffi::make_object<CastNode>();
  ExprMeasure measure;
  measure.Add(value);
  measure.Finish(n.get(), span);
  n->dtype = t;
  n->value = std::move(value);
  n->span = std::move(span);
  return Cast(std::move(n));
}

namespace {

void CheckLanes(const PrimExpr& element, int lanes, const Span& span) {
  constexpr int kMaxLanes = std::numeric_limits<uint16_t>::max();
  bool scalar = element->dtype.lanes == 1 && !IsVoid(element->dtype);
  if (scalar && lanes >= 1 && lanes <= kMaxLanes) return;
  Diag("type", "bad-vector", span)
      .Message("a vector is made of a scalar and a number of lanes")
      .Found(std::to_string(lanes) + " lanes of " + DTypeName(element->dtype))
      .Required("1 to 65535 lanes of a scalar")
      .Throw();
}

}  // namespace

PrimExpr MakeRamp(PrimExpr base, PrimExpr stride, int lanes, Span span) {
  CheckIndex("the base of a ramp", base, span);
  CheckIndex("the stride of a ramp", stride, span);
  CheckLanes(base, lanes, span);
  MatchOperands("ramp", &base, &stride, span);
  if (lanes == 1) return base;
  auto n = ffi::make_object<RampNode>();
  ExprMeasure measure;
  measure.Add(base);
  measure.Add(stride);
  measure.Finish(n.get(), span);
  n->dtype = WithLanes(base->dtype, lanes);
  n->lanes = lanes;
  n->base = std::move(base);
  n->stride = std::move(stride);
  n->span = std::move(span);
  return Ramp(std::move(n));
}

PrimExpr MakeBroadcast(PrimExpr value, int lanes, Span span) {
  CheckLanes(value, lanes, span);
  if (lanes == 1) return value;
  auto n = ffi::make_object<BroadcastNode>();
  ExprMeasure measure;
  measure.Add(value);
  measure.Finish(n.get(), span);
  n->dtype = WithLanes(value->dtype, lanes);
  n->lanes = lanes;
  n->value = std::move(value);
  n->span = std::move(span);
  return Broadcast(std::move(n));
}

bool IsPureIntrinsic(const ffi::String& op) {
  static const std::unordered_set<std::string> pure = {"tx.exp",
                                                       "tx.exp2",
                                                       "tx.log",
                                                       "tx.log2",
                                                       "tx.sqrt",
                                                       "tx.rsqrt",
                                                       "tx.sin",
                                                       "tx.cos",
                                                       "tx.tanh",
                                                       "tx.erf",
                                                       "tx.abs",
                                                       "tx.floor",
                                                       "tx.ceil",
                                                       "tx.round",
                                                       "tx.trunc",
                                                       "tx.pow",
                                                       "tx.fma",
                                                       "tx.bitwise_not",
                                                       "tx.popcount",
                                                       "tx.clz",
                                                       "tx.reinterpret",
                                                       "tx.filter_range",
                                                       "tx.thread_index",
                                                       "tx.cta_index",
                                                       "tx.cta_extent",
                                                       "tx.cluster_cta_index",
                                                       "tx.cluster_cta_rank",
                                                       "tx.address_of"};
  return pure.count(std::string(op)) != 0;
}

}  // namespace tirx
