/*!
 * Reading the iters of a map off its values.
 */
#ifndef TIRX_LAYOUT_RADIX_H_
#define TIRX_LAYOUT_RADIX_H_
#include <vector>

#include "form.h"

namespace tirx {
namespace layout {

/*!
 * Takes the values D(0) + c, D(1) + c, .. of a map one by one and finds the iters of D, or says at the
 * first value that no list of iters gives it. A value has one coordinate per axis of `axes`.
 *
 * The merged form of a mixed-radix map is unique (canonical.cc): while the values continue the digits
 * found so far, nothing is decided; the first value that leaves them must be at a multiple of these
 * digits, ends the outermost one, and is the stride of the next.
 */
class RadixReader {
 public:
  RadixReader(std::vector<AxisId> axes, int64_t size);
  /*! The next value; false when the map is no list of iters. At most `size` calls. */
  bool Next(const int64_t* value);
  /*! Merged iters, innermost first; after `size` values. */
  std::vector<Step> Steps() const;
  const std::vector<int64_t>& origin() const { return origin_; }

 private:
  struct Digit {
    int64_t extent;  //!< of the outermost digit: not known yet
    int64_t at;
    std::vector<int64_t> stride;
  };
  bool IsAt(const int64_t* value) const;
  bool Open(const int64_t* value);
  void Advance();
  void Move(const std::vector<int64_t>& stride, int64_t times);

  std::vector<AxisId> axes_;
  int64_t size_;
  int64_t next_{0};
  int64_t inner_{1};  //!< product of the digits below the outermost
  std::vector<int64_t> origin_;
  std::vector<Digit> digits_;
  std::vector<__int128> predicted_;  //!< cannot overflow: |digit| * |stride| < 2^126
};

}  // namespace layout
}  // namespace tirx
#endif  // TIRX_LAYOUT_RADIX_H_
