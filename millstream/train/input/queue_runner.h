// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_INPUT_QUEUE_RUNNER_H_
#define MILLSTREAM_TRAIN_INPUT_QUEUE_RUNNER_H_

#include <memory>
#include <string>
#include <vector>

#include "millstream/graph/scope.h"
#include "millstream/runtime/session.h"
#include "millstream/train/input/coordinator.h"

namespace millstream {

// How Python's queues name their ops: "fifo_queue_Close" for the queue "a/fifo_queue".
std::string QueueOpName(Output queue, absl::string_view what);

// Threads that fill a queue: each of the enqueue ops runs again and again in a thread of its own, until the queue is
// closed (the op fails with a code of `closed_codes`) or the coordinator stops. When the last of them has ended, the
// queue is closed. Any other error goes to the coordinator. A cheap value; copies share their state.
class QueueRunner {
 public:
  struct Ops {
    std::string queue;                     // what the threads are named after
    std::vector<std::string> enqueue_ops;  // nodes
    std::string close_op, cancel_op;       // nodes that close it; the second gives up pending enqueues too
    std::vector<absl::StatusCode> closed_codes = {absl::StatusCode::kOutOfRange};
  };
  // Over nodes that are there. REQUIRES: no name is empty, and there is an enqueue op.
  explicit QueueRunner(Ops ops);
  // Adds the nodes that close `queue` beside it. InvalidArgument if there is no enqueue op.
  static StatusOr<QueueRunner> Make(const Scope& scope, Output queue, const std::vector<Node*>& enqueue_ops);

  const Ops& ops() const;

  // Which step an enqueue op runs next, so that one which failed is repeated in the next session (StepIdentity).
  class Repeats {
   public:
    virtual ~Repeats() = default;
    virtual StepIdentity Current() = 0;
    virtual void Answered() = 0;  // the current one
  };

  // Starts the threads, and one that cancels the queue when the coordinator stops. Does nothing if they run at that
  // session already. The session must outlive the coordinator's threads.
  void CreateThreads(Session& session, Coordinator& coordinator, std::shared_ptr<Repeats> repeats = nullptr) const;

 private:
  struct State;
  static Status Fill(State& state, const std::string& op, Session& session, const Coordinator& coordinator,
                     Repeats* repeats);
  static Status Enqueue(Session& session, Session::CallableHandle op, Repeats* repeats);
  std::shared_ptr<State> state_;
};

// Queue runners that travel with a graph (the collection "queue_runners"): training sessions start them.
// Those in the collection end by OutOfRange; with other codes InvalidArgument.
Status AddQueueRunner(const Scope& scope, const QueueRunner& runner);
std::vector<QueueRunner> QueueRunnersOf(const Scope& scope);
// CreateThreads() of all of them.
void StartQueueRunners(const Scope& scope, Session& session, Coordinator& coordinator);

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_INPUT_QUEUE_RUNNER_H_
