// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_RESOURCES_ROW_INDICES_H_
#define MILLSTREAM_OPS_RESOURCES_ROW_INDICES_H_

#include "millstream/tensor/tensor.h"

namespace millstream {

// Row numbers in an int32 or int64 tensor. A view: the tensor must outlive it.
class RowIndices {
 public:
  explicit RowIndices(const Tensor& t)
      : shape_(t.shape()),
        narrow_(t.dtype() == DType::kInt32 ? t.data<int32_t>() : nullptr),
        wide_(t.dtype() == DType::kInt64 ? t.data<int64_t>() : nullptr) {}

  int64_t size() const { return shape_.num_elements(); }
  int64_t operator[](int64_t i) const { return narrow_ != nullptr ? narrow_[i] : wide_[i]; }
  // InvalidArgument, "indices[0,1] = 5 is not in [0, 2)", for the first one
  // that is not below `limit`.
  Status Check(int64_t limit) const;

 private:
  const Shape& shape_;
  const int32_t* const narrow_;
  const int64_t* const wide_;
};

}  // namespace millstream

#endif  // MILLSTREAM_OPS_RESOURCES_ROW_INDICES_H_
