/*!
 * Constant folding on integers, computed in 128 bits so that one rule serves every dtype.
 */
#include "fold.h"

#include <tirx/expr/ops.h>

#include <limits>

namespace tirx {

int64_t FloorDivInt(int64_t a, int64_t b) {
  int64_t q = a / b;
  return (a % b != 0 && (a % b < 0) != (b < 0)) ? q - 1 : q;
}

int64_t FloorModInt(int64_t a, int64_t b) {
  int64_t r = a % b;
  return (r != 0 && (r < 0) != (b < 0)) ? r + b : r;
}

namespace {

using Wide = __int128;

Wide Widen(DType t, int64_t v) {
  return IsUnsigned(t) ? static_cast<Wide>(static_cast<uint64_t>(v)) : static_cast<Wide>(v);
}

bool FitsInt(DType t, Wide v) {
  Wide max = IsUnsigned(t) ? (Wide{1} << t.bits) - 1 : Wide{MaxValue(t)};
  return v >= Wide{MinValue(t)} && v <= max;
}

std::optional<Wide> FoldDivision(BinOp op, Wide a, Wide b) {
  if (b == 0) return std::nullopt;
  Wide q = a / b, r = a % b;
  bool round_down = r != 0 && (r < 0) != (b < 0);
  switch (op) {
    case BinOp::kFloorDiv: return round_down ? q - 1 : q;
    case BinOp::kFloorMod: return round_down ? r + b : r;
    case BinOp::kTruncDiv: return q;
    default: return r;
  }
}

std::optional<Wide> FoldShift(BinOp op, DType t, Wide a, Wide b) {
  if (b < 0 || b >= t.bits) return std::nullopt;
  if (op == BinOp::kShr) return a >> static_cast<int>(b);
  Wide out;
  if (__builtin_mul_overflow(a, Wide{1} << static_cast<int>(b), &out)) return std::nullopt;
  return out;
}

std::optional<Wide> FoldWide(BinOp op, DType t, Wide a, Wide b) {
  Wide product;
  switch (op) {
    case BinOp::kAdd: return a + b;
    case BinOp::kSub: return a - b;
    case BinOp::kMul:
      if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
      return product;
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
  auto v = FoldWide(op, t, Widen(t, a), Widen(t, b));
  if (!v || (!IsComparison(op) && !IsLogical(op) && !FitsInt(t, *v))) return std::nullopt;
  return static_cast<int64_t>(*v);
}

int64_t WrapInt(DType from, DType to, int64_t v) {
  if (IsBool(to)) return v != 0;
  if (to.bits >= 64) return v;
  int unused = 64 - to.bits;
  uint64_t high = static_cast<uint64_t>(Widen(from, v)) << unused;
  return IsSigned(to) ? static_cast<int64_t>(high) >> unused : static_cast<int64_t>(high >> unused);
}

namespace {

bool IsDivision(BinOp op) { return op >= BinOp::kFloorDiv && op <= BinOp::kTruncMod; }

bool MayDivideByZero(const BinaryNode* n) {
  if (!IsDivision(n->kind())) return false;
  const auto* divisor = n->b.as<IntImmNode>();
  if (auto* wide = n->b.as<BroadcastNode>()) divisor = wide->value.as<IntImmNode>();
  return divisor == nullptr || divisor->value == 0;
}

bool CallMayHaveEffect(const CallNode* n) {
  if (!IsPureIntrinsic(n->op)) return true;
  for (const PrimExpr& arg : n->args) {
    if (MayHaveEffect(arg)) return true;
  }
  return false;
}

}  // namespace

bool MayHaveEffect(const PrimExpr& e) {
  switch (KindOf(e)) {
    case ExprKind::kVar:
    case ExprKind::kIntImm:
    case ExprKind::kFloatImm:
    case ExprKind::kStringImm: return false;
    case ExprKind::kCall: return CallMayHaveEffect(e.as<CallNode>());
    case ExprKind::kNot: return MayHaveEffect(e.as<NotNode>()->a);
    case ExprKind::kCast: return MayHaveEffect(e.as<CastNode>()->value);
    case ExprKind::kBroadcast: return MayHaveEffect(e.as<BroadcastNode>()->value);
    case ExprKind::kRamp:
      return MayHaveEffect(e.as<RampNode>()->base) || MayHaveEffect(e.as<RampNode>()->stride);
    case ExprKind::kBinary: {
      auto* n = e.as<BinaryNode>();
      return MayDivideByZero(n) || MayHaveEffect(n->a) || MayHaveEffect(n->b);
    }
    case ExprKind::kSelect: {
      auto* n = e.as<SelectNode>();
      return MayHaveEffect(n->cond) || MayHaveEffect(n->true_value) ||
             MayHaveEffect(n->false_value);
    }
    case ExprKind::kOther: return true;
  }
  return true;
}

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
    default: break;
  }
  return std::nullopt;
}

std::optional<PrimExpr> FoldCast(DType t, const PrimExpr& value) {
  auto* n = value.as<IntImmNode>();
  if (n == nullptr || t.lanes != 1) return std::nullopt;
  if (IsInteger(t) || IsBool(t)) return IntImm(t, WrapInt(n->dtype, t, n->value));
  constexpr int64_t kExact = int64_t{1} << 53;
  auto v = AsInt(value);
  if (!IsFloat(t) || !v || *v < -kExact || *v > kExact) return std::nullopt;
  return FloatImm(t, static_cast<double>(*v));
}

}  // namespace tirx
