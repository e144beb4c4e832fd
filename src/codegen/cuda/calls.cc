/*!
 * Calls of the compiler's own names: math, bits, launch ids, addresses, user functions.
 */
#include <tirx/expr/ops.h>
#include <tirx/support/diag.h>

#include "cuda_printer.h"
#include "types.h"

namespace tirx {
namespace codegen {
namespace {

struct MathName {
  const char* op;
  const char* f32;
  const char* f64;
  const char* half;  //!< nullptr: computed in float
};

// Half-precision functions of cuda_fp16.h exist under the same names for bfloat16.
constexpr MathName kMath[] = {
    {"exp", "expf", "exp", "hexp"},         {"exp2", "exp2f", "exp2", "hexp2"},
    {"log", "logf", "log", "hlog"},         {"log2", "log2f", "log2", "hlog2"},
    {"sqrt", "sqrtf", "sqrt", "hsqrt"},     {"rsqrt", "rsqrtf", "rsqrt", "hrsqrt"},
    {"sin", "sinf", "sin", "hsin"},         {"cos", "cosf", "cos", "hcos"},
    {"tanh", "tanhf", "tanh", nullptr},     {"erf", "erff", "erf", nullptr},
    {"abs", "fabsf", "fabs", "__habs"},     {"floor", "floorf", "floor", "hfloor"},
    {"ceil", "ceilf", "ceil", "hceil"},     {"round", "rintf", "rint", "hrint"},
    {"trunc", "truncf", "trunc", "htrunc"}, {"pow", "powf", "pow", nullptr},
    {"fma", "fmaf", "fma", "__hfma"},
};

const MathName* FindMath(const std::string& op) {
  for (const MathName& m : kMath) {
    if (op.compare(3, std::string::npos, m.op) == 0) return &m;
  }
  return nullptr;
}

/*! __float_as_uint and its relatives, or nullptr. */
const char* BitFunction(DType from, DType to) {
  auto kind = [](DType t) {
    if (t.code == kDLFloat) return 'f';
    if (t.code == kDLBfloat) return 'b';
    return IsUnsigned(t) ? 'u' : IsSigned(t) ? 'i' : '?';
  };
  struct Row {
    char from, to;
    int bits;
    const char* name;
  };
  static constexpr Row kRows[] = {
      {'f', 'u', 32, "__float_as_uint"},      {'f', 'i', 32, "__float_as_int"},
      {'u', 'f', 32, "__uint_as_float"},      {'i', 'f', 32, "__int_as_float"},
      {'f', 'i', 64, "__double_as_longlong"}, {'i', 'f', 64, "__longlong_as_double"},
      {'f', 'u', 16, "__half_as_ushort"},     {'f', 'i', 16, "__half_as_short"},
      {'u', 'f', 16, "__ushort_as_half"},     {'i', 'f', 16, "__short_as_half"},
      {'b', 'u', 16, "__bfloat16_as_ushort"}, {'b', 'i', 16, "__bfloat16_as_short"},
      {'u', 'b', 16, "__ushort_as_bfloat16"}, {'i', 'b', 16, "__short_as_bfloat16"},
  };
  for (const Row& r : kRows) {
    if (r.from == kind(from) && r.to == kind(to) && r.bits == from.bits) return r.name;
  }
  return nullptr;
}

std::string Axis(const char* base, const CallNode* n) {
  int64_t dim = AsInt(n->args[0]).value_or(0);
  return std::string(base) + "xyz"[dim];
}

}  // namespace

void CudaPrinter::Call(const CallNode* n, int level) {
  if (n->op.starts_with("tx.")) return Intrinsic(n, level);
  const InstrNode* instr = FindInstr(n->op);
  if (!instr) {
    Diag("target", "unknown-instruction", n->span)
        .Message("unknown instruction `" + std::string(n->op) + "`")
        .Required("a name of the instruction table")
        .Throw();
  }
  CheckInstrTarget(instr, target_, n->span);
  Instruction(n, instr, level);
}

void CudaPrinter::Intrinsic(const CallNode* n, int level) {
  const std::string op(n->op);
  if (op == "tx.thread_index") return Wrapped("(int)threadIdx.x", kUnary, level);
  if (op == "tx.cta_index") return Wrapped("(int)blockIdx." + Axis("", n), kUnary, level);
  if (op == "tx.cta_extent") return Wrapped("(int)gridDim." + Axis("", n), kUnary, level);
  if (op == "tx.cluster_cta_index") {
    out_.text += UseHelper("cluster_cta_" + Axis("", n)) + "()";
    return;
  }
  if (op == "tx.cluster_cta_rank") {
    out_.text += UseHelper("cluster_cta_rank") + "()";
    return;
  }
  if (op == "tx.address_of") {
    auto* load = n->args[0].as<BufferLoadNode>();
    std::string text = AddressOf(load->buffer, load->indices.back());
    return Wrapped(text, text[0] == '&' ? kUnary : kPrimary, level);
  }
  if (op == "tx.reinterpret") return Reinterpret(n, level);
  if (op == "tx.func_call") return FuncCall(n);
  if (op == "tx.bitwise_not") {
    // C promotes a small unsigned operand to int, whose complement is negative.
    if (IsUnsigned(n->dtype) && n->dtype.bits < 32) out_.text += "(" + CType(n->dtype) + ")";
    out_.text += IsBool(n->dtype) ? "!" : "~";
    return Expr(n->args[0], kUnary);
  }
  bool wide = !n->args.empty() && n->args[0].dtype().bits > 32;
  std::string name;
  if (op == "tx.popcount") name = wide ? "__popcll" : "__popc";
  if (op == "tx.clz") name = wide ? "__clzll" : "__clz";
  if (op == "tx.abs" && IsInteger(n->dtype)) name = "abs";
  DType t = n->dtype;
  if (const MathName* m = name.empty() && op.size() > 3 ? FindMath(op) : nullptr) {
    bool in_float = !(t.code == kDLFloat && t.bits >= 32) && (t.bits < 16 || !m->half);
    name = t.bits == 64 ? m->f64 : t.bits == 16 && m->half ? m->half : m->f32;
    if (in_float) return MathInFloat(n, name, level);
  }
  if (name.empty()) {
    Diag("verify", "codegen-call", n->span)
        .Message("`" + op + "` cannot be printed as CUDA C++")
        .Required("a native-stage call")
        .Throw();
  }
  out_.text += name + "(";
  Arguments(n->args);
  out_.text += ")";
}

/*! A function that a small float type lacks: convert, compute, convert back. */
void CudaPrinter::MathInFloat(const CallNode* n, const std::string& name, int level) {
  bool parens = level > kUnary;
  out_.text += std::string(parens ? "(" : "") + "(" + CType(n->dtype) + ")" + name + "(";
  for (size_t i = 0; i < n->args.size(); ++i) {
    out_.text += i ? ", (float)" : "(float)";
    Expr(n->args[i], kUnary);
  }
  out_.text += parens ? "))" : ")";
}

void CudaPrinter::Reinterpret(const CallNode* n, int level) {
  DType from = n->args[0].dtype(), to = n->dtype;
  if (IsInteger(from) && IsInteger(to) && from.lanes == 1 && to.lanes == 1) {
    return Wrapped("(" + CType(to) + ")" + Text(n->args[0], kUnary), kUnary, level);
  }
  const char* known = from.lanes == 1 && to.lanes == 1 ? BitFunction(from, to) : nullptr;
  out_.text += known ? std::string(known) : UseHelper("bit_cast") + "<" + VectorType(to) + ">";
  out_.text += "(";
  Expr(n->args[0], kAssign);
  out_.text += ")";
}

void CudaPrinter::FuncCall(const CallNode* n) {
  auto text = [&](const char* key) {
    auto it = n->attrs.find(key);
    return it == n->attrs.end() ? std::string() : std::string((*it).second.cast<ffi::String>());
  };
  std::string name = text("name"), source = text("source");
  if (!source.empty()) Helper(source, source);
  out_.text += name + "(";
  Arguments(n->args);
  out_.text += ")";
}

}  // namespace codegen
}  // namespace tirx
