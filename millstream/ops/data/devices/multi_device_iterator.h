// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_DATA_DEVICES_MULTI_DEVICE_ITERATOR_H_
#define MILLSTREAM_OPS_DATA_DEVICES_MULTI_DEVICE_ITERATOR_H_

#include <memory>

#include "millstream/ops/data/dataset.h"

namespace millstream {

// Deals the elements of one dataset to several devices in turn: shard s of n gets elements s, s + n, ... whoever asks
// first. Only the ResourceManager owns it. Thread-safe.
class MultiDeviceIterator final : public Resource {
 public:
  MultiDeviceIterator(OutputSignature signature, int shards);
  ~MultiDeviceIterator() override;

  const OutputSignature& signature() const { return signature_; }
  std::string DebugString() const override;

  // Starts anew with `dataset`; at most `max_buffer_size` elements of each shard wait to be asked for. Returns the
  // incarnation, which callers of GetNext() must name. Requests of the last one are cancelled.
  StatusOr<int64_t> Start(Ref<Dataset> dataset, int64_t max_buffer_size, const StepContext& step);
  // Sets the outputs of `ctx` to the next element of a shard. OutOfRange at the end.
  void GetNext(KernelContext& ctx, int32_t shard, int64_t incarnation, AsyncKernel::Done done);

 private:
  class Deal;
  const OutputSignature signature_;
  const int shards_;
  Mutex mu_;
  int64_t incarnation_ ABSL_GUARDED_BY(mu_) = 0;
  std::shared_ptr<Deal> deal_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millstream

#endif  // MILLSTREAM_OPS_DATA_DEVICES_MULTI_DEVICE_ITERATOR_H_
