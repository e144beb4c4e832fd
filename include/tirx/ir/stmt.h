/*!
 * Statements. Definitions (Bind, AllocBuffer, DeclBuffer, ScopeIdDef) are flat: their name is
 * visible in the rest of the enclosing sequence and in everything nested in it, so that a body of
 * fifty thousand statements is one long sequence and not a deep tree.
 */
#ifndef TIRX_IR_STMT_H_
#define TIRX_IR_STMT_H_
#include <tirx/ir/buffer.h>

namespace tirx {

/*! Deepest nesting of statements that can be built (expressions have their own limit). */
constexpr int32_t kMaxStmtDepth = 256;

class StmtNode : public ffi::Object {
 public:
  Span span;
  int32_t depth{1};
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  static constexpr uint32_t _type_child_slots = 24;
  TVM_FFI_DECLARE_OBJECT_INFO("tx.Stmt", StmtNode, ffi::Object);
};
class Stmt : public ffi::ObjectRef {
 public:
  explicit Stmt(ffi::ObjectPtr<StmtNode> n) : ObjectRef(std::move(n)) {}
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(Stmt, ffi::ObjectRef, StmtNode);
};

#define TIRX_STMT_REF(Name)                                                \
  class Name : public Stmt {                                               \
   public:                                                                 \
    explicit Name(ffi::ObjectPtr<Name##Node> n) : Stmt(std::move(n)) {}    \
    TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(Name, Stmt, Name##Node); \
  }

/*! Statements in order. Factories flatten nested sequences. */
class SeqStmtNode : public StmtNode {
 public:
  ffi::Array<Stmt> seq;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.SeqStmt", SeqStmtNode, StmtNode);
};
TIRX_STMT_REF(SeqStmt);

/*! var = value, immutable (`n: T.let = ...`); also binds pointer variables of views. */
class BindNode : public StmtNode {
 public:
  Var var{ffi::UnsafeInit{}};
  PrimExpr value{ffi::UnsafeInit{}};
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.Bind", BindNode, StmtNode);
};
TIRX_STMT_REF(Bind);

/*! Storage for `buffer` in its scope, uninitialised. Mutable scalars are buffers of shape (1,). */
class AllocBufferNode : public StmtNode {
 public:
  Buffer buffer{ffi::UnsafeInit{}};
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.AllocBuffer", AllocBufferNode, StmtNode);
};
TIRX_STMT_REF(AllocBuffer);

/*! A name for a view of existing storage: `buffer.data` is defined elsewhere. */
class DeclBufferNode : public StmtNode {
 public:
  Buffer buffer{ffi::UnsafeInit{}};
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.DeclBuffer", DeclBufferNode, StmtNode);
};
TIRX_STMT_REF(DeclBuffer);

/*! buffer[indices] = value; lanes of a Ramp index equal the lanes of value. */
class BufferStoreNode : public StmtNode {
 public:
  Buffer buffer{ffi::UnsafeInit{}};
  PrimExpr value{ffi::UnsafeInit{}};
  ffi::Array<PrimExpr> indices;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.BufferStore", BufferStoreNode, StmtNode);
};
TIRX_STMT_REF(BufferStore);

/*! An expression for its effects. */
class EvaluateNode : public StmtNode {
 public:
  PrimExpr value{ffi::UnsafeInit{}};
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.Evaluate", EvaluateNode, StmtNode);
};
TIRX_STMT_REF(Evaluate);

/*! for loop_var in [min, min+extent): kind is "serial", "unroll", "vectorized" or "parallel". */
class ForNode : public StmtNode {
 public:
  Var loop_var{ffi::UnsafeInit{}};
  PrimExpr min{ffi::UnsafeInit{}};
  PrimExpr extent{ffi::UnsafeInit{}};
  ffi::String kind{"serial"};
  Stmt body{ffi::UnsafeInit{}};
  ffi::Map<ffi::String, ffi::Any> annotations;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.For", ForNode, StmtNode);
};
TIRX_STMT_REF(For);

class WhileNode : public StmtNode {
 public:
  PrimExpr cond{ffi::UnsafeInit{}};
  Stmt body{ffi::UnsafeInit{}};
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.While", WhileNode, StmtNode);
};
TIRX_STMT_REF(While);

class BreakNode : public StmtNode {
 public:
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.Break", BreakNode, StmtNode);
};
TIRX_STMT_REF(Break);

class ContinueNode : public StmtNode {
 public:
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.Continue", ContinueNode, StmtNode);
};
TIRX_STMT_REF(Continue);

class IfThenElseNode : public StmtNode {
 public:
  PrimExpr cond{ffi::UnsafeInit{}};
  Stmt then_case{ffi::UnsafeInit{}};
  ffi::Optional<Stmt> else_case;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.IfThenElse", IfThenElseNode, StmtNode);
};
TIRX_STMT_REF(IfThenElse);

/*! Run-time check; in the simulator a failure is an error with the line, on device a trap. */
class AssertNode : public StmtNode {
 public:
  PrimExpr cond{ffi::UnsafeInit{}};
  ffi::String message;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.Assert", AssertNode, StmtNode);
};
TIRX_STMT_REF(Assert);

/*!
 * vars = T.<kind>(extents): "cta_id", "cluster_id", "cta_id_in_cluster", "cta_id_in_pair",
 * "warpgroup_id", "warp_id", "warp_id_in_wg", "thread_id", "thread_id_in_wg", "lane_id". Extents
 * left out (empty array) are filled in by ResolveScopes. Tile stage only.
 */
class ScopeIdDefNode : public StmtNode {
 public:
  ffi::Array<Var> vars;
  ffi::String kind;
  ffi::Array<PrimExpr> extents;
  ffi::Map<ffi::String, ffi::Any> attrs;  //!< {"preferred": [..]} for cta_id_in_cluster
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.ScopeIdDef", ScopeIdDefNode, StmtNode);
};
TIRX_STMT_REF(ScopeIdDef);

/*! with T.<scope>(): team switch; scope is "thread", "warp", "warpgroup", "cta" or "cluster". */
class ExecScopeNode : public StmtNode {
 public:
  ffi::String scope;
  Stmt body{ffi::UnsafeInit{}};
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.ExecScope", ExecScopeNode, StmtNode);
};
TIRX_STMT_REF(ExecScope);

/*! with T.filter(...): narrows the active set by `cond`, which must be a scope predicate. */
class FilterNode : public StmtNode {
 public:
  PrimExpr cond{ffi::UnsafeInit{}};
  Stmt body{ffi::UnsafeInit{}};
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.Filter", FilterNode, StmtNode);
};
TIRX_STMT_REF(Filter);

/*! T.device_entry(): what precedes it is host, what follows is the kernel. */
class DeviceEntryNode : public StmtNode {
 public:
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.DeviceEntry", DeviceEntryNode, StmtNode);
};
TIRX_STMT_REF(DeviceEntry);

/*! T.attr({key: value}) / T.hint(...): a fact about the rest of the enclosing sequence. */
class AttrStmtNode : public StmtNode {
 public:
  ffi::String key;
  ffi::Any value;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.AttrStmt", AttrStmtNode, StmtNode);
};
TIRX_STMT_REF(AttrStmt);

/*!
 * Tx.<op>(args...): an operation on tiles, to be replaced by TilePrimitiveDispatch.
 * args: BufferRegion, PrimExpr, bool/int/float/str, None or Array of those, in the order of the primitive's
 * signature. scope: the prefix of the call ("warp", ...); empty: taken from the context.
 */
class TilePrimitiveCallNode : public StmtNode {
 public:
  ffi::String op;
  ffi::Array<ffi::Any> args;
  ffi::String scope;
  ffi::String dispatch;  //!< empty: choose
  ffi::Map<ffi::String, Buffer> workspace;
  ffi::Map<ffi::String, ffi::Any> config;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.TilePrimitiveCall", TilePrimitiveCallNode, StmtNode);
};
TIRX_STMT_REF(TilePrimitiveCall);

// ---- checked factories (they flatten, compute depth and refuse past kMaxStmtDepth) ----
Stmt MakeSeq(ffi::Array<Stmt> seq, Span span = {});
Stmt MakeBind(Var var, PrimExpr value, Span span = {});
Stmt MakeAllocBuffer(Buffer buffer, Span span = {});
Stmt MakeDeclBuffer(Buffer buffer, Span span = {});
Stmt MakeBufferStore(Buffer buffer, PrimExpr value, ffi::Array<PrimExpr> indices, Span span = {});
Stmt MakeEvaluate(PrimExpr value, Span span = {});
Stmt MakeFor(Var loop_var, PrimExpr min, PrimExpr extent, ffi::String kind, Stmt body,
             ffi::Map<ffi::String, ffi::Any> annotations = {}, Span span = {});
Stmt MakeWhile(PrimExpr cond, Stmt body, Span span = {});
Stmt MakeBreak(Span span = {});
Stmt MakeContinue(Span span = {});
Stmt MakeIf(PrimExpr cond, Stmt then_case, ffi::Optional<Stmt> else_case = std::nullopt,
            Span span = {});
Stmt MakeAssert(PrimExpr cond, ffi::String message, Span span = {});
Stmt MakeScopeIdDef(ffi::Array<Var> vars, ffi::String kind, ffi::Array<PrimExpr> extents,
                    ffi::Map<ffi::String, ffi::Any> attrs = {}, Span span = {});
Stmt MakeExecScope(ffi::String scope, Stmt body, Span span = {});
Stmt MakeFilter(PrimExpr cond, Stmt body, Span span = {});
Stmt MakeDeviceEntry(Span span = {});
Stmt MakeAttrStmt(ffi::String key, ffi::Any value, Span span = {});
Stmt MakeTilePrimitiveCall(ffi::String op, ffi::Array<ffi::Any> args, ffi::String scope,
                           ffi::String dispatch, ffi::Map<ffi::String, Buffer> workspace,
                           ffi::Map<ffi::String, ffi::Any> config, Span span = {});

}  // namespace tirx
#endif  // TIRX_IR_STMT_H_
