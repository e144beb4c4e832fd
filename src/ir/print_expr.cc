#include "print_expr.h"

#include <tirx/expr/ops.h>
#include <tirx/ir/instr.h>

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

namespace tirx {
namespace {

constexpr Prec Tighter(Prec p) { return static_cast<Prec>(static_cast<int>(p) + 1); }

Prec PrecOf(BinOp op) {
  switch (op) {
    case BinOp::kOr: return Prec::kOr;
    case BinOp::kAnd: return Prec::kAnd;
    case BinOp::kBitOr: return Prec::kBitOr;
    case BinOp::kBitXor: return Prec::kBitXor;
    case BinOp::kBitAnd: return Prec::kBitAnd;
    case BinOp::kShl:
    case BinOp::kShr: return Prec::kShift;
    case BinOp::kAdd:
    case BinOp::kSub: return Prec::kSum;
    case BinOp::kMul:
    case BinOp::kDiv:
    case BinOp::kFloorDiv:
    case BinOp::kFloorMod: return Prec::kProduct;
    default: return IsComparison(op) ? Prec::kCompare : Prec::kAtom;
  }
}

bool IsLiteral(const PrimExpr& e) { return e.as<IntImmNode>() || e.as<FloatImmNode>(); }

std::string IntText(const IntImmNode* n) {
  bool huge = IsUnsigned(n->dtype) && n->value < 0;
  return huge ? std::to_string(static_cast<uint64_t>(n->value)) : std::to_string(n->value);
}

}  // namespace

std::string FloatText(double v) {
  if (std::isnan(v)) return "float(\"nan\")";
  if (std::isinf(v)) return v < 0 ? "float(\"-inf\")" : "float(\"inf\")";
  std::array<char, 32> digits;
  auto end = std::to_chars(digits.data(), digits.data() + digits.size(), v).ptr;
  std::string out(digits.data(), end);
  return out.find_first_of(".e") == std::string::npos ? out + ".0" : out;
}

void ExprPrinter::Open(const std::string& text) {
  line_ += text;
  ++brackets_;
}
void ExprPrinter::Close(const char* text) {
  line_ += text;
  --brackets_;
}

void ExprPrinter::Expr(const PrimExpr& e, Prec prec, Literal literal) {
  if (Full() || TryHoist(e)) return;
  Dispatch(e, prec, literal);
}

bool ExprPrinter::TryHoist(const PrimExpr& e) {
  bool deep = brackets_ >= kMaxBrackets && e->depth > 1;
  if (!deep && (shared_.empty() || shared_.count(e.get()) == 0)) return false;
  std::string name = Hoist(e);
  line_ += name;
  return !name.empty();
}

void ExprPrinter::Dispatch(const PrimExpr& e, Prec prec, Literal literal) {
  switch (KindOf(e)) {
    case ExprKind::kVar: line_ += NameOf(GetRef<Var>(e.as<VarNode>())); return;
    case ExprKind::kIntImm: return IntLiteral(e.as<IntImmNode>(), literal);
    case ExprKind::kFloatImm: return FloatLiteral(e.as<FloatImmNode>(), literal);
    case ExprKind::kStringImm: line_ += Quote(View(e.as<StringImmNode>()->value)); return;
    case ExprKind::kBinary: return Infix(e.as<BinaryNode>(), prec);
    case ExprKind::kNot: return Prefix("not ", Prec::kNot, e.as<NotNode>()->a, prec);
    case ExprKind::kSelect: {
      auto* n = e.as<SelectNode>();
      return Function("T.Select", {n->cond, n->true_value, n->false_value});
    }
    case ExprKind::kCast:
      Open("T.cast(");
      Expr(e.as<CastNode>()->value);
      return Close((", " + Quote(DTypeName(e->dtype)) + ")").c_str());
    case ExprKind::kRamp: {
      auto* n = e.as<RampNode>();
      return Function("T.Ramp", {n->base, n->stride, n->lanes});
    }
    case ExprKind::kBroadcast: {
      auto* n = e.as<BroadcastNode>();
      return Function("T.Broadcast", {n->value, n->lanes});
    }
    case ExprKind::kCall: return CallText(e.as<CallNode>(), prec);
    case ExprKind::kOther: return Other(e);
  }
}

void ExprPrinter::IntLiteral(const IntImmNode* n, Literal literal) {
  DType t = n->dtype;
  bool huge = IsUnsigned(t) && n->value < 0;  // no int64: the FFI takes no such Python integer
  bool bare = literal == Literal::kAdapts ? !IsBool(t) && !huge
                                          : literal == Literal::kDefault && t == kInt32;
  if (bare) {
    line_ += IntText(n);
  } else if (IsBool(t)) {
    line_ += n->value ? "T.bool(True)" : "T.bool(False)";
  } else {
    line_ += "T." + DTypeName(t) + "(" + IntText(n) + ")";
  }
}

void ExprPrinter::FloatLiteral(const FloatImmNode* n, Literal literal) {
  bool finite = std::isfinite(n->value);
  bool bare = finite && (literal == Literal::kAdapts ||
                         (literal == Literal::kDefault && n->dtype == kFloat32));
  if (bare) {
    line_ += FloatText(n->value);
  } else if (finite) {
    line_ += "T." + DTypeName(n->dtype) + "(" + FloatText(n->value) + ")";
  } else {
    const char* text = std::isnan(n->value) ? "nan" : n->value < 0 ? "-inf" : "inf";
    line_ += "T." + DTypeName(n->dtype) + "(\"" + text + "\")";
  }
}

void ExprPrinter::Prefix(const char* text, Prec own, const PrimExpr& a, Prec prec) {
  bool wrap = own < prec;
  if (wrap) line_ += "(";
  line_ += text;
  ++brackets_;  // operators nest Python's parser as brackets do
  Expr(a, own, Literal::kExplicit);
  --brackets_;
  if (wrap) line_ += ")";
}

void ExprPrinter::Infix(const BinaryNode* n, Prec prec) {
  const char* symbol = BinOpSymbol(n->kind());
  if (symbol == nullptr) return Function(std::string("T.") + BinOpName(n->kind()), {n->a, n->b});
  Prec own = PrecOf(n->kind());
  if (own >= prec) return Operands(n, symbol, own);
  Open("(");
  Operands(n, symbol, own);
  Close(")");
}

void ExprPrinter::Operands(const BinaryNode* n, const char* symbol, Prec own) {
  bool bare = !(IsLiteral(n->a) && IsLiteral(n->b)) && n->a->dtype.lanes == 1;
  Literal literal = bare ? Literal::kAdapts : Literal::kExplicit;
  Expr(n->a, IsComparison(n->kind()) ? Tighter(own) : own, literal);
  line_ += ' ';
  line_ += symbol;
  line_ += ' ';
  Expr(n->b, Tighter(own), literal);
}

void ExprPrinter::Function(const std::string& name, std::initializer_list<PrimExpr> args) {
  line_ += name;
  Open("(");
  const char* comma = "";
  for (const PrimExpr& a : args) {
    line_ += comma;
    Expr(a);
    comma = ", ";
  }
  Close(")");
}

void ExprPrinter::ExprList(const ffi::Array<PrimExpr>& a) {
  const char* comma = "";
  for (const PrimExpr& e : a) {
    line_ += comma;
    Expr(e);
    comma = ", ";
  }
}

void ExprPrinter::Tuple(const ffi::Array<PrimExpr>& a) {
  Open("(");
  ExprList(a);
  if (a.size() == 1) line_ += ",";
  Close(")");
}

void ExprPrinter::Indices(const ffi::Array<PrimExpr>& a) {
  Open("[");
  ExprList(a);
  if (a.empty()) line_ += "()";
  Close("]");
}

void ExprPrinter::Other(const PrimExpr& e) {
  auto* n = e.as<BufferLoadNode>();
  if (n == nullptr) {
    line_ += "<" + e->GetTypeKey() + ">";
    return;
  }
  line_ += NameOf(n->buffer);
  Indices(n->indices);
}

// ---- calls ----

namespace {

/*! Intrinsics spelled T.<name>(args), whose dtype is that of their arguments. */
bool HasOwnFunction(std::string_view op) {
  static const std::unordered_set<std::string_view> names = {
      "tx.exp",   "tx.exp2", "tx.log",         "tx.log2",     "tx.sqrt",  "tx.rsqrt", "tx.sin",
      "tx.cos",   "tx.tanh", "tx.erf",         "tx.abs",      "tx.floor", "tx.ceil",  "tx.round",
      "tx.trunc", "tx.pow",  "tx.bitwise_not", "tx.popcount", "tx.clz",   "tx.fma"};
  return names.count(op) != 0;
}

bool SameDType(const CallNode* n) {
  for (const PrimExpr& a : n->args) {
    if (a->dtype != n->dtype) return false;
  }
  return true;
}

size_t ArityOf(std::string_view op) { return op == "tx.fma" ? 3 : op == "tx.pow" ? 2 : 1; }

}  // namespace

void ExprPrinter::CallText(const CallNode* n, Prec prec) {
  std::string_view op = View(n->op);
  bool math =
      n->attrs.empty() && HasOwnFunction(op) && n->args.size() == ArityOf(op) && SameDType(n);
  if (math && op == "tx.bitwise_not" && !IsBool(n->dtype) && !IsLiteral(n->args[0])) {
    return Prefix("~", Prec::kUnary, n->args[0], prec);
  }
  if (math) return Arguments("T." + std::string(op.substr(3)), n->args);
  if (op == "tx.filter_range" && n->dtype == kBool && n->attrs.empty() && n->args.size() == 3) {
    return Arguments("T.filter_range", n->args);
  }
  if (op == "tx.address_of" && n->dtype == kHandle && n->attrs.empty() && n->args.size() == 1) {
    return Arguments("T.address_of", n->args);
  }
  if (op == "tx.reinterpret" && n->attrs.empty() && n->args.size() == 1) {
    Open("T.reinterpret(" + Quote(DTypeName(n->dtype)) + ", ");
    Expr(n->args[0]);
    return Close(")");
  }
  if (!InstructionCall(n) && !UserCall(n)) GeneralCall(n);
}

/*! T.cuda.func_call: user source, with exactly the attributes that the function gives it. */
bool ExprPrinter::UserCall(const CallNode* n) {
  if (n->op != "tx.func_call" || n->attrs.size() != 3) return false;
  auto text = [&](const char* key) -> ffi::Optional<ffi::String> {
    auto it = n->attrs.find(key);
    return it == n->attrs.end() ? std::nullopt : (*it).second.as<ffi::String>();
  };
  auto name = text("name"), source = text("source"), type = text("return_type");
  if (!name.has_value() || !source.has_value() || !type.has_value()) return false;
  if (DTypeName(n->dtype) != std::string(*type)) return false;
  Open("T.cuda.func_call(" + Quote(View(*name)));
  for (const PrimExpr& a : n->args) {
    line_ += ", ";
    Expr(a);
  }
  line_ += ", source_code=" + Quote(View(*source));
  Close((", return_type=" + Quote(View(*type)) + ")").c_str());
  return true;
}

void ExprPrinter::Arguments(const std::string& name, const ffi::Array<PrimExpr>& args) {
  Open(name + "(");
  ExprList(args);
  Close(")");
}

namespace {

/*! `.mma.sync`, `.cp.async_`, `.shared__cta`; `["16x64b.x2"]` when it is no Python name. */
std::string InstructionName(std::string_view name) {
  std::string out = ".";
  std::string part;
  bool ends_badly = false;  // a trailing underscore is how T spells a keyword
  auto end_part = [&] {
    ends_badly = ends_badly || part.empty() || part.back() == '_';
    out += part;
    if (NameTable::IsKeyword(part)) out += '_';
    part.clear();
  };
  for (size_t i = 0; i < name.size(); ++i) {
    bool colons = name.substr(i, 2) == "::";
    bool digit_first = part.empty() && std::isdigit(static_cast<unsigned char>(name[i]));
    bool odd = name[i] == '_' && (part.empty() || part.back() == '_');
    bool word = std::isalnum(static_cast<unsigned char>(name[i])) || name[i] == '_';
    if (name[i] == '.') {
      end_part();
      out += '.';
    } else if (colons) {
      part += "__";
      ++i;
    } else if (!word || digit_first || odd) {
      return "[" + Quote(name) + "]";
    } else {
      part += name[i];
    }
  }
  end_part();
  return ends_badly ? "[" + Quote(name) + "]" : out;
}

}  // namespace

namespace {

bool SameOperand(const PrimExpr& a, const PrimExpr& b) {
  auto *ia = a.as<IntImmNode>(), *ib = b.as<IntImmNode>();
  return a.same_as(b) || (ia && ib && ia->dtype == ib->dtype && ia->value == ib->value);
}

/*! Whether T.<op>(args) builds exactly this call: instr_call converts operands that do not fit. */
bool BuildsTheSame(const CallNode* n) {
  if (FindInstr(n->op) == nullptr) return false;
  try {
    Call again = MakeInstrCall(n->op, n->args, {}, {});
    bool same = again->dtype == n->dtype && again->args.size() == n->args.size();
    for (size_t i = 0; same && i < n->args.size(); ++i)
      same = SameOperand(again->args[i], n->args[i]);
    return same;
  } catch (const ffi::Error&) {
    return false;
  }
}

}  // namespace

bool ExprPrinter::InstructionCall(const CallNode* n) {
  std::string_view op = View(n->op);
  size_t dot = op.find('.');
  bool family = dot != op.npos && (op.substr(0, dot) == "ptx" || op.substr(0, dot) == "cuda");
  if (!family || !n->attrs.empty() || !BuildsTheSame(n)) return false;
  Arguments("T." + std::string(op.substr(0, dot)) + InstructionName(op.substr(dot + 1)), n->args);
  return true;
}

void ExprPrinter::GeneralCall(const CallNode* n) {
  Open("T.call(" + Quote(DTypeName(n->dtype)) + ", " + Quote(View(n->op)));
  for (const PrimExpr& a : n->args) {
    line_ += ", ";
    Expr(a);
  }
  if (!n->attrs.empty()) {
    line_ += ", attrs=";
    Value(n->attrs);
  }
  Close(")");
}

}  // namespace tirx
