// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/data/devices/multi_device_iterator.h"

#include <deque>
#include <list>
#include <thread>

#include "millstream/base/start_thread.h"
#include "millstream/ops/data/iterator_resource.h"

namespace millstream {

// One incarnation: a thread that walks through the dataset, and a buffer for each shard.
class MultiDeviceIterator::Deal : public std::enable_shared_from_this<Deal> {
 public:
  Deal(int shards, int64_t max_buffer_size)
      : max_buffer_size_(max_buffer_size), num_shards_(static_cast<size_t>(shards)), shards_(num_shards_) {}

  ~Deal() {
    cancellation_.StartCancel(errors::Cancelled("The multi-device iterator was destroyed"));
    {
      MutexLock lock(mu_);
      stopping_ = true;
      changed_.NotifyAll();
    }
    if (thread_.joinable()) thread_.join();
    AnswerAll(errors::Cancelled("The multi-device iterator was destroyed"));
    iterator_.reset();
  }

  Status Open(Ref<Dataset> dataset, const StepContext& step) {
    owner_.resources = step.resources;
    owner_.functions = step.functions;
    owner_.pool = step.pool;
    owner_.cancellation = &cancellation_;
    dataset_ = std::move(dataset);
    ASSIGN_OR_RETURN(iterator_, dataset_->MakeIterator(owner_));
    return OkStatus();
  }

  void GetNext(KernelContext& ctx, size_t shard, AsyncKernel::Done done) {
    auto request = std::make_shared<Request>(Request{&ctx, std::move(done), -1});
    Answer answer;
    bool answered = false;
    {
      MutexLock lock(mu_);
      if (!thread_.joinable()) answer.status = StartThread([this] { ThreadMain(); }, &thread_);
      answered = !answer.status.ok() || TakeAnswer(shard, &answer);
      if (!answered && !Watch(*request->ctx, shard, request)) {
        answer.status = ctx.cancellation()->status();
        answered = true;
      }
      if (!answered) shards_[shard].waiting.push_back(request);
      changed_.NotifyAll();
    }
    if (answered) Finish(*request, std::move(answer));
  }

 private:
  struct Answer {
    Status status;
    Element element;
    bool end = false;
  };
  struct Request {
    KernelContext* ctx;
    AsyncKernel::Done done;
    Cancellation::Token token;
  };
  using RequestPtr = std::shared_ptr<Request>;
  struct Shard {
    std::deque<Answer> ready;
    std::list<RequestPtr> waiting;
  };

  bool TakeAnswer(size_t shard, Answer* answer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    std::deque<Answer>& ready = shards_[shard].ready;
    if (ready.empty()) return answer->end = ended_;
    *answer = std::move(ready.front());
    ready.pop_front();
    return true;
  }

  // The request ends with its step. False if that is over already.
  bool Watch(const KernelContext& ctx, size_t shard, const RequestPtr& request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (ctx.cancellation() == nullptr) return true;
    return ctx.cancellation()->Register(
        [weak = weak_from_this(), shard, request] {
          if (const std::shared_ptr<Deal> deal = weak.lock()) deal->Withdraw(shard, request);
        },
        &request->token);
  }

  void Withdraw(size_t shard, const RequestPtr& request) {
    {
      MutexLock lock(mu_);
      std::list<RequestPtr>& waiting = shards_[shard].waiting;
      const size_t before = waiting.size();
      waiting.remove(request);
      if (waiting.size() == before) return;
    }
    DoneOnPool(*request->ctx, std::move(request->done), request->ctx->cancellation()->status());
  }

  // REQUIRES: nobody withdraws the request any more.
  static void Finish(const Request& request, Answer answer) {
    Status status = std::move(answer.status);
    if (status.ok() && answer.end) status = errors::OutOfRange("End of sequence");
    if (status.ok()) status = OutputElement(*request.ctx, std::move(answer.element));
    DoneOnPool(*request.ctx, request.done, status);
  }
  // For one that was taken out of its list.
  static void FinishWaiting(const RequestPtr& request, Answer answer) {
    Cancellation* const cancellation = request->ctx->cancellation();
    if (cancellation != nullptr) cancellation->TryDeregister(request->token);  // Withdraw() would not find it
    Finish(*request, std::move(answer));
  }

