// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_OBSERVER_TASK_OBSERVER_H_
#define MILLSTREAM_DISTRIBUTED_OBSERVER_TASK_OBSERVER_H_

#include <memory>
#include <string>

#include "millstream/base/status.h"
#include "millstream/framework/peer_link.h"
#include "millstream/tensor/tensor.h"

namespace millstream {

// Is given every value that steps of one signature fetch from one tensor.
class FetchObserver {
 public:
  virtual ~FetchObserver() = default;
  // Called by a step before its caller gets the value. Must not block or allocate.
  virtual void Fetched(const Tensor& value) = 0;
};

// Is told what happens at a task. Only rare events are calls: what every step would report is counted by master and
// worker themselves (counters.h), and an observer reads those counters when it wants to. Thread-safe; calls must not
// block.
class TaskObserver {
 public:
  virtual ~TaskObserver() = default;

  virtual void LinkOpened(PeerLink& link) = 0;
  virtual void LinkClosed(PeerLink& link, const Status& why) = 0;
  // A step of the task's master has failed.
  virtual void StepFailed(const Status& status) = 0;
  // A session has compiled a signature that fetches `tensor`, of type `dtype`; `trains`: its steps write variables.
  // Null: its values are of no interest.
  virtual std::shared_ptr<FetchObserver> ObserveFetch(const std::string& tensor, DType dtype, bool trains) = 0;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_OBSERVER_TASK_OBSERVER_H_
