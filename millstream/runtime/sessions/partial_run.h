// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_RUNTIME_SESSIONS_PARTIAL_RUN_H_
#define MILLSTREAM_RUNTIME_SESSIONS_PARTIAL_RUN_H_

#include <atomic>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "millstream/framework/partial_exchange.h"
#include "millstream/graph/prune.h"
#include "millstream/runtime/plan.h"
#include "millstream/runtime/session.h"

namespace millstream {

// Makes a part of a graph wait for its feeds and hand out its results one by one: arguments become _PartialFeed nodes,
// results _PartialFetch nodes, on `device` if that is not "", else where they were.
Status SplitIntoParts(PrunedGraph* part, absl::string_view device = "");

// For each result of a pruned part: the arguments it depends on.
std::vector<std::vector<bool>> FeedsOfFetches(const PrunedGraph& part);

// One step in parts, from PartialRunSetup() to its last fetch. Thread-safe.
class PartialStep {
 public:
  PartialStep(std::vector<std::string> feeds, std::vector<std::string> fetches, std::vector<std::vector<bool>> needs);
  // Ends the step: cancels what waits, and blocks until it is over.
  ~PartialStep();

  void Start(std::shared_ptr<const Plan> plan, StepContext step);
  // The same for a step that someone else runs: `launch` begins it with this exchange and sees to it that End() is
  // called.
  void Start(const std::function<void(Ref<PartialExchange>)>& launch);
  // One part. InvalidArgument for names that were not declared or were fed or fetched before, a fetch that needs more
  // feeds, and while another part runs. `*finished` is set when every fetch was fetched: the step is over then.
  Status Run(const Session::Feeds& feeds, const std::vector<std::string>& fetches, std::vector<Tensor>* outputs,
             bool* finished);
  Cancellation* cancellation() { return &cancellation_; }

 private:
  Status RunPart(const Session::Feeds& feeds, const std::vector<std::string>& fetches, std::vector<Tensor>* outputs,
                 bool* finished);

  const std::vector<std::string> feeds_;
  const std::vector<std::string> fetches_;
  const std::vector<std::vector<bool>> needs_;
  std::atomic<bool> runs_part_{false};
  std::vector<bool> fetched_;  // of the part that runs
  Cancellation cancellation_;
  ResourceManager resources_{"step"};
  Ref<PartialExchange> exchange_;
  StepContext step_;
  std::vector<Tensor> rets_;
  bool started_ = false;
};

// The partial runs of one session, by handle. Thread-safe.
class PartialSteps {
 public:
  // Keeps a step that was started; gives the handle under which it goes on. After Close() the step is cancelled, and
  // this fails.
  StatusOr<std::string> Add(std::shared_ptr<PartialStep> step);
  // One part of the step behind `handle`, which is dropped when it is over. InvalidArgument if there is none. When
  // `cancellation` (null: nobody's) is cancelled the whole step is.
  Status Run(const std::string& handle, const Session::Feeds& feeds, const std::vector<std::string>& fetches,
             std::vector<Tensor>* outputs, Cancellation* cancellation);
  // Cancels all of them, also those of which a part runs.
  void GiveUp();
  // The same; from now on Add() fails with `why`.
  void Close(const Status& why);

 private:
  Mutex mu_;
  Status closed_ ABSL_GUARDED_BY(mu_);
  std::unordered_map<std::string, std::shared_ptr<PartialStep>> steps_ ABSL_GUARDED_BY(mu_);
  int64_t next_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace millstream

#endif  // MILLSTREAM_RUNTIME_SESSIONS_PARTIAL_RUN_H_
