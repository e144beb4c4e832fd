#include "radix.h"

#include <algorithm>

namespace tirx {
namespace layout {

RadixReader::RadixReader(std::vector<AxisId> axes, int64_t size)
    : axes_(std::move(axes)), size_(size), predicted_(axes_.size(), 0) {}

bool RadixReader::IsAt(const int64_t* value) const {
  for (size_t a = 0; a < axes_.size(); ++a) {
    if (static_cast<__int128>(value[a]) - origin_[a] != predicted_[a]) return false;
  }
  return true;
}

/*! A new outermost digit whose first step leads to `value`; one axis moves, by at most 64 bits. */
bool RadixReader::Open(const int64_t* value) {
  Digit digit{0, 1, std::vector<int64_t>(axes_.size(), 0)};
  int moved = 0;
  for (size_t a = 0; a < axes_.size(); ++a) {
    if (__builtin_sub_overflow(value[a], origin_[a], &digit.stride[a])) return false;
    moved += digit.stride[a] != 0;
    predicted_[a] = digit.stride[a];
  }
  digits_.push_back(std::move(digit));
  return moved <= 1;
}

void RadixReader::Move(const std::vector<int64_t>& stride, int64_t times) {
  for (size_t a = 0; a < stride.size(); ++a)
    predicted_[a] += static_cast<__int128>(stride[a]) * times;
}

void RadixReader::Advance() {
  for (size_t i = 0; i < digits_.size(); ++i) {
    Digit& d = digits_[i];
    Move(d.stride, 1);
    if (++d.at < d.extent || i + 1 == digits_.size()) return;
    Move(d.stride, -d.extent);
    d.at = 0;
  }
}

bool RadixReader::Next(const int64_t* value) {
  int64_t y = next_++;
  if (y == 0) {
    origin_.assign(value, value + axes_.size());
    return true;
  }
  if (y == 1) return Open(value);
  Advance();
  if (IsAt(value)) return true;
  if (y % inner_ != 0 || size_ % y != 0) return false;
  digits_.back().extent = y / inner_;
  digits_.back().at = 0;
  inner_ = y;
  return Open(value);
}

std::vector<Step> RadixReader::Steps() const {
  std::vector<Step> out;
  int64_t inner = 1;
  for (size_t i = 0; i < digits_.size(); ++i) {
    const std::vector<int64_t>& stride = digits_[i].stride;
    size_t a = std::find_if(stride.begin(), stride.end(), [](int64_t s) { return s != 0; }) -
               stride.begin();
    bool moves = a < stride.size();
    int64_t extent = i + 1 == digits_.size() ? size_ / inner : digits_[i].extent;
    out.push_back({extent, moves ? stride[a] : 0, moves ? axes_[a] : kMemoryAxis});
    inner *= extent;
  }
  return out;
}

}  // namespace layout
}  // namespace tirx
