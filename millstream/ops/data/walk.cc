// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/data/walk.h"

#include <thread>

#include "millstream/base/start_thread.h"

namespace millstream {

void WalkInBackground(KernelContext& ctx, AsyncKernel::Done done, std::function<Status(const StepContext&)> body) {
  std::thread thread;
  const auto walk = [&ctx, done, body = std::move(body)]() mutable {
    Cancellation own;
    Cancellation::Token token = -1;
    Cancellation* const parent = ctx.cancellation();
    Status status;
    if (parent != nullptr && !parent->Register([&own] { own.StartCancel(); }, &token)) {
      status = parent->status();
    } else {
      StepContext owner = ctx.step();
      owner.cancellation = &own;
      status = body(owner);
      if (parent != nullptr) parent->Deregister(token);
    }
    body = nullptr;
    ThreadPool* const pool = ctx.step().pool;
    if (pool == nullptr) return done(status);
    pool->Schedule([done = std::move(done), status] { done(status); });
  };
  if (Status started = StartThread(walk, &thread); !started.ok()) return done(started);
  thread.detach();
}

Status ForEachElement(const Dataset& dataset, const StepContext& owner, const std::function<Status(Element)>& take) {
  ASSIGN_OR_RETURN(const IteratorPtr iterator, dataset.MakeIterator(owner));
  while (true) {
    RETURN_IF_ERROR(CheckCancelled(owner));
    Element element;
    bool end = false;
    RETURN_IF_ERROR(iterator->GetNext(owner, &element, &end));
    if (end) return OkStatus();
    RETURN_IF_ERROR(take(std::move(element)));
  }
}

}  // namespace millstream
