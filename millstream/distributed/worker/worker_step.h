// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_WORKER_WORKER_STEP_H_
#define MILLSTREAM_DISTRIBUTED_WORKER_WORKER_STEP_H_

#include <atomic>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "millstream/base/thread_pool.h"
#include "millstream/distributed/worker/worker.h"
#include "millstream/runtime/executor.h"
#include "millstream/runtime/step_stats.h"

namespace millstream {

// One step at this task, from the first that is heard of it until its end.
struct Worker::Step : std::enable_shared_from_this<Step>, RegisteredStep {
  explicit Step(uint64_t number) : id(number), exchange(number), first_heard(std::chrono::steady_clock::now()) {}

  const uint64_t id;
  Cancellation cancellation;
  ResourceManager resources{"step"};
  TaskExchange exchange;
  const std::chrono::steady_clock::time_point first_heard;
  // Feeds too large for their kRunPart, by argument. One link brings them, unless somebody makes up numbers of steps.
  Mutex feeds_mu;
  std::vector<std::pair<uint32_t, Tensor>> early_feeds ABSL_GUARDED_BY(feeds_mu);
  size_t early_feed_bytes ABSL_GUARDED_BY(feeds_mu) = 0;
  std::atomic<PeerLink*> origin{nullptr};  // whose step it is; null: a master in this process

  // Set by Begin().
  std::atomic<bool> begun{false};
  std::shared_ptr<TaskPart> part;  // before the step is registered as running
  std::shared_ptr<StepUpdates> updates;
  PartRun run;
  StepContext context;
  std::unique_ptr<StepStatsCollector> stats;
  std::vector<Tensor> rets;
  std::atomic<std::chrono::steady_clock::time_point> ended{std::chrono::steady_clock::time_point::max()};
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_WORKER_WORKER_STEP_H_
