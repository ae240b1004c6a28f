// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/queues/queue_batch.h"

#include <algorithm>
#include <cstring>

#include "millstream/tensor/dispatch.h"

namespace millstream {
namespace {

// Copies `from` to the start of each dimension of a block of shape `to_shape`
// at `to`, in runs of the last dimension.
template <typename Copy>
void CopyPadded(const Shape& from_shape, const Shape& to_shape, Copy copy) {
  const int rank = from_shape.rank();
  if (from_shape.num_elements() == 0) return;
  if (rank == 0) return copy(0, 0, 1);
  const int64_t run = from_shape.dim(rank - 1);
  std::vector<int64_t> at(rank, 0);
  for (int64_t from = 0; from < from_shape.num_elements(); from += run) {
    int64_t to = 0;
    for (int d = 0; d < rank; ++d) to = to * to_shape.dim(d) + at[d];
    copy(from, to, run);
    for (int d = rank - 2; d >= 0 && ++at[d] == from_shape.dim(d); --d) at[d] = 0;
  }
}

void CopyElement(const Tensor& from, const Shape& to_shape, int64_t offset, Tensor* to) {
  if (IsPlainBytes(from.dtype())) {
    const int64_t size = static_cast<int64_t>(DTypeSize(from.dtype()));
    CopyPadded(from.shape(), to_shape, [&](int64_t f, int64_t t, int64_t n) {
      std::memcpy(static_cast<char*>(to->raw()) + (offset + t) * size, static_cast<const char*>(from.raw()) + f * size,
                  static_cast<size_t>(n * size));
    });
    return;
  }
  DispatchObjectType(from.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    CopyPadded(from.shape(), to_shape, [&](int64_t f, int64_t t, int64_t n) {
      std::copy_n(from.data<T>() + f, n, to->data<T>() + offset + t);
    });
  });
}

}  // namespace

StatusOr<std::vector<QueueElement>> SplitBatch(const QueueElement& batch) {
  const int64_t n = batch[0].dim(0);
  std::vector<QueueElement> elements(static_cast<size_t>(n), QueueElement(batch.size()));
  for (size_t c = 0; c < batch.size(); ++c) {
    Shape shape = batch[c].shape();
    shape.RemoveDim(0);
    for (int64_t i = 0; i < n; ++i) {
      ASSIGN_OR_RETURN(elements[i][c], batch[c].SliceRows(i, i + 1).Reshaped(shape).Clone());
    }
  }
  return elements;
}

StatusOr<Tensor> MakeBatch(const std::vector<QueueElement>& elements, int component, DType dtype,
                           const PartialShape& shape, bool pad) {
  std::vector<int64_t> dims = shape.dims();
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] >= 0) continue;
    dims[d] = 0;
    for (const QueueElement& e : elements) dims[d] = std::max(dims[d], e[component].dim(static_cast<int>(d)));
  }
  ASSIGN_OR_RETURN(const Shape element, Shape::Make(dims));
  dims.insert(dims.begin(), static_cast<int64_t>(elements.size()));
  ASSIGN_OR_RETURN(const Shape whole, Shape::Make(dims));
  ASSIGN_OR_RETURN(Tensor batch, Tensor::Make(dtype, whole));
  if (pad && IsPlainBytes(dtype)) std::memset(batch.raw(), 0, batch.ByteSize());
  for (size_t i = 0; i < elements.size(); ++i) {
    const Tensor& value = elements[i][component];
    const int64_t offset = static_cast<int64_t>(i) * element.num_elements();
    // Without padding an element is one run.
    const bool same = value.shape() == element;
    const Tensor flat = same ? value.Reshaped(Shape({value.num_elements()})) : value;
    CopyElement(flat, same ? flat.shape() : element, offset, &batch);
  }
  return batch;
}

}  // namespace millstream
