#include "digits.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace tirx {
namespace layout {
namespace {

using Maybe = std::optional<DigitForm>;
using Wide = __int128;

bool Fits(Wide v) {
  return v >= std::numeric_limits<int64_t>::min() && v <= std::numeric_limits<int64_t>::max();
}

int64_t FloorDivide(int64_t a, int64_t b) {
  int64_t q = 0;
  const char* why = nullptr;
  ApplyIndexOp(IndexOp::kFloorDiv, a, b, &q, &why);
  return q;
}

/*! Sorted distinct ends of digits of one axis, from 1; nothing unless each divides the next. */
std::optional<std::vector<int64_t>> Chain(std::vector<int64_t> cuts) {
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  for (size_t k = 0; k + 1 < cuts.size(); ++k) {
    if (cuts[k + 1] % cuts[k] != 0) return std::nullopt;
  }
  return cuts;
}

/*! Stride of the digit that starts at `cut`, as the sum over the terms that contain it. */
bool StrideAt(const std::vector<DigitTerm>& terms, int32_t axis, int64_t cut, int64_t* stride) {
  Wide sum = 0;
  for (const DigitTerm& t : terms) {
    bool covers = t.axis == axis && t.lo <= cut && (t.hi == 0 || cut < t.hi);
    Wide part = covers ? static_cast<Wide>(t.stride) * (cut / t.lo) : 0;
    if (!Fits(part)) return false;
    sum += part;
  }
  *stride = static_cast<int64_t>(sum);
  return Fits(sum);
}

bool IsProduct(int64_t a, int64_t b, int64_t want) {
  int64_t v = 0;
  return !__builtin_mul_overflow(a, b, &v) && v == want;
}

/*! Terms of one axis, not overlapping and merged where neighbours continue each other. */
bool Refine(const std::vector<DigitTerm>& terms, std::vector<DigitTerm>* out) {
  std::vector<int64_t> ends{1};
  bool top = false;
  for (const DigitTerm& t : terms) {
    ends.push_back(t.lo);
    if (t.hi != 0) ends.push_back(t.hi);
    top = top || t.hi == 0;
  }
  auto cuts = Chain(ends);
  if (!cuts) return false;
  if (top) cuts->push_back(0);
  for (size_t k = 0; k + 1 < cuts->size(); ++k) {
    DigitTerm t{terms[0].axis, terms[0].extent, (*cuts)[k], (*cuts)[k + 1], 0};
    if (!StrideAt(terms, t.axis, t.lo, &t.stride)) return false;
    bool more = !out->empty() && out->back().axis == t.axis && out->back().hi == t.lo &&
                IsProduct(out->back().stride, t.lo / out->back().lo, t.stride);
    if (more) {
      out->back().hi = t.hi;
    } else if (t.stride != 0) {
      out->push_back(t);
    }
  }
  return true;
}

/*! One representation of equal sums where cuts form chains, with bounds; nothing outside 64 bits. */
Maybe Tidy(Wide base, std::vector<DigitTerm> terms) {
  for (DigitTerm& t : terms) {
    if (t.hi >= t.extent) t.hi = 0;
  }
  std::erase_if(terms, [](const DigitTerm& t) { return t.stride == 0 || t.Count() == 1; });
  std::stable_sort(terms.begin(), terms.end(),
                   [](const DigitTerm& a, const DigitTerm& b) { return a.axis < b.axis; });
  DigitForm out;
  for (size_t i = 0, n = 0; i < terms.size(); i += n) {
    n = 1;
    while (i + n < terms.size() && terms[i + n].axis == terms[i].axis) ++n;
    std::vector<DigitTerm> axis(terms.begin() + i, terms.begin() + i + n), refined;
    const auto& add = Refine(axis, &refined) ? refined : axis;
    out.terms.insert(out.terms.end(), add.begin(), add.end());
  }
  Wide low = base, high = base;
  for (const DigitTerm& t : out.terms) {
    Wide reach = static_cast<Wide>(t.stride) * (t.Count() - 1);
    (t.stride < 0 ? low : high) += reach;
    if (!Fits(low) || !Fits(high)) return std::nullopt;
  }
  if (!Fits(base)) return std::nullopt;
  out.base = static_cast<int64_t>(base);
  out.low = static_cast<int64_t>(low);
  out.high = static_cast<int64_t>(high);
  return out;
}

Maybe Constant(int64_t c) { return Tidy(c, {}); }

/*! Sum of forms that share no axis: nothing to merge, so linear in the terms. */
Maybe DisjointSum(const DigitForm& a, const DigitForm& b) {
  DigitForm out;
  bool fits = !__builtin_add_overflow(a.base, b.base, &out.base) &&
              !__builtin_add_overflow(a.low, b.low, &out.low) &&
              !__builtin_add_overflow(a.high, b.high, &out.high);
  out.terms.resize(a.terms.size() + b.terms.size());
  std::merge(a.terms.begin(), a.terms.end(), b.terms.begin(), b.terms.end(), out.terms.begin(),
             [](const DigitTerm& x, const DigitTerm& y) { return x.axis < y.axis; });
  return fits ? Maybe(std::move(out)) : std::nullopt;
}

/*! Whether some axis has terms in both; terms are in order of axes. */
bool ShareAxis(const DigitForm& a, const DigitForm& b) {
  for (size_t i = 0, j = 0; i < a.terms.size() && j < b.terms.size();) {
    if (a.terms[i].axis == b.terms[j].axis) return true;
    ++(a.terms[i].axis < b.terms[j].axis ? i : j);
  }
  return false;
}

Maybe Sum(const DigitForm& a, const DigitForm& b) {
  if (!ShareAxis(a, b)) return DisjointSum(a, b);
  std::vector<DigitTerm> terms = a.terms;
  terms.insert(terms.end(), b.terms.begin(), b.terms.end());
  return Tidy(static_cast<Wide>(a.base) + b.base, std::move(terms));
}

Maybe Scale(const DigitForm& a, int64_t k) {
  std::vector<DigitTerm> terms = a.terms;
  for (DigitTerm& t : terms) {
    if (__builtin_mul_overflow(t.stride, k, &t.stride)) return std::nullopt;
  }
  return Tidy(static_cast<Wide>(a.base) * k, std::move(terms));
}

/*! Splits a digit into (digit mod t) and (digit div t), when its modulus allows. */
bool Split(const DigitTerm& term, int64_t t, DigitTerm* low, DigitTerm* high) {
  int64_t cut = 0, stride = 0;
  if (__builtin_mul_overflow(term.lo, t, &cut) || __builtin_mul_overflow(term.stride, t, &stride)) {
    return false;
  }
  if (term.hi != 0 && term.hi % cut != 0) return false;
  *low = {term.axis, term.extent, term.lo, cut, term.stride};
  *high = {term.axis, term.extent, cut, term.hi, stride};
  return true;
}

/*! value = c * quotient + remainder with 0 <= remainder < c everywhere. */
struct Divided {
  DigitForm quotient, remainder;
};

/*! a - q * c, where q * c may lie below every int64. */
int64_t Rest(int64_t a, int64_t q, int64_t c) {
  return static_cast<int64_t>(a - static_cast<Wide>(q) * c);
}

/*! A term's share: floor(stride / c) per digit goes to the quotient, the rest to the remainder. */
void Share(const DigitTerm& t, int64_t c, std::vector<DigitTerm>* quotient,
           std::vector<DigitTerm>* remainder) {
  int64_t q = FloorDivide(t.stride, c);
  quotient->push_back({t.axis, t.extent, t.lo, t.hi, q});
  remainder->push_back({t.axis, t.extent, t.lo, t.hi, Rest(t.stride, q, c)});
}

std::optional<Divided> Divide(const DigitForm& a, int64_t c) {
  std::vector<DigitTerm> quotient, remainder;
  for (const DigitTerm& t : a.terms) {
    if (t.stride == INT64_MIN) return std::nullopt;  // std::gcd takes absolute values
    // Whole periods of c / gcd steps are multiples of c.
    int64_t period = c / std::gcd(t.stride, c);
    DigitTerm low, high;
    if (period > 1 && t.Count() > period && Split(t, period, &low, &high)) {
      Share(low, c, &quotient, &remainder);
      Share(high, c, &quotient, &remainder);
    } else {
      Share(t, c, &quotient, &remainder);
    }
  }
  int64_t q = FloorDivide(a.base, c);
  Maybe whole = Tidy(q, std::move(quotient)), rest = Tidy(Rest(a.base, q, c), std::move(remainder));
  if (!whole || !rest || rest->low < 0 || rest->high >= c) return std::nullopt;
  return Divided{*whole, *rest};
}

/*! Bits that the value can have: exact per digit where strides are powers of two that do not
 *  carry, else everything between the lowest and the highest. Negative values: all bits. */
uint64_t BitsOf(const DigitForm& a) {
  auto cover = [](uint64_t v) {
    for (int s = 1; s < 64; s *= 2) v |= v >> s;
    return v;
  };
  if (a.low < 0) return ~uint64_t{0};
  uint64_t used = static_cast<uint64_t>(a.base), steps = used;
  bool carries = false;
  for (const DigitTerm& t : a.terms) {
    uint64_t stride = static_cast<uint64_t>(t.stride), bits = 0;
    if (t.stride < 0) stride = -stride;
    steps |= stride;
    if (t.stride > 0 && (stride & (stride - 1)) == 0) bits = cover(t.Count() - 1) * stride;
    carries = carries || bits == 0 || (used & bits) != 0;
    used |= bits;
  }
  if (!carries) return used;
  uint64_t unit = steps & (~steps + 1);
  return cover(static_cast<uint64_t>(a.high)) & ~(unit - 1);
}

/*! Sums that have no carries, and complements within the bits of a constant. */
Maybe Xor(const DigitForm& a, const DigitForm& b) {
  uint64_t x = BitsOf(a), y = BitsOf(b);
  if ((x & y) == 0) return Sum(a, b);
  for (auto [form, mask] : {std::pair{&a, &b}, std::pair{&b, &a}}) {
    if (!mask->terms.empty() || mask->base < 0) continue;
    if ((BitsOf(*form) & ~static_cast<uint64_t>(mask->base)) != 0) continue;
    Maybe negative = Scale(*form, -1);
    return negative ? Sum(*mask, *negative) : std::nullopt;
  }
  return std::nullopt;
}

/*! a & mask, as the sum over the runs [low, high) of ones of floor((a mod 2^high) / 2^low) * 2^low.
 *  Also right for negative a. */
Maybe Mask(const DigitForm& a, int64_t mask) {
  if (mask < 0) return std::nullopt;
  Maybe out = Constant(0);
  uint64_t left = static_cast<uint64_t>(mask);
  while (left && out) {
    int low = __builtin_ctzll(left), high = low;
    while (high < 64 && (left >> high & 1)) ++high;
    if (high > 62) return std::nullopt;
    auto top = Divide(a, int64_t{1} << high);
    auto run = top ? Divide(top->remainder, int64_t{1} << low) : std::nullopt;
    Maybe part = run ? Scale(run->quotient, int64_t{1} << low) : std::nullopt;
    out = part ? Sum(*out, *part) : std::nullopt;
    left = left >> high << high;
  }
  return out;
}

Maybe Shift(IndexOp op, const DigitForm& a, int64_t by) {
  if (by < 0 || by > 62) return std::nullopt;
  // Scale refuses where bits would be lost, so the pattern is the product.
  if (op == IndexOp::kShl) return Scale(a, int64_t{1} << by);
  if (a.low < 0) return std::nullopt;
  auto parts = Divide(a, int64_t{1} << by);
  return parts ? Maybe(parts->quotient) : std::nullopt;
}

Maybe Compare(IndexOp op, const DigitForm& a, const DigitForm& b) {
  if (op == IndexOp::kLess && a.high < b.low) return Constant(1);
  if (op == IndexOp::kLess && a.low >= b.high) return Constant(0);
  if (op == IndexOp::kEqual && (a.high < b.low || b.high < a.low)) return Constant(0);
  bool single = a.low == a.high && b.low == b.high;
  if (op == IndexOp::kEqual && single) return Constant(a.low == b.low);
  return std::nullopt;
}

Maybe Binary(IndexOp op, const DigitForm& a, const DigitForm& b) {
  bool by_constant = b.terms.empty();
  switch (op) {
    case IndexOp::kAdd: return Sum(a, b);
    case IndexOp::kSub: {
      // Not a + (-b): the difference is in range even where -b would not be.
      Maybe negative = Scale(b, -1);
      return negative ? Sum(a, *negative) : std::nullopt;
    }
    case IndexOp::kMul:
      if (by_constant) return Scale(a, b.base);
      return a.terms.empty() ? Scale(b, a.base) : std::nullopt;
    case IndexOp::kFloorDiv:
    case IndexOp::kFloorMod: {
      auto parts = by_constant && b.base > 0 ? Divide(a, b.base) : std::nullopt;
      if (!parts) return std::nullopt;
      return op == IndexOp::kFloorDiv ? parts->quotient : parts->remainder;
    }
    case IndexOp::kXor: return Xor(a, b);
    case IndexOp::kAnd:
      if (by_constant) return Mask(a, b.base);
      return a.terms.empty() ? Mask(b, a.base) : std::nullopt;
    case IndexOp::kShl:
    case IndexOp::kShr: return by_constant ? Shift(op, a, b.base) : std::nullopt;
    default: return Compare(op, a, b);
  }
}

Maybe FormOf(const IndexDag& dag, const IndexNode& n, const std::vector<Maybe>& forms) {
  if (n.op == IndexOp::kConst) return Constant(n.c);
  if (n.op == IndexOp::kCoord) {
    return Tidy(0, {{static_cast<int32_t>(n.c), dag.domain[n.c], 1, 0, 1}});
  }
  if (IsBinary(n.op)) {
    return forms[n.a] && forms[n.b] ? Binary(n.op, *forms[n.a], *forms[n.b]) : std::nullopt;
  }
  if (n.op == IndexOp::kAfter) return forms[n.b] ? forms[n.a] : std::nullopt;
  if (n.op == IndexOp::kInside) {
    const Maybe& a = forms[n.a];
    return a && a->low >= 0 && a->high < n.c ? a : std::nullopt;
  }
  if (n.op == IndexOp::kSelect && forms[n.a] && forms[n.a]->terms.empty()) {
    return forms[n.a]->base ? forms[n.b] : forms[n.c];
  }
  return std::nullopt;
}

/*! The cuts of one axis as a chain of divisors from 1 up to its extent, or nothing. */
std::optional<std::vector<int64_t>> Cuts(const std::vector<const DigitForm*>& outputs, int32_t axis,
                                         int64_t extent) {
  std::vector<int64_t> cuts{1, extent};
  for (const DigitForm* form : outputs) {
    for (const DigitTerm& t : form->terms) {
      if (t.axis != axis) continue;
      cuts.push_back(t.lo);
      if (t.hi != 0) cuts.push_back(t.hi);
    }
  }
  return Chain(cuts);
}

bool Continues(const std::vector<int64_t>& stride, int64_t extent,
               const std::vector<int64_t>& next) {
  for (size_t j = 0; j < stride.size(); ++j) {
    if (!IsProduct(stride[j], extent, next[j])) return false;
  }
  return true;
}

}  // namespace

std::vector<Maybe> DigitForms(const IndexDag& dag) {
  std::vector<Maybe> forms;
  forms.reserve(dag.nodes.size());
  for (const IndexNode& n : dag.nodes) forms.push_back(FormOf(dag, n, forms));
  return forms;
}

bool HasEveryValue(const MixedRadixForm& form) {
  for (size_t j = 0; j < form.offset.size(); ++j) {
    Wide low = form.offset[j], high = form.offset[j];
    for (size_t i = 0; i < form.digits.size(); ++i) {
      for (size_t k = 0; k < form.digits[i].size(); ++k) {
        Wide reach = static_cast<Wide>(form.strides[i][k][j]) * (form.digits[i][k] - 1);
        (reach < 0 ? low : high) += reach;
        if (!Fits(reach) || !Fits(low) || !Fits(high)) return false;
      }
    }
  }
  return true;
}

std::optional<MixedRadixForm> ToMixedRadix(const IndexDag& dag) {
  std::vector<Maybe> forms = DigitForms(dag);
  std::vector<const DigitForm*> outputs;
  MixedRadixForm out;
  for (int32_t o : dag.outputs) {
    if (!forms[o]) return std::nullopt;
    outputs.push_back(&*forms[o]);
    out.offset.push_back(forms[o]->base);
  }
  for (size_t i = 0; i < dag.domain.size(); ++i) {
    int32_t axis = static_cast<int32_t>(i);
    auto cuts = Cuts(outputs, axis, dag.domain[i]);
    if (!cuts) return std::nullopt;
    std::vector<int64_t> digits;
    std::vector<std::vector<int64_t>> strides;
    for (size_t k = 0; k + 1 < cuts->size(); ++k) {
      std::vector<int64_t> stride;
      for (const DigitForm* form : outputs) {
        stride.push_back(0);
        if (!StrideAt(form->terms, axis, (*cuts)[k], &stride.back())) return std::nullopt;
      }
      int64_t extent = (*cuts)[k + 1] / (*cuts)[k];
      if (!digits.empty() && Continues(strides.back(), digits.back(), stride)) {
        digits.back() *= extent;
      } else {
        digits.push_back(extent);
        strides.push_back(stride);
      }
    }
    if (digits.empty()) {
      digits.push_back(1);
      strides.push_back(std::vector<int64_t>(outputs.size(), 0));
    }
    out.digits.push_back(digits);
    out.strides.push_back(strides);
  }
  return HasEveryValue(out) ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace layout
}  // namespace tirx
