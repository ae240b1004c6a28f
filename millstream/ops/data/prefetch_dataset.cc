// SPDX-License-Identifier: Apache-2.0
#include <deque>
#include <thread>

#include "millstream/base/start_thread.h"
#include "millstream/framework/op.h"
#include "millstream/ops/data/dataset.h"

namespace millstream {
namespace {

constexpr int64_t kAutomatic = 2;

// Elements made ahead of time by a thread of the iterator.
class PrefetchDataset final : public DerivedDataset {
 public:
  PrefetchDataset(Ref<Dataset> input, int64_t buffer_size)
      : DerivedDataset(std::move(input)), buffer_size_(buffer_size) {}

  int64_t CountElements() const override { return input().Cardinality(); }
  StatusOr<IteratorPtr> NewIterator(const StepContext& owner) const override {
    if (buffer_size_ == 0) return input().MakeIterator(owner);
    auto iterator = std::make_unique<Iterator>(owner, buffer_size_);
    RETURN_IF_ERROR(iterator->Open(input()));
    return iterator;
  }
  Status FindRandomAccess() const override { return input().CheckRandomAccess(); }
  StatusOr<AccessPtr> NewAccess(const StepContext& owner) const override { return input().MakeAccess(owner); }

 private:
  class Iterator final : public DatasetIterator {
   public:
    Iterator(const StepContext& owner, int64_t buffer_size) : owner_(owner), own_(owner), buffer_size_(buffer_size) {
      // The thread ends with this iterator, which may be sooner than the owner.
      own_.cancellation = &cancellation_;
      if (owner.cancellation != nullptr &&
          !owner.cancellation->Register([this] { cancellation_.StartCancel(); }, &token_)) {
        cancellation_.StartCancel();
      }
    }
    ~Iterator() override {
      if (owner_.cancellation != nullptr) owner_.cancellation->Deregister(token_);
      cancellation_.StartCancel();
      {
        MutexLock lock(mu_);
        stopping_ = true;
        changed_.NotifyAll();
      }
      if (thread_.joinable()) thread_.join();
      input_.reset();
    }
    Status Open(const Dataset& input) {
      ASSIGN_OR_RETURN(input_, input.MakeIterator(own_));
      return OkStatus();
    }

    bool Ready() override {
      MutexLock lock(mu_);
      return HasAnswer();
    }
    Status Next(const StepContext& step, Element* element, bool* end) override {
      if (!thread_.joinable()) RETURN_IF_ERROR(StartThread([this] { ThreadMain(); }, &thread_));
      RETURN_IF_ERROR(WaitUntilReady(step, mu_, changed_, [this] { return HasAnswer(); }));
      MutexLock lock(mu_);
      *end = results_.empty();
      if (*end) return OkStatus();
      Result result = std::move(results_.front());
      results_.pop_front();
      changed_.NotifyAll();
      *element = std::move(result.element);
      return result.status;
    }

   private:
    struct Result {
      Status status;
      Element element;
    };

    // After an error nothing is made until somebody has seen it: there may be no end of errors.
    bool IsFull() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
      return static_cast<int64_t>(results_.size()) >= buffer_size_ ||
             (!results_.empty() && !results_.back().status.ok());
    }
    bool HasAnswer() const ABSL_NO_THREAD_SAFETY_ANALYSIS { return !results_.empty() || ended_; }

    void ThreadMain() {
      while (true) {
        {
          MutexLock lock(mu_);
          while (!stopping_ && IsFull()) changed_.Wait(mu_);
          if (stopping_) return;
        }
        Result result;
        bool end = false;
        result.status = input_->GetNext(own_, &result.element, &end);
        MutexLock lock(mu_);
        ended_ = (result.status.ok() && end) || cancellation_.IsCancelled();
        if (!end || !result.status.ok()) results_.push_back(std::move(result));
        changed_.NotifyAll();
        if (ended_) return;
      }
    }

    const StepContext& owner_;
    StepContext own_;
    Cancellation cancellation_;
    Cancellation::Token token_ = -1;
    const int64_t buffer_size_;
    IteratorPtr input_;
    Mutex mu_;
    CondVar changed_;
    bool stopping_ ABSL_GUARDED_BY(mu_) = false;
    bool ended_ ABSL_GUARDED_BY(mu_) = false;
    std::deque<Result> results_ ABSL_GUARDED_BY(mu_);
    std::thread thread_;
  };

  const int64_t buffer_size_;
};

Status PrefetchCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Ref<Dataset> input, DatasetInput(ctx, 0));
  ASSIGN_OR_RETURN(int64_t buffer_size, ScalarInput<int64_t>(ctx, 1, "buffer_size"));
  if (buffer_size < -1)
    return errors::InvalidArgument("buffer_size must be >= 0 or set buffer_size to be -1 for auto-tuning");
  if (buffer_size == -1) buffer_size = kAutomatic;
  OutputDataset(ctx, MakeRef<PrefetchDataset>(std::move(input), buffer_size));
  return OkStatus();
}

OP("PrefetchDataset")
    .Input("input_dataset: variant")
    .Input("buffer_size: int64")
    .Output("handle: variant")
    .Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1")
    .Attr("slack_period: int = 0")
    .Attr("legacy_autotune: bool = true")
    .Attr("buffer_size_min: int = 0")
    .Attr("metadata: string = ''")
    .Shape(ScalarShape)
    .Cpu(PrefetchCpu)
    .Doc("A dataset whose elements are made ahead of time, in the background.");

}  // namespace
}  // namespace millstream
