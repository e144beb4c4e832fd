/*!
 * A walk over a kernel that knows who executes each statement.
 */
#ifndef TIRX_SCOPE_WALKER_H_
#define TIRX_SCOPE_WALKER_H_
#include <tirx/scope/conditions.h>
#include <tirx/scope/facts.h>

#include <memory>
#include <optional>

namespace tirx {
namespace scope {

/*! A function body at T.device_entry(). */
struct EntrySplit {
  ffi::Array<Stmt> host;    //!< statements before it
  ffi::Array<Stmt> device;  //!< statements after it
  Stmt entry{ffi::UnsafeInit{}};
};
/*! Nothing when there is no device_entry at the top level. */
std::optional<EntrySplit> SplitAtEntry(const PrimFunc& func);
/*! The body put together again. */
Stmt JoinAtEntry(const EntrySplit& parts);

/*!
 * Rewrites the device part of a function whose launch is resolved, keeping the active set, the
 * innermost team kind and (when given) the analyzer up to date. Branches that no thread takes are
 * dropped.
 */
class ScopedMutator : public FactsMutator {
 public:
  /*! With an analyzer, facts about ids, loops, lets and conditions are bound in it. */
  ScopedMutator(const PrimFunc& func, std::optional<arith::Analyzer> analyzer);
  /*! The function with its device part rewritten. */
  PrimFunc Run();

 protected:
  const ActiveSet& active() const { return active_; }
  const IdTable& ids() const { return *ids_; }
  Conditions& conditions() { return *conditions_; }
  /*! The innermost `with T.<kind>():`, or kThread. */
  Kind kind() const { return kind_; }
  const PrimFunc& func() const { return func_; }

  /*! Called with the rewritten statements of the device part; the last word on them. */
  virtual ffi::Array<Stmt> Finish(ffi::Array<Stmt> device) { return device; }
  /*! Statements to add before T.device_entry(). */
  virtual ffi::Array<Stmt> HostInit() { return {}; }

  Stmt VisitFor(const For& s) override;
  Stmt VisitWhile(const While& s) override;
  Stmt VisitIfThenElse(const IfThenElse& s) override;
  Stmt VisitFilter(const tirx::Filter& s) override;
  Stmt VisitExecScope(const ExecScope& s) override;

 private:
  Stmt VisitUnder(const ActiveSet& active, const PrimExpr& fact, const Stmt& s);

  PrimFunc func_;
  EntrySplit parts_;
  std::unique_ptr<IdTable> ids_;
  std::unique_ptr<Conditions> conditions_;
  ActiveSet active_;
  Kind kind_{Kind::kThread};
};

/*! Who executes a tile call. */
struct Place {
  TilePrimitiveCall call{ffi::UnsafeInit{}};
  ActiveSet active;
};
/*! The tile calls of a function that some thread reaches, in program order. The launch is inferred.
 */
std::vector<Place> PlacesOf(const PrimFunc& func);

}  // namespace scope
}  // namespace tirx
#endif  // TIRX_SCOPE_WALKER_H_
