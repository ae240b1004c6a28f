// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TENSOR_BUFFER_H_
#define MILLSTREAM_TENSOR_BUFFER_H_

#include <cstddef>
#include <functional>

#include "millstream/base/ref.h"
#include "millstream/tensor/allocator.h"
#include "millstream/tensor/dtype.h"

namespace millstream {

// The memory of one or more tensors. Header and data share one block of the allocator.
class Buffer final : public RefCounted {
 public:
  // Room for `count` elements. Plain types are left uninitialized; strings and handles are default-constructed.
  // Null if there is no memory. REQUIRES: IsKnown(dtype), count * size does not overflow.
  static Buffer* Allocate(Allocator* allocator, DType dtype, int64_t count);
  // Memory of someone else; `release` runs when the last tensor is gone.
  static Buffer* Wrap(void* data, size_t bytes, std::function<void()> release);

  // Memory of someone else that nobody here may write to.
  static Buffer* WrapReadOnly(const void* data, size_t bytes, std::function<void()> release);

  // True for the only holder of memory that may be written.
  bool IsExclusive() const { return RefIsOne() && !read_only_; }
  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  Buffer() = default;
  ~Buffer() override = default;
  void Destroy() override;

  void* data_ = nullptr;
  size_t bytes_ = 0;
  Allocator* allocator_ = nullptr;  // null: wrapped memory
  size_t capacity_ = 0;
  DType dtype_ = DType::kInvalid;
  bool read_only_ = false;
  std::function<void()> release_;
};

}  // namespace millstream

#endif  // MILLSTREAM_TENSOR_BUFFER_H_
