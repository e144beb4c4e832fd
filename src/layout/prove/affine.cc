// Arithmetic of affine forms over digits. Every function is exact or gives nothing.
#include <numeric>

#include "node_facts.h"

namespace tirx {
namespace layout {
namespace prove {
namespace {

bool AddScaled(int64_t a, int64_t b, int sign, int64_t* out) {
  return sign > 0 ? !__builtin_add_overflow(a, b, out) : !__builtin_sub_overflow(a, b, out);
}

}  // namespace

std::optional<AffineForm> AffineSum(const AffineForm& a, const AffineForm& b, int sign) {
  AffineForm out;
  if (!AddScaled(a.base, b.base, sign, &out.base)) return std::nullopt;
  out.terms.reserve(a.terms.size() + b.terms.size());
  auto i = a.terms.begin(), j = b.terms.begin();
  while (i != a.terms.end() || j != b.terms.end()) {
    bool left = j == b.terms.end() || (i != a.terms.end() && i->digit <= j->digit);
    bool right = i == a.terms.end() || (j != b.terms.end() && j->digit <= i->digit);
    AffineTerm t{left ? i->digit : j->digit, 0};
    if (!AddScaled(left ? i->coef : 0, right ? j->coef : 0, sign, &t.coef)) return std::nullopt;
    if (t.coef != 0) out.terms.push_back(t);
    i += left;
    j += right;
  }
  return out;
}

std::optional<AffineForm> AffineScale(const AffineForm& a, int64_t k) {
  AffineForm out;
  if (k == 0) return out;
  if (__builtin_mul_overflow(a.base, k, &out.base)) return std::nullopt;
  out.terms = a.terms;
  for (AffineTerm& t : out.terms) {
    if (__builtin_mul_overflow(t.coef, k, &t.coef)) return std::nullopt;
  }
  return out;
}

// Each coefficient is divisor * q + r with r of its own sign and smaller than the divisor; the q
// parts are the quotient, provided that base and r parts together stay within one multiple of it.
std::optional<AffineDivision> AffineDivide(const AffineForm& a, int64_t divisor,
                                           const DigitBox& box, std::vector<CutRequest>* requests) {
  AffineForm quotient, rest;
  for (const AffineTerm& t : a.terms) {
    int64_t q = t.coef / divisor, r = t.coef % divisor;
    if (q != 0) quotient.terms.push_back({t.digit, q});
    if (r != 0) rest.terms.push_back({t.digit, r});
  }
  Interval spread = box.Range(rest);
  Wide whole = FloorDivWide(a.base + spread.lo, divisor);
  if (whole == FloorDivWide(a.base + spread.hi, divisor) && Fits(whole)) {
    quotient.base = static_cast<int64_t>(whole);
    rest.base = static_cast<int64_t>(a.base - whole * divisor);
    return AffineDivision{std::move(quotient), std::move(rest)};
  }
  for (const AffineTerm& t : rest.terms) {
    const DigitBox::Digit& d = box[t.digit];
    int64_t step = divisor / std::gcd(divisor, t.coef);
    if (step > 1 && step < d.extent) requests->push_back({d.axis, d.weight * step});
  }
  return std::nullopt;
}

}  // namespace prove
}  // namespace layout
}  // namespace tirx
