/*!
 * A rewrite that keeps an analyzer up to date.
 */
#ifndef TIRX_SCOPE_FACTS_H_
#define TIRX_SCOPE_FACTS_H_
#include <tirx/arith/analyzer.h>
#include <tirx/ir/functor.h>
#include <tirx/scope/scope_ids.h>

#include <optional>

namespace tirx {
namespace scope {

/*! Binds the scope ids of a kernel, its symbolic extents (not negative), and the lets before
 *  T.device_entry(). */
void BindFacts(const arith::Analyzer& analyzer, const PrimFunc& func, const IdTable& ids);

/*!
 * Loop variables, lets and the conditions of branches are known to `analyzer_` (when there is one)
 * while the statements under them are rewritten.
 */
class FactsMutator : public StmtMutator {
 public:
  explicit FactsMutator(std::optional<arith::Analyzer> analyzer) : analyzer_(std::move(analyzer)) {}

 protected:
  Stmt VisitBind(const Bind& s) override;
  Stmt VisitFor(const For& s) override;
  Stmt VisitIfThenElse(const IfThenElse& s) override;
  Stmt VisitFilter(const tirx::Filter& s) override;
  /*! Rewrites s, knowing `fact`. */
  Stmt VisitGiven(const PrimExpr& fact, const Stmt& s);
  const arith::Analyzer* analyzer() const { return analyzer_ ? &*analyzer_ : nullptr; }

  std::optional<arith::Analyzer> analyzer_;
};

}  // namespace scope
}  // namespace tirx
#endif  // TIRX_SCOPE_FACTS_H_
