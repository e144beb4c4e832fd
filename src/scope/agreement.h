/*!
 * How far the threads agree on the value of an expression.
 */
#ifndef TIRX_SRC_SCOPE_AGREEMENT_H_
#define TIRX_SRC_SCOPE_AGREEMENT_H_
#include <tirx/ir/functor.h>

#include "static_eval.h"

namespace tirx {
namespace scope {

class AgreementAnalysis {
 public:
  AgreementAnalysis(const Stmt& body, StaticEval* eval, const IdTable& ids);
  Kind Of(const PrimExpr& e);

  /*! Agreement on how often a loop's body runs, and where it is decided. */
  struct Exit {
    Kind kind{Kind::kGrid};
    Span where;
  };
  /*! Breaks and continues of this loop that only some threads take. */
  Exit ExitOf(const Stmt& loop);

 private:
  friend class StoreWalk;
  Kind OfVar(const VarNode* v);
  Kind OfCall(const CallNode* n);
  Kind OfLoad(const BufferLoadNode* n);
  Kind OfStatic(const PrimExpr& e);
  Kind OfChildren(const PrimExpr& e);
  Kind OfCtaIndex() const;
  /*! Lets and loop counters in program order, so that each looks only at earlier ones. */
  void ComputeVars();
  void ComputeLocals();
  void LowerLocal(const VarNode* data, Kind k);

  Stmt body_;
  StaticEval* eval_;
  const IdTable& ids_;
  std::vector<Stmt> definitions_;  // Bind and For
  std::unordered_map<const VarNode*, Kind> vars_;
  std::unordered_map<const VarNode*, Kind> locals_;  // by data variable; absent: agreed by all
  std::unordered_map<const StmtNode*, Exit> exits_;
  bool vars_ready_{false}, locals_ready_{false}, changed_{false};
};

}  // namespace scope
}  // namespace tirx
#endif  // TIRX_SRC_SCOPE_AGREEMENT_H_
