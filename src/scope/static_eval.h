/*!
 * Values of expressions for every thread (or CTA of the cluster) at once, where they are functions
 * of scope ids and constants alone.
 */
#ifndef TIRX_SRC_SCOPE_STATIC_EVAL_H_
#define TIRX_SRC_SCOPE_STATIC_EVAL_H_
#include <tirx/ir/stmt.h>
#include <tirx/scope/scope_ids.h>

#include <unordered_map>
#include <vector>

namespace tirx {
namespace scope {

/*! What an expression depends on: a set of these. */
enum Dep : uint8_t { kDepThread = 1, kDepCta = 2, kDepOther = 4 };

class StaticEval {
 public:
  explicit StaticEval(const IdTable& ids) : ids_(ids) {}
  /*! Tells a let; lets must be told in program order. */
  void AddLet(const BindNode* let);
  uint8_t DepOf(const PrimExpr& e) const { return Measure(e).dep; }
  /*! e for each thread (domain kDepThread) or CTA (kDepCta); nothing when it divides by zero,
   *  overflows or depends on more. The result lives until the next call. */
  const std::vector<int64_t>* Eval(const PrimExpr& e, Dep domain);
  /*! The value of a let that is not too deep to recurse into, or null. */
  const PrimExpr* LetOf(const VarNode* v) const;

 private:
  /*! Dependence, and the height of the expression with its lets inlined. */
  struct Facts {
    uint8_t dep{0};
    int32_t height{1};
  };
  struct Let {
    PrimExpr value;
    Facts facts;
  };
  using Values = std::vector<int64_t>;
  Facts Measure(const PrimExpr& e) const;
  Facts MeasureVar(const VarNode* v) const;
  Facts MeasureCall(const CallNode* n) const;
  bool Compute(const PrimExpr& e, Dep domain, Values* out);
  bool ComputeVar(const VarNode* v, Dep domain, Values* out);
  bool ComputeBinary(const BinaryNode* n, Dep domain, Values* out);
  bool ComputeCall(const CallNode* n, Dep domain, Values* out);
  bool ComputeSelect(const SelectNode* n, Dep domain, Values* out);
  size_t Count(Dep domain) const;

  const IdTable& ids_;
  std::unordered_map<const VarNode*, Let> lets_;
  std::unordered_map<const VarNode*, Values> by_var_[2];  // per domain
  Values result_;
};

}  // namespace scope
}  // namespace tirx
#endif  // TIRX_SRC_SCOPE_STATIC_EVAL_H_
