/*!
 * A vector of trivially copyable elements whose first N live inside the object.
 */
#ifndef TIRX_SUPPORT_SMALL_VECTOR_H_
#define TIRX_SUPPORT_SMALL_VECTOR_H_
#include <algorithm>
#include <cstddef>
#include <type_traits>

namespace tirx {

template <typename T, size_t N>
class SmallVector {
  static_assert(std::is_trivially_copyable_v<T>, "elements are moved as bytes");

 public:
  SmallVector() : data_(inline_) {}
  SmallVector(const SmallVector& other) : SmallVector() { Assign(other.begin(), other.size_); }
  SmallVector& operator=(const SmallVector& other) {
    if (this != &other) Assign(other.begin(), other.size_);
    return *this;
  }
  ~SmallVector() { Release(); }

  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T& back() { return data_[size_ - 1]; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  void clear() { size_ = 0; }
  void pop_back() { --size_; }
  void push_back(T v) {
    if (size_ == capacity_) Grow(2 * capacity_);
    data_[size_++] = v;
  }
  /*! Removes element i, keeping the order of the others. */
  void erase(size_t i) {
    std::copy(data_ + i + 1, data_ + size_, data_ + i);
    --size_;
  }

 private:
  void Assign(const T* from, size_t n) {
    if (n > capacity_) Grow(n);
    std::copy(from, from + n, data_);
    size_ = n;
  }
  void Grow(size_t capacity) {
    T* fresh = new T[capacity];
    std::copy(data_, data_ + size_, fresh);
    Release();
    data_ = fresh;
    capacity_ = capacity;
  }
  void Release() {
    if (data_ != inline_) delete[] data_;
  }

  T* data_;
  size_t size_{0};
  size_t capacity_{N};
  T inline_[N];
};

}  // namespace tirx
#endif  // TIRX_SUPPORT_SMALL_VECTOR_H_
