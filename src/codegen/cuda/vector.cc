/*!
 * Vector values: moves as float4 and the like, arithmetic through the helper type vec<T, N>.
 */
#include <tirx/expr/ops.h>
#include <tirx/support/diag.h>

#include "cuda_printer.h"
#include "types.h"

namespace tirx {
namespace codegen {
namespace {

/*! The symbol of an operator that vec has, or nullptr. */
const char* VectorSymbol(BinOp op) {
  switch (op) {
    case BinOp::kAdd: return "+";
    case BinOp::kSub: return "-";
    case BinOp::kMul: return "*";
    case BinOp::kDiv: return "/";
    default: return nullptr;
  }
}

/*! The unit-stride ramp of a vector access; raises for anything else. */
const RampNode* AccessRamp(const ffi::Array<PrimExpr>& indices, const Span& span) {
  auto* ramp = indices.size() == 1 ? indices[0].as<RampNode>() : nullptr;
  bool power = ramp && (ramp->lanes & (ramp->lanes - 1)) == 0;
  if (ramp && IsConst(ramp->stride, 1) && power) return ramp;
  Diag("verify", "codegen-vector", span)
      .Message("this vector access has no CUDA instruction")
      .Found(ramp ? std::to_string(ramp->lanes) + " lanes" : "a vector index that is not a Ramp")
      .Required("a Ramp of stride 1 whose lanes are a power of two")
      .Throw();
}

}  // namespace

/*! The C type of a computed value: the scalar type, or vec<T, N>. */
std::string CudaPrinter::VectorType(DType t) {
  if (t.lanes == 1) return CType(t);
  if (IsPacked(t)) {
    Diag("target", "codegen-subbyte", Span())
        .Message("vectors of " + DTypeName(ElementOf(t)) + " can be moved but not computed with")
        .Required("scalars")
        .Throw();
  }
  return UseHelper("vec") + "<" + CType(t) + ", " + std::to_string(t.lanes) + ">";
}

void CudaPrinter::VectorLoad(const BufferLoadNode* n, int level) {
  AccessRamp(n->indices, n->span);
  std::string constant = IsConstStorage(n->buffer) ? "const " : "";
  Wrapped("*(" + constant + VectorType(n->dtype) + " *)" + AddressOf(n->buffer, n->indices[0]),
          kUnary, level);
}

/*! A pure move keeps the bits: one load and one store of the same width, whatever the dtypes. */
void CudaPrinter::VectorStore(const BufferStoreNode* n) {
  AccessRamp(n->indices, n->span);
  DType t = n->value.dtype();
  std::string type = MoveType(t), address = AddressOf(n->buffer, n->indices[0]);
  auto* load = n->value.as<BufferLoadNode>();
  if (load && !type.empty()) {
    AccessRamp(load->indices, load->span);
    std::string constant = IsConstStorage(load->buffer) ? "const " : "";
    out_.text += "*(" + type + " *)" + address + " = *(" + constant + type + " *)" +
                 AddressOf(load->buffer, load->indices[0]);
    return;
  }
  out_.text += "*(" + VectorType(t) + " *)" + address + " = ";
  Expr(n->value, kAssign);
}

void CudaPrinter::VectorExpr(const PrimExpr& e, int level) {
  UseHelper("vec");
  std::string element = CType(e.dtype());
  if (auto* load = e.as<BufferLoadNode>()) return VectorLoad(load, level);
  if (auto* var = e.as<VarNode>()) {
    out_.text += vars_.at(var);
    return;
  }
  if (auto* n = e.as<BroadcastNode>()) {
    out_.text += UseHelper("broadcast") + "<" + std::to_string(n->lanes) + ">(";
    if (AsInt(n->value) && n->value.dtype().bits < 32) out_.text += "(" + element + ")";
    Expr(n->value, kAssign);
    out_.text += ")";
    return;
  }
  if (auto* n = e.as<RampNode>()) {
    out_.text += UseHelper("ramp") + "<" + std::to_string(n->lanes) + ">(";
    Arguments({n->base, n->stride});
    out_.text += ")";
    return;
  }
  if (auto* n = e.as<CastNode>()) {
    out_.text += UseHelper("cast") + "<" + element + ">(";
    Expr(n->value, kAssign);
    out_.text += ")";
    return;
  }
  if (auto* n = e.as<BinaryNode>()) return VectorBinary(n, level);
  if (auto* n = e.as<CallNode>(); n && n->op == "tx.reinterpret") return Reinterpret(n, level);
  LaneWise(e);
}

void CudaPrinter::VectorBinary(const BinaryNode* n, int level) {
  const char* symbol = VectorSymbol(n->kind());
  if (!symbol) return LaneWise(GetRef<PrimExpr>(n));
  UseHelper(std::string("vec") + symbol);
  int strength = n->kind() == BinOp::kMul || n->kind() == BinOp::kDiv ? kProduct : kSum;
  bool parens = strength < level;
  if (parens) out_.text += "(";
  Expr(n->a, strength);
  out_.text += std::string(" ") + symbol + " ";
  Expr(n->b, strength + 1);
  if (parens) out_.text += ")";
}

/*!
 * Any other operation: `map(f, a, b)` with f the operation on one lane. The operands become
 * parameters of a lambda, so each is evaluated once.
 */
void CudaPrinter::LaneWise(const PrimExpr& e) {
  std::vector<PrimExpr> operands;
  std::string params;
  names_.Open();
  auto lane = [&](const PrimExpr& operand) -> PrimExpr {
    Var v("x", ElementOf(operand.dtype()));
    std::string name = names_.Define("x");
    vars_[v.get()] = name;
    params += (params.empty() ? "" : ", ") + CType(v->dtype) + " " + name;
    operands.push_back(operand);
    kept_.push_back(v);
    return v;
  };
  PrimExpr one = OnOneLane(e, lane);
  std::string body = Text(one, kAssign);
  names_.Close();
  out_.text += UseHelper("map") + "([=](" + params + ") -> " + CType(ElementOf(e.dtype())) +
               " { return " + body + "; }";
  for (const PrimExpr& operand : operands) {
    out_.text += ", ";
    Expr(operand, kAssign);
  }
  out_.text += ")";
}

PrimExpr CudaPrinter::OnOneLane(const PrimExpr& e,
                                const std::function<PrimExpr(const PrimExpr&)>& lane) {
  if (auto* n = e.as<BinaryNode>()) {
    PrimExpr a = lane(n->a);
    return MakeBinary(n->kind(), a, lane(n->b));
  }
  if (auto* n = e.as<NotNode>()) return MakeNot(lane(n->a));
  if (auto* n = e.as<SelectNode>()) {
    PrimExpr c = n->cond.dtype().lanes > 1 ? lane(n->cond) : n->cond;
    PrimExpr t = lane(n->true_value);
    return MakeSelect(c, t, lane(n->false_value));
  }
  if (auto* n = e.as<CallNode>(); n && IsPureIntrinsic(n->op)) {
    ffi::Array<PrimExpr> args;
    for (const PrimExpr& a : n->args) args.push_back(lane(a));
    return tirx::Call(ElementOf(n->dtype), n->op, args, n->attrs, n->span);
  }
  Diag("verify", "codegen-vector", e->span)
      .Message("this vector operation cannot be printed as CUDA C++")
      .Found(std::string(e->GetTypeKey()))
      .Required("arithmetic, comparison, select, cast or a math function")
      .Throw();
}

}  // namespace codegen
}  // namespace tirx
