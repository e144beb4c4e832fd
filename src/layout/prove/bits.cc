// Structural GF(2) forms. A form is derived from the operation, never from values at basis vectors:
// a nonlinear expression can agree with a linear one there.
#include <bit>

#include "node_facts.h"
#include "xor_basis.h"

namespace tirx {
namespace layout {
namespace prove {
namespace {

using Maybe = std::optional<BitForm>;

constexpr uint64_t kSign = uint64_t{1} << 63;

template <typename F>
BitForm MapColumns(const BitForm& a, F f) {
  BitForm out;
  out.constant = f(a.constant);
  for (const BitTerm& t : a.terms) {
    if (uint64_t column = f(t.column)) out.terms.push_back({t.bit, column});
  }
  return out;
}

BitForm Mask(const BitForm& a, uint64_t mask) {
  return MapColumns(a, [&](uint64_t v) { return v & mask; });
}

bool Same(const BitForm& a, const BitForm& b) {
  if (a.constant != b.constant || a.terms.size() != b.terms.size()) return false;
  for (size_t i = 0; i < a.terms.size(); ++i) {
    if (a.terms[i].bit != b.terms[i].bit || a.terms[i].column != b.terms[i].column) return false;
  }
  return true;
}

/*! No bit is ever 1 in both: the sum carries nothing. */
Maybe Add(const BitForm& a, const BitForm& b) {
  if (a.Support() & b.Support()) return std::nullopt;
  return BitXor(a, b);
}

/*! Every bit of b is a bit of a: the difference borrows nothing. */
Maybe Sub(const BitForm& a, const BitForm& b) {
  uint64_t mask = b.Support();
  bool part = (mask & ~a.Always()) == 0 || Same(Mask(a, mask), b);
  return part ? Maybe(BitXor(a, b)) : std::nullopt;
}

/*! A value of one possible bit, times any constant. */
Maybe OneBitTimes(const BitForm& a, int64_t k) {
  uint64_t bit = a.Support();
  int64_t value;
  if (bit == kSign || __builtin_mul_overflow(static_cast<int64_t>(bit), k, &value)) {
    return std::nullopt;
  }
  return MapColumns(a, [&](uint64_t v) { return v ? static_cast<uint64_t>(value) : 0; });
}

/*! Shifted copies for the bits of k, when they do not overlap and none leaves 63 bits. */
Maybe Mul(const BitForm& a, int64_t k) {
  uint64_t support = a.Support();
  if (std::popcount(support) <= 1) return OneBitTimes(a, k);
  if (k < 0 || (support & kSign)) return std::nullopt;
  BitForm sum;
  for (int s = 0; s < 63; ++s) {
    if (!((k >> s) & 1)) continue;
    if (std::bit_width(support) + s > 63) return std::nullopt;
    Maybe next = Add(sum, MapColumns(a, [&](uint64_t v) { return v << s; }));
    if (!next) return std::nullopt;
    sum = std::move(*next);
  }
  return sum;
}

/*! Division or remainder of a value that is nowhere negative by 2^s. */
Maybe DivMod(IndexOp op, const BitForm& a, uint64_t divisor, const Interval& range) {
  if (!std::has_single_bit(divisor) || (divisor & kSign) || range.lo < 0) return std::nullopt;
  if (op == IndexOp::kFloorMod) return Mask(a, divisor - 1);
  int shift = std::countr_zero(divisor);
  return MapColumns(a, [&](uint64_t v) { return v >> shift; });
}

Maybe Shift(IndexOp op, const BitForm& a, uint64_t amount) {
  if (amount > 63) return std::nullopt;
  bool up = op == IndexOp::kShl;
  return MapColumns(a, [&](uint64_t v) { return up ? v << amount : v >> amount; });
}

/*! Operations whose right operand must be the constant k. */
Maybe WithConstant(IndexOp op, const BitForm& a, uint64_t k, const Interval& range) {
  switch (op) {
    case IndexOp::kAnd: return Mask(a, k);
    case IndexOp::kMul: return Mul(a, static_cast<int64_t>(k));
    case IndexOp::kFloorDiv:
    case IndexOp::kFloorMod: return DivMod(op, a, k, range);
    case IndexOp::kShl:
    case IndexOp::kShr: return Shift(op, a, k);
    default: return std::nullopt;
  }
}

}  // namespace

uint64_t BitForm::Support() const {
  uint64_t all = constant;
  for (const BitTerm& t : terms) all |= t.column;
  return all;
}

uint64_t BitForm::Always() const {
  uint64_t all = constant;
  for (const BitTerm& t : terms) all &= ~t.column;
  return all;
}

BitForm BitXor(const BitForm& a, const BitForm& b) {
  BitForm out;
  out.constant = a.constant ^ b.constant;
  out.terms.reserve(a.terms.size() + b.terms.size());
  auto i = a.terms.begin(), j = b.terms.begin();
  while (i != a.terms.end() || j != b.terms.end()) {
    bool left = j == b.terms.end() || (i != a.terms.end() && i->bit <= j->bit);
    bool right = i == a.terms.end() || (j != b.terms.end() && j->bit <= i->bit);
    BitTerm t{left ? i->bit : j->bit, (left ? i->column : 0) ^ (right ? j->column : 0)};
    if (t.column != 0) out.terms.push_back(t);
    i += left;
    j += right;
  }
  return out;
}

std::optional<BitForm> BitRule(IndexOp op, const BitForm& a, const BitForm& b,
                               const Interval& range_a) {
  if (op == IndexOp::kXor) return BitXor(a, b);
  if (op == IndexOp::kAdd) return Add(a, b);
  if (op == IndexOp::kSub) return Sub(a, b);
  if (b.terms.empty()) return WithConstant(op, a, b.constant, range_a);
  bool symmetric = op == IndexOp::kAnd || op == IndexOp::kMul;
  if (symmetric && a.terms.empty()) return WithConstant(op, b, a.constant, {});
  return std::nullopt;
}

// Flipping the sign bit orders bit patterns as signed numbers.
Interval BitRange(const BitForm& f) {
  XorBasis basis(1);
  for (const BitTerm& t : f.terms) basis.Insert({t.column});
  auto value = [](uint64_t v) { return static_cast<int64_t>(v ^ kSign); };
  uint64_t start = f.constant ^ kSign;
  return {value(~basis.Maximize({~start})[0]), value(basis.Maximize({start})[0])};
}

}  // namespace prove
}  // namespace layout
}  // namespace tirx
