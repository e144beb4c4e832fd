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

namespace {

/*! e / divisor when divisor is a factor of e's text: K out of i*K + K. Needs no fact about divisor
 * but that it is not 0, which the contract of symbolic extents gives. */
std::optional<PrimExpr> TakeFactor(const PrimExpr& e, const PrimExpr& divisor) {
  if (ffi::StructuralEqual::Equal(e, divisor)) return PrimExpr(1);
  auto* n = e.as<BinaryNode>();
  if (!n) return IsConst(e, 0) ? std::optional(e) : std::nullopt;
  if (n->kind() == BinOp::kMul) {
    if (auto a = TakeFactor(n->a, divisor)) return *a * n->b;
    if (auto b = TakeFactor(n->b, divisor)) return n->a * *b;
    return std::nullopt;
  }
  if (n->kind() != BinOp::kAdd && n->kind() != BinOp::kSub) return std::nullopt;
  auto a = TakeFactor(n->a, divisor);
  auto b = a ? TakeFactor(n->b, divisor) : std::nullopt;
  if (!b) return std::nullopt;
  return n->kind() == BinOp::kAdd ? *a + *b : *a - *b;
}

}  // namespace

const arith::Analyzer& Prover::analyzer() {
  if (analyzer_) return *analyzer_;
  if (!own_) own_.emplace();
  return *own_;
}

bool Prover::Equal(const Num& a, const Num& b) {
  if (a.IsConst() && b.IsConst()) return a.value() == b.value();
  PrimExpr x = a.expr(), y = b.expr();
  return ffi::StructuralEqual::Equal(x, y) || analyzer().CanProveEqual(x, y);
}

bool Prover::Divides(const Num& divisor, const Num& a) {
  if (divisor.Is(1) || a.Is(0)) return true;
  if (divisor.IsConst()) return divisor.value() != 0 && Divisor(a) % divisor.value() == 0;
  if (a.IsConst()) return false;
  if (TakeFactor(a.expr(), divisor.expr())) return true;
  return analyzer().CanProveEqual(FloorMod(a.expr(), divisor.expr()), 0);
}

bool Prover::LessEqual(const Num& a, const Num& b) {
  if (a.IsConst() && b.IsConst()) return a.value() <= b.value();
  return analyzer().CanProve(LE(a.expr(), b.expr()));
}

bool Prover::StaysInside(const Num& begin, const Num& n, const Num& extent) {
  if (n.IsConst() && extent.IsConst() && !begin.IsConst()) {
    // begin = coeff * k + base: begin % extent is at most extent - g + base % g.
    arith::ModularSet set = analyzer().Modular(begin.expr());
    int64_t g = std::gcd(set.coeff, extent.value());
    if (FloorModInt(set.base, g) + n.value() <= g) return true;
  }
  if (LessEqual(Mod(begin, extent) + n, extent)) return true;
  return Divides(n, begin) && Divides(n, extent);
}

Num Prover::Div(const Num& a, const Num& divisor) {
  if (divisor.Is(1) || a.Is(0)) return a;
  if (divisor.IsConst() && a.IsConst()) return FloorDivInt(a.value(), divisor.value());
  if (auto q = TakeFactor(a.expr(), divisor.expr())) return Num(Simplify(*q));
  return Simplify(Num(FloorDiv(a.expr(), divisor.expr())));
}

Num Prover::Mod(const Num& a, const Num& divisor) {
  if (divisor.Is(1) || a.Is(0)) return 0;
  if (divisor.IsConst() && a.IsConst()) return FloorModInt(a.value(), divisor.value());
  if (TakeFactor(a.expr(), divisor.expr())) return 0;
  return Simplify(Num(FloorMod(a.expr(), divisor.expr())));
}

Num Prover::Simplify(const Num& a) { return a.IsConst() ? a : Num(Simplify(a.expr())); }

PrimExpr Prover::Simplify(const PrimExpr& e) { return AsInt(e) ? e : analyzer().Simplify(e); }

int64_t Prover::Divisor(const Num& a) {
  if (!a.IsConst()) return analyzer().Divisor(a.expr());
  if (a.value() == INT64_MIN) return int64_t{1} << 62;
  return a.value() < 0 ? -a.value() : a.value();
}

}  // namespace layout
}  // namespace tirx
