/*!
 * Forms of maps whose values were all listed: a form that agrees with every one of them is proved.
 */
#include "fit.h"

#include "detail.h"

namespace tirx {
namespace layout {
namespace {

using Point = std::vector<int64_t>;

/*! All values of a map, addressed by point. */
class Values {
 public:
  Values(const std::vector<int64_t>& extents, size_t rank, const std::vector<int64_t>& values)
      : extents_(extents), rank_(rank), values_(values) {}
  int64_t At(const Point& x, size_t output) const {
    return values_[LinearIndex(extents_, x) * rank_ + output];
  }
  Point OnAxis(size_t axis, int64_t x) const {
    Point p(extents_.size(), 0);
    p[axis] = x;
    return p;
  }
  const std::vector<int64_t>& extents() const { return extents_; }
  size_t rank() const { return rank_; }
  /*! Whether form(point, output) is the value everywhere. */
  template <typename Form>
  bool Agree(Form form) const {
    return ForEachPoint(extents_, [&](const Point& x) {
      for (size_t j = 0; j < rank_; ++j) {
        if (form(x, j) != static_cast<__int128>(At(x, j))) return false;
      }
      return true;
    });
  }

 private:
  const std::vector<int64_t>& extents_;
  size_t rank_;
  const std::vector<int64_t>& values_;
};

/*! Whether steps of `cut` along an axis up to `count` of them all add `stride`. */
bool Runs(const Values& v, size_t axis, int64_t cut, int64_t count,
          const std::vector<int64_t>& stride) {
  Point x = v.OnAxis(axis, 0);
  for (int64_t t = 0; t < count; ++t) {
    x[axis] = t * cut;
    for (size_t j = 0; j < v.rank(); ++j) {
      __int128 want = static_cast<__int128>(stride[j]) * t + v.At(v.OnAxis(axis, 0), j);
      if (want != v.At(x, j)) return false;
    }
  }
  return true;
}

/*! Digits of one axis as its values at multiples of the cuts suggest; nothing when 64 bits do not
 *  hold a difference. In a coalesced form every digit is as long as its stride holds. */
bool SuggestDigits(const Values& v, size_t axis, MixedRadixForm* out) {
  int64_t extent = v.extents()[axis];
  out->digits.emplace_back();
  out->strides.emplace_back();
  for (int64_t cut = 1; cut < extent || out->digits.back().empty();) {
    std::vector<int64_t> stride(v.rank(), 0);
    for (size_t j = 0; j < v.rank() && cut < extent; ++j) {
      int64_t from = v.At(v.OnAxis(axis, 0), j), to = v.At(v.OnAxis(axis, cut), j);
      if (__builtin_sub_overflow(to, from, &stride[j])) return false;
    }
    int64_t count = extent / cut;
    while (count > 1 && (extent / cut % count != 0 || !Runs(v, axis, cut, count, stride))) --count;
    if (count == 1 && cut < extent) return false;
    out->digits.back().push_back(count);
    out->strides.back().push_back(stride);
    cut *= count;
  }
  return true;
}

__int128 RadixValue(const MixedRadixForm& form, const Point& x, size_t output) {
  __int128 sum = form.offset[output];
  for (size_t i = 0; i < x.size(); ++i) {
    int64_t rest = x[i];
    for (size_t k = 0; k < form.digits[i].size(); ++k) {
      sum += static_cast<__int128>(form.strides[i][k][output]) * (rest % form.digits[i][k]);
      rest /= form.digits[i][k];
    }
  }
  return sum;
}

}  // namespace

std::optional<MixedRadixForm> FitMixedRadix(const std::vector<int64_t>& extents, size_t rank,
                                            const std::vector<int64_t>& values) {
  Values v(extents, rank, values);
  MixedRadixForm form;
  for (size_t j = 0; j < rank; ++j) form.offset.push_back(values[j]);
  for (size_t i = 0; i < extents.size(); ++i) {
    if (!SuggestDigits(v, i, &form)) return std::nullopt;
  }
  bool all = HasEveryValue(form) &&
             v.Agree([&](const Point& x, size_t j) { return RadixValue(form, x, j); });
  return all ? std::optional(form) : std::nullopt;
}

std::optional<BitBasis> FitBitLinear(const std::vector<int64_t>& extents, size_t rank,
                                     const std::vector<int64_t>& values) {
  Values v(extents, rank, values);
  BitBasis out;
  for (size_t j = 0; j < rank; ++j) out.translation.push_back(values[j]);
  for (size_t i = 0; i < extents.size(); ++i) {
    out.basis.emplace_back();
    for (int b = 0; b < BitsFor(extents[i]); ++b) {
      std::vector<int64_t> column;
      for (size_t j = 0; j < rank; ++j) {
        column.push_back(v.At(v.OnAxis(i, int64_t{1} << b), j) ^ values[j]);
      }
      out.basis.back().push_back(column);
    }
  }
  for (int64_t value : values) {
    if (value < 0) return std::nullopt;
  }
  bool all = v.Agree([&](const Point& x, size_t j) {
    int64_t sum = out.translation[j];
    for (size_t i = 0; i < x.size(); ++i) {
      for (size_t b = 0; b < out.basis[i].size(); ++b) {
        if (x[i] >> b & 1) sum ^= out.basis[i][b][j];
      }
    }
    return static_cast<__int128>(sum);
  });
  return all ? std::optional(out) : std::nullopt;
}

}  // namespace layout
}  // namespace tirx
