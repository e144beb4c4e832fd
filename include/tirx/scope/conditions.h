/*!
 * What a condition says about the active set.
 */
#ifndef TIRX_SCOPE_CONDITIONS_H_
#define TIRX_SCOPE_CONDITIONS_H_
#include <tirx/arith/analyzer.h>
#include <tirx/ir/functor.h>
#include <tirx/scope/scope_ids.h>

#include <memory>
#include <unordered_map>

namespace tirx {
namespace scope {

/*!
 * Facts about the expressions of one function: which are functions of scope ids alone, and how far
 * the threads agree on the others. Agreement of a value: constants, parameters and loop counters
 * with agreed bounds are agreed by the grid; a thread id by nobody; a load from shared or global
 * memory by those who agree on its index (absent races); a `local` buffer by those who agree on
 * every value, index and condition of its stores; the result of an instruction by nobody.
 */
class Conditions {
 public:
  Conditions(const Stmt& body, const IdTable& ids);
  ~Conditions();

  /*! The widest team whose members agree on e. */
  Kind Agreement(const PrimExpr& e);
  /*! The part of `a` for which cond is true (or false, with `negate`). `analyzer` may be null; it
   *  decides comparisons that hold for every thread. */
  ActiveSet Narrow(const ActiveSet& a, const PrimExpr& cond, bool negate, const Span& where,
                   const arith::Analyzer* analyzer);
  /*! As Narrow for T.filter: cond must be a contiguous range or a point on one axis, and leave
   *  somebody active. */
  ActiveSet Filter(const ActiveSet& a, const PrimExpr& cond, const Span& where);
  /*! Doubt that a loop brings into its body: its trip count, and exits that only some take. */
  void EnterLoop(ActiveSet* a, const Stmt& loop);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace scope
}  // namespace tirx
#endif  // TIRX_SCOPE_CONDITIONS_H_
