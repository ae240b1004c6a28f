// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_DATA_ITERATOR_RESOURCE_H_
#define MILLSTREAM_OPS_DATA_ITERATOR_RESOURCE_H_

#include <atomic>
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
  Status SetDataset(Ref<Dataset> dataset, const StepContext& step);
  // How often an element has been asked for. FailedPrecondition before there is a dataset.
  StatusOr<int64_t> Position();
  // Goes to where Position() was `position`: elements before it are made again and left out, when the next one is asked
  // for. An iterator that has given something already starts anew. FailedPrecondition before there is a dataset.
  Status Restore(int64_t position, const StepContext& step);
  // Sets the outputs of `ctx` to the components of the next element. OutOfRange at the end.
  void GetNext(KernelContext& ctx, AsyncKernel::Done done) { Ask(ctx, false, std::move(done)); }
  // The same as one output, an optional: without a value at the end.
  void GetNextAsOptional(KernelContext& ctx, AsyncKernel::Done done) { Ask(ctx, true, std::move(done)); }

 private:
  // One walk, with the step context it runs in.
  struct Walk {
    ~Walk();
    std::shared_ptr<const void> functions;  // held as long as `owner` has them
    Cancellation cancellation;
    StepContext owner;
    Mutex mu;
    IteratorPtr iterator ABSL_GUARDED_BY(mu);
    Ref<Dataset> dataset;
    std::atomic<int64_t> calls{0};    // of GetNext(), whatever came of them
    std::atomic<int64_t> to_skip{0};  // calls to make before the next request is served
  };
  struct Request {
    std::shared_ptr<Walk> walk;
    KernelContext* ctx = nullptr;
    bool as_optional = false;
    AsyncKernel::Done done;
    Cancellation::Token token = -1;
  };
  using Requests = std::list<std::shared_ptr<Request>>;

  static StatusOr<std::shared_ptr<Walk>> MakeWalk(Ref<Dataset> dataset, const StepContext& step);
  StatusOr<std::shared_ptr<Walk>> CurrentWalk();
  static Status Skip(Walk& walk, const StepContext& step) ABSL_EXCLUSIVE_LOCKS_REQUIRED(walk.mu);
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

// Sets the outputs of `ctx` to the components of `element`. InvalidArgument unless they are of those types.
Status OutputElement(KernelContext& ctx, Element element);
// Calls `done` on the pool of the step: the continuation is none of an iterator's thread's business, and may even end
// the iterator.
void DoneOnPool(const KernelContext& ctx, AsyncKernel::Done done, const Status& status);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_DATA_ITERATOR_RESOURCE_H_
