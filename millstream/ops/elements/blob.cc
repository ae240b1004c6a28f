// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/elements/blob.h"

namespace millstream {

void FillZero(const KernelContext& ctx, Tensor* t) {
  DispatchBlob(t->dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    if constexpr (std::is_trivially_copyable_v<T>) {
      T* to = BlobData<T>(t);
      ctx.ParallelFor(
          t->num_elements(), kCopyCost<T>,
          [=](int64_t begin, int64_t end) {
            std::memset(static_cast<void*>(to + begin), 0, static_cast<size_t>(end - begin) * sizeof(T));
          },
          64);
    } else {
      ParallelFill(ctx, T{}, t->num_elements(), BlobData<T>(t));
    }
  });
}

size_t StoredSize(DType dtype) {
  size_t size = DTypeSize(dtype);
  if (size == 0) {
    DispatchObjectType(dtype, [&](auto type) { size = sizeof(typename decltype(type)::type); });
  }
  return size;
}

Tensor SharedRows(const Tensor& t, int64_t begin, int64_t end) {
  if (begin == 0 && end == t.dim(0)) return t;
  const int64_t row = t.shape().Product(1, t.rank());
  if (!IsPlainBytes(t.dtype()) || reinterpret_cast<uintptr_t>(ElementAt(t, begin * row)) % 64 != 0) return Tensor();
  return t.SliceRows(begin, end);
}

}  // namespace millstream
