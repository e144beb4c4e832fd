// Coordinates as mixed-radix digits, and exact extremes of affine forms over prefix boxes.
#include "node_facts.h"

namespace tirx {
namespace layout {
namespace prove {

DigitBox::DigitBox(const Extents& domain, const std::vector<std::vector<int64_t>>& cuts)
    : domain_(domain) {
  for (size_t axis = 0; axis < domain.size(); ++axis) {
    first_.push_back(static_cast<int32_t>(digits_.size()));
    if (domain[axis] == 1) continue;
    int64_t weight = 1;
    for (int64_t cut : cuts[axis]) {
      digits_.push_back({static_cast<int32_t>(axis), weight, cut / weight});
      weight = cut;
    }
    int64_t top = (domain[axis] - 1) / weight + 1;
    digits_.push_back({static_cast<int32_t>(axis), weight, top});
  }
  first_.push_back(static_cast<int32_t>(digits_.size()));
}

int64_t DigitBox::InnerExtent(int32_t i) const {
  const Digit& d = digits_[i];
  bool top = i + 1 == first_[d.axis + 1];
  return top ? domain_[d.axis] / d.weight : d.extent;
}

Wide DigitBox::MaxOnAxis(const AffineTerm* terms, size_t n, int sign, int64_t* where) const {
  const Digit& d = digits_[terms->digit];
  if (first_[d.axis + 1] - first_[d.axis] > 1) return MaxRagged(terms, n, sign, where);
  Wide coef = static_cast<Wide>(terms->coef) * sign;
  if (coef < 0) return 0;
  if (where) *where = d.extent - 1;
  return coef * (d.extent - 1);
}

// The maximum over 0 <= x < n is attained either at x = n-1 or at an x whose digits equal those of
// n-1 above some digit j, are smaller at j, and are free below: each case is a sum of terms.
Wide DigitBox::MaxRagged(const AffineTerm* terms, size_t n, int sign, int64_t* where) const {
  int32_t axis = digits_[terms->digit].axis;
  int32_t begin = first_[axis], count = first_[axis + 1] - begin;
  std::vector<Wide> coef(count, 0);
  for (size_t i = 0; i < n; ++i) {
    coef[terms[i].digit - begin] = static_cast<Wide>(terms[i].coef) * sign;
  }
  Wide free_below = 0, prefix = 0;
  int64_t below_at = 0, prefix_at = 0, last = domain_[axis] - 1;
  for (int32_t j = 0; j < count; ++j) {
    if (coef[j] <= 0) continue;
    const Digit& d = digits_[begin + j];
    if (j + 1 < count) free_below += coef[j] * (d.extent - 1);
    if (j + 1 < count) below_at += d.weight * (d.extent - 1);
  }
  Wide best = 0;
  int64_t best_at = 0;
  for (int32_t j = count - 1; j >= 0; --j) {
    const Digit& d = digits_[begin + j];
    int64_t digit = last / d.weight;
    last %= d.weight;
    bool up = coef[j] > 0;
    if (j + 1 < count && up) free_below -= coef[j] * (d.extent - 1);
    if (j + 1 < count && up) below_at -= d.weight * (d.extent - 1);
    int64_t lower = up && digit > 0 ? digit - 1 : 0;
    Wide value = prefix + coef[j] * lower + free_below;
    if (digit > 0 && value > best) best = value, best_at = prefix_at + d.weight * lower + below_at;
    prefix += coef[j] * digit;
    prefix_at += d.weight * digit;
  }
  if (prefix > best) best = prefix, best_at = prefix_at;
  if (where) *where = best_at;
  return best;
}

Wide DigitBox::Extreme(const AffineForm& f, int sign, Point* where) const {
  if (where) where->assign(domain_.size(), 0);
  Wide total = static_cast<Wide>(f.base) * sign;
  for (size_t i = 0; i < f.terms.size();) {
    int32_t axis = digits_[f.terms[i].digit].axis;
    size_t j = i + 1;
    while (j < f.terms.size() && digits_[f.terms[j].digit].axis == axis) ++j;
    total += MaxOnAxis(&f.terms[i], j - i, sign, where ? &(*where)[axis] : nullptr);
    i = j;
  }
  return total;
}

Wide DigitBox::Max(const AffineForm& f, Point* where) const { return Extreme(f, 1, where); }
Wide DigitBox::Min(const AffineForm& f, Point* where) const { return -Extreme(f, -1, where); }

std::optional<Point> DigitBox::PointOf(const std::vector<int64_t>& digits) const {
  Point out(domain_.size(), 0);
  for (size_t i = 0; i < digits.size(); ++i) {
    if (digits[i] < 0 || digits[i] >= digits_[i].extent) return std::nullopt;
    Wide value = out[digits_[i].axis] + static_cast<Wide>(digits[i]) * digits_[i].weight;
    if (value >= domain_[digits_[i].axis]) return std::nullopt;
    out[digits_[i].axis] = static_cast<int64_t>(value);
  }
  return out;
}

}  // namespace prove
}  // namespace layout
}  // namespace tirx
