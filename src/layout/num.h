/*!
 * Extents, strides and offsets: a checked 64-bit integer or a symbolic expression, one type, so
 * that every operation is written once. The constant path allocates nothing.
 */
#ifndef TIRX_LAYOUT_NUM_H_
#define TIRX_LAYOUT_NUM_H_
#include <tirx/arith/analyzer.h>
#include <tirx/expr/expr.h>
#include <tirx/expr/ops.h>

#include <optional>
#include <string>
#include <vector>

namespace tirx {
namespace layout {

[[noreturn]] void ThrowOverflow(const char* op, int64_t a, int64_t b);

class Num {
 public:
  Num(int64_t v = 0) : value_(v) {}  // NOLINT: integers convert
  explicit Num(const PrimExpr& e) : value_(0) {
    if (auto v = AsInt(e)) {
      value_ = *v;
    } else {
      expr_ = e;
    }
  }
  bool IsConst() const { return !expr_.has_value(); }
  bool Is(int64_t v) const { return IsConst() && value_ == v; }
  /*! Only for constants. */
  int64_t value() const { return value_; }
  PrimExpr expr() const { return expr_ ? *expr_ : PrimExpr(value_); }

 private:
  int64_t value_;
  std::optional<PrimExpr> expr_;
};

/*! Constants raise "overflow" past 64 bits; symbolic results are not simplified. */
Num operator+(const Num& a, const Num& b);
Num operator-(const Num& a, const Num& b);
Num operator*(const Num& a, const Num& b);

int64_t CheckedAdd(int64_t a, int64_t b);
int64_t CheckedSub(int64_t a, int64_t b);
int64_t CheckedMul(int64_t a, int64_t b);

/*!
 * Questions about Nums. Constants are decided at once; symbolic ones go to the caller's analyzer,
 * or to a fresh one without facts. "No" always means "not proved".
 */
class Prover {
 public:
  explicit Prover(const arith::Analyzer* analyzer = nullptr) : analyzer_(analyzer) {}
  bool Equal(const Num& a, const Num& b);
  /*! divisor | a. */
  bool Divides(const Num& divisor, const Num& a);
  bool LessEqual(const Num& a, const Num& b);
  /*! begin % extent + n <= extent: n steps from begin do not leave their block of extent. */
  bool StaysInside(const Num& begin, const Num& n, const Num& extent);
  /*! Floor division and modulo; divisor is not 0. */
  Num Div(const Num& a, const Num& divisor);
  Num Mod(const Num& a, const Num& divisor);
  Num Simplify(const Num& a);
  PrimExpr Simplify(const PrimExpr& e);
  /*! Largest known g with g | a; 0 when a is 0. */
  int64_t Divisor(const Num& a);

 private:
  const arith::Analyzer& analyzer();
  const arith::Analyzer* analyzer_;
  std::optional<arith::Analyzer> own_;
};

/*! Readable text for errors and for printing. */
std::string Text(const Num& a);
std::string Text(const PrimExpr& e);
template <typename T>
std::string Text(const std::vector<T>& list) {
  std::string out = "(";
  for (size_t i = 0; i < list.size(); ++i) out += (i ? ", " : "") + Text(list[i]);
  return out + (list.size() == 1 ? ",)" : ")");
}

}  // namespace layout
}  // namespace tirx
#endif  // TIRX_LAYOUT_NUM_H_
