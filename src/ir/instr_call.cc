/*!
 * Building and checking calls of instructions (declared in ir/instr.h).
 */
#include <tirx/expr/ops.h>
#include <tirx/ir/buffer.h>
#include <tirx/ir/instr.h>
#include <tirx/support/diag.h>
#include <tvm/ffi/function.h>

#include <string>
#include <vector>

namespace tirx {
namespace {

std::string Join(const ffi::Array<ffi::String>& names, const char* separator) {
  std::string out;
  for (const ffi::String& n : names) out += (out.empty() ? "" : separator) + std::string(n);
  return out;
}

[[noreturn]] void ThrowUnknown(const ffi::String& name, const Span& span) {
  std::string hint = "the instruction table has no similar name";
  if (auto hook = ffi::Function::GetGlobal("tx.instr_nearest")) {
    std::string near = Join((*hook)(name).cast<ffi::Array<ffi::String>>(), ", ");
    if (!near.empty()) hint = "nearest names: " + near;
  }
  Diag("target", "unknown-instruction", span)
      .Message("unknown instruction `" + std::string(name) + "`")
      .Found("`" + std::string(name) + "`")
      .Required("a name of the instruction table")
      .Hint(hint)
      .Throw();
}

std::string Signature(const InstrNode* instr) {
  std::string out(instr->name);
  for (size_t i = 0; i < instr->operands.size(); ++i) {
    out += (i ? ", " : "(") + std::string(instr->operands[i]->name);
    if (instr->operands[i]->otherwise) out += "=...";
  }
  return out + (instr->operands.empty() ? "()" : ")");
}

[[noreturn]] void ThrowArity(const InstrNode* instr, size_t given, const Span& span) {
  Diag("type", "instr-arity", span)
      .Message("wrong number of operands for `" + std::string(instr->name) + "`")
      .Found(std::to_string(given) + " operands")
      .Required(Signature(instr))
      .Throw();
}

/*! The operands of one call, checked in order. */
class OperandChecker {
 public:
  OperandChecker(const InstrNode* instr, const Span& span) : instr_(instr), span_(span) {}

  PrimExpr Check(const InstrOperandNode* op, const PrimExpr& arg) {
    op_ = op;
    arg_ = &arg;
    if (op->space == "rest") return arg;
    if (op->space == "str") return CheckString();
    if (op->space == "imm") return CheckImmediate();
    if (op->IsPointer()) return CheckPointer();
    return op->Writes() ? CheckDestination() : CheckValue();
  }

 private:
  [[noreturn]] void Throw(const char* code, std::string found, std::string required,
                          std::string hint = "") {
    Diag("type", code, (*arg_)->span.defined() ? (*arg_)->span : span_)
        .Message("operand `" + std::string(op_->name) + "` of `" + std::string(instr_->name) + "`")
        .Found(std::move(found))
        .Required(std::move(required))
        .Hint(std::move(hint))
        .Throw();
  }

  PrimExpr CheckString() {
    if (!arg_->as<StringImmNode>()) Throw("instr-string", "an expression", "a string literal");
    return *arg_;
  }

  PrimExpr CheckImmediate() {
    if (!AsInt(*arg_)) {
      Throw("instr-immediate", "a value known only when the kernel runs", "a constant",
            "the hardware encodes this operand in the instruction: use a Python integer");
    }
    return FitLiteral(*AsInt(*arg_));
  }

  /*! A literal as a constant of the operand's dtype; -1 is accepted as all ones. */
  PrimExpr FitLiteral(int64_t v) {
    DType t = op_->dtype;
    if (IsVoid(t)) return *arg_;
    if (!IsInteger(t)) return MakeConst(t, v);
    if (IsUnsigned(t) && v < 0 && v >= -(int64_t{1} << (t.bits - 1)) && t.bits < 64) {
      v += int64_t{1} << t.bits;
    }
    if (t.bits < 64 && (v < MinValue(t) || v > MaxValue(t))) {
      Throw("instr-operand", std::to_string(v), "a value of " + DTypeName(t));
    }
    return MakeConst(t, v);
  }

  bool SameBits(DType a, DType t) {
    return a == t || (IsUnsigned(t) && BitsOf(a) == BitsOf(t) && !IsHandle(a));
  }

  PrimExpr CheckValue() {
    DType t = op_->dtype, a = arg_->dtype();
    if (auto v = AsInt(*arg_); v && !IsBool(a)) return FitLiteral(*v);
    if (IsVoid(t) ? !IsHandle(a) && !IsVoid(a) : SameBits(a, t)) return *arg_;
    bool literal = IsFloat(t) && arg_->as<FloatImmNode>();
    bool widens = IsInteger(t) && (IsBool(a) || (IsInteger(a) && a.bits < t.bits));
    bool predicate = IsBool(t) && IsInteger(a) && a.lanes == 1;
    if (predicate) return MakeBinary(BinOp::kNE, *arg_, MakeConst(a, 0));
    if (literal || widens) return ConvertTo(t, *arg_);
    Throw("instr-operand", DTypeName(a), IsVoid(t) ? "a number" : DTypeName(t),
          "convert it with T.cast(value, dtype)");
  }

