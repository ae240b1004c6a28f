// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_ELEMENTS_BLOB_H_
#define MILLSTREAM_OPS_ELEMENTS_BLOB_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "millstream/framework/kernel.h"
#include "millstream/tensor/dispatch.h"

namespace millstream {

// Elements as bare bytes of one size, for ops that move values and do not look at them.
template <typename U>
struct [[gnu::may_alias]] Blob {
  U bits;
};
struct Bits128 {
  uint64_t low, high;
};

// The number inside of a blob, or the object itself. Loops that assign these can be vectorised; GCC does not vectorise
// assignments of structs.
template <typename U>
U& Bits(Blob<U>& blob) {
  return blob.bits;
}
template <typename U>
const U& Bits(const Blob<U>& blob) {
  return blob.bits;
}
template <typename T>
T& Bits(T& object) {
  return object;
}

// Calls fn(std::type_identity<T>) with the type by which elements of `dtype` can be copied: a Blob of their size, or
// std::string, ResourceHandle, Variant. Does nothing for types that cannot be in a tensor.
template <typename Fn>
void DispatchBlob(DType dtype, Fn&& fn) {
  switch (DTypeSize(dtype)) {
    case 1:
      return fn(std::type_identity<Blob<uint8_t>>{});
    case 2:
      return fn(std::type_identity<Blob<uint16_t>>{});
    case 4:
      return fn(std::type_identity<Blob<uint32_t>>{});
    case 8:
      return fn(std::type_identity<Blob<uint64_t>>{});
    case 16:
      return fn(std::type_identity<Blob<Bits128>>{});
    default:
      DispatchObjectType(dtype, fn);
  }
}

// The elements of `t`. REQUIRES: T is what DispatchBlob() gave for its type.
template <typename T>
T* BlobData(Tensor* t) {
  return static_cast<T*>(t->raw());
}
template <typename T>
const T* BlobData(const Tensor& t) {
  return static_cast<const T*>(t.raw());
}

template <typename T>
void CopyRun(const T* from, int64_t n, T* to) {
  if constexpr (std::is_trivially_copyable_v<T>) {
    if (n == 1)
      *to = *from;
    else if (n > 0)
      std::memcpy(to, from, static_cast<size_t>(n) * sizeof(T));
  } else {
    std::copy_n(from, n, to);
  }
}

// Nanoseconds to move one element of a long run: about ten bytes each, more where elements own memory.
template <typename T>
inline constexpr double kCopyCost = std::is_trivially_copyable_v<T> ? 0.1 * sizeof(T) : 20.0;

// As CopyRun(), on several threads where it is long.
template <typename T>
void ParallelCopy(const KernelContext& ctx, const T* from, int64_t n, T* to) {
  ctx.ParallelFor(
      n, kCopyCost<T>, [=](int64_t begin, int64_t end) { CopyRun(from + begin, end - begin, to + begin); }, 64);
}

template <typename T>
void FillRun(const T& value, int64_t n, T* to) {
  if constexpr (std::is_trivially_copyable_v<T>) {
    const auto bits = Bits(value);
    for (int64_t i = 0; i < n; ++i) Bits(to[i]) = bits;
  } else {
    std::fill_n(to, n, value);
  }
}

// As FillRun(), on several threads where it is long.
template <typename T>
void ParallelFill(const KernelContext& ctx, const T& value, int64_t n, T* to) {
  ctx.ParallelFor(
      n, kCopyCost<T>, [&](int64_t begin, int64_t end) { FillRun(value, end - begin, to + begin); }, 64);
}

// Sets every element to zero, the empty string, or an empty object.
void FillZero(const KernelContext& ctx, Tensor* t);

// The offset of element `index` of a tensor of `dtype`, in bytes as stored.
size_t StoredSize(DType dtype);
inline const void* ElementAt(const Tensor& t, int64_t index) {
  return static_cast<const char*>(t.raw()) + static_cast<size_t>(index) * StoredSize(t.dtype());
}
inline void* ElementAt(Tensor* t, int64_t index) {
  return static_cast<char*>(t->raw()) + static_cast<size_t>(index) * StoredSize(t->dtype());
}

// Rows [begin, end) of dimension 0 as a view of t's buffer, if it would start at a cache line (other kernels run faster
// so); an empty tensor otherwise: copy then. REQUIRES: in range.
Tensor SharedRows(const Tensor& t, int64_t begin, int64_t end);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_ELEMENTS_BLOB_H_
