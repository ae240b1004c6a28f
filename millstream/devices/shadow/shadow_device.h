// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DEVICES_SHADOW_SHADOW_DEVICE_H_
#define MILLSTREAM_DEVICES_SHADOW_SHADOW_DEVICE_H_

#include <memory>

#include "millstream/devices/shadow/arena.h"
#include "millstream/devices/shadow/stream.h"
#include "millstream/framework/accelerator.h"
#include "millstream/framework/cpu_device.h"

namespace millstream::shadow {

// An accelerator for tests, of type "GPU": memory that the host cannot touch, a stream that is late, and the CPU's
// kernels on the stream's side of that memory (shadow_kernel.h).
class ShadowDevice final : public Accelerator {
 public:
  // `pool` is borrowed.
  ~ShadowDevice() override;  // waits for all work
  ShadowDevice(DeviceAttributes attributes, std::shared_ptr<Arena> arena, ThreadPool* pool);
  // Before anything else. ResourceExhausted if there are no threads to be had.
  Status Start();

  Allocator* allocator() override { return host_.allocator(); }  // for what kernels keep on the host
  ThreadPool* pool() override { return host_.pool(); }
  LateStream* stream() override { return stream_.get(); }
  StatusOr<Tensor> AllocateTensor(DType dtype, const Shape& shape) override;
  bool Holds(const Tensor& tensor) const override { return arena_->Holds(tensor.raw()); }
  void CopyToHost(const Tensor& from, Tensor* to, std::function<void(Status)> done) override;
  void CopyFromHost(const Tensor& from, Tensor* to, std::function<void(Status)> done) override;

  // What the CPU's kernels run on.
  CpuDevice* host() { return &host_; }
  // A view of a tensor of this device as its stream sees it. Holds nothing: work is ordered, memory too.
  Tensor Visible(const Tensor& tensor) const;
  // A copy of what is on the host, or a view of this device's memory, in new memory. On the stream's thread, too: the
  // block may be one that is filled by work which was issued meanwhile, so that the copy has to queue behind it.
  StatusOr<Tensor> NewTensor(const Tensor& value);
  // Keeps the first error of work that nobody waits for; the next copy to the host reports it.
  void NoteError(const Status& status);

 private:
  Status TakeError();

  CpuDevice host_;
  // Shared with tensors, which may live longer than the device.
  const std::shared_ptr<Arena> arena_;
  const std::shared_ptr<LateStream> stream_ = std::make_shared<LateStream>();
  LateStream answers_;  // calls who waits for a copy, since they may wait for the stream again
  Mutex mu_;
  Status error_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millstream::shadow

#endif  // MILLSTREAM_DEVICES_SHADOW_SHADOW_DEVICE_H_
