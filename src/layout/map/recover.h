/*!
 * Reading the digits of a mixed-radix value, and solving bit-linear equations.
 */
#ifndef TIRX_LAYOUT_MAP_RECOVER_H_
#define TIRX_LAYOUT_MAP_RECOVER_H_
#include <tirx/layout/map.h>

#include <optional>
#include <vector>

namespace tirx {
namespace layout {

/*! Digit k of domain axis `axis`; below is the product of the faster extents of that axis. */
struct PlanDigit {
  size_t axis, k;
  int64_t extent, below;
};

/*! Digits that one output gives away, largest stride first: in y_output minus the offset and what
 *  earlier groups contribute, every stride is larger than the rest can reach. */
struct PlanGroup {
  size_t output;
  std::vector<size_t> digits;
};

/*! Order in which all digits with a stride can be read off a value; free ones change nothing. */
struct RecoveryPlan {
  std::vector<PlanDigit> digits;
  std::vector<PlanGroup> groups;
  std::vector<size_t> free;
  bool complete{false};
  /*! Stride of a digit in an output. */
  int64_t Stride(const MixedRadixMapNode& m, size_t digit, size_t output) const {
    return m.stride[digits[digit].axis][digits[digit].k][output];
  }
};
RecoveryPlan PlanRecovery(const MixedRadixMapNode& m);

/*! Bits in sequence, axis by axis, in 64-bit words. */
using BitVector = std::vector<uint64_t>;

/*! The equations M x = y ^ c of a bit-linear map, reduced. */
class BitSolver {
 public:
  explicit BitSolver(const BitLinearMapNode& m);
  size_t inputs() const { return inputs_; }
  size_t rank() const { return pivots_.size(); }
  /*! A solution with all free input bits 0; nothing when there is none. */
  std::optional<BitVector> Solve(const std::vector<int64_t>& value) const;
  /*! Basis of the kernel. */
  std::vector<BitVector> Kernel() const;
  /*! Coordinates of the domain from its bits. */
  std::vector<int64_t> Point(const BitVector& bits) const;
  /*! The linear map that sends M x back to x, as basis over the codomain's bits; rank = inputs. */
  std::vector<BitVector> LeftInverse(const std::vector<int>& codomain_bits) const;

 private:
  struct Row {  // `value` (64 bits per output) is the image of the inputs in `from`
    BitVector value, from;
  };
  BitVector Pack(const std::vector<int64_t>& value) const;
  const BitLinearMapNode& map_;
  size_t inputs_{0};
  std::vector<size_t> pivots_;  // leading bit of rows_[k], in order of insertion
  std::vector<Row> rows_;       // fully reduced: bit pivots_[k] is set in rows_[k] alone
  std::vector<BitVector> kernel_;
};

/*! A map made of pure operations, as an IndexExpr. */
LayoutMap FromDag(const IndexDag& dag, const IndexBox& domain, const IndexBox& codomain);

}  // namespace layout
}  // namespace tirx
#endif  // TIRX_LAYOUT_MAP_RECOVER_H_
