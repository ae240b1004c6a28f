// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/data/iterator_resource.h"

#include "millstream/base/start_thread.h"
#include "millstream/framework/held_functions.h"
#include "millstream/ops/data/dataset_record.h"
#include "millstream/ops/variants/optional.h"

namespace millstream {
namespace {

Status OutputOptional(KernelContext& ctx, Element element) {
  Ref<Optional> optional = MakeRef<Optional>();
  for (Tensor& t : element) {
    RETURN_IF_ERROR(NoteDepth(optional.get(), t));
    optional->tensors.push_back(std::move(t));
  }
  ctx.set_output(0, Tensor::Scalar(Variant(std::move(optional))));
  return OkStatus();
}

}  // namespace

IteratorResource::Walk::~Walk() {
  cancellation.StartCancel(errors::Cancelled("The iterator was destroyed"));
  MutexLock lock(mu);
  iterator.reset();
}

IteratorResource::~IteratorResource() {
  std::thread thread;
  {
    MutexLock lock(mu_);
    stopping_ = true;
    if (walk_ != nullptr) walk_->cancellation.StartCancel(errors::Cancelled("The iterator was destroyed"));
    if (served_ != nullptr) served_->cancellation.StartCancel(errors::Cancelled("The iterator was destroyed"));
    changed_.NotifyAll();
    thread = std::move(thread_);
  }
  if (thread.joinable()) thread.join();
}

StatusOr<std::shared_ptr<IteratorResource::Walk>> IteratorResource::MakeWalk(Ref<Dataset> dataset,
                                                                             const StepContext& step) {
  auto walk = std::make_shared<Walk>();
  walk->owner.resources = step.resources;
  walk->owner.functions = step.functions;
  if (const auto* held = dynamic_cast<const HeldFunctions*>(step.functions)) walk->functions = held->Hold();
  walk->owner.pool = step.pool;
  walk->owner.cancellation = &walk->cancellation;
  walk->dataset = std::move(dataset);
  MutexLock lock(walk->mu);
  ASSIGN_OR_RETURN(walk->iterator, walk->dataset->MakeIterator(walk->owner));
  return walk;
}

Status IteratorResource::SetDataset(Ref<Dataset> dataset, const StepContext& step) {
  RETURN_IF_ERROR(CheckSignature(signature_, dataset->types(), dataset->shapes()));
  RETURN_IF_ERROR(CheckUseOfDatasets(*dataset));
  ASSIGN_OR_RETURN(std::shared_ptr<Walk> walk, MakeWalk(std::move(dataset), step));
  MutexLock lock(mu_);
  std::swap(walk_, walk);
  return OkStatus();
}

StatusOr<std::shared_ptr<IteratorResource::Walk>> IteratorResource::CurrentWalk() {
  MutexLock lock(mu_);
  if (walk_ == nullptr) return errors::FailedPrecondition("The iterator has not been initialized.");
  return walk_;
}

StatusOr<int64_t> IteratorResource::Position() {
  ASSIGN_OR_RETURN(const std::shared_ptr<Walk> walk, CurrentWalk());
  return walk->calls + walk->to_skip;
}

Status IteratorResource::Restore(int64_t position, const StepContext& step) {
  ASSIGN_OR_RETURN(std::shared_ptr<Walk> walk, CurrentWalk());
  if (walk->calls == 0 && walk->to_skip == 0) {
    walk->to_skip = position;
    return OkStatus();
  }
  ASSIGN_OR_RETURN(walk, MakeWalk(walk->dataset, step));
  walk->to_skip = position;
  MutexLock lock(mu_);
  std::swap(walk_, walk);
  return OkStatus();
}

// An element that failed then may fail again.
Status IteratorResource::Skip(Walk& walk, const StepContext& step) {
  while (walk.to_skip > 0) {
    RETURN_IF_ERROR(CheckCancelled(step));
    Element element;
    bool end = false;
    const Status status = walk.iterator->GetNext(step, &element, &end);
    if (!status.ok()) RETURN_IF_ERROR(CheckCancelled(step));
    ++walk.calls;
    --walk.to_skip;
    if (status.ok() && end) {
      walk.calls += walk.to_skip.exchange(0);
    }
  }
  return OkStatus();
}

Status IteratorResource::Serve(Request& request) {
  KernelContext& ctx = *request.ctx;
  RETURN_IF_ERROR(CheckCancelled(ctx.step()));
  RETURN_IF_ERROR(Skip(*request.walk, ctx.step()));
  Element element;
  bool end = false;
  ++request.walk->calls;
  RETURN_IF_ERROR(request.walk->iterator->GetNext(ctx.step(), &element, &end));
  if (request.as_optional) return OutputOptional(ctx, end ? Element() : std::move(element));
  if (end) return errors::OutOfRange("End of sequence");
  return OutputElement(ctx, std::move(element));
}

void IteratorResource::Ask(KernelContext& ctx, bool as_optional, AsyncKernel::Done done) {
  auto request = std::make_shared<Request>();
  request->ctx = &ctx;
  request->as_optional = as_optional;
  request->done = std::move(done);
  bool idle = false;
  {
    MutexLock lock(mu_);
    request->walk = walk_;
    idle = requests_.empty() && !serving_;
  }
  if (request->walk == nullptr) {
    return request->done(
        errors::FailedPrecondition("GetNext() failed because the iterator has not been initialized. Ensure that you "
                                   "have run the initializer operation for this "
                                   "iterator before getting the next element."));
  }
  if (idle && TryServeHere(*request)) return;
  Enqueue(std::move(request));
}

bool IteratorResource::TryServeHere(Request& request) {
  Walk& walk = *request.walk;
  if (!walk.mu.TryLock()) return false;
  const bool ready = walk.to_skip == 0 && walk.iterator->Ready();
  const Status status = ready ? Serve(request) : OkStatus();
  walk.mu.Unlock();
  if (ready) request.done(status);
  return ready;
}

void IteratorResource::Enqueue(std::shared_ptr<Request> request) {
  Cancellation* const cancellation = request->ctx->cancellation();
  Status refused;
  {
    // Under one lock, so that Withdraw() finds whatever it is called for.
    MutexLock lock(mu_);
    if (!thread_.joinable()) refused = StartThread([this] { ThreadMain(); }, &thread_);
    if (!refused.ok()) {
      // Without a thread, nobody would serve it.
    } else if (cancellation == nullptr ||
               cancellation->Register([this, request] { Withdraw(request); }, &request->token)) {
      requests_.push_back(std::move(request));
      changed_.NotifyAll();
      return;
    } else {
      refused = cancellation->status();
    }
  }
  request->done(refused);
}

void IteratorResource::Withdraw(const std::shared_ptr<Request>& request) {
  {
    MutexLock lock(mu_);
    const size_t before = requests_.size();
    requests_.remove(request);
    if (requests_.size() == before) return;
  }
  DoneOnPool(*request->ctx, std::move(request->done), request->ctx->cancellation()->status());
}

void IteratorResource::ThreadMain() {
  while (true) {
    std::shared_ptr<Request> request;
    std::shared_ptr<Walk> last;  // may end here, without the lock
    bool stopping = false;
    {
      MutexLock lock(mu_);
      serving_ = false;
      last = std::move(served_);
    }
    last.reset();
    {
      MutexLock lock(mu_);
      while (requests_.empty() && !stopping_) changed_.Wait(mu_);
      if (requests_.empty()) return;
      request = std::move(requests_.front());
      requests_.pop_front();
      serving_ = true;
      served_ = request->walk;
      stopping = stopping_;
    }
    // From here on nobody withdraws it.
    if (request->ctx->cancellation() != nullptr) request->ctx->cancellation()->Deregister(request->token);
    Status status = errors::Cancelled("The iterator was destroyed");
    if (!stopping) {
      MutexLock lock(request->walk->mu);
      status = Serve(*request);
    }
    request->walk.reset();
    DoneOnPool(*request->ctx, std::move(request->done), status);
  }
}

Status OutputElement(KernelContext& ctx, Element element) {
  if (static_cast<int>(element.size()) != ctx.num_outputs()) {
    return errors::InvalidArgument("The element has ", element.size(), " components, but ", ctx.num_outputs(),
                                   " are expected");
  }
  for (int i = 0; i < ctx.num_outputs(); ++i) {
    if (element[i].dtype() != ctx.output_dtype(i)) {
      return errors::InvalidArgument("Data type mismatch at component ", i, ": expected ",
                                     DTypeName(ctx.output_dtype(i)), " but got ", DTypeName(element[i].dtype()), ".");
    }
    ctx.set_output(i, std::move(element[i]));
  }
  return OkStatus();
}

void DoneOnPool(const KernelContext& ctx, AsyncKernel::Done done, const Status& status) {
  if (ctx.step().pool == nullptr) return done(status);
  ctx.step().pool->Schedule([done = std::move(done), status] { done(status); });
}

}  // namespace millstream
