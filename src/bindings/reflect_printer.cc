/*!
 * Registers the printer: "tx.print_script", and short reprs for every node (compiled at -O1).
 */
#include <tirx/ir/functor.h>
#include <tirx/ir/instr.h>
#include <tirx/ir/printer.h>
#include <tirx/ir/target.h>
#include <tvm/ffi/extra/dataclass.h>
#include <tvm/ffi/function.h>

namespace tirx {
namespace {

constexpr int64_t kReprLimit = 200;

size_t Limit(int64_t limit) {
  return limit < 0 ? static_cast<size_t>(-1) : static_cast<size_t>(limit);
}

/*! The repr of nodes inside FFI containers, and of objects whose class defines none. */
void RegisterRepr(int32_t type_index, const ffi::Function& repr) {
  std::string_view name = ffi::type_attr::kRepr.name;
  TVMFFIByteArray key{name.data(), name.size()};
  ffi::AnyView value(repr);
  TVM_FFI_CHECK_SAFE_CALL(
      TVMFFITypeRegisterAttr(type_index, &key, reinterpret_cast<const TVMFFIAny*>(&value)));
}

template <typename... Nodes>
void RegisterReprs(const ffi::Function& repr) {
  (RegisterRepr(Nodes::RuntimeTypeIndex(), repr), ...);
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  auto repr = ffi::Function::FromPacked([](const ffi::AnyView* args, int32_t, ffi::Any* out) {
    *out = ffi::String(PrintShort(args[0], kReprLimit));
  });
  RegisterReprs<VarNode, IntImmNode, FloatImmNode, StringImmNode, BinaryNode, NotNode, SelectNode,
                CastNode, RampNode, BroadcastNode, CallNode, BufferLoadNode, RangeNode, BufferNode,
                BufferRegionNode, TileLayoutNode, ComposeLayoutNode, SeqStmtNode, BindNode,
                AllocBufferNode, DeclBufferNode, BufferStoreNode, EvaluateNode, ForNode, WhileNode,
                BreakNode, ContinueNode, IfThenElseNode, AssertNode, ScopeIdDefNode, ExecScopeNode,
                FilterNode, DeviceEntryNode, AttrStmtNode, TilePrimitiveCallNode, PrimFuncNode,
                IRModuleNode, KernelNode>(repr);
  refl::GlobalDef def;
  def.def("tx.print_script", [](ffi::Any node, int64_t limit) {
    return ffi::String(PrintScript(node, Limit(limit)));
  });
  def.def("tx.print_short",
          [](ffi::Any node, int64_t limit) { return ffi::String(PrintShort(node, Limit(limit))); });
}

}  // namespace tirx
