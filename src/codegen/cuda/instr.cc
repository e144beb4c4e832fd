/*!
 * Instructions of the table. A "cuda" instruction is its own C++ expression; an "asm" instruction
 * becomes an inline function, so that the kernel's body shows a call with the kernel's names.
 */
#include <tirx/expr/ops.h>
#include <tirx/support/diag.h>

#include <cctype>

#include "cuda_printer.h"
#include "types.h"

namespace tirx {
namespace codegen {
namespace {

char Constraint(DType t) {
  if (t.code == kDLFloat && t.bits >= 32) return t.bits == 32 ? 'f' : 'd';
  return t.bits == 16 ? 'h' : t.bits == 64 ? 'l' : 'r';
}

/*! Whether the caller passes an address as an integer and not as a pointer. */
bool IsIntegerAddress(const InstrOperandNode* op, const PrimExpr& arg) {
  return op->IsPointer() && !IsHandle(arg.dtype());
}

/*! The inline function of one asm instruction, built operand by operand. */
class InlineFunctionBuilder {
 public:
  InlineFunctionBuilder(const InstrNode* instr, std::string name, const CallNode* call)
      : instr_(instr), name_(std::move(name)) {
    places_.resize(instr->operands.size());
    if (!IsVoid(instr->result)) AddResult();
    for (size_t i = 0; i < places_.size(); ++i) AddDestination(i);
    for (size_t i = 0; i < places_.size(); ++i) AddSource(i, call->args[i]);
  }

  std::string Build() {
    std::string out = templates_.empty() ? "" : "template <" + templates_ + ">\n";
    bool returns = !IsVoid(instr_->result);
    std::string type = returns ? CType(instr_->result) : "void";
    out += "__device__ __forceinline__ " + type + " " + name_ + "(" + Parameters() + ") {\n";
    if (returns) out += "  " + RegisterType(instr_->result) + " result;\n";
    out += "  asm" + std::string(IsVolatile() ? " volatile" : "") + "(" + AsmStatement() + ");\n";
    if (returns) out += IsBool(instr_->result) ? "  return result != 0;\n" : "  return result;\n";
    return out + "}\n";
  }

 private:
  static std::string RegisterType(DType t) { return IsBool(t) ? "int" : CType(t); }

  bool IsVolatile() const { return instr_->effects.size() != 1 || instr_->effects[0] != "pure"; }
  bool TouchesMemory() const {
    for (const ffi::String& e : instr_->effects) {
      if (e == "memory" || e == "barrier" || e == "async") return true;
    }
    return false;
  }

  std::string Place() { return "%" + std::to_string(count_++); }

  void AddResult() {
    result_place_ = Place();
    outputs_ = std::string("\"=") + Constraint(instr_->result) + "\"(result)";
  }

  void AddDestination(size_t i) {
    const InstrOperandNode* op = instr_->operands[i].get();
    if (op->space != "reg" || !op->Writes()) return;
    places_[i] = Place();
    std::string mode = op->Reads() ? "+" : "=";
    outputs_ += (outputs_.empty() ? "\"" : ", \"") + mode + Constraint(op->dtype) + "\"(" +
                std::string(op->name) + ")";
  }

  void AddSource(size_t i, const PrimExpr& arg) {
    const InstrOperandNode* op = instr_->operands[i].get();
    std::string name(op->name);
    if (op->space == "reg" && op->Writes()) return AddParameter(op, CType(op->dtype) + " &" + name);
    places_[i] = Place();
    if (op->space == "imm") {
      templates_ += (templates_.empty() ? "" : ", ") + CType(op->dtype) + " " + name + Default(op);
      return AddInput('n', name);
    }
    if (!op->IsPointer()) {
      AddParameter(op, CType(op->dtype) + " " + name);
      return AddInput(Constraint(op->dtype), IsBool(op->dtype) ? "(int)" + name : name);
    }
    if (IsIntegerAddress(op, arg)) {
      AddParameter(op, CType(arg.dtype()) + " " + name);
      return AddInput(Constraint(arg.dtype()), name);
    }
    AddParameter(op, std::string(op->Writes() ? "" : "const ") + "void *" + name);
    bool shared = op->space == "shared";
    AddInput(shared ? 'r' : 'l',
             shared ? "(unsigned)__cvta_generic_to_shared(" + name + ")" : name);
  }

  /*! Operands that callers may leave out keep their default in C++. */
  static std::string Default(const InstrOperandNode* op) {
    if (!op->otherwise) return "";
    PrimExpr value = op->otherwise.value();
    if (auto* same = value.as<StringImmNode>()) return " = " + std::string(same->value);
    return " = " + IntLiteral(*AsInt(value), op->dtype, false);
  }

