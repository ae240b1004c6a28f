// SPDX-License-Identifier: Apache-2.0
#include "millstream/tensor/tensor.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "millstream/base/memory_budget.h"
#include "millstream/base/start_thread.h"
#include "millstream/base/thread_pool.h"
#include "millstream/tensor/dispatch.h"

namespace millstream {
namespace {

// From this size on a copy is worth threads of its own (a copy of 16 MB takes milliseconds, a new thread 30 us).
constexpr size_t kBytesPerCopier = size_t{16} << 20;
constexpr size_t kMaxCopiers = 4;
// Fresh pages are asked for in such pieces, which are then still in a cache when they are written.
constexpr size_t kPopulated = size_t{512} << 10;

// Copies in order; what `to` has not touched yet comes from the system a piece at a time, not with a fault for each
// page.
void CopyPopulating(char* to, const char* from, size_t bytes) {
  for (size_t at = 0; at < bytes; at += kPopulated) {
    const size_t n = std::min(kPopulated, bytes - at);
#ifdef MADV_POPULATE_WRITE
    constexpr size_t kPage = 4096;
    char* const page = to + at + (kPage - reinterpret_cast<uintptr_t>(to + at) % kPage) % kPage;
    if (page < to + at + n) madvise(page, static_cast<size_t>(to + at + n - page) / kPage * kPage, MADV_POPULATE_WRITE);
#endif
    std::memcpy(to + at, from + at, n);
  }
}

void CopyBytes(char* to, const char* from, size_t bytes) {
  const size_t copiers = std::min({bytes / kBytesPerCopier, kMaxCopiers, static_cast<size_t>(NumCores())});
  if (copiers <= 1) {
    std::memcpy(to, from, bytes);
    return;
  }
  const size_t share = (bytes / copiers + 4095) / 4096 * 4096;
  std::vector<std::thread> others(kMaxCopiers);
  size_t next = 0;
  for (size_t at = share; at < bytes; at += share) {
    const auto copy = [=] { CopyPopulating(to + at, from + at, std::min(share, bytes - at)); };
    if (next == others.size() || !StartThread(copy, &others[next++]).ok()) copy();
  }
  CopyPopulating(to, from, share);
  for (std::thread& other : others) {
    if (other.joinable()) other.join();
  }
}

}  // namespace

bool Tensor::Allocate(DType dtype, const Shape& shape, Allocator* allocator) {
  // Object types are at most 256 bytes; 2^46 elements of any type exceed every machine.
  Buffer* buffer =
      shape.num_elements() > (int64_t{1} << 46) ? nullptr : Buffer::Allocate(allocator, dtype, shape.num_elements());
  buffer_ = Ref<Buffer>::Adopt(buffer);
  if (buffer == nullptr) return false;
  data_ = buffer->data();
  shape_ = shape;
  dtype_ = dtype;
  return true;
}

StatusOr<Tensor> Tensor::Make(DType dtype, const Shape& shape, Allocator* allocator) {
  if (!IsKnown(dtype)) return errors::InvalidArgument("No tensor can hold type ", DTypeName(dtype));
  Tensor t;
  if (!t.Allocate(dtype, shape, allocator)) {
    return errors::ResourceExhausted("OOM when allocating tensor with shape", shape.ToString(), " and type ",
                                     DTypeName(dtype));
  }
  return t;
}

Tensor::Tensor(DType dtype, const Shape& shape) {
  MS_CHECK(IsKnown(dtype));
  if (Allocate(dtype, shape, HostAllocator())) return;
  // Who cannot answer for it gets what there is beyond the limit.
  if (AllocationsMayFail::now()) throw std::bad_alloc();
  const BeyondMemoryLimit beyond;
  if (!Allocate(dtype, shape, HostAllocator())) throw std::bad_alloc();
}

Tensor::Tensor(DType dtype, const Shape& shape, Ref<Buffer> buffer)
    : buffer_(std::move(buffer)), data_(buffer_->data()), shape_(shape), dtype_(dtype) {}

Tensor Tensor::Wrap(DType dtype, const Shape& shape, void* data, std::function<void()> release) {
  const size_t bytes = DTypeSize(dtype) * static_cast<size_t>(shape.num_elements());
  return Tensor(dtype, shape, Ref<Buffer>::Adopt(Buffer::Wrap(data, bytes, std::move(release))));
}

Tensor Tensor::WrapReadOnly(DType dtype, const Shape& shape, const void* data, std::function<void()> release) {
  const size_t bytes = DTypeSize(dtype) * static_cast<size_t>(shape.num_elements());
  return Tensor(dtype, shape, Ref<Buffer>::Adopt(Buffer::WrapReadOnly(data, bytes, std::move(release))));
}

size_t Tensor::ByteSize() const {
  const auto n = static_cast<size_t>(num_elements());
  switch (dtype_) {
    case DType::kString:
      return n * sizeof(std::string);
    case DType::kResource:
      return n * sizeof(ResourceHandle);
    case DType::kVariant:
      return n * sizeof(Variant);
    default:
      return n * DTypeSize(dtype_);
  }
}

Tensor Tensor::Reshaped(const Shape& shape) const {
  MS_CHECK(shape.num_elements() == num_elements());
  Tensor t = *this;
  t.shape_ = shape;
  return t;
}

Tensor Tensor::SliceRows(int64_t begin, int64_t end) const {
  MS_CHECK(rank() > 0 && 0 <= begin && begin <= end && end <= dim(0));
  Tensor t = *this;
  const size_t row = dim(0) == 0 ? 0 : ByteSize() / static_cast<size_t>(dim(0));
  t.data_ = static_cast<char*>(data_) + row * static_cast<size_t>(begin);
  t.shape_.set_dim(0, end - begin);
  return t;
}

Tensor Tensor::Bitcast(DType dtype, const Shape& shape) const {
  MS_CHECK(IsPlainBytes(dtype) && IsPlainBytes(dtype_) &&
           DTypeSize(dtype) * static_cast<size_t>(shape.num_elements()) == ByteSize());
  Tensor t = *this;
  t.dtype_ = dtype;
  t.shape_ = shape;
  return t;
}

StatusOr<Tensor> Tensor::Clone() const {
  ASSIGN_OR_RETURN(Tensor t, Make(dtype_, shape_));
  if (IsPlainBytes(dtype_)) {
    CopyBytes(static_cast<char*>(t.data_), static_cast<const char*>(data_), ByteSize());
  } else {
    DispatchObjectType(dtype_, [&](auto tag) {
      using T = typename decltype(tag)::type;
      std::copy_n(static_cast<const T*>(data_), num_elements(), static_cast<T*>(t.data_));
    });
  }
  return t;
}

namespace {

template <typename T>
void AppendElement(const T& value, std::string* out) {
  if constexpr (std::is_same_v<T, std::string>)
    absl::StrAppend(out, "\"", absl::CEscape(value), "\"");
  else if constexpr (std::is_same_v<T, ResourceHandle>)
    absl::StrAppend(out, "<", value.type_name, " ", value.name, ">");
  else if constexpr (std::is_same_v<T, Variant>)
    absl::StrAppend(out, "<", value.type_name(), ">");
  else if constexpr (kIsComplex<T>)
    absl::StrAppend(out, "(", value.real(), ",", value.imag(), ")");
  else if constexpr (std::is_same_v<T, bool>)
    absl::StrAppend(out, value ? 1 : 0);
  else if constexpr (sizeof(T) == 1)
    absl::StrAppend(out, static_cast<int>(value));
  else if constexpr (kIsFloat16<T>)
    absl::StrAppend(out, static_cast<float>(value));
  else
    absl::StrAppend(out, value);
}

template <typename T>
void AppendDims(const T*& next, const Shape& shape, int axis, int& left, std::string* out) {
  if (axis == shape.rank()) {
    AppendElement(*next++, out);
    --left;
    return;
  }
  for (int64_t i = 0; i < shape.dim(axis); ++i) {
    if (left <= 0) {
      absl::StrAppend(out, "...");
      return;
    }
    if (i > 0) out->push_back(' ');
    const bool brackets = axis + 1 < shape.rank();
    if (brackets) out->push_back('[');
    AppendDims(next, shape, axis + 1, left, out);
    if (brackets) out->push_back(']');
  }
}

}  // namespace

std::string Tensor::SummarizeValue(int max_elements) const {
  std::string out;
  if (!IsInitialized() || num_elements() == 0) return out;
  DispatchType(dtype_, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* next = static_cast<const T*>(data_);
    int left = max_elements;
    AppendDims(next, shape_, 0, left, &out);
  });
  return out;
}

std::string Tensor::DebugString() const {
  return absl::StrCat("Tensor<type: ", DTypeName(dtype_), " shape: ", shape_.ToString(), " values: ", SummarizeValue(),
                      ">");
}

}  // namespace millstream
