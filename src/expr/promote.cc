#include "promote.h"

#include <tirx/expr/ops.h>
#include <tirx/support/diag.h>

#include <charconv>
#include <cmath>
#include <string>

namespace tirx {
namespace {

/*! Whether n is a uint64 above INT64_MAX, stored as a negative number. */
bool IsHuge(const IntImmNode* n) { return IsUnsigned(n->dtype) && n->value < 0; }

bool FitsLiteral(const IntImmNode* n, DType t) {
  if (IsUnsigned(t) && t.bits == 64) return n->value >= 0 || IsHuge(n);
  return !IsHuge(n) && n->value >= MinValue(t) && n->value <= MaxValue(t);
}

/*! A signed integer constant adapts to any integer dtype that holds it and to any float dtype. */
bool AdaptIntLiteral(PrimExpr* e, DType t) {
  auto* n = e->as<IntImmNode>();
  if (!n || !IsSigned(n->dtype) || t.lanes != 1) return false;
  if (IsFloat(t)) {
    *e = FloatImm(t, static_cast<double>(n->value));
    return true;
  }
  if (!IsInteger(t) || !FitsLiteral(n, t)) return false;
  *e = IntImm(t, n->value);
  return true;
}

/*! A float32 constant adapts to any other float dtype. */
bool AdaptFloatLiteral(PrimExpr* e, DType t) {
  auto* n = e->as<FloatImmNode>();
  if (!n || !(n->dtype == kFloat32) || !IsFloat(t) || t.lanes != 1) return false;
  *e = FloatImm(t, n->value);
  return true;
}

DType PromoteInts(DType a, DType b) {
  if (IsBool(a)) return b;
  if (IsBool(b)) return a;
  if (a.bits != b.bits) return a.bits > b.bits ? a : b;
  return IsUnsigned(a) ? a : b;
}

bool IsNumber(DType t) { return IsFloat(t) || IsInteger(t) || IsBool(t); }

[[noreturn]] void ThrowMixed(const char* what, DType a, DType b, const Span& span) {
  Diag d("type", "mixed-dtypes", span);
  d.Message(std::string("the operands of ") + what + " have different dtypes")
      .Found(DTypeName(a) + " and " + DTypeName(b))
      .Required("one dtype on both sides");
  if (a.lanes != b.lanes) {
    d.Required("the same number of lanes on both sides");
  } else if (IsNumber(a) && IsNumber(b)) {
    d.Hint("convert one side, for instance x.astype(\"" + DTypeName(a) + "\")");
  }
  d.Throw();
}

bool IntegerLike(DType t) { return IsInteger(t) || IsBool(t); }

/*! The rules for operands with equal lanes. */
void MatchElements(const char* what, PrimExpr* a, PrimExpr* b, const Span& span) {
  DType ta = (*a)->dtype, tb = (*b)->dtype;
  if (ta == tb) return;
  bool a_lit = (*a).as<IntImmNode>() != nullptr, b_lit = (*b).as<IntImmNode>() != nullptr;
  if (b_lit && !a_lit && AdaptIntLiteral(b, ta)) return;
  if (a_lit && !b_lit && AdaptIntLiteral(a, tb)) return;
  if (AdaptFloatLiteral(b, ta) || AdaptFloatLiteral(a, tb)) return;
  if (IntegerLike(ta) && IntegerLike(tb)) {
    DType t = PromoteInts(ta, tb);
    *a = MakeCast(t, *a, span);
    *b = MakeCast(t, *b, span);
  } else if (IntegerLike(ta) && IsFloat(tb)) {
    *a = MakeCast(tb, *a, span);
  } else if (IntegerLike(tb) && IsFloat(ta)) {
    *b = MakeCast(ta, *b, span);
  } else {
    ThrowMixed(what, ta, tb, span);
  }
}

/*! `scalar` meets `vector`: agree on the element, then broadcast. */
void MatchVector(const char* what, PrimExpr* scalar, PrimExpr* vector, const Span& span) {
  PrimExpr element = Var("element", ElementOf((*vector)->dtype));
  int lanes = (*vector)->dtype.lanes;
  MatchElements(what, scalar, &element, span);
  *vector = MakeCast(WithLanes(element->dtype, lanes), *vector, span);
  *scalar = MakeBroadcast(*scalar, lanes, span);
}

[[noreturn]] void ThrowNoValue(const char* what, const Span& span) {
  Diag("type", "no-value", span)
      .Message(std::string("an operand of ") + what + " has no value")
      .Found("a call for its effects")
      .Required("an expression with a value")
      .Throw();
}

}  // namespace

void MatchOperands(const char* what, PrimExpr* a, PrimExpr* b, const Span& span) {
  int la = (*a)->dtype.lanes, lb = (*b)->dtype.lanes;
  if (IsVoid((*a)->dtype) || IsVoid((*b)->dtype)) ThrowNoValue(what, span);
  if (la == lb) return MatchElements(what, a, b, span);
  if (la == 1) return MatchVector(what, a, b, span);
  if (lb == 1) return MatchVector(what, b, a, span);
  ThrowMixed(what, (*a)->dtype, (*b)->dtype, span);
}

PrimExpr AsCondition(PrimExpr e, const Span& span) {
  if (IsBool(e->dtype)) return e;
  if (IsInteger(e->dtype)) return MakeBinary(BinOp::kNE, e, MakeConst(e->dtype, 0), span);
  Diag d("type", "not-a-condition", span);
  d.Message("a condition is needed here")
      .Found("a value of " + DTypeName(e->dtype))
      .Required("bool or an integer");
  if (IsFloat(e->dtype)) d.Hint("compare it, for instance x != 0");
  d.Throw();
}

void CheckIndex(const char* what, const PrimExpr& e, const Span& span) {
  if (IsIndex(e)) return;
  Diag("type", "not-an-index", span)
      .Message(std::string(what) + " must be a scalar integer")
      .Found("a value of " + DTypeName(e->dtype))
      .Required("an integer dtype")
      .Throw();
}

namespace {

double ToDouble(const IntImmNode* n) {
  return IsHuge(n) ? static_cast<double>(static_cast<uint64_t>(n->value))
                   : static_cast<double>(n->value);
}

std::string IntText(const IntImmNode* n) {
  return IsHuge(n) ? std::to_string(static_cast<uint64_t>(n->value)) : std::to_string(n->value);
}

std::string FloatText(double v) {
  char digits[32];
  return std::string(digits, std::to_chars(digits, digits + sizeof(digits), v).ptr);
}

[[noreturn]] void ThrowLiteral(DType t, const std::string& found, const Span& span) {
  bool whole = IsUnsigned(t) && t.bits == 64;
  std::string max = whole ? "18446744073709551615" : std::to_string(MaxValue(t));
  Diag("type", "constant-out-of-range", span)
      .Message("the constant does not fit its dtype")
      .Found(found)
      .Required("a value of " + DTypeName(t) + ", from " + std::to_string(MinValue(t)) + " to " +
                max)
      .Hint("T.cast(value, dtype) converts, and may lose information")
      .Throw();
}

PrimExpr IntLiteral(DType t, const IntImmNode* n, const Span& span) {
  if (IsBool(t)) return IntImm(t, n->value != 0);
  if (IsFloat(t)) return FloatImm(t, ToDouble(n));
  if (!FitsLiteral(n, t)) ThrowLiteral(t, IntText(n), span);
  return IntImm(t, n->value);
}

PrimExpr FloatLiteral(DType t, const FloatImmNode* n, const Span& span) {
  if (IsFloat(t)) return FloatImm(t, n->value);
  double v = n->value;
  bool whole = std::abs(v) < 9e15 && v == std::floor(v);
  if (!whole || static_cast<int64_t>(v) < MinValue(t) || static_cast<int64_t>(v) > MaxValue(t)) {
    ThrowLiteral(t, FloatText(v), span);
  }
  return IntImm(t, static_cast<int64_t>(v));
}

}  // namespace

PrimExpr MakeLiteral(DType t, PrimExpr value, Span span) {
  if (t.lanes > 1 && value->dtype.lanes == 1) {
    return MakeBroadcast(MakeLiteral(ElementOf(t), value, span), t.lanes, span);
  }
  bool number = IsNumber(t);
  if (auto* n = value.as<IntImmNode>(); n && number) return IntLiteral(t, n, span);
  if (auto* n = value.as<FloatImmNode>(); n && number) return FloatLiteral(t, n, span);
  return MakeCast(t, value, span);
}

PrimExpr ConvertTo(DType t, PrimExpr value, Span span) {
  DType element = ElementOf(t);
  if (AdaptIntLiteral(&value, element)) return MakeCast(t, value, span);
  AdaptFloatLiteral(&value, element);
  return MakeCast(t, value, span);
}

}  // namespace tirx
