// SPDX-License-Identifier: Apache-2.0
#include "millstream/tensor/buffer.h"

#include <memory>
#include <new>
#include <string>
#include <utility>

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

// Variants hold tensors, which hold variants: a chain of any length is taken apart in a loop, not in calls within
// calls.
constexpr int kMaxNestedDestructions = 32;
struct NestedDestructions {
  int depth = 0;
  Buffer* waiting = nullptr;  // linked through data_, which is known without it
};
__attribute__((tls_model("initial-exec"))) thread_local constinit NestedDestructions destructions;

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

Buffer* Buffer::WrapReadOnly(const void* data, size_t bytes, std::function<void()> release) {
  Buffer* const buffer = Wrap(const_cast<void*>(data), bytes, std::move(release));
  buffer->read_only_ = true;
  return buffer;
}

void Buffer::Destroy() {
  if (allocator_ == nullptr) {
    if (release_) release_();
    delete this;
    return;
  }
  const auto destroy = [](Buffer* buffer) {
    ForObjects(buffer->dtype_, [&](auto* tag) {
      using T = std::remove_pointer_t<decltype(tag)>;
      std::destroy_n(static_cast<T*>(buffer->data_), buffer->bytes_ / sizeof(T));
    });
    Allocator* allocator = buffer->allocator_;
    const size_t capacity = buffer->capacity_;
    buffer->~Buffer();
    allocator->Deallocate(buffer, capacity);
  };
  if (dtype_ != DType::kVariant && dtype_ != DType::kResource) return destroy(this);
  if (destructions.depth == kMaxNestedDestructions) {
    data_ = std::exchange(destructions.waiting, this);
    return;
  }
  ++destructions.depth;
  destroy(this);
  while (destructions.depth == 1 && destructions.waiting != nullptr) {
    Buffer* const next = destructions.waiting;
    destructions.waiting = static_cast<Buffer*>(next->data_);
    next->data_ = reinterpret_cast<char*>(next) + kHeader;
    destroy(next);
  }
  --destructions.depth;
}

}  // namespace millstream
