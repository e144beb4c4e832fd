/*!
 * Statements and functions as text of the script language (private to this room).
 */
#ifndef TIRX_SRC_IR_PRINT_STMT_H_
#define TIRX_SRC_IR_PRINT_STMT_H_
#include <tirx/ir/functor.h>

#include <string>
#include <unordered_map>

#include "print_expr.h"

namespace tirx {

/*! Whole programs: `line_` becomes a line of `out_` when its statement is complete. */
class ScriptPrinter : public ExprPrinter {
 public:
  using ExprPrinter::ExprPrinter;
  /*! The text of any node or constant; `lines`: statements and functions may take several lines. */
  std::string Print(const ffi::Any& node, bool lines);

 private:
  std::string Hoist(const PrimExpr& e) override;
  /*! Ends the current line. */
  void End();
  void Line(const std::string& text);
  void FindShared(const PrimExpr& e);
  /*! Expr at the top of a statement: looks for large shared parts first. */
  void Root(const PrimExpr& e, Literal literal = Literal::kDefault);
  bool Done() const { return out_.size() + line_.size() > limit_; }

  void Statement(const Stmt& s);
  void Block(const Stmt& body);
  void Sequence(const SeqStmtNode* n);
  void BindText(const BindNode* n);
  void Definition(const char* function, const Buffer& b, bool view);
  void BufferFields(const Buffer& b, bool view);
  void Store(const BufferStoreNode* n);
  void Evaluation(const EvaluateNode* n);
  void Loop(const ForNode* n);
  void LoopRange(const ForNode* n);
  void Branch(const IfThenElseNode* n, const char* keyword);
  void AssertText(const AssertNode* n);
  void ScopeIds(const ScopeIdDefNode* n);
  void FilterText(const FilterNode* n);
  void TileCall(const TilePrimitiveCallNode* n);
  void With(const std::string& frame, const Stmt& body);

  void Function(const PrimFunc& f);
  void Parameters(const PrimFunc& f);
  void ParameterBuffers(const PrimFunc& f);
  void Symbols(const Buffer& b);
  void Module(const IRModuleNode* n);
  void KernelText(const KernelNode* n);
  void Decorated(const PrimFunc& f);

  bool lines_{true};  //!< false: one line, so nothing is named on a line before
  std::string out_;
  int indent_{0};
  std::unordered_map<const PrimExprNode*, std::string> hoisted_;  //!< of the current statement
};

}  // namespace tirx
#endif  // TIRX_SRC_IR_PRINT_STMT_H_
