// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_ELEMENTS_BROADCAST_H_
#define MILLSTREAM_OPS_ELEMENTS_BROADCAST_H_

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "millstream/tensor/tensor.h"

namespace millstream {

// NumPy broadcasting of two shapes. InvalidArgument "Incompatible shapes: ..." if they do not fit.
StatusOr<Shape> BroadcastShapes(const Shape& a, const Shape& b);

// Writes n copies of the element at `value`. `size` is 1, 2, 4, 8 or 16.
void FillElements(const void* value, size_t size, int64_t n, void* to);

// How a tensor of one shape is read as if it had a larger one: dimensions collapsed to as few as possible.
class BroadcastMap {
 public:
  // REQUIRES: `in` broadcasts to `out`.
  BroadcastMap(const Shape& in, const Shape& out);

  bool full() const { return full_; }      // nothing is repeated
  bool scalar() const { return scalar_; }  // one element, repeated
  int rank() const { return static_cast<int>(dims_.size()); }
  int64_t dim(int i) const { return dims_[i]; }
  int64_t stride(int i) const { return strides_[i]; }  // in elements; 0 where repeated
  int64_t inner() const { return dims_.back(); }
  // True if the whole is one row, repeated.
  bool repeats_row() const { return dims_.size() == 2 && strides_[0] == 0 && strides_[1] == 1; }

  // Writes the elements [begin, begin + n) of the larger shape to `to`. `size` is that of an element: 1, 2, 4, 8 or 16.
  void Expand(const void* from, size_t size, int64_t begin, int64_t n, void* to) const;

  // Where element `i` of the larger shape lies.
  int64_t Offset(int64_t i) const;

  // The number of elements after `begin`, up to `limit`, that are best read at once.
  int64_t Chunk(int64_t begin, int64_t limit) const;

 private:
  template <typename U>
  void ExpandAs(const U* from, int64_t begin, int64_t n, U* to) const;

  absl::InlinedVector<int64_t, 6> dims_, strides_;
  bool full_ = false;
  bool scalar_ = false;
};

// Reads consecutive stretches of one operand, straight from its memory where possible and through `buffer` otherwise.
// For one thread.
class BroadcastReader {
 public:
  BroadcastReader(const BroadcastMap& map, const void* from, size_t size, void* buffer)
      : map_(map), from_(static_cast<const char*>(from)), size_(size), buffer_(buffer) {}
  // Elements [begin, begin + n); valid until the next call. REQUIRES: the buffer has room for n.
  const void* Read(int64_t begin, int64_t n);

 private:
  void RepeatRow(int64_t phase, int64_t n);

  const BroadcastMap& map_;
  const char* const from_;
  const size_t size_;
  void* const buffer_;
  int64_t phase_ = -1;  // what the buffer holds of a repeated row: its first column ...
  int64_t filled_ = 0;  // ... and number of elements
};

// Bytes of the stretches that kernels read at once: two operands and a result stay in the first-level cache.
inline constexpr int64_t kBroadcastBlockBytes = 8192;

}  // namespace millstream

#endif  // MILLSTREAM_OPS_ELEMENTS_BROADCAST_H_
