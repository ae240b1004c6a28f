// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/shadow/shadow_device.h"

#include <cstring>

namespace millstream::shadow {
namespace {

constexpr int kFreed = 0xCB;  // what memory that was given back is filled with

DeviceAttributes HostAttributes(DeviceAttributes attributes) {
  attributes.type = "CPU";
  return attributes;
}

}  // namespace

ShadowDevice::ShadowDevice(DeviceAttributes attributes, std::shared_ptr<Arena> arena, ThreadPool* pool)
    : Accelerator(attributes), host_(HostAttributes(std::move(attributes)), pool), arena_(std::move(arena)) {}

Status ShadowDevice::Start() {
  RETURN_IF_ERROR(stream_->Start());
  return answers_.Start();
}

ShadowDevice::~ShadowDevice() { stream_->Wait().IgnoreError(); }

StatusOr<Tensor> ShadowDevice::AllocateTensor(DType dtype, const Shape& shape) {
  const auto bytes = static_cast<size_t>(shape.num_elements()) * DTypeSize(dtype);
  void* const block = arena_->Allocate(bytes);
  if (block == nullptr) {
    return errors::ResourceExhausted("OOM when allocating tensor with shape", shape.ToString(), " and type ",
                                     DTypeName(dtype), " on ", name(), " (", bytes, " bytes; ", arena_->bytes_in_use(),
                                     " of ", arena_->size(), " are in use)");
  }
  return Tensor::Wrap(dtype, shape, block, [arena = arena_, stream = stream_, block, bytes] {
    // Work that is issued after this may have the block; what was issued before still finds its contents.
    void* const visible = arena->Visible(block);
    stream->ThenCall([visible, bytes] { std::memset(visible, kFreed, bytes); });
    arena->Deallocate(block);
  });
}

Tensor ShadowDevice::Visible(const Tensor& tensor) const {
  return Tensor::Wrap(tensor.dtype(), tensor.shape(), arena_->Visible(tensor.raw()), [] {});
}

void ShadowDevice::CopyFromHost(const Tensor& from, Tensor* to, std::function<void(Status)> done) {
  void* const visible = arena_->Visible(to->raw());
  stream_->ThenCall([from, visible, done = std::move(done)] {
    std::memcpy(visible, from.raw(), from.ByteSize());
    done(OkStatus());
  });
}

void ShadowDevice::CopyToHost(const Tensor& from, Tensor* to, std::function<void(Status)> done) {
  const void* const visible = arena_->Visible(from.raw());
  stream_->ThenCall([this, to, visible, done = std::move(done)]() mutable {
    std::memcpy(to->raw(), visible, to->ByteSize());
    answers_.ThenCall([done = std::move(done), status = TakeError()] { done(status); });
  });
}

StatusOr<Tensor> ShadowDevice::NewTensor(const Tensor& value) {
  ASSIGN_OR_RETURN(Tensor to, AllocateTensor(value.dtype(), value.shape()));
  ASSIGN_OR_RETURN(const Tensor own, value.Clone());
  CopyFromHost(own, &to, [](const Status&) {});
  return to;
}

void ShadowDevice::NoteError(const Status& status) {
  MutexLock lock(mu_);
  if (error_.ok()) error_ = status;
}

Status ShadowDevice::TakeError() {
  MutexLock lock(mu_);
  return std::exchange(error_, OkStatus());
}

}  // namespace millstream::shadow
