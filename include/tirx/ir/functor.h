/*!
 * Recursion over statements and the expressions in them.
 */
#ifndef TIRX_IR_FUNCTOR_H_
#define TIRX_IR_FUNCTOR_H_
#include <tirx/expr/functor.h>
#include <tirx/ir/function.h>

#include <unordered_map>
#include <vector>

namespace tirx {

// clang-format off
enum class StmtKind : uint8_t {
  kSeqStmt, kBind, kAllocBuffer, kDeclBuffer, kBufferStore, kEvaluate, kFor, kWhile, kBreak,
  kContinue, kIfThenElse, kAssert, kScopeIdDef, kExecScope, kFilter, kDeviceEntry, kAttrStmt,
  kTilePrimitiveCall, kOther,
};
// clang-format on
StmtKind KindOf(const StmtNode* n);
inline StmtKind KindOf(const Stmt& s) { return KindOf(s.get()); }

/*! Visits statements in program order and every expression in them. */
class StmtVisitor : public ExprVisitor {
 public:
  virtual void VisitStmt(const Stmt& s);
  void operator()(const Stmt& s) { VisitStmt(s); }
  using ExprVisitor::operator();

 protected:
  void VisitOther(const PrimExprNode* n) override;  //!< BufferLoad
  virtual void VisitBufferLoad(const BufferLoadNode* n);
  virtual void VisitSeqStmt(const SeqStmtNode* n);
  virtual void VisitBind(const BindNode* n);
  virtual void VisitAllocBuffer(const AllocBufferNode* n);
  virtual void VisitDeclBuffer(const DeclBufferNode* n);
  virtual void VisitBufferStore(const BufferStoreNode* n);
  virtual void VisitEvaluate(const EvaluateNode* n);
  virtual void VisitFor(const ForNode* n);
  virtual void VisitWhile(const WhileNode* n);
  virtual void VisitBreak(const BreakNode*) {}
  virtual void VisitContinue(const ContinueNode*) {}
  virtual void VisitIfThenElse(const IfThenElseNode* n);
  virtual void VisitAssert(const AssertNode* n);
  virtual void VisitScopeIdDef(const ScopeIdDefNode* n);
  virtual void VisitExecScope(const ExecScopeNode* n);
  virtual void VisitFilter(const FilterNode* n);
  virtual void VisitDeviceEntry(const DeviceEntryNode*) {}
  virtual void VisitAttrStmt(const AttrStmtNode* n);
  virtual void VisitTilePrimitiveCall(const TilePrimitiveCallNode* n);
  /*! Called for each use of a buffer (access, region, allocation). */
  virtual void VisitBuffer(const Buffer&) {}
  virtual void VisitRegion(const BufferRegion& r);
  /*! Descends into expressions and regions inside an attribute or an argument. */
  void VisitAny(const ffi::Any& value);
  /*! The expressions in a buffer's shape, offset, address and layout (not visited by default). */
  void VisitBufferExprs(const Buffer& b);
  void VisitLayoutExprs(const Layout& layout);
};

/*!
 * Copy-on-write rewriting. VisitStmt may return a sequence; sequences are flattened. VisitBuffer
 * maps a buffer at its definition and at every use (the default remaps buffers whose shape,
 * offset, address, layout or data variable changed, once per buffer).
 */
class StmtMutator : public ExprMutator {
 public:
  virtual Stmt VisitStmt(const Stmt& s);
  Stmt operator()(const Stmt& s) { return VisitStmt(s); }
  using ExprMutator::operator();

 protected:
  PrimExpr VisitOther(const PrimExpr& e) override;  //!< BufferLoad
  virtual PrimExpr VisitBufferLoad(const BufferLoad& e);
  virtual Stmt VisitSeqStmt(const SeqStmt& s);
  virtual Stmt VisitBind(const Bind& s);
  virtual Stmt VisitAllocBuffer(const AllocBuffer& s);
  virtual Stmt VisitDeclBuffer(const DeclBuffer& s);
  virtual Stmt VisitBufferStore(const BufferStore& s);
  virtual Stmt VisitEvaluate(const Evaluate& s);
  virtual Stmt VisitFor(const For& s);
  virtual Stmt VisitWhile(const While& s);
  virtual Stmt VisitIfThenElse(const IfThenElse& s);
  virtual Stmt VisitAssert(const Assert& s);
  virtual Stmt VisitScopeIdDef(const ScopeIdDef& s);
  virtual Stmt VisitExecScope(const ExecScope& s);
  virtual Stmt VisitFilter(const Filter& s);
  virtual Stmt VisitAttrStmt(const AttrStmt& s);
  virtual Stmt VisitTilePrimitiveCall(const TilePrimitiveCall& s);
  virtual Buffer VisitBuffer(const Buffer& b);
  virtual BufferRegion VisitRegion(const BufferRegion& r);
  Range VisitRange(const Range& r);
  Layout VisitLayout(const Layout& layout);
  ffi::Any VisitAny(const ffi::Any& value);

  std::unordered_map<const BufferNode*, Buffer> buffer_remap_;

 private:
  Buffer RebuildBuffer(const Buffer& b);
  ffi::Array<Iter> VisitIters(const ffi::Array<Iter>& iters);
  std::vector<Buffer> remapped_;  // keeps the keys of buffer_remap_ alive
};

/*! Replaces variables. Also rewrites buffers (shape, offset, data) that mention them. */
Stmt Substitute(const Stmt& s, const ffi::Map<Var, PrimExpr>& values);
PrimExpr Substitute(const PrimExpr& e, const ffi::Map<Var, PrimExpr>& values);

}  // namespace tirx
#endif  // TIRX_IR_FUNCTOR_H_
