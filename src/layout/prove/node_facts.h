/*!
 * What is known of every node of an IndexDag on the whole (static) domain box.
 *
 * Three abstract values are kept side by side, each exact where it exists:
 *   a range       lo <= value <= hi;
 *   an affine     base + sum coef * digit over the digits of the coordinates (DigitBox);
 *   a bit form    constant XOR the columns of the set bits of the coordinates, as bit patterns.
 * A form exists only for a node that is safe: the node and everything below it has a value at every
 * point of the domain. So cancellation never hides an overflow or a division by zero.
 */
#ifndef TIRX_LAYOUT_PROVE_NODE_FACTS_H_
#define TIRX_LAYOUT_PROVE_NODE_FACTS_H_
#include <tirx/layout/index_dag.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace tirx {
namespace layout {
namespace prove {

using Wide = __int128;
using Point = std::vector<int64_t>;
using Extents = std::vector<int64_t>;

inline bool Fits(Wide v) {
  return v >= std::numeric_limits<int64_t>::min() && v <= std::numeric_limits<int64_t>::max();
}
inline Wide FloorDivWide(Wide a, Wide b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

/*! lo <= value <= hi. */
struct Interval {
  Wide lo{std::numeric_limits<int64_t>::min()};
  Wide hi{std::numeric_limits<int64_t>::max()};
  bool Within(Wide low, Wide high) const { return low <= lo && hi <= high; }
  bool IsConst() const { return lo == hi; }
};

/*! interval.cc: whether `op` has a value for all operands in a and b, and the range of the values.
 *  The range is only meaningful when the answer is true. */
bool IntervalRule(IndexOp op, const Interval& a, const Interval& b, Interval* out);

struct AffineTerm {
  int32_t digit;
  int64_t coef;
};
/*! base + sum coef * digit; digits ascending, coefficients not zero. */
struct AffineForm {
  int64_t base{0};
  std::vector<AffineTerm> terms;
};

/*!
 * Coordinates as digits. Axis x of extent n with cuts c1 | c2 | .. is d0 + c1*d1 + c2*d2 + ..,
 * 0 <= d_i < c_(i+1)/c_i; the last digit stays below ceil(n/c_k). The digits form a box; when c_k
 * does not divide n (a ragged axis), the axis is the part of that box with value below n.
 */
class DigitBox {
 public:
  struct Digit {
    int32_t axis;
    int64_t weight;
    int64_t extent;
  };
  DigitBox(const Extents& domain, const std::vector<std::vector<int64_t>>& cuts);
  size_t size() const { return digits_.size(); }
  const Digit& operator[](int32_t i) const { return digits_[i]; }
  int32_t first(int32_t axis) const { return first_[axis]; }
  const Extents& domain() const { return domain_; }
  /*! Extent of the digit in the largest box of digits that lies inside the domain. */
  int64_t InnerExtent(int32_t i) const;
  /*! Exact extremes over the domain (ragged axes too), and where they are attained. */
  Wide Max(const AffineForm& f, Point* where = nullptr) const;
  Wide Min(const AffineForm& f, Point* where = nullptr) const;
  Interval Range(const AffineForm& f) const { return {Min(f), Max(f)}; }
  /*! The coordinates of given digits; nothing when outside the domain. */
  std::optional<Point> PointOf(const std::vector<int64_t>& digits) const;

 private:
  Wide MaxOnAxis(const AffineTerm* terms, size_t n, int sign, int64_t* where) const;
  Wide MaxRagged(const AffineTerm* terms, size_t n, int sign, int64_t* where) const;
  Wide Extreme(const AffineForm& f, int sign, Point* where) const;
  Extents domain_;
  std::vector<Digit> digits_;
  std::vector<int32_t> first_;  // digits of axis a are [first_[a], first_[a+1])
};

/*! affine.cc */
std::optional<AffineForm> AffineSum(const AffineForm& a, const AffineForm& b, int sign);
std::optional<AffineForm> AffineScale(const AffineForm& a, int64_t k);
struct AffineDivision {
  AffineForm quotient, remainder;
};
/*! Cut `at` of `axis` that would let a division go through. */
struct CutRequest {
  int32_t axis;
  int64_t at;
};
/*! a = divisor * quotient + remainder with 0 <= remainder < divisor everywhere; when the digits are
 *  too coarse for it, the cuts that would help are appended to `requests`. divisor > 0. */
std::optional<AffineDivision> AffineDivide(const AffineForm& a, int64_t divisor,
                                           const DigitBox& box, std::vector<CutRequest>* requests);

struct BitTerm {
  int32_t bit;  //!< number of the input bit, all axes in sequence
  uint64_t column;
};
/*! constant ^ (columns of the input bits that are set). */
struct BitForm {
  uint64_t constant{0};
  std::vector<BitTerm> terms;
  /*! Every bit that can be 1. */
  uint64_t Support() const;
  /*! Bits that are 1 everywhere. */
  uint64_t Always() const;
};

/*! bits.cc: the bit form of an operation, when it has one. Each of these is exact on the domain. */
BitForm BitXor(const BitForm& a, const BitForm& b);
std::optional<BitForm> BitRule(IndexOp op, const BitForm& a, const BitForm& b,
                               const Interval& range_a);
/*! Exact extremes over the box of all input bits, as signed numbers. */
Interval BitRange(const BitForm& f);
/*! Bits of an axis of this extent. */
inline int BitsOf(int64_t extent) {
  int bits = 0;
  while (bits < 63 && (int64_t{1} << bits) < extent) ++bits;
  return bits;
}

struct NodeFacts {
  bool safe{false};
  Interval range;
  std::optional<AffineForm> affine;
  std::optional<BitForm> bits;
};

/*! The result of the forward pass. */
struct Analysis {
  DigitBox box;
  std::vector<NodeFacts> nodes;
  /*! Points of the domain where something may fail: worth evaluating. */
  std::vector<Point> suspects;
};
/*! analyze.cc */
Analysis Analyze(const IndexDag& dag);

}  // namespace prove
}  // namespace layout
}  // namespace tirx
#endif  // TIRX_LAYOUT_PROVE_NODE_FACTS_H_
