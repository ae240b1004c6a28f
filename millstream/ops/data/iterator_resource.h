// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_DATA_ITERATOR_RESOURCE_H_
#define MILLSTREAM_OPS_DATA_ITERATOR_RESOURCE_H_

#include <list>
#include <memory>
#include <thread>

#include "millstream/ops/data/dataset.h"

namespace millstream {

// An iterator that steps share by name. Requests are served in order. What may wait runs on a thread of the iterator's
// own, so that no thread of a step is ever held up. Thread-safe.
//
// Only the ResourceManager owns it (handles carry its name alone): when it is cleared, background work is over.
class IteratorResource final : public Resource {
 public:
  explicit IteratorResource(OutputSignature signature) : signature_(std::move(signature)) {}
  ~IteratorResource() override;

  const OutputSignature& signature() const { return signature_; }
  std::string DebugString() const override { return "Iterator"; }

  // Starts anew with `dataset`. Functions and background work use what `step` has, apart from its cancellation.
  Status SetDataset(const Dataset& dataset, const StepContext& step);
  // Sets the outputs of `ctx` to the components of the next element. OutOfRange at the end.
  void GetNext(KernelContext& ctx, AsyncKernel::Done done) { Ask(ctx, false, std::move(done)); }
  // The same as one output, an optional: without a value at the end.
  void GetNextAsOptional(KernelContext& ctx, AsyncKernel::Done done) { Ask(ctx, true, std::move(done)); }

 private:
  // One walk, with the step context it runs in.
  struct Walk {
    ~Walk();
    Cancellation cancellation;
    StepContext owner;
    Mutex mu;
    IteratorPtr iterator ABSL_GUARDED_BY(mu);
  };
  struct Request {
    std::shared_ptr<Walk> walk;
    KernelContext* ctx = nullptr;
    bool as_optional = false;
    AsyncKernel::Done done;
    Cancellation::Token token = -1;
  };
  using Requests = std::list<std::shared_ptr<Request>>;

  void Ask(KernelContext& ctx, bool as_optional, AsyncKernel::Done done);
  static Status Serve(Request& request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(request.walk->mu);
  bool TryServeHere(Request& request) ABSL_NO_THREAD_SAFETY_ANALYSIS;
  void Enqueue(std::shared_ptr<Request> request);
  void Withdraw(const std::shared_ptr<Request>& request);
  void ThreadMain();

  const OutputSignature signature_;
  Mutex mu_;
  CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  bool serving_ ABSL_GUARDED_BY(mu_) = false;
  std::shared_ptr<Walk> walk_ ABSL_GUARDED_BY(mu_);
  std::shared_ptr<Walk> served_ ABSL_GUARDED_BY(mu_);  // what the thread is busy with
  Requests requests_ ABSL_GUARDED_BY(mu_);
  std::thread thread_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millstream

#endif  // MILLSTREAM_OPS_DATA_ITERATOR_RESOURCE_H_
