/*!
 * Scalar expressions.
 */
#include <tirx/expr/ops.h>
#include <tirx/support/diag.h>

#include "cuda_printer.h"
#include "types.h"

namespace tirx {
namespace codegen {
namespace {

/*! Strength of an infix operator, or -1 when it has no C spelling of its own. */
int StrengthOf(BinOp op) {
  switch (op) {
    case BinOp::kAdd:
    case BinOp::kSub: return kSum;
    case BinOp::kMul:
    case BinOp::kDiv:
    case BinOp::kTruncDiv:
    case BinOp::kTruncMod: return kProduct;
    case BinOp::kEQ:
    case BinOp::kNE: return kEquality;
    case BinOp::kLT:
    case BinOp::kLE:
    case BinOp::kGT:
    case BinOp::kGE: return kRelation;
    case BinOp::kAnd: return kAnd;
    case BinOp::kOr: return kOr;
    case BinOp::kBitAnd: return kBitAnd;
    case BinOp::kBitOr: return kBitOr;
    case BinOp::kBitXor: return kBitXor;
    case BinOp::kShl:
    case BinOp::kShr: return kShift;
    default: return -1;
  }
}

const char* SymbolOf(BinOp op) {
  switch (op) {
    case BinOp::kTruncDiv: return "/";
    case BinOp::kTruncMod: return "%";
    case BinOp::kAnd: return "&&";
    case BinOp::kOr: return "||";
    default: return BinOpSymbol(op);
  }
}

/*! Of a context's level, whichever side of the operator it is. */
bool IsBitwise(int level) {
  int strength = level & ~1;
  return strength == kShift || strength == kBitAnd || strength == kBitOr || strength == kBitXor;
}

/*! Whether C's own rules need no parentheses but a reader does: bitwise beside other operators, and
 *  && inside ||. */
bool IsMixed(int strength, int level) {
  if (level <= kSelect || level >= kUnary) return false;
  int outer = level & ~1;
  bool bitwise =
      (IsBitwise(strength) || (IsBitwise(outer) && strength < kUnary)) && outer != strength;
  return bitwise || (strength == kAnd && outer == kOr);
}

/*! Whether C's result of +, -, *, << must be cut to the width of a small unsigned type. */
bool Wraps(const BinaryNode* n) {
  BinOp op = n->kind();
  return IsUnsigned(n->dtype) && n->dtype.bits < 32 && n->dtype.lanes == 1 &&
         (op == BinOp::kAdd || op == BinOp::kSub || op == BinOp::kMul || op == BinOp::kShl);
}

int Log2Exact(const PrimExpr& e) {
  auto v = AsInt(e);
  return v && *v > 0 && (*v & (*v - 1)) == 0 ? __builtin_ctzll(*v) : -1;
}

}  // namespace

LaunchIds::LaunchIds(const arith::Analyzer& analyzer, const LaunchPlan& launch)
    : analyzer_(analyzer), launch_(launch) {}

Var LaunchIds::IdOf(const std::string& key, int64_t extent) {
  auto it = ids_.find(key);
  if (it != ids_.end()) return it->second;
  Var v(key, kInt32);
  analyzer_.Bind(v, Range(0, extent));
  ids_.emplace(key, v);
  return v;
}

PrimExpr LaunchIds::VisitCall(const Call& e) {
  auto cta = [&](size_t dim, int64_t extra) {
    auto extent = dim < launch_->grid.size() ? AsInt(launch_->grid[dim]) : std::nullopt;
    return extent.value_or(INT32_MAX - 1) + extra;
  };
  const std::string op(e->op);
  if (op == "tx.thread_index") return IdOf(op, launch_->threads);
  if (op == "tx.cluster_cta_rank") return IdOf(op, 16);
  if (op == "tx.cta_index" || op == "tx.cta_extent" || op == "tx.cluster_cta_index") {
    int64_t dim = AsInt(e->args[0]).value_or(0);
    return IdOf(op + std::to_string(dim), cta(dim, op == "tx.cta_extent"));
  }
  return e;
}

std::string CudaPrinter::Text(const PrimExpr& e, int level) {
  std::string saved;
  saved.swap(out_.text);
  Expr(e, level);
  saved.swap(out_.text);
  return saved;
}

void CudaPrinter::Wrapped(const std::string& text, int strength, int level) {
  out_.text += strength < level ? "(" + text + ")" : text;
}

void CudaPrinter::Expr(const PrimExpr& e, int level) {
  if (e.dtype().lanes > 1) return VectorExpr(e, level);
  switch (KindOf(e)) {
    case ExprKind::kVar: {
      auto it = vars_.find(e.as<VarNode>());
      out_.text += it == vars_.end() ? std::string(e.as<VarNode>()->name) : it->second;
      return;
    }
    case ExprKind::kIntImm: {
      std::string text = IntLiteral(e.as<IntImmNode>()->value, e.dtype(), false);
      return Wrapped(text, text[0] == '-' ? kUnary : kPrimary, level);
    }
    case ExprKind::kFloatImm: {
      std::string text = FloatLiteral(e.as<FloatImmNode>()->value, e.dtype());
      bool prefix = text[0] == '-' || text[0] == '(';
      return Wrapped(text, prefix ? kUnary : kPrimary, level);
    }
    case ExprKind::kStringImm:
      out_.text += QuotedString(std::string(e.as<StringImmNode>()->value));
      return;
    case ExprKind::kBinary: return Binary(e.as<BinaryNode>(), level);
    case ExprKind::kNot: out_.text += "!"; return Expr(e.as<NotNode>()->a, kUnary);
    case ExprKind::kSelect: return SelectExpr(e.as<SelectNode>(), level);
    case ExprKind::kCast: return CastExpr(e.as<CastNode>(), level);
    case ExprKind::kCall: return Call(e.as<CallNode>(), level);
    default: break;
  }
  if (auto* load = e.as<BufferLoadNode>()) return Element(load->buffer, load->indices, level);
  Diag("verify", "codegen-expr", e->span)
      .Message("an expression of this kind cannot be printed as CUDA C++")
      .Found(std::string(e->GetTypeKey()))
      .Required("a native-stage expression")
      .Throw();
}

void CudaPrinter::Binary(const BinaryNode* n, int level) {
  BinOp op = n->kind();
  if (op == BinOp::kFloorDiv || op == BinOp::kFloorMod) return Division(n, level);
  if (op == BinOp::kMin || op == BinOp::kMax) return MinMax(n, level);
  Infix(n, SymbolOf(op), StrengthOf(op), level);
}

/*! Floats of fewer than 16 bits have conversions and nothing else: they are computed in float. */
bool CudaPrinter::IsNarrow(DType t) { return IsFloat(t) && t.bits < 16; }

/*! One side of an operator. A literal beside a typed operand needs no suffix. */
void CudaPrinter::Operand(const PrimExpr& e, int level, const PrimExpr& sibling) {
  if (IsNarrow(e.dtype())) {
    out_.text += "(float)";
    return Expr(e, kUnary);
  }
  auto* imm = e.as<IntImmNode>();
  if (!imm || AsInt(sibling)) return Expr(e, level);
  std::string text = IntLiteral(imm->value, e.dtype(), true);
  Wrapped(text, text[0] == '-' ? kUnary : kPrimary, level);
}

void CudaPrinter::Infix(const BinaryNode* n, const char* symbol, int strength, int level) {
  bool wraps = Wraps(n) || IsNarrow(n->dtype);
  if (wraps) out_.text += "(" + CType(n->dtype) + ")";
  bool parens = wraps || strength < level || IsMixed(strength, level);
  if (parens) out_.text += "(";
  // Two 16-bit factors are ints in C, whose product may overflow.
  bool widened = n->kind() == BinOp::kMul && IsUnsigned(n->dtype) && n->dtype.bits == 16;
  if (widened) out_.text += "(unsigned)";
  bool shift = strength == kShift;
  int left = widened ? static_cast<int>(kUnary) : strength;
  shift ? Expr(n->a, left) : Operand(n->a, left, n->b);
  out_.text += std::string(" ") + symbol + " ";
  // C groups to the left; only x - (y - z) and the like need parentheses on the right.
  bool associative = n->kind() == BinOp::kAnd || n->kind() == BinOp::kOr || IsBitwise(strength);
  int right = associative && !shift ? strength : strength + 1;
  Operand(n->b, right, n->a);
  if (parens) out_.text += ")";
}

bool CudaPrinter::NonNegative(const PrimExpr& e) {
  return IsUnsigned(e.dtype()) || analyzer_.Bound(launch_ids_(e)).min >= 0;
}

/*! `/` and `%` where they agree with the floor; shifts and masks for powers of two; else a helper.
 */
void CudaPrinter::Division(const BinaryNode* n, int level) {
  bool div = n->kind() == BinOp::kFloorDiv;
  if (NonNegative(n->a) && NonNegative(n->b)) return Infix(n, div ? "/" : "%", kProduct, level);
  int log2 = Log2Exact(n->b);
  if (log2 < 0) {
    out_.text += UseHelper(div ? "floordiv" : "floormod");
    // C promotes small integers and a literal is an int: the operands alone do not fix T.
    if (n->dtype != kInt32) out_.text += "<" + CType(n->dtype) + ">";
    out_.text += "(";
    Expr(n->a, kAssign);
    out_.text += ", ";
    Operand(n->b, kAssign, n->a);
    out_.text += ")";
    return;
  }
  // kPrimary: the operands of shifts and masks are always put in parentheses, as in Infix.
  std::string text = Text(n->a, kPrimary);
  text += div ? " >> " + std::to_string(log2) : " & " + std::to_string((int64_t{1} << log2) - 1);
  Wrapped(text, div ? kShift : kBitAnd, level > kSelect ? kPrimary : level);
}

void CudaPrinter::MinMax(const BinaryNode* n, int level) {
  bool is_min = n->kind() == BinOp::kMin;
  DType t = n->dtype;
  std::string name = is_min ? "min" : "max";
  if (t.code == kDLFloat && t.bits == 32) name = is_min ? "fminf" : "fmaxf";
  if (t.code == kDLFloat && t.bits == 64) name = is_min ? "fmin" : "fmax";
  if (IsFloat(t) && t.bits == 16) name = is_min ? "__hmin" : "__hmax";
  if (IsNarrow(t)) name = "(" + CType(t) + ")" + (is_min ? "fminf" : "fmaxf");
  bool parens = IsNarrow(t) && level > kUnary;
  out_.text += (parens ? "(" : "") + name + "(";
  Operand(n->a, kAssign, n->a);
  out_.text += ", ";
  Operand(n->b, kAssign, n->b);
  out_.text += parens ? "))" : ")";
}

void CudaPrinter::SelectExpr(const SelectNode* n, int level) {
  bool parens = level > kSelect;
  if (parens) out_.text += "(";
  Expr(n->cond, kOr);
  out_.text += " ? ";
  Expr(n->true_value, kSelect);
  out_.text += " : ";
  Expr(n->false_value, kSelect);
  if (parens) out_.text += ")";
}

void CudaPrinter::CastExpr(const CastNode* n, int level) {
  DType from = n->value.dtype(), to = n->dtype;
  if (IsBool(to) && !IsBool(from)) {
    std::string zero = IsNarrow(from) ? "0.0f" : IsFloat(from) ? FloatLiteral(0, from) : "0";
    std::string value =
        IsNarrow(from) ? "(float)" + Text(n->value, kUnary) : Text(n->value, kRelation);
    return Wrapped(value + " != " + zero, kEquality, level);
  }
  bool parens = level > kUnary;
  if (parens) out_.text += "(";
  out_.text += "(" + CType(to, n->span) + ")";
  if (IsNarrow(from) && IsFloat(to) && to.bits <= 16) out_.text += "(float)";
  Expr(n->value, kUnary);
  if (parens) out_.text += ")";
}

void CudaPrinter::Arguments(const ffi::Array<PrimExpr>& args) {
  for (size_t i = 0; i < args.size(); ++i) {
    if (i) out_.text += ", ";
    Expr(args[i], kAssign);
  }
}

}  // namespace codegen
}  // namespace tirx
