#include "num.h"

#include <tirx/support/diag.h>
#include <tvm/ffi/extra/structural_equal.h>

#include <numeric>

namespace tirx {
namespace layout {

void ThrowOverflow(const char* op, int64_t a, int64_t b) {
  Diag("layout", "overflow", {})
      .Message("layout arithmetic left the 64-bit range")
      .Found(std::to_string(a) + " " + op + " " + std::to_string(b))
      .Required("extents, strides and coordinates that fit in int64")
      .Throw();
}

int64_t CheckedAdd(int64_t a, int64_t b) {
  int64_t out;
  if (__builtin_add_overflow(a, b, &out)) ThrowOverflow("+", a, b);
  return out;
}

int64_t CheckedSub(int64_t a, int64_t b) {
  int64_t out;
  if (__builtin_sub_overflow(a, b, &out)) ThrowOverflow("-", a, b);
  return out;
}

int64_t CheckedMul(int64_t a, int64_t b) {
  int64_t out;
  if (__builtin_mul_overflow(a, b, &out)) ThrowOverflow("*", a, b);
  return out;
}

Num operator+(const Num& a, const Num& b) {
  if (a.IsConst() && b.IsConst()) return CheckedAdd(a.value(), b.value());
  if (a.Is(0)) return b;
  if (b.Is(0)) return a;
  return Num(a.expr() + b.expr());
}

Num operator-(const Num& a, const Num& b) {
  if (a.IsConst() && b.IsConst()) return CheckedSub(a.value(), b.value());
  if (b.Is(0)) return a;
  return Num(a.expr() - b.expr());
}

Num operator*(const Num& a, const Num& b) {
  if (a.IsConst() && b.IsConst()) return CheckedMul(a.value(), b.value());
  if (a.Is(0) || b.Is(0)) return 0;
  if (a.Is(1)) return b;
  if (b.Is(1)) return a;
  return Num(a.expr() * b.expr());
}

bool Prover::Equal(const Num& a, const Num& b) {
  if (a.IsConst() && b.IsConst()) return a.value() == b.value();
  return ffi::StructuralEqual::Equal(a.expr(), b.expr());
}

bool Prover::Divides(const Num& divisor, const Num& a) {
  if (divisor.Is(1) || a.Is(0)) return true;
  if (divisor.IsConst() && a.IsConst())
    return divisor.value() != 0 && a.value() % divisor.value() == 0;
  return Equal(divisor, a);
}

bool Prover::LessEqual(const Num& a, const Num& b) {
  if (a.IsConst() && b.IsConst()) return a.value() <= b.value();
  return Equal(a, b);
}

bool Prover::StaysInside(const Num& begin, const Num& n, const Num& extent) {
  if (LessEqual(Mod(begin, extent) + n, extent)) return true;
  return Divides(n, begin) && Divides(n, extent);
}

Num Prover::Div(const Num& a, const Num& divisor) {
  if (divisor.Is(1) || a.Is(0)) return a;
  if (divisor.IsConst() && a.IsConst()) return FloorDivInt(a.value(), divisor.value());
  if (Equal(a, divisor)) return 1;
  return Simplify(Num(FloorDiv(a.expr(), divisor.expr())));
}

Num Prover::Mod(const Num& a, const Num& divisor) {
  if (divisor.Is(1) || a.Is(0)) return 0;
  if (divisor.IsConst() && a.IsConst()) return FloorModInt(a.value(), divisor.value());
  return Simplify(Num(FloorMod(a.expr(), divisor.expr())));
}

Num Prover::Simplify(const Num& a) { return a.IsConst() ? a : Num(Simplify(a.expr())); }

PrimExpr Prover::Simplify(const PrimExpr& e) { return e; }

int64_t Prover::Divisor(const Num& a) {
  return a.IsConst() ? (a.value() < 0 ? -a.value() : a.value()) : 1;
}

}  // namespace layout
}  // namespace tirx
