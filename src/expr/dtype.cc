#include <tirx/expr/dtype.h>

#include <limits>

namespace tirx {

int64_t MinValue(DType t) {
  if (!IsSigned(t)) return 0;
  if (t.bits >= 64) return std::numeric_limits<int64_t>::min();
  return -(int64_t{1} << (t.bits - 1));
}

int64_t MaxValue(DType t) {
  if (IsBool(t)) return 1;
  int value_bits = IsSigned(t) ? t.bits - 1 : t.bits;
  if (value_bits >= 63) return std::numeric_limits<int64_t>::max();
  return (int64_t{1} << value_bits) - 1;
}

}  // namespace tirx
