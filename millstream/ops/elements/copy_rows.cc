// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/elements/copy_rows.h"

#include <algorithm>
#include <cstring>

#include "millstream/tensor/dispatch.h"

namespace millstream {

void CopyElements(const Tensor& from, int64_t from_offset, int64_t n, Tensor* to, int64_t to_offset) {
  if (n == 0) return;
  if (const size_t size = DTypeSize(from.dtype()); size != 0) {
    std::memcpy(static_cast<char*>(to->raw()) + to_offset * static_cast<int64_t>(size),
                static_cast<const char*>(from.raw()) + from_offset * static_cast<int64_t>(size),
                static_cast<size_t>(n) * size);
    return;
  }
  DispatchObjectType(from.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    std::copy_n(from.data<T>() + from_offset, n, to->data<T>() + to_offset);
  });
}

StatusOr<Tensor> CopyRow(const Tensor& t, int64_t i) {
  Shape shape = t.shape();
  shape.RemoveDim(0);
  ASSIGN_OR_RETURN(Tensor row, Tensor::Make(t.dtype(), shape));
  CopyElements(t, i * shape.num_elements(), shape.num_elements(), &row, 0);
  return row;
}

StatusOr<Tensor> CopyRows(const Tensor& t, int64_t begin, int64_t end) {
  Shape shape = t.shape();
  const int64_t inner = shape.Product(1, shape.rank());
  shape.set_dim(0, end - begin);
  ASSIGN_OR_RETURN(Tensor rows, Tensor::Make(t.dtype(), shape));
  CopyElements(t, begin * inner, (end - begin) * inner, &rows, 0);
  return rows;
}

}  // namespace millstream
