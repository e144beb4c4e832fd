/*!
 * Checked constructors of the grammar.
 */
#include <tirx/support/diag.h>

#include <algorithm>
#include <numeric>

#include "detail.h"

namespace tirx {

namespace {

void CheckExtentsOf(const Ints& extents) {
  for (int64_t e : extents) {
    if (e >= 1) continue;
    layout::Refuse("bad-box", "an extent of a box is below 1",
                   layout::PointText(layout::ToVector(extents)), "extents of at least 1");
  }
}

}  // namespace

IndexBox::IndexBox(Ints extents, ffi::Array<ffi::String> names) {
  CheckExtentsOf(extents);
  if (extents.empty()) layout::Refuse("bad-box", "a box has no axis", "()", "one axis or more");
  if (!names.empty() && names.size() != extents.size()) {
    layout::Refuse("bad-box", "a box needs one name per axis or none",
                   std::to_string(names.size()) + " names",
                   std::to_string(extents.size()) + " names");
  }
  auto node = ffi::make_object<IndexBoxNode>();
  node->extents = std::move(extents);
  node->names = std::move(names);
  data_ = std::move(node);
}

IndexBox::IndexBox(const std::vector<int64_t>& extents) : IndexBox(layout::ToInts(extents)) {}

std::vector<int64_t> IndexBox::Extents() const { return layout::ToVector((*this)->extents); }

std::optional<int64_t> IndexBox::Size() const {
  int64_t n = 1;
  for (int64_t e : (*this)->extents) {
    if (__builtin_mul_overflow(n, e, &n)) return std::nullopt;
  }
  return n;
}

namespace layout {

void Refuse(const std::string& code, const std::string& message, const std::string& found,
            const std::string& required, const std::string& hint) {
  Diag("layout", code, {}).Message(message).Found(found).Required(required).Hint(hint).Throw();
}

int BitsFor(int64_t extent) {
  int bits = 0;
  while (bits < 63 && (int64_t{1} << bits) < extent) ++bits;
  return bits;
}

int64_t LinearIndex(const std::vector<int64_t>& extents, const std::vector<int64_t>& point) {
  int64_t x = 0;
  for (size_t i = 0; i < extents.size(); ++i) x = x * extents[i] + point[i];
  return x;
}

int64_t DomainSizeWithin(const LayoutMap& map, int64_t budget, const std::string& what) {
  auto n = map->domain.Size();
  if (n && *n <= budget) return *n;
  Refuse("too-large", what + " needs an enumeration of the domain, which is too large",
         n ? std::to_string(*n) + " points" : "more points than 64 bits count",
         "at most " + std::to_string(budget) + " points");
}

namespace {

[[noreturn]] void BadMap(const std::string& message, const std::string& found,
                         const std::string& required) {
  Refuse("bad-map", message, found, required);
}

void CheckCount(size_t have, size_t want, const char* what) {
  if (have == want) return;
  BadMap(std::string("the map has the wrong number of ") + what, std::to_string(have),
         std::to_string(want));
}

template <typename Node>
ffi::ObjectPtr<Node> Make(const IndexBox& domain, const IndexBox& codomain) {
  auto node = ffi::make_object<Node>();
  node->domain = domain;
  node->codomain = codomain;
  return node;
}

/*! Walks over maps recurse: a chain of compositions has a fixed greatest depth. */
constexpr int32_t kMaxDepth = 1000;

template <typename Node>
void Over(const LayoutMap& part, const ffi::ObjectPtr<Node>& node) {
  node->depth = std::max(node->depth, part->depth + 1);
  if (node->depth <= kMaxDepth) return;
  Refuse("too-deep", "the map is nested too deeply", "more than " + std::to_string(kMaxDepth),
         "at most " + std::to_string(kMaxDepth) + " levels", "normalize() the parts");
}

template <typename Node>
LayoutMap Finish(ffi::ObjectPtr<Node> node) {
  return LayoutMap(ffi::ObjectPtr<LayoutMapNode>(std::move(node)));
}

/*! Extents and names of several boxes in sequence. */
IndexBox Joined(const ffi::Array<LayoutMap>& maps, bool domains) {
  Ints extents;
  ffi::Array<ffi::String> names;
  bool named = false;
  for (const LayoutMap& m : maps) {
    const IndexBox& box = domains ? m->domain : m->codomain;
    for (size_t i = 0; i < box.rank(); ++i) {
      extents.push_back(box->extents[i]);
      names.push_back(box->names.empty() ? ffi::String("") : box->names[i]);
      named = named || !box->names.empty();
    }
  }
  return IndexBox(extents, named ? names : ffi::Array<ffi::String>());
}

/*! The axes of a box that a projection keeps. */
IndexBox Chosen(const IndexBox& box, const Ints& axes) {
  Ints extents;
  ffi::Array<ffi::String> names;
  std::vector<char> used(box.rank(), 0);
  for (int64_t a : axes) {
    if (a < 0 || a >= static_cast<int64_t>(box.rank()) || used[a]) {
      BadMap("the axes of a projection are not distinct axes of its box", PointText(ToVector(axes)),
             "distinct axes below " + std::to_string(box.rank()));
    }
    used[a] = 1;
    extents.push_back(box->extents[a]);
    if (!box->names.empty()) names.push_back(box->names[a]);
  }
  return IndexBox(extents, names);
}

/*! Smallest extents that hold the largest values of a mixed-radix map. */
std::vector<int64_t> ReachOf(const IntRows& shape, const ffi::Array<IntRows>& stride,
                             const Ints& offset) {
  std::vector<int64_t> high = ToVector(offset);
  for (size_t i = 0; i < shape.size(); ++i) {
    for (size_t k = 0; k < shape[i].size(); ++k) {
      for (size_t j = 0; j < high.size(); ++j) {
        int64_t step = CheckedMul(stride[i][k][j], shape[i][k] - 1);
        if (step > 0) high[j] = CheckedAdd(high[j], step);
      }
    }
  }
  for (int64_t& h : high) h = std::max<int64_t>(1, CheckedAdd(h, 1));
  return high;
}

void CheckDigits(const IntRows& shape, const ffi::Array<IntRows>& stride, size_t outputs) {
  CheckCount(stride.size(), shape.size(), "stride groups");
  for (size_t i = 0; i < shape.size(); ++i) {
    CheckExtentsOf(shape[i]);
    CheckCount(stride[i].size(), shape[i].size(), "strides on an axis");
    for (const Ints& s : stride[i]) CheckCount(s.size(), outputs, "entries in a stride vector");
  }
}

}  // namespace

LayoutMap Identity(const IndexBox& box) { return Finish(Make<IdentityMapNode>(box, box)); }

LayoutMap MixedRadix(const IntRows& shape, const ffi::Array<IntRows>& stride, const Ints& offset,
                     const std::optional<IndexBox>& codomain,
                     const ffi::Array<ffi::String>& names) {
  CheckDigits(shape, stride, offset.size());
  std::vector<int64_t> extents;
  for (const Ints& digits : shape) {
    int64_t n = 1;
    for (int64_t e : digits) n = CheckedMul(n, e);
    extents.push_back(n);
  }
  if (codomain) CheckCount(codomain->rank(), offset.size(), "codomain axes");
  auto node =
      Make<MixedRadixMapNode>(IndexBox(ToInts(extents), names),
                              codomain ? *codomain : IndexBox(ReachOf(shape, stride, offset)));
  node->shape = shape;
  node->stride = stride;
  node->offset = offset;
  return Finish(std::move(node));
}

LayoutMap BitLinear(const IndexBox& domain, const IndexBox& codomain,
                    const ffi::Array<IntRows>& basis, const Ints& translation) {
  CheckCount(basis.size(), domain.rank(), "basis groups");
  CheckCount(translation.size(), codomain.rank(), "entries in the translation");
  auto nonnegative = [](const Ints& row) {
    for (int64_t v : row) {
      if (v < 0) BadMap("a bit image is negative", PointText(ToVector(row)), "images >= 0");
    }
  };
  nonnegative(translation);
  for (size_t i = 0; i < basis.size(); ++i) {
    CheckCount(basis[i].size(), BitsFor(domain->extents[i]), "basis vectors of an axis");
    for (const Ints& row : basis[i]) {
      CheckCount(row.size(), codomain.rank(), "entries in a basis vector");
      nonnegative(row);
    }
  }
  auto node = Make<BitLinearMapNode>(domain, codomain);
  node->basis = basis;
  node->translation = translation;
  return Finish(std::move(node));
}

LayoutMap Translate(const LayoutMap& map, const Ints& offset,
                    const std::optional<IndexBox>& codomain) {
  CheckCount(offset.size(), map->codomain.rank(), "offsets");
  std::vector<int64_t> extents = map->codomain.Extents();
  for (size_t j = 0; j < extents.size(); ++j) {
    extents[j] = std::max<int64_t>(1, CheckedAdd(extents[j], offset[j]));
  }
  if (codomain) CheckCount(codomain->rank(), offset.size(), "codomain axes");
  auto node = Make<TranslateMapNode>(
      map->domain, codomain ? *codomain : IndexBox(ToInts(extents), map->codomain->names));
  Over(map, node);
  node->map = map;
  node->offset = offset;
  return Finish(std::move(node));
}

LayoutMap Compose(const LayoutMap& outer, const LayoutMap& inner) {
  std::vector<int64_t> from = inner->codomain.Extents(), to = outer->domain.Extents();
  bool fits = from.size() == to.size();
  for (size_t i = 0; fits && i < to.size(); ++i) fits = from[i] <= to[i];
  if (!fits) {
    Refuse("box-mismatch", "the codomain of the inner map is not inside the domain of the outer",
           PointText(from), "a box inside " + PointText(to),
           "declare the box that the inner map really reaches with with_codomain()");
  }
  auto node = Make<ComposeMapNode>(inner->domain, outer->codomain);
  Over(outer, node);
  Over(inner, node);
  node->outer = outer;
  node->inner = inner;
  return Finish(std::move(node));
}

LayoutMap Product(const ffi::Array<LayoutMap>& maps) {
  if (maps.empty()) BadMap("a product has no factors", "0", "one map or more");
  auto node = Make<ProductMapNode>(Joined(maps, true), Joined(maps, false));
  for (const LayoutMap& f : maps) Over(f, node);
  node->maps = maps;
  return Finish(std::move(node));
}

LayoutMap Project(const IndexBox& box, const Ints& axes) {
  auto node = Make<ProjectMapNode>(box, Chosen(box, axes));
  node->axes = axes;
  return Finish(std::move(node));
}

LayoutMap PermuteAxes(const IndexBox& box, const Ints& axes) {
  CheckCount(axes.size(), box.rank(), "axes of a permutation");
  auto node = Make<PermuteMapNode>(box, Chosen(box, axes));
  node->axes = axes;
  return Finish(std::move(node));
}

LayoutMap Transform(const ffi::String& name, const Ints& params, const IndexBox& domain,
                    const IndexBox& codomain, bool inverted) {
  auto node = Make<TransformMapNode>(domain, codomain);
  node->name = name;
  node->params = params;
  node->inverted = inverted;
  if (BijectionArgument(*node).empty()) {
    BadMap("the transform is no bijection between these boxes",
           std::string(name) + PointText(ToVector(params)) + " from " +
               PointText(domain.Extents()) + " to " + PointText(codomain.Extents()),
           "parameters and boxes that its registration admits");
  }
  return Finish(std::move(node));
}

LayoutMap Piecewise(const ffi::Array<LayoutMap>& predicates, const ffi::Array<LayoutMap>& pieces) {
  if (pieces.empty()) BadMap("a piecewise map has no pieces", "0", "one piece or more");
  CheckCount(predicates.size(), pieces.size(), "predicates");
  for (size_t k = 0; k < pieces.size(); ++k) {
    CheckCount(predicates[k]->codomain.rank(), 1, "outputs of a predicate");
    bool same = pieces[k]->domain.Extents() == pieces[0]->domain.Extents() &&
                predicates[k]->domain.Extents() == pieces[0]->domain.Extents();
    if (!same) {
      BadMap("the pieces have different domains", PointText(predicates[k]->domain.Extents()),
             PointText(pieces[0]->domain.Extents()));
    }
    CheckCount(pieces[k]->codomain.rank(), pieces[0]->codomain.rank(), "codomain axes in a piece");
  }
  std::vector<int64_t> extents = pieces[0]->codomain.Extents();
  for (const LayoutMap& p : pieces) {
    for (size_t j = 0; j < extents.size(); ++j) {
      extents[j] = std::max<int64_t>(extents[j], p->codomain->extents[j]);
    }
  }
  auto node = Make<PiecewiseMapNode>(pieces[0]->domain,
                                     IndexBox(ToInts(extents), pieces[0]->codomain->names));
  for (const LayoutMap& p : predicates) Over(p, node);
  for (const LayoutMap& p : pieces) Over(p, node);
  node->predicates = predicates;
  node->pieces = pieces;
  return Finish(std::move(node));
}

LayoutMap IndexExpr(const IndexBox& domain, const IndexBox& codomain, const Ints& code,
                    const Ints& outputs) {
  CheckCount(outputs.size(), codomain.rank(), "outputs");
  int64_t n = static_cast<int64_t>(code.size()) / 4;
  CheckCount(code.size(), 4 * n, "numbers in the code");
  for (int64_t i = 0; i < n; ++i) {
    int64_t op = code[4 * i], a = code[4 * i + 1], b = code[4 * i + 2], c = code[4 * i + 3];
    bool ok = op >= 0 && op <= static_cast<int64_t>(IndexOp::kEqual);
    if (op == static_cast<int64_t>(IndexOp::kCoord)) {
      ok = c >= 0 && c < static_cast<int64_t>(domain.rank());
    } else if (op > static_cast<int64_t>(IndexOp::kCoord)) {
      ok = ok && a >= 0 && a < i && b >= 0 && b < i;
    }
    if (!ok) BadMap("a node of the code is malformed", std::to_string(i), "op, operands before it");
  }
  for (int64_t o : outputs) {
    if (o < 0 || o >= n) BadMap("an output is no node", std::to_string(o), "a node number");
  }
  auto node = Make<IndexExprMapNode>(domain, codomain);
  node->code = code;
  node->outputs = outputs;
  return Finish(std::move(node));
}

LayoutMap FiniteTable(const IndexBox& domain, const IndexBox& codomain, const Ints& values) {
  auto n = domain.Size();
  if (!n || *n > kFiniteBudget) {
    Refuse("too-large", "a table of this many points is not kept", PointText(domain.Extents()),
           "at most " + std::to_string(kFiniteBudget) + " points");
  }
  CheckCount(values.size(), *n * codomain.rank(), "values");
  auto node = Make<FiniteTableMapNode>(domain, codomain);
  node->values = values;
  return Finish(std::move(node));
}

LayoutMap WithCodomain(const LayoutMap& map, const IndexBox& codomain) {
  CheckCount(codomain.rank(), map->codomain.rank(), "codomain axes");
  if (map->codomain.Extents() == codomain.Extents() && codomain->names.empty()) return map;
  // A translation by nothing carries the new declaration and keeps the map as it was written.
  return Translate(map, ToInts(std::vector<int64_t>(codomain.rank(), 0)), codomain);
}

}  // namespace layout
}  // namespace tirx
