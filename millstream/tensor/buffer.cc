// SPDX-License-Identifier: Apache-2.0
#include "millstream/tensor/buffer.h"

#include <memory>
#include <new>
#include <string>

#include "millstream/tensor/resource_handle.h"
#include "millstream/tensor/variant.h"

namespace millstream {
namespace {

constexpr size_t kHeader = 128;  // keeps the data on a 64-byte border
static_assert(sizeof(Buffer) <= kHeader);

size_t ObjectSize(DType dtype) {
  switch (dtype) {
    case DType::kString:
      return sizeof(std::string);
    case DType::kResource:
      return sizeof(ResourceHandle);
    case DType::kVariant:
      return sizeof(Variant);
    default:
      return DTypeSize(dtype);
  }
}

template <typename Fn>
void ForObjects(DType dtype, Fn fn) {
  if (dtype == DType::kString)
    fn(static_cast<std::string*>(nullptr));
  else if (dtype == DType::kResource)
    fn(static_cast<ResourceHandle*>(nullptr));
  else if (dtype == DType::kVariant)
    fn(static_cast<Variant*>(nullptr));
}

}  // namespace

Buffer* Buffer::Allocate(Allocator* allocator, DType dtype, int64_t count) {
  const size_t bytes = ObjectSize(dtype) * static_cast<size_t>(count);
  size_t capacity = 0;
  void* block = allocator->Allocate(kHeader + bytes, &capacity);
  if (block == nullptr) return nullptr;
  auto* buffer = new (block) Buffer;
  buffer->data_ = static_cast<char*>(block) + kHeader;
  buffer->bytes_ = bytes;
  buffer->allocator_ = allocator;
  buffer->capacity_ = capacity;
  buffer->dtype_ = dtype;
  ForObjects(dtype, [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    std::uninitialized_default_construct_n(static_cast<T*>(buffer->data_), count);
  });
  return buffer;
}

Buffer* Buffer::Wrap(void* data, size_t bytes, std::function<void()> release) {
  auto* buffer = new Buffer;
  buffer->data_ = data;
  buffer->bytes_ = bytes;
  buffer->release_ = std::move(release);
  return buffer;
}

void Buffer::Destroy() {
  if (allocator_ == nullptr) {
    if (release_) release_();
    delete this;
    return;
  }
  ForObjects(dtype_, [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    std::destroy_n(static_cast<T*>(data_), bytes_ / sizeof(T));
  });
  Allocator* allocator = allocator_;
  const size_t capacity = capacity_;
  this->~Buffer();
  allocator->Deallocate(this, capacity);
}

}  // namespace millstream