  void AddParameter(const InstrOperandNode* op, std::string text) {
    parameters_.push_back(text + Default(op));
  }
  void AddInput(char constraint, const std::string& value) {
    inputs_ += (inputs_.empty() ? "\"" : ", \"") + std::string(1, constraint) + "\"(" + value + ")";
  }

  std::string Parameters() const {
    size_t total = name_.size() + 36;
    for (const std::string& p : parameters_) total += p.size() + 2;
    return total <= kColumns ? Filled(parameters_, kColumns)
                             : "\n    " + Filled(parameters_, kColumns - 4);
  }

  /*! Items separated by commas, on as few lines of `columns` as they need. */
  static std::string Filled(const std::vector<std::string>& items, size_t columns) {
    std::string out;
    size_t used = 0;
    for (size_t i = 0; i < items.size(); ++i) {
      bool fits = used + items[i].size() + 2 <= columns;
      if (i) out += fits ? ", " : ",\n    ";
      used = (fits ? used + 2 : 0) + items[i].size();
      out += items[i];
    }
    return out;
  }

  /*! Text, outputs, inputs and clobbers, on one line when they are short. */
  std::string AsmStatement() const {
    std::vector<std::string> parts{AsmText(), outputs_, inputs_,
                                   TouchesMemory() ? "\"memory\"" : ""};
    while (parts.size() > 1 && parts.back().empty()) parts.pop_back();
    size_t total = parts.size() * 3;
    for (const std::string& p : parts) total += p.size();
    bool one_line = total < kColumns - 20 && parts[0].find('\n') == std::string::npos;
    std::string out = one_line ? parts[0] : "\n      " + parts[0];
    for (size_t i = 1; i < parts.size(); ++i) {
      out += one_line ? (i > 1 && parts[i - 1].empty() ? ":" : " :") : "\n      :";
      if (!parts[i].empty()) out += " " + parts[i];
    }
    return out;
  }

  /*! The template with registers for operands; one string literal per line. */
  std::string AsmText() const {
    std::string out = "\"";
    std::string text(instr_->text);
    size_t space = text.find(' ');
    if (text.size() > kColumns - 20 && text.find('\n') == std::string::npos)
      text.insert(space + 1, "\r");
    for (size_t i = 0; i < text.size(); ++i) {
      size_t close = text[i] == '{' ? text.find('}', i) : std::string::npos;
      std::string inside = close == std::string::npos ? "" : text.substr(i + 1, close - i - 1);
      bool number = !inside.empty() && std::isdigit(static_cast<unsigned char>(inside[0]));
      if (number || inside == "r") {
        out += number ? places_.at(std::stoul(inside)) : result_place_;
        i = close;
      } else if (text[i] == '\n') {
        out += "\\n\"\n      \"";
      } else if (text[i] == '\r') {
        out += "\"\n      \"";
      } else if (text[i] == '%') {
        out += "%%";
      } else {
        out += text[i];
      }
    }
    return out + "\"";
  }

  static constexpr size_t kColumns = 100;
  const InstrNode* instr_;
  std::string name_, templates_, outputs_, inputs_, result_place_;
  std::vector<std::string> parameters_, places_;
  int count_ = 0;
};

std::string PointerKinds(const InstrNode* instr, const CallNode* n) {
  std::string key;
  for (size_t i = 0; i < instr->operands.size(); ++i) {
    bool integer = IsIntegerAddress(instr->operands[i].get(), n->args[i]);
    if (instr->operands[i]->IsPointer()) key += integer ? DTypeName(n->args[i].dtype()) : "p";
  }
  return key;
}

bool SameLiteral(const PrimExpr& a, const PrimExpr& b) {
  return a.same_as(b) || (AsInt(a) && AsInt(a) == AsInt(b));
}

/*! The dtype that a pointer expression points to, or void. */
DType PointeeOf(const PrimExpr& pointer) {
  auto* call = pointer.as<CallNode>();
  if (call && call->op == "tx.address_of") return ElementOf(call->args[0].dtype());
  auto* var = pointer.as<VarNode>();
  return var && var->pointer.defined() ? var->pointer->element : kVoid;
}

/*! Whether text is one call, name or literal, so that it needs no parentheses anywhere. */
bool IsPrimaryText(const std::string& text) {
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')' && --depth == 0 && i + 1 != text.size()) return false;
    if (depth == 0 && text[i] == ' ') return false;
  }
  return true;
}

}  // namespace

