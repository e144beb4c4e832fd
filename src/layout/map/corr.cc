#include <tirx/layout/corr.h>
#include <tirx/layout/inverse.h>

#include "detail.h"
#include "recover.h"

namespace tirx {

LayoutCorr::LayoutCorr(LayoutMap left, LayoutMap right) : ObjectRef(ffi::UnsafeInit{}) {
  if (left->domain.Extents() != right->domain.Extents()) {
    layout::Refuse("box-mismatch", "the legs of a correspondence have different domains",
                   layout::PointText(left->domain.Extents()) + " and " +
                       layout::PointText(right->domain.Extents()),
                   "one occurrence space");
  }
  auto node = ffi::make_object<LayoutCorrNode>();
  node->left = std::move(left);
  node->right = std::move(right);
  data_ = std::move(node);
}

namespace layout {
namespace {

using Axes = std::vector<int64_t>;

/*! axes[j] is the domain axis that output j is, extents alike; nothing for other maps. */
std::optional<Axes> ProjectionAxes(const LayoutMap& map) {
  LayoutMap n = Normalize(map);
  if (n.as<IdentityMapNode>()) n = MixedRadixOfIdentity(n);
  auto* m = n.as<MixedRadixMapNode>();
  if (!m) return std::nullopt;
  Axes axes(m->offset.size(), -1);
  for (size_t i = 0; i < m->shape.size(); ++i) {
    for (size_t j = 0; j < axes.size(); ++j) {
      bool whole = m->shape[i].size() == 1 && m->shape[i][0] == m->codomain->extents[j];
      int64_t stride = m->stride[i][0][j];
      if (m->shape[i].size() == 1 && stride == 0) continue;
      if (!whole || stride != 1 || axes[j] >= 0) return std::nullopt;
      axes[j] = static_cast<int64_t>(i);
    }
  }
  std::vector<char> used(m->shape.size(), 0);
  for (size_t j = 0; j < axes.size(); ++j) {
    if (axes[j] < 0 || m->offset[j] != 0 || used[axes[j]]++) return std::nullopt;
  }
  return axes;
}

LayoutMap Select(const IndexBox& box, size_t from, size_t count) {
  Axes axes;
  for (size_t i = 0; i < count; ++i) axes.push_back(static_cast<int64_t>(from + i));
  return Project(box, ToInts(axes));
}

/*! When `towards` (F2 -> B) is a projection with axes `kept`, F = F1 x (the other axes of F2):
 *  returns the maps F -> F1 and F -> F2, given `value` : F1 -> B. */
std::pair<LayoutMap, LayoutMap> ProjectionJoin(const LayoutMap& value, const LayoutMap& towards,
                                               const Axes& kept) {
  size_t rank = towards->domain.rank();
  Axes rest, order(rank, 0);
  std::vector<int64_t> extents;
  std::vector<char> used(rank, 0);
  for (size_t j = 0; j < kept.size(); ++j) {
    order[kept[j]] = static_cast<int64_t>(j);
    used[kept[j]] = 1;
  }
  for (size_t i = 0; i < rank; ++i) {
    if (used[i]) continue;
    order[i] = static_cast<int64_t>(kept.size() + extents.size());
    extents.push_back(towards->domain->extents[i]);
  }
  LayoutMap both = value;
  if (!extents.empty()) both = Product({value, Identity(IndexBox(extents))});
  LayoutMap second = Compose(PermuteAxes(both->codomain, ToInts(order)), both);
  return {Select(both->domain, 0, value->domain.rank()), second};
}

/*! F1 x F2 with legs that have a value only where value1(f1) = value2(f2). */
std::pair<LayoutMap, LayoutMap> AgreementJoin(const LayoutMap& one, const LayoutMap& two) {
  LayoutMap both = Product({one, two});
  size_t rank = one->codomain.rank();
  DagBuilder to(both->codomain.Extents());
  int32_t same = to.Const(1);
  for (size_t j = 0; j < rank; ++j) {
    int32_t equal = to.Binary(IndexOp::kEqual, to.Coord(j), to.Coord(rank + j));
    same = to.Binary(IndexOp::kAnd, equal, same);
  }
  IndexBox flag(std::vector<int64_t>{2});
  IndexDag dag = std::move(to).Finish({same}, {2});
  LayoutMap agree = Compose(FromDag(dag, both->codomain, flag), both);
  auto where = [&](size_t from, size_t count) {
    return Piecewise({agree}, {Select(both->domain, from, count)});
  };
  size_t first = one->domain.rank();
  return {where(0, first), where(first, two->domain.rank())};
}

/*! The inverse of an injective leg, without listing anything large. */
std::optional<LayoutMap> InverseOf(const LayoutMap& leg) {
  constexpr int64_t kListed = 4096;
  try {
    return TryInverse(leg, kListed).map;
  } catch (const ffi::Error&) {
    return std::nullopt;
  }
}

}  // namespace

LayoutCorr Converse(const LayoutCorr& corr) { return LayoutCorr(corr->right, corr->left); }

LayoutCorr ProductCorr(const LayoutCorr& a, const LayoutCorr& b) {
  return LayoutCorr(Product({a->left, b->left}), Product({a->right, b->right}));
}

LayoutCorr ComposeCorr(const LayoutCorr& outer, const LayoutCorr& inner) {
  const LayoutMap &to = inner->right, &from = outer->left;
  if (to->codomain.Extents() != from->codomain.Extents()) {
    Refuse("box-mismatch", "the correspondences do not meet in one box",
           PointText(to->codomain.Extents()) + " and " + PointText(from->codomain.Extents()),
           "the target of the inner one is the source of the outer one");
  }
  std::optional<std::pair<LayoutMap, LayoutMap>> join;  // F -> F1, F -> F2
  if (auto axes = ProjectionAxes(from)) {
    join = ProjectionJoin(to, from, *axes);
  } else if (auto axes = ProjectionAxes(to)) {
    join = ProjectionJoin(from, to, *axes);
    std::swap(join->first, join->second);
  } else if (auto back = InverseOf(from)) {
    join = {Identity(to->domain), Compose(*back, to)};
  } else if (auto back = InverseOf(to)) {
    join = {Compose(*back, from), Identity(from->domain)};
  } else {
    join = AgreementJoin(to, from);
  }
  return LayoutCorr(Compose(inner->left, join->first), Compose(outer->right, join->second));
}

std::vector<int64_t> CorrPairs(const LayoutCorr& corr, int64_t budget) {
  DomainSizeWithin(corr->left, budget, "listing a correspondence");
  PointEvaluator left(ToIndexDag(corr->left)), right(ToIndexDag(corr->right));
  std::vector<int64_t> a(corr->left->codomain.rank()), b(corr->right->codomain.rank()), out;
  ForEachPoint(corr->left->domain.Extents(), [&](const std::vector<int64_t>& f) {
    if (left(f.data(), a.data()) && right(f.data(), b.data())) {
      out.insert(out.end(), a.begin(), a.end());
      out.insert(out.end(), b.begin(), b.end());
    }
    return true;
  });
  return out;
}

}  // namespace layout
}  // namespace tirx
