/*!
 * Strongest forms.
 */
#include "detail.h"
#include "digits.h"

namespace tirx {
namespace layout {
namespace {

LayoutMap FromForm(const MixedRadixForm& form, const LayoutMap& map) {
  IntRows shape;
  ffi::Array<IntRows> stride;
  for (size_t i = 0; i < form.digits.size(); ++i) {
    shape.push_back(ToInts(form.digits[i]));
    IntRows rows;
    for (const auto& vector : form.strides[i]) rows.push_back(ToInts(vector));
    stride.push_back(rows);
  }
  return MixedRadix(shape, stride, ToInts(form.offset), map->codomain, map->domain->names);
}

/*! Whether every output is its coordinate, onto the same box. */
bool IsIdentity(const MixedRadixForm& form, const LayoutMap& map) {
  if (map->domain.Extents() != map->codomain.Extents()) return false;
  for (size_t i = 0; i < form.digits.size(); ++i) {
    if (form.offset[i] != 0 || form.digits[i].size() != 1) return false;
    for (size_t j = 0; j < form.digits.size(); ++j) {
      if (form.digits[i][0] > 1 && form.strides[i][0][j] != (i == j)) return false;
    }
  }
  return true;
}

}  // namespace

LayoutMap Normalize(const LayoutMap& map) {
  const IndexDag& dag = ToIndexDag(map);
  if (auto form = ToMixedRadix(dag)) {
    return IsIdentity(*form, map) ? Identity(map->domain) : FromForm(*form, map);
  }
  return map;
}

}  // namespace layout
}  // namespace tirx