  void AnswerAll(const Status& status) {
    std::list<RequestPtr> all;
    {
      MutexLock lock(mu_);
      for (Shard& shard : shards_) all.splice(all.end(), shard.waiting);
    }
    for (const RequestPtr& request : all) FinishWaiting(request, {status, {}, true});
  }

  void ThreadMain() {
    for (size_t next = 0; WaitForDemand(next); next = (next + 1) % num_shards_) {
      Answer answer;
      answer.status = iterator_->GetNext(owner_, &answer.element, &answer.end);
      const bool over = answer.status.ok() && answer.end;
      RequestPtr request;
      {
        MutexLock lock(mu_);
        Shard& shard = shards_[next];
        ended_ = over;
        if (!over && shard.waiting.empty()) {
          shard.ready.push_back(std::move(answer));
          continue;
        }
        if (!over) {
          request = std::move(shard.waiting.front());
          shard.waiting.pop_front();
        }
      }
      if (over) return AnswerAll(OkStatus());
      FinishWaiting(request, std::move(answer));
    }
  }

  // Until the shard may have another element. False if the iterator ends.
  bool WaitForDemand(size_t shard) {
    MutexLock lock(mu_);
    const Shard& s = shards_[shard];
    // After an error nothing is made for a shard until it has seen it: there may be no end of errors.
    const auto is_full = [&] {
      return static_cast<int64_t>(s.ready.size()) >= max_buffer_size_ ||
             (!s.ready.empty() && !s.ready.back().status.ok());
    };
    while (!stopping_ && s.waiting.empty() && is_full()) changed_.Wait(mu_);
    return !stopping_;
  }

  const int64_t max_buffer_size_;
  const size_t num_shards_;
  Cancellation cancellation_;
  StepContext owner_;
  Ref<Dataset> dataset_;
  IteratorPtr iterator_;  // the thread's, once there is one
  Mutex mu_;
  CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<Shard> shards_ ABSL_GUARDED_BY(mu_);
  std::thread thread_;
};

MultiDeviceIterator::MultiDeviceIterator(OutputSignature signature, int shards)
    : signature_(std::move(signature)), shards_(shards) {}

MultiDeviceIterator::~MultiDeviceIterator() = default;

std::string MultiDeviceIterator::DebugString() const {
  return absl::StrCat("MultiDeviceIterator for ", shards_, " devices");
}

StatusOr<int64_t> MultiDeviceIterator::Start(Ref<Dataset> dataset, int64_t max_buffer_size, const StepContext& step) {
  if (max_buffer_size < 0) return errors::InvalidArgument("max_buffer_size must be >= 0, got ", max_buffer_size);
  RETURN_IF_ERROR(CheckSignature(signature_, dataset->types(), dataset->shapes()));
  auto deal = std::make_shared<Deal>(shards_, max_buffer_size);
  RETURN_IF_ERROR(deal->Open(std::move(dataset), step));
  MutexLock lock(mu_);
  std::swap(deal_, deal);
  return ++incarnation_;
}

void MultiDeviceIterator::GetNext(KernelContext& ctx, int32_t shard, int64_t incarnation, AsyncKernel::Done done) {
  if (shard < 0 || shard >= shards_) {
    return done(
        errors::InvalidArgument("Invalid shard_num. Provided: ", shard, "; Expected: 0 <= shard_num < ", shards_));
  }
  std::shared_ptr<Deal> deal;
  int64_t current = 0;
  {
    MutexLock lock(mu_);
    deal = deal_;
    current = incarnation_;
  }
  if (deal == nullptr) {
    return done(errors::FailedPrecondition("The multi-device iterator has not been initialized."));
  }
  if (current != incarnation) {
    return done(errors::InvalidArgument("Invalid incarnation id. Provided: ", incarnation, "; Expected: ", current));
  }
  deal->GetNext(ctx, static_cast<size_t>(shard), std::move(done));
}

}  // namespace millstream
