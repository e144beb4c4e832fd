/*!
 * Registers expression nodes and their checked factories with the FFI (compiled at -O1).
 */
#include <tirx/expr/expr.h>
#include <tirx/expr/functor.h>
#include <tirx/expr/ops.h>
#include <tirx/support/diag.h>
#include <tvm/ffi/function.h>

namespace tirx {
namespace {

using Flag = refl::AttachFieldFlag;

template <BinOp op>
void DefBinary(refl::GlobalDef* def, const char* name) {
  def->def(name, [](PrimExpr a, PrimExpr b, Span s) { return MakeBinary(op, a, b, s); });
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<SpanNode>()
      .def_ro("file", &SpanNode::file)
      .def_ro("line", &SpanNode::line, "1-based")
      .def_ro("column", &SpanNode::column, "0-based")
      .def_ro("end_line", &SpanNode::end_line)
      .def_ro("end_column", &SpanNode::end_column, "0-based, exclusive");
  refl::ObjectDef<PointerTypeNode>()
      .def_ro("element", &PointerTypeNode::element)
      .def_ro("scope", &PointerTypeNode::scope);
  refl::ObjectDef<PrimExprNode>(refl::init(false))
      .def_ro("dtype", &PrimExprNode::dtype)
      .def_ro("span", &PrimExprNode::span, refl::repr(false), Flag::SEqHashIgnore())
      .def_ro("depth", &PrimExprNode::depth, refl::repr(false), Flag::SEqHashIgnore())
      .def_ro("size", &PrimExprNode::size, refl::repr(false), Flag::SEqHashIgnore());
  refl::TypeAttrDef<PrimExprNode>().def_convert<PrimExpr>();
  refl::ObjectDef<VarNode>(refl::init(false))
      .def_ro("name", &VarNode::name, Flag::SEqHashIgnore())
      .def_ro("pointer", &VarNode::pointer);
  refl::ObjectDef<IntImmNode>(refl::init(false)).def_ro("value", &IntImmNode::value);
  refl::ObjectDef<FloatImmNode>(refl::init(false)).def_ro("value", &FloatImmNode::value);
  refl::ObjectDef<StringImmNode>(refl::init(false)).def_ro("value", &StringImmNode::value);
  refl::ObjectDef<BinaryNode>(refl::init(false))
      .def_ro("op", &BinaryNode::op, "index into BIN_OPS")
      .def_ro("a", &BinaryNode::a)
      .def_ro("b", &BinaryNode::b);
  refl::ObjectDef<NotNode>(refl::init(false)).def_ro("a", &NotNode::a);
  refl::ObjectDef<SelectNode>(refl::init(false))
      .def_ro("cond", &SelectNode::cond)
      .def_ro("true_value", &SelectNode::true_value)
      .def_ro("false_value", &SelectNode::false_value);
  refl::ObjectDef<CastNode>(refl::init(false)).def_ro("value", &CastNode::value);
  refl::ObjectDef<RampNode>(refl::init(false))
      .def_ro("base", &RampNode::base)
      .def_ro("stride", &RampNode::stride)
      .def_ro("lanes", &RampNode::lanes);
  refl::ObjectDef<BroadcastNode>(refl::init(false))
      .def_ro("value", &BroadcastNode::value)
      .def_ro("lanes", &BroadcastNode::lanes);
  refl::ObjectDef<CallNode>(refl::init(false))
      .def_ro("op", &CallNode::op)
      .def_ro("args", &CallNode::args)
      .def_ro("attrs", &CallNode::attrs);
  refl::ObjectDef<RangeNode>(refl::init(false))
      .def_ro("min", &RangeNode::min)
      .def_ro("extent", &RangeNode::extent);
}

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::GlobalDef def;
  def.def("tx.Span", [](ffi::String f, int64_t l, int64_t c, int64_t el, int64_t ec) {
    return Span(f, l, c, el, ec);
  });
  def.def("tx.PointerType", [](DLDataType t, ffi::String s) { return PointerType(t, s); });
  def.def("tx.Var", [](ffi::String n, DLDataType t, ffi::Optional<PointerType> p, Span s) {
    auto node = ffi::make_object<VarNode>(
        n, t, p.value_or(PointerType(ffi::ObjectPtr<PointerTypeNode>(nullptr))));
    node->span = s;
    return Var(std::move(node));
  });
  def.def("tx.IntImm", [](DLDataType t, int64_t v) { return IntImm(t, v); });
  def.def("tx.FloatImm", [](DLDataType t, double v) { return FloatImm(t, v); });
  def.def("tx.StringImm", [](ffi::String v) { return StringImm(v); });
  def.def("tx.const", [](DLDataType t, PrimExpr v) { return MakeLiteral(t, v); });
  DefBinary<BinOp::kAdd>(&def, "tx.add");
  DefBinary<BinOp::kSub>(&def, "tx.sub");
  DefBinary<BinOp::kMul>(&def, "tx.mul");
  DefBinary<BinOp::kFloorDiv>(&def, "tx.floordiv");
  DefBinary<BinOp::kFloorMod>(&def, "tx.floormod");
  def.def("tx.binary", [](int op, PrimExpr a, PrimExpr b, Span s) {
    TVM_FFI_CHECK(op >= 0 && op < kNumBinOps, ValueError) << "no such binary operator: " << op;
    return MakeBinary(static_cast<BinOp>(op), a, b, s);
  });
  def.def("tx.not", [](PrimExpr a, Span s) { return MakeNot(a, s); });
  def.def("tx.select",
          [](PrimExpr c, PrimExpr t, PrimExpr f, Span s) { return MakeSelect(c, t, f, s); });
  def.def("tx.cast", [](DLDataType t, PrimExpr v, Span s) { return MakeCast(t, v, s); });
  def.def("tx.ramp", [](PrimExpr b, PrimExpr st, int n, Span s) { return MakeRamp(b, st, n, s); });
  def.def("tx.broadcast", [](PrimExpr v, int n, Span s) { return MakeBroadcast(v, n, s); });
  def.def("tx.call", [](DLDataType t, ffi::String op, ffi::Array<PrimExpr> args,
                        ffi::Optional<ffi::Map<ffi::String, ffi::Any>> attrs,
                        Span s) { return Call(t, op, args, attrs.value_or({}), s); });
  def.def("tx.Range", [](PrimExpr min, PrimExpr extent) { return Range(min, extent); });
  def.def("tx.is_pure_intrinsic", &IsPureIntrinsic);
  def.def("tx.bin_ops", []() {
    ffi::Array<ffi::Any> out;
    for (int i = 0; i < kNumBinOps; ++i) {
      const char* symbol = BinOpSymbol(static_cast<BinOp>(i));
      out.push_back(
          ffi::Array<ffi::String>{BinOpName(static_cast<BinOp>(i)), symbol ? symbol : ""});
    }
    return out;
  });
}

}  // namespace tirx