std::string FunctionName(const std::string& instr) {
  std::string name = instr.substr(instr.find('.') + 1);
  if (name.compare(0, 3, "bar") != 0) {
    for (const char* common : {".sync.aligned", ".row.col"}) {
      size_t at = name.find(common);
      if (at != std::string::npos) name.erase(at, std::string(common).size());
    }
  }
  std::string out;
  for (char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c))) {
      out += c;
    } else if (out.back() != '_') {
      out += '_';
    }
  }
  return out;
}

/*! How many leading arguments must be written: trailing ones may have their defaults. */
size_t CudaPrinter::WrittenArguments(const InstrNode* instr, const CallNode* n) {
  size_t count = n->args.size();
  if (count > instr->operands.size()) return count;
  for (; count > 0 && instr->operands[count - 1]->otherwise; --count) {
    PrimExpr value = instr->operands[count - 1]->otherwise.value();
    if (auto* same = value.as<StringImmNode>()) {
      size_t i = 0;
      while (instr->operands[i]->name != same->value) ++i;
      value = n->args[i];
    }
    if (!SameLiteral(n->args[count - 1], value)) break;
  }
  return count;
}

std::string CudaPrinter::InstrArgument(const InstrNode* instr, const CallNode* n, size_t i) {
  const InstrOperandNode* op = instr->operands[std::min(i, instr->operands.size() - 1)].get();
  const PrimExpr& arg = n->args[i];
  DType t = op->dtype, a = arg.dtype();
  if (op->space == "reg" && op->Writes()) {
    std::string place = Text(arg, kUnary);
    return t == a || IsVoid(t) ? place : "(" + CType(t) + " &)" + place;
  }
  if (op->IsPointer()) {
    std::string pointer = Text(arg, kUnary);
    bool typed = IsVoid(t) && instr->result_of >= 0 && instr->form == "cuda";
    DType value = typed ? n->args[instr->result_of].dtype() : kVoid;
    return typed && PointeeOf(arg) != value ? "(" + VectorType(value) + " *)" + pointer : pointer;
  }
  if (op->space == "rest" && IsFloat(a) && a.bits < 32) return "(float)" + Text(arg, kUnary);
  if (IsVoid(t) || t == a || op->space == "str") {
    bool small = AsInt(arg) && a.bits < 32 && !IsBool(a) && op->space == "reg";
    return (small ? "(" + CType(a) + ")" : "") + Text(arg, small ? kUnary : kAssign);
  }
  if (IsInteger(t) && IsInteger(a) && a.lanes == 1) return Text(arg, kAssign);
  return Text(tirx::Call(t, "tx.reinterpret", {arg}), kAssign);
}

std::string CudaPrinter::InlineFunction(const InstrNode* instr, const CallNode* n) {
  std::string key = std::string(instr->name) + PointerKinds(instr, n);
  auto it = inline_functions_.find(key);
  if (it != inline_functions_.end()) return it->second;
  std::string name = FunctionName(std::string(instr->name));
  helpers_.push_back(InlineFunctionBuilder(instr, name, n).Build());
  return inline_functions_[key] = name;
}

void CudaPrinter::Instruction(const CallNode* n, const InstrNode* instr, int level) {
  for (const ffi::String& header : instr->includes) Include(std::string(header));
  if (!instr->helper.empty()) Helper(std::string(instr->name), std::string(instr->helper));
  size_t count = WrittenArguments(instr, n);
  std::string all, immediates;
  std::vector<std::string> args;
  for (size_t i = 0; i < n->args.size(); ++i) {
    args.push_back(InstrArgument(instr, n, i));
    if (i >= count) continue;
    bool imm = i < instr->operands.size() && instr->operands[i]->space == "imm";
    std::string* list = imm && instr->form == "asm" ? &immediates : &all;
    *list += (list->empty() ? "" : ", ") + args[i];
  }
  if (instr->form == "asm") {
    std::string name = InlineFunction(instr, n);
    out_.text += name + (immediates.empty() ? "" : "<" + immediates + ">") + "(" + all + ")";
    return;
  }
  std::string text = FillTemplate(std::string(instr->text), args, all);
  Wrapped(text, IsPrimaryText(text) ? kPrimary : kComma, level <= kAssign ? kComma : level);
}

std::string FillTemplate(const std::string& text, const std::vector<std::string>& args,
                         const std::string& all) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    size_t close = text[i] == '{' ? text.find('}', i) : std::string::npos;
    std::string inside = close == std::string::npos ? "" : text.substr(i + 1, close - i - 1);
    bool number = !inside.empty() && std::isdigit(static_cast<unsigned char>(inside[0]));
    if (number || inside == "*") {
      out += number ? args.at(std::stoul(inside)) : all;
      i = close;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace codegen
}  // namespace tirx
