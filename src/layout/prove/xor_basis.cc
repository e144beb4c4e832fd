#include "xor_basis.h"

#include <algorithm>
#include <bit>

namespace tirx {
namespace layout {
namespace prove {
namespace {

void XorInto(Words* a, const Words& b) {
  for (size_t i = 0; i < b.size(); ++i) (*a)[i] ^= b[i];
}

}  // namespace

XorBasis::XorBasis(size_t words, size_t inputs)
    : words_(words), inputs_(inputs), rows_(words * 64) {}

Words XorBasis::Extend(const Words& value) const {
  Words out = value;
  out.resize(words_ + (inputs_ + 63) / 64, 0);
  return out;
}

bool XorBasis::Insert(const Words& value, size_t input) {
  Words v = Extend(value);
  if (inputs_ > 0) v[words_ + input / 64] ^= uint64_t{1} << (input % 64);
  for (size_t w = 0; w < words_; ++w) {
    while (v[w] != 0) {
      Words& row = rows_[w * 64 + std::countl_zero(v[w])];
      if (row.empty()) {
        row = std::move(v);
        ++rank_;
        return true;
      }
      XorInto(&v, row);
    }
  }
  relation_ = Inputs(v);
  return false;
}

// From the top pivot down; adding the row of a pivot changes that bit and lower ones only.
Words XorBasis::Align(const Words& start, bool wanted) const {
  Words v = Extend(start);
  for (size_t p = 0; p < rows_.size(); ++p) {
    bool bit = (v[p / 64] >> (63 - p % 64)) & 1;
    if (!rows_[p].empty() && bit != wanted) XorInto(&v, rows_[p]);
  }
  return v;
}

Words XorBasis::Maximize(const Words& start) const { return Align(start, true); }
Words XorBasis::Reduce(const Words& start) const { return Align(start, false); }

Words XorBasis::Inputs(const Words& result) const {
  return Words(result.begin() + words_, result.end());
}

bool XorBasis::IsZero(const Words& result) const {
  return std::all_of(result.begin(), result.begin() + words_, [](uint64_t w) { return w == 0; });
}

}  // namespace prove
}  // namespace layout
}  // namespace tirx
