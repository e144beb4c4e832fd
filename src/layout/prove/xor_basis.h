/*!
 * Linear algebra over GF(2) on vectors of any number of bits, with the combination that made each
 * row.
 */
#ifndef TIRX_LAYOUT_PROVE_XOR_BASIS_H_
#define TIRX_LAYOUT_PROVE_XOR_BASIS_H_
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tirx {
namespace layout {
namespace prove {

using Words = std::vector<uint64_t>;

inline bool GetBit(const Words& v, size_t i) { return (v[i / 64] >> (i % 64)) & 1; }
inline void FlipBit(Words* v, size_t i) { (*v)[i / 64] ^= uint64_t{1} << (i % 64); }

/*!
 * The span of inserted vectors of `words` 64-bit words; word 0 is the most significant. With
 * `inputs` > 0, vectors carry behind their value a bit set of the inserted vectors whose XOR they
 * are, and so do the results of Maximize and Reduce.
 */
class XorBasis {
 public:
  explicit XorBasis(size_t words, size_t inputs = 0);
  /*! Adds vector number `input`. False when it depends on earlier ones: then `relation()` is the set
   *  of inserted vectors (this one included) whose XOR is zero. */
  bool Insert(const Words& value, size_t input = 0);
  const Words& relation() const { return relation_; }
  size_t rank() const { return rank_; }
  /*! The largest vector in start + span. */
  Words Maximize(const Words& start) const;
  /*! start + span reduced at all pivots: its value is zero exactly when start is in the span. */
  Words Reduce(const Words& start) const;
  /*! The tracking part of a result. */
  Words Inputs(const Words& result) const;
  bool IsZero(const Words& result) const;

 private:
  Words Extend(const Words& value) const;
  Words Align(const Words& start, bool wanted) const;
  size_t words_, inputs_, rank_{0};
  std::vector<Words> rows_;  // by pivot: word * 64 + (63 - bit); empty where there is none
  Words relation_;
};

}  // namespace prove
}  // namespace layout
}  // namespace tirx
#endif  // TIRX_LAYOUT_PROVE_XOR_BASIS_H_
