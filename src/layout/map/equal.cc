#include <tirx/layout/inverse.h>
#include <tvm/ffi/extra/structural_equal.h>

#include "detail.h"
#include "digits.h"
#include "fit.h"

namespace tirx {
namespace layout {
namespace {

using Point = std::vector<int64_t>;

/*! Both maps at a point, by evaluation. */
class Comparison {
 public:
  Comparison(const LayoutMap& a, const LayoutMap& b)
      : extents_(a->domain.Extents()),
        a_(ToIndexDag(a)),
        b_(ToIndexDag(b)),
        x_(a->codomain.rank()),
        y_(x_.size()) {}
  bool Differ(const Point& p) {
    bool first = a_(p.data(), x_.data()), second = b_(p.data(), y_.data());
    return first != second || (first && x_ != y_);
  }
  /*! The first point that differs among 0 and those with one coordinate that is not 0. */
  std::optional<Point> OnAxes(const std::vector<std::vector<int64_t>>& places) {
    Point p(extents_.size(), 0);
    if (Differ(p)) return p;
    for (size_t i = 0; i < places.size(); ++i) {
      for (int64_t x : places[i]) {
        if (x <= 0 || x >= extents_[i]) continue;
        p[i] = x;
        if (Differ(p)) return p;
      }
      p[i] = 0;
    }
    return std::nullopt;
  }
  std::optional<Point> Anywhere() {
    std::optional<Point> found;
    ForEachPoint(extents_, [&](const Point& p) {
      if (Differ(p)) found = p;
      return !found;
    });
    return found;
  }

 private:
  std::vector<int64_t> extents_;
  PointEvaluator a_, b_;
  Point x_, y_;
};

/*! Products of leading digits. Coalesced forms that differ do so at 0 or at a cut of one of them. */
std::vector<std::vector<int64_t>> CutsOf(const MixedRadixForm& a, const MixedRadixForm& b) {
  std::vector<std::vector<int64_t>> out(a.digits.size());
  for (const MixedRadixForm* form : {&a, &b}) {
    for (size_t i = 0; i < out.size(); ++i) {
      out[i].push_back(1);
      int64_t cut = 1;
      for (int64_t e : form->digits[i]) out[i].push_back(cut *= e);
    }
  }
  return out;
}

std::vector<std::vector<int64_t>> UnitBits(const std::vector<int64_t>& extents) {
  std::vector<std::vector<int64_t>> out;
  for (int64_t e : extents) {
    out.emplace_back();
    for (int b = 0; b < BitsFor(e); ++b) out.back().push_back(int64_t{1} << b);
  }
  return out;
}

bool SameNormalForm(const LayoutMap& a, const LayoutMap& b) {
  // The declared codomain is no part of the function.
  LayoutMap x = Normalize(WithCodomain(a, b->codomain)), y = Normalize(b);
  return ffi::StructuralEqual()(x, y);
}

}  // namespace

std::optional<Point> Difference(const LayoutMap& a, const LayoutMap& b, int64_t budget) {
  bool typed =
      a->domain.Extents() == b->domain.Extents() && a->codomain.rank() == b->codomain.rank();
  if (!typed) {
    Refuse("box-mismatch", "maps on different boxes are not compared",
           PointText(a->domain.Extents()) + " and " + PointText(b->domain.Extents()),
           "one domain, and as many codomain axes");
  }
  Comparison compare(a, b);
  auto x = ToMixedRadix(ToIndexDag(a)), y = ToMixedRadix(ToIndexDag(b));
  if (x && y) {
    auto point = compare.OnAxes(CutsOf(*x, *y));
    if (point || SameForm(a, b)) return point;
  }
  auto units = UnitBits(a->domain.Extents());
  if (auto point = compare.OnAxes(units)) return point;
  if (BitFormOf(a) && BitFormOf(b)) return std::nullopt;  // equal at 0 and at every unit bit
  auto n = a->domain.Size();
  if (n && *n <= budget) return compare.Anywhere();
  if (SameNormalForm(a, b)) return std::nullopt;
  Refuse("unproved", "no proof that these maps are equal, and no point where they differ",
         PointText(a->domain.Extents()) + " -> " + PointText(a->codomain.Extents()),
         "strides, columns over GF(2), equal normal forms, or at most " + std::to_string(budget) +
             " points");
}

}  // namespace layout
}  // namespace tirx
