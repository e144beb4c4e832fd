/*!
 * What a native function knows before its first statement.
 */
#ifndef TIRX_SRC_PASSES_KNOWN_FACTS_H_
#define TIRX_SRC_PASSES_KNOWN_FACTS_H_
#include <tirx/arith/analyzer.h>
#include <tirx/ir/functor.h>
#include <tirx/scope/scope_ids.h>

#include <functional>

namespace tirx {
namespace passes {

/*! func with its device part (all of it, when there is no T.device_entry()) rewritten. */
PrimFunc RewriteDevice(const PrimFunc& func, const std::function<Stmt(const Stmt&)>& rewrite);

/*! Integer facts of one function, kept up to date by the pass that walks it. */
class KnownFacts {
 public:
  explicit KnownFacts(const PrimFunc& func);
  const arith::Analyzer& analyzer() const { return analyzer_; }
  /*! var = value: hardware indices get the range of the launch, other integers the facts of value.
   */
  void Bind(const Var& var, const PrimExpr& value);

 private:
  /*! The extent of tx.thread_index() or tx.cta_index(dim); null for other expressions. */
  const PrimExpr* ExtentOf(const PrimExpr& e) const;
  void AddHost(const ffi::Array<Stmt>& host);
  bool has_launch_;
  scope::Launch launch_;
  PrimExpr threads_{1};
  arith::Analyzer analyzer_;
};

/*!
 * Rewrites expressions from the outside: VisitRoot sees each whole expression (a value, a
 * condition, an index), after the indices of the loads in it were seen as expressions of their own.
 */
class RootMutator : public StmtMutator {
 protected:
  virtual PrimExpr VisitRoot(const PrimExpr& e) = 0;
  virtual PrimExpr VisitIndex(const PrimExpr& e) { return VisitRoot(e); }
  PrimExpr VisitExpr(const PrimExpr& e) final;
  PrimExpr VisitBufferLoad(const BufferLoad& e) override;
  ffi::Array<PrimExpr> VisitIndices(const ffi::Array<PrimExpr>& indices);
  Stmt VisitBufferStore(const BufferStore& s) override;
  Buffer VisitBuffer(const Buffer& b) override { return b; }

 private:
  bool inside_{false};
};

/*! A RootMutator whose facts hold where it stands: loop ranges, lets, conditions of branches. */
class FactMutator : public RootMutator {
 public:
  explicit FactMutator(const PrimFunc& func) : facts_(func) {}

 protected:
  PrimExpr VisitRoot(const PrimExpr& e) override { return e; }
  Stmt VisitBind(const Bind& s) override;
  Stmt VisitFor(const For& s) override;
  Stmt VisitIfThenElse(const IfThenElse& s) override;
  Stmt VisitWhile(const While& s) override;
  /*! Rewrites s, knowing that cond holds. */
  Stmt Given(const PrimExpr& cond, const Stmt& s);
  const arith::Analyzer& analyzer() const { return facts_.analyzer(); }

  KnownFacts facts_;
};

}  // namespace passes
}  // namespace tirx
#endif  // TIRX_SRC_PASSES_KNOWN_FACTS_H_
