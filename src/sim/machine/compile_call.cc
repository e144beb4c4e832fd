/*!
 * Calls to bytecode: the compiler's own intrinsics, and instructions of the target's table.
 */
#include <tirx/sim/access.h>
#include <tirx/sim/compile.h>
#include <tirx/sim/ops.h>
#include <tirx/support/diag.h>
#include <tirx/support/ref.h>

namespace tirx {
namespace sim {
namespace {

void RunCall(Warp& w, const Ins& i) {
  const OpCall& c = w.prog->calls[i.a];
  c.meaning->run(w, c, i.loc);
}

size_t OperandIndex(const InstrNode* instr, const ffi::String& name) {
  for (size_t i = 0; i < instr->operands.size(); ++i) {
    if (instr->operands[i]->name == name) return i;
  }
  return 0;
}

int64_t ConstArg(const CallNode* n, size_t i) { return AsInt(n->args[i]).value_or(0); }

}  // namespace

Val Compiler::CompileCall(const CallNode* n) {
  std::string name(n->op);
  if (name.rfind("tx.", 0) == 0) return CompileIntrinsic(n, name.substr(3));
  return CompileInstruction(n);
}

Val Compiler::CompileIntrinsic(const CallNode* n, const std::string& name) {
  if (name == "thread_index") {
    Val v{kInt32, false, kRowThread};
    v.warp_base = kSWarpBase;
    return ConvertElement(v, n->dtype);
  }
  auto scalar = [&](int reg) { return ConvertUniform(Val{kInt32, true, reg}, n->dtype); };
  if (name == "cta_index") return scalar(kSCta + static_cast<int>(ConstArg(n, 0)));
  if (name == "cta_extent") return scalar(kSGrid + static_cast<int>(ConstArg(n, 0)));
  if (name == "cluster_cta_rank") return scalar(kSRank);
  if (name == "cluster_cta_index") return scalar(kSClusterX + static_cast<int>(ConstArg(n, 0)));
  if (name == "reinterpret") return Reinterpret(n);
  if (name == "address_of") return AddressOf(n);
  if (name == "func_call") {
    Diag("sim", "user-source", n->span)
        .Message("the simulator cannot run user CUDA source")
        .Found("a call of T.func_call")
        .Required("IR or instructions of the table")
        .Throw();
  }
  return CompileMath(n, name);
}

Val Compiler::CompileMath(const CallNode* n, const std::string& name) {
  std::vector<Val> args;
  for (const PrimExpr& a : n->args) args.push_back(Expr(a));
  return PerElementOr(n->dtype, [&](int i) {
    std::vector<Val> elements;
    for (const Val& a : args) elements.push_back(Rows(Element(a, i)));
    return MathElement(name, ElementOf(n->dtype), elements);
  });
}

Val Compiler::MathElement(const std::string& name, DType t, const std::vector<Val>& args) {
  DType from = args[0].t;
  bool fused_small = name == "fma" && (from == kFloat16 || from == kBFloat16);
  if (IsSmallFloat(from) && !fused_small) {
    std::vector<Val> wide;
    for (const Val& a : args) wide.push_back(Convert(a, kFloat32));
    return Convert(MathElement(name, IsSmallFloat(t) ? kFloat32 : t, wide), t);
  }
  Fn fn =
      fused_small ? (from == kFloat16 ? &FmaHalfRow : &FmaBFloatRow) : MathFn(name, ClassOf(from));
  if (!fn) NotNative("a call of tx." + name + " on " + DTypeName(from));
  Val out{t, false, NewRows(RowsOf(t))};
  auto reg = [&](size_t i) { return i < args.size() ? args[i].reg : 0; };
  Emit(fn, IsFloat(from) ? Kind::kMath : Kind::kInt, out.reg, reg(0), reg(1), reg(2));
  if (Fn wrap = WrapFn(t)) Emit(wrap, Kind::kNone, out.reg, out.reg);
  return out;
}

/*! The same bits as another type of the same total size: through bytes, element by element. */
Val Compiler::Reinterpret(const CallNode* n) {
  Val v = Expr(n->args[0]);
  DType from = ElementOf(v.t), to = ElementOf(n->dtype);
  if (from.bits == to.bits) {
    bool same_kind = v.uniform && !IsFloat(to);
    if (same_kind) return ConvertUniform(v, n->dtype);
    v = Rows(v);
    Val out{n->dtype, false, v.reg};
    out.alias = v.alias;
    if (!WrapFn(to)) return out;
    return PerElementOr(n->dtype, [&](int i) {
      Val e{to, false, NewRows(1)};
      Emit(WrapFn(to), Kind::kNone, e.reg, Element(out, i).reg);
      return e;
    });
  }
  v = Rows(v);
  Val out{n->dtype, false, NewRows(n->dtype.lanes * RowsOf(to))};
  Ins& i = Emit(&Repack, Kind::kNone, out.reg, v.reg, from.bits, to.bits);
  i.n = static_cast<uint8_t>(v.t.lanes);
  i.idx = static_cast<uint8_t>(n->dtype.lanes);
  if (Fn wrap = WrapFn(to)) {
    for (int k = 0; k < n->dtype.lanes; ++k) Emit(wrap, Kind::kNone, out.reg + k, out.reg + k);
  }
  return out;
}

Val Compiler::AddressOf(const CallNode* n) {
  auto* load = n->args[0].as<BufferLoadNode>();
  if (!load) NotNative("tx.address_of of something that is not a buffer element");
  Place p = PlaceOf(load->buffer, load->indices);
  NoteAccess(p.ref, pointer_access_);
  Val out{kHandle, false, NewRows(2)};
  EmitAccess(&RefAddress, Kind::kInt, p, out.reg);
  return out;
}

/*! A pointer parameter, or the data variable of an allocation, used as a value. */
Val Compiler::AddressOfData(const VarNode* v) {
  auto it = storage_.find(v);
  if (it == storage_.end()) NotNative("variable " + std::string(v->name) + " that is not defined");
  if (it->second.kind == Storage::kPointer) return it->second.pointer;
  Buffer bytes("", GetRef<Var>(v), {static_cast<int64_t>(1)}, kUInt8, {}, v->pointer->scope);
  Val out{kHandle, false, NewRows(2)};
  NoteAccess(RefOf(bytes), pointer_access_);
  EmitAccess(&RefAddress, Kind::kInt, Place{RefOf(bytes), Constant(kInt64, 0), 1}, out.reg);
  keep_.push_back(bytes);
  return out;
}

const InstrNode* Compiler::RequireInstr(const CallNode* n) {
  const InstrNode* instr = FindInstr(n->op);
  std::string name(n->op);
  if (!instr) {
    Diag("target", "unknown-instruction", n->span.defined() ? n->span : span_)
        .Message("no instruction has this name")
        .Found(name)
        .Required("an instruction of the table of target " + std::string(p_->target->kind))
        .Throw();
  }
  for (const ffi::String& feature : instr->features) {
    if (p_->target->Has(feature)) continue;
    Diag("target", "missing-feature", n->span.defined() ? n->span : span_)
        .Message("the target has no " + name)
        .Found(std::string(p_->target->arch) + " without \"" + std::string(feature) + "\"")
        .Required("a target with the feature \"" + std::string(feature) + "\"")
        .Throw();
  }
  return instr;
}

Val Compiler::CompileInstruction(const CallNode* n) {
  const InstrNode* instr = RequireInstr(n);
  OpCall call;
  call.meaning = FindMeaning(std::string(instr->sim));
  call.instr = GetRef<Instr>(instr);
  call.span = n->span;
  call.result = n->dtype;
  if (!call.meaning) {
    std::string why(instr->unsupported);
    Diag("sim", "unsupported-instruction", n->span.defined() ? n->span : span_)
        .Message("the simulator has no meaning for " + std::string(n->op))
        .Found(instr->sim.empty()
                   ? (why.empty() ? "no meaning in the table" : why)
                   : "meaning \"" + std::string(instr->sim) + "\" is not implemented")
        .Required("an instruction whose meaning is in src/sim/ops")
        .Throw();
  }
  std::vector<WriteBack> after;
  AddOperands(n, instr, &call, &after);
  int rows = IsVoid(n->dtype) ? 0 : n->dtype.lanes * RowsOf(ElementOf(n->dtype));
  Val out{n->dtype, false, rows ? NewRows(rows) : 0};
  call.dst = rows ? out.reg : -1;
  if (call.meaning->prepare) call.meaning->prepare(&call);
  if (p_->options.schedule == Schedule::kRandom) Emit(&MaybeYield, Kind::kNone);
  Kind kind = call.meaning->kind;
  p_->ordered = p_->ordered || kind == Kind::kAtomic || call.meaning->ordered;
  p_->calls.push_back(std::move(call));
  if (n->span.defined()) loc_ = LocOf(n->span);
  Emit(&RunCall, kind, 0, static_cast<int32_t>(p_->calls.size()) - 1);
  for (const WriteBack& wb : after) {
    if (wb.direct) {
      MarkLocal(wb.row, wb.words);
    } else {
      StorePlace(PlaceOf(wb.buffer, {wb.index}), wb.value);
    }
  }
  return out;
}

/*! The call's arguments, then the defaults of operands that it leaves out ("@other" copies one). */
void Compiler::AddOperands(const CallNode* n, const InstrNode* instr, OpCall* call,
                           std::vector<WriteBack>* after) {
  size_t declared = instr->operands.size();
  for (size_t i = 0; i < n->args.size(); ++i) {
    const InstrOperandNode* decl = i < declared ? instr->operands[i].get() : nullptr;
    call->args.push_back(CompileOperand(n->args[i], decl, after));
  }
  for (size_t i = n->args.size(); i < declared; ++i) {
    const InstrOperandNode* decl = instr->operands[i].get();
    if (!decl->otherwise.has_value()) break;
    PrimExpr value = decl->otherwise.value();
    if (auto* other = value.as<StringImmNode>()) {
      call->args.push_back(call->args[OperandIndex(instr, other->value)]);
    } else {
      call->args.push_back(CompileOperand(value, decl, after));
    }
  }
}

Operand Compiler::CompileOperand(const PrimExpr& e, const InstrOperandNode* decl,
                                 std::vector<WriteBack>* after) {
  if (auto* s = e.as<StringImmNode>()) {
    Operand o;
    o.kind = Operand::kStr;
    o.str = std::string(s->value);
    return o;
  }
  bool writes = decl && decl->space == "reg" && decl->access != "r";
  if (writes) {
    auto* load = e.as<BufferLoadNode>();
    if (!load) NotNative("an operand that is written but names no place");
    return PlaceOperand(load, decl->access == "rw", after);
  }
  return ValueOperand(e, decl);
}

/*! The buffer of `address_of(buffer[i])`, or -1. */
int32_t Compiler::PointedRef(const PrimExpr& e) {
  auto* call = e.as<CallNode>();
  if (!call || call->op != "tx.address_of") return -1;
  return RefOf(call->args[0].as<BufferLoadNode>()->buffer);
}

Operand Compiler::ValueOperand(const PrimExpr& e, const InstrOperandNode* decl) {
  pointer_access_ =
      decl && decl->IsPointer() ? (decl->Reads() ? 1 : 0) | (decl->Writes() ? 2 : 0) : 3;
  Val v = Expr(e);
  pointer_access_ = 3;
  bool retype = decl && decl->space == "reg" && !IsVoid(decl->dtype) && decl->dtype.lanes == 1 &&
                v.t.lanes == 1 && decl->dtype.bits != v.t.bits && (IsInteger(v.t) || IsBool(v.t)) &&
                (IsInteger(decl->dtype) || IsBool(decl->dtype));
  if (retype) v = Convert(v, decl->dtype);
  if (decl && decl->space == "shared" && v.t.bits == 32) {  // a 32-bit shared address (cvta)
    v = BinaryVals(BinOp::kAdd, Convert(Convert(v, kUInt32), kUInt64),
                   Constant(kUInt64, static_cast<int64_t>(kSharedSegment << kSegmentShift)));
  }
  Operand o;
  o.dtype = v.t;
  if (decl && decl->IsPointer()) o.ref = PointedRef(e);
  o.is_const = v.k.has_value();
  o.imm = v.k.value_or(0);
  o.kind = decl && decl->space == "imm" ? Operand::kImm : Operand::kValue;
  o.row = Rows(v).reg;
  return o;
}

Operand Compiler::PlaceOperand(const BufferLoadNode* n, bool read, std::vector<WriteBack>* after) {
  Place p = PlaceOf(n->buffer, n->indices);
  Operand o;
  o.kind = Operand::kPlace;
  o.dtype = n->dtype;
  if (auto row = DirectRow(p)) {
    if (read) CheckLocal(*row, p.lanes, p.ref);
    o.row = *row;
    after->push_back(WriteBack{true, *row, p.lanes, n->buffer, PrimExpr(0), {}});
    return o;
  }
  Val v = read ? LoadPlace(p, n->dtype)
               : Val{n->dtype, false, NewRows(n->dtype.lanes * RowsOf(ElementOf(n->dtype)))};
  o.row = v.reg;
  after->push_back(WriteBack{false, 0, 0, n->buffer, n->indices[0], v});
  return o;
}

}  // namespace sim
}  // namespace tirx
