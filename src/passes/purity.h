/*!
 * What an expression does besides having a value.
 */
#ifndef TIRX_SRC_PASSES_PURITY_H_
#define TIRX_SRC_PASSES_PURITY_H_
#include <tirx/ir/stmt.h>

namespace tirx {
namespace passes {

/*! Evaluating e changes nothing and cannot trap: it may be left out. Loads may. */
bool CanDrop(const PrimExpr& e);
/*! No statements at all. */
inline bool IsEmpty(const Stmt& s) {
  auto* seq = s.as<SeqStmtNode>();
  return seq != nullptr && seq->seq.empty();
}
/*! if cond: then_case else: else_case, without empty arms. */
Stmt MakeTidyIf(const PrimExpr& cond, const Stmt& then_case, const ffi::Optional<Stmt>& else_case,
                const Span& span);
/*! A `break` or `continue` in s that belongs to the loop around s. */
bool LeavesLoop(const Stmt& s);

}  // namespace passes
}  // namespace tirx
#endif  // TIRX_SRC_PASSES_PURITY_H_
