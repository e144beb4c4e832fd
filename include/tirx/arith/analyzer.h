/*!
 * Integer facts: simplification, constant bounds, divisibility, proofs.
 *
 * Soundness contract: for every assignment of the variables within their bound facts for which the
 * original expression evaluates without signed overflow (in its dtype) and without division by
 * zero, the simplified expression evaluates, without overflow, to the same value. Unsigned
 * arithmetic wraps and is only rewritten by laws of modular arithmetic. A subtree that could
 * divide by zero is never dropped.
 */
#ifndef TIRX_ARITH_ANALYZER_H_
#define TIRX_ARITH_ANALYZER_H_
#include <tirx/expr/expr.h>

#include <cstdint>
#include <memory>

namespace tirx {
namespace arith {

/*! min <= e <= max; the two infinities are INT64_MIN and INT64_MAX. */
struct ConstBound {
  int64_t min;
  int64_t max;
  static constexpr int64_t kNegInf = INT64_MIN;
  static constexpr int64_t kPosInf = INT64_MAX;
};

/*! e = coeff * k + base for some integer k; 0 <= base < coeff, or coeff == 0: e is the constant base. */
struct ModularSet {
  int64_t coeff;
  int64_t base;
};

class AnalyzerImpl;

/*! Facts about variables, and questions answered from them. Copies share facts. */
class AnalyzerNode : public ffi::Object {
 public:
  AnalyzerNode();
  ~AnalyzerNode();
  std::shared_ptr<AnalyzerImpl> impl;
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.Analyzer", AnalyzerNode, ffi::Object);
};
class Analyzer : public ffi::ObjectRef {
 public:
  Analyzer();
  /*! min <= v < min + extent. */
  void Bind(const Var& v, const Range& range) const;
  /*! v == value (a let): v gets the facts of value; Simplify does not inline it. */
  void Bind(const Var& v, const PrimExpr& value) const;
  /*! v is a multiple of factor plus residue. */
  void BindModular(const Var& v, int64_t factor, int64_t residue = 0) const;
  /*! Assume a condition until the matching Exit; conjunctions are split, comparisons of a variable
   *  (or affine expression) with a constant refine bounds. Returns a token for Exit. */
  int64_t Enter(const PrimExpr& condition) const;
  void Exit(int64_t token) const;

  PrimExpr Simplify(const PrimExpr& e) const;
  ConstBound Bound(const PrimExpr& e) const;
  ModularSet Modular(const PrimExpr& e) const;
  /*! Largest known g with g | e for every admitted assignment (0 when e is always 0). */
  int64_t Divisor(const PrimExpr& e) const;
  bool CanProve(const PrimExpr& condition) const;
  bool CanProveEqual(const PrimExpr& a, const PrimExpr& b) const;
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(Analyzer, ffi::ObjectRef, AnalyzerNode);
};

/*! RAII for Enter/Exit. */
class WithConstraint {
 public:
  WithConstraint(const Analyzer& a, const PrimExpr& c) : analyzer_(a), token_(a.Enter(c)) {}
  ~WithConstraint() { analyzer_.Exit(token_); }
  WithConstraint(const WithConstraint&) = delete;
  WithConstraint& operator=(const WithConstraint&) = delete;

 private:
  Analyzer analyzer_;
  int64_t token_;
};

}  // namespace arith
}  // namespace tirx
#endif  // TIRX_ARITH_ANALYZER_H_
