// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TENSOR_TENSOR_H_
#define MILLSTREAM_TENSOR_TENSOR_H_

#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "millstream/base/logging.h"
#include "millstream/tensor/buffer.h"
#include "millstream/tensor/dtype.h"
#include "millstream/tensor/resource_handle.h"
#include "millstream/tensor/shape.h"
#include "millstream/tensor/variant.h"

namespace millstream {

// A dense, row-major array of elements of one type. Copying a Tensor shares the buffer; whoever writes must be the only
// holder (RefIsOne()) or have just allocated it. Not thread-safe by itself, as any value.
class Tensor {
 public:
  Tensor() = default;  // no type, no elements
  // REQUIRES: memory is there (small or trusted sizes; tests). Kernels allocate through their context.
  Tensor(DType dtype, const Shape& shape);
  // ResourceExhausted if the memory cannot be had. REQUIRES: IsKnown(dtype).
  static StatusOr<Tensor> Make(DType dtype, const Shape& shape, Allocator* allocator = HostAllocator());
  // Make() in place: false, leaving this tensor without a buffer, if the memory cannot be had. REQUIRES:
  // IsKnown(dtype).
  bool Allocate(DType dtype, const Shape& shape, Allocator* allocator);
  // Lets go of the buffer. Cheaper than assigning Tensor(): the shape is left as it was and means nothing.
  void Reset() {
    buffer_ = nullptr;
    data_ = nullptr;
    dtype_ = DType::kInvalid;
  }
  // A view of `bytes` of someone else's memory. REQUIRES: plain type; the sizes match.
  static Tensor Wrap(DType dtype, const Shape& shape, void* data, std::function<void()> release);

  // The same of memory that nobody here may write to: RefIsOne() is false for it.
  static Tensor WrapReadOnly(DType dtype, const Shape& shape, const void* data, std::function<void()> release);

  template <typename T>
  static Tensor Scalar(const T& value);
  static Tensor Scalar(const char* value) { return Scalar(std::string(value)); }
  template <typename T>
  static Tensor Vector(std::initializer_list<T> values) {
    return Of<T>(Shape({static_cast<int64_t>(values.size())}), values);
  }
  template <typename T>
  static Tensor Vector(const std::vector<T>& values);
  template <typename T>
  static Tensor Of(const Shape& shape, std::initializer_list<T> values);

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  int rank() const { return shape_.rank(); }
  int64_t dim(int i) const { return shape_.dim(i); }
  int64_t num_elements() const { return shape_.num_elements(); }
  // True once a buffer is attached (zero-sized tensors have one too).
  bool IsInitialized() const { return static_cast<bool>(buffer_); }
  // Bytes of the elements as stored (strings count their headers only).
  size_t ByteSize() const;

  // REQUIRES: T is the element type.
  template <typename T>
  T* data() {
    MS_CHECK(kDTypeOf<T> == dtype_);
    return static_cast<T*>(data_);
  }
  template <typename T>
  const T* data() const {
    MS_CHECK(kDTypeOf<T> == dtype_);
    return static_cast<const T*>(data_);
  }
  template <typename T>
  std::span<T> flat() {
    return {data<T>(), static_cast<size_t>(num_elements())};
  }
  template <typename T>
  std::span<const T> flat() const {
    return {data<T>(), static_cast<size_t>(num_elements())};
  }
  // The single element of a tensor with one. REQUIRES: num_elements() == 1.
  template <typename T>
  T& scalar() {
    return *data<T>();
  }
  template <typename T>
  const T& scalar() const {
    return *data<T>();
  }
  void* raw() { return data_; }
  const void* raw() const { return data_; }

  // Never for memory that may not be written.
  bool RefIsOne() const { return buffer_ && buffer_->IsExclusive(); }
  bool SharesBufferWith(const Tensor& o) const { return buffer_.get() == o.buffer_.get(); }

  // Views of the same buffer.
  Tensor Reshaped(const Shape& shape) const;              // REQUIRES: same number of elements
  Tensor SliceRows(int64_t begin, int64_t end) const;     // of dimension 0; may be unaligned. REQUIRES: in range
  Tensor Bitcast(DType dtype, const Shape& shape) const;  // REQUIRES: same number of bytes, plain types

  // A copy with a buffer of its own.
  StatusOr<Tensor> Clone() const;

  // "[[1 2] [3 4]]", cut after `max_elements`.
  std::string SummarizeValue(int max_elements = 10) const;
  std::string DebugString() const;  // "Tensor<type: float shape: [2] values: 1 2>"

 private:
  Ref<Buffer> buffer_;
  void* data_ = nullptr;
  Shape shape_;
  DType dtype_ = DType::kInvalid;

  Tensor(DType dtype, const Shape& shape, Ref<Buffer> buffer);  // plain type
};

template <typename T>
Tensor Tensor::Scalar(const T& value) {
  Tensor t(kDTypeOf<T>, Shape());
  t.data<T>()[0] = value;
  return t;
}

template <typename T>
Tensor Tensor::Vector(const std::vector<T>& values) {
  Tensor t(kDTypeOf<T>, Shape({static_cast<int64_t>(values.size())}));
  std::copy(values.begin(), values.end(), t.data<T>());
  return t;
}

template <typename T>
Tensor Tensor::Of(const Shape& shape, std::initializer_list<T> values) {
  MS_CHECK(static_cast<int64_t>(values.size()) == shape.num_elements());
  Tensor t(kDTypeOf<T>, shape);
  std::copy(values.begin(), values.end(), t.data<T>());
  return t;
}

}  // namespace millstream

#endif  // MILLSTREAM_TENSOR_TENSOR_H_