  PrimExpr CheckDestination() {
    auto* load = arg_->as<BufferLoadNode>();
    if (!load) {
      Throw("instr-destination", "an expression", "a place that can be written",
            "pass an element of a local buffer or a scalar `x: T.int32`");
    }
    DType t = op_->dtype, a = arg_->dtype();
    if (!IsVoid(t) && !SameBits(a, t)) {
      Throw("instr-operand", "a place of " + DTypeName(a), "a place of " + DTypeName(t));
    }
    return *arg_;
  }

  /*! Scope of the memory that the pointer is known to point into; "" when it is not known. */
  std::string ScopeOf() {
    if (auto* call = arg_->as<CallNode>(); call && call->op == "tx.address_of") {
      if (auto* load = call->args[0].as<BufferLoadNode>()) return load->buffer->scope;
    }
    auto* var = arg_->as<VarNode>();
    return var && var->pointer.defined() ? std::string(var->pointer->scope) : "";
  }

  PrimExpr CheckPointer() {
    DType a = arg_->dtype();
    bool integer = IsInteger(a) && a.lanes == 1 && a.bits >= 32;
    if (!IsHandle(a) && !integer) {
      Throw("instr-operand", DTypeName(a), "a pointer to " + std::string(op_->space) + " memory",
            "take the address of an element with buffer.ptr_to([...])");
    }
    std::string scope = ScopeOf();
    if (scope == "shared.dyn") scope = "shared";
    if (!scope.empty() && op_->space != "generic" && scope != op_->space) {
      Throw("instr-space", "a pointer to " + scope + " memory",
            "a pointer to " + std::string(op_->space) + " memory");
    }
    return *arg_;
  }

  const InstrNode* instr_;
  const Span& span_;
  const InstrOperandNode* op_ = nullptr;
  const PrimExpr* arg_ = nullptr;
};

bool IsVariadic(const InstrNode* instr) {
  return !instr->operands.empty() && instr->operands.back()->space == "rest";
}

/*! The value of a left-out operand; a string names the earlier operand that it copies. */
PrimExpr Otherwise(const InstrNode* instr, const InstrOperandNode* op,
                   const std::vector<PrimExpr>& args) {
  PrimExpr value = op->otherwise.value();
  auto* name = value.as<StringImmNode>();
  if (!name || op->space == "str") return value;
  size_t i = 0;
  while (instr->operands[i]->name != name->value) ++i;
  return args.at(i);
}

/*! `args` followed by the operands that the caller left out. */
std::vector<PrimExpr> Complete(const InstrNode* instr, const ffi::Array<PrimExpr>& args,
                               const Span& span) {
  std::vector<PrimExpr> out(args.begin(), args.end());
  size_t count = instr->operands.size() - IsVariadic(instr);
  for (size_t i = out.size(); i < count && instr->operands[i]->otherwise; ++i) {
    out.push_back(Otherwise(instr, instr->operands[i].get(), out));
  }
  if (out.size() < count || (out.size() > count && !IsVariadic(instr))) {
    ThrowArity(instr, args.size(), span);
  }
  return out;
}

}  // namespace

const InstrNode* RequireInstr(const ffi::String& name, const Span& span) {
  const InstrNode* instr = FindInstr(name);
  if (!instr) ThrowUnknown(name, span);
  return instr;
}

Call MakeInstrCall(const ffi::String& name, const ffi::Array<PrimExpr>& args,
                   const ffi::Map<ffi::String, ffi::Any>& attrs, Span span) {
  const InstrNode* instr = RequireInstr(name, span);
  std::vector<PrimExpr> full = Complete(instr, args, span);
  OperandChecker checker(instr, span);
  for (size_t i = 0; i < full.size(); ++i) {
    size_t slot = std::min(i, instr->operands.size() - 1);
    full[i] = checker.Check(instr->operands[slot].get(), full[i]);
  }
  DType result = instr->result_of >= 0 ? full[instr->result_of].dtype() : instr->result;
  return Call(result, name, ffi::Array<PrimExpr>(full.begin(), full.end()), attrs, span);
}

void CheckInstrTarget(const InstrNode* instr, const Target& target, const Span& span) {
  for (const ffi::String& feature : instr->features) {
    if (target->Has(feature)) continue;
    std::string have;
    if (auto hook = ffi::Function::GetGlobal("tx.archs_with")) {
      have = Join((*hook)(target->kind, feature).cast<ffi::Array<ffi::String>>(), ", ");
    }
    Diag("target", "missing-feature", span)
        .Message("`" + std::string(instr->name) + "` does not exist on " +
                 std::string(target->arch))
        .Found("target " + std::string(target->kind) + "/" + std::string(target->arch))
        .Required("the capability \"" + std::string(feature) + "\"" +
                  (have.empty() ? "" : ": " + have))
        .Hint("compile for another target, or choose an instruction that this one has")
        .Throw();
  }
}

}  // namespace tirx
