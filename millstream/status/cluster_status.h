// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_STATUS_CLUSTER_STATUS_H_
#define MILLSTREAM_STATUS_CLUSTER_STATUS_H_

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "millstream/distributed/cluster/cluster_spec.h"
#include "millstream/distributed/wire/rpc.h"
#include "millstream/status/task_status.h"

namespace millstream {

// How all tasks of a cluster are doing: this one, and what the others answer when they are asked. Nobody is asked
// before somebody looks. Calls block up to `timeout` or until `stop` is cancelled, so they are for threads of their
// own. Thread-safe.
class ClusterStatus {
 public:
  struct Options {
    ClusterSpec cluster;
    RpcChannelOptions channel;
    std::chrono::milliseconds timeout{2'000};
    TaskStatus* own = nullptr;
    TraceRequests* traces = nullptr;  // of the own master
    Cancellation* stop = nullptr;
  };
  explicit ClusterStatus(Options options);

  // {"task": who says so, "time": ..., "tasks": [...]}: each task as TaskStatus::Describe() has it, with "job",
  // "index", "health" ("up", "done", "down": it was up before, "missing": it has not been seen), "error", "restarts",
  // "round_trip_seconds" and an estimate of "staleness".
  std::string Describe(double since);
  // The last words of a server that stops: the same with "ended": true, and with this task alone, which is "done".
  std::string DescribeEnd(double since);
  // Only this task, from Describe() or from itself.
  std::string DescribeOwn() const { return options_.own->Describe(1e18); }
  // The graph at that task's master ("": the first task that has one).
  StatusOr<std::string> Graph(const std::string& task);
  // The next step of that task's master, as a Chrome trace. DeadlineExceeded if there is none.
  StatusOr<std::string> Trace(const std::string& task, std::chrono::milliseconds timeout);

 private:
  struct Peer {
    ClusterSpec::Task task;
    std::shared_ptr<RpcChannel> channel;  // null for the own task
    Mutex mu;
    std::string incarnation ABSL_GUARDED_BY(mu);  // "": never seen
    int restarts ABSL_GUARDED_BY(mu) = 0;
    double changed ABSL_GUARDED_BY(mu) = 0;  // when it went up or down
    bool up ABSL_GUARDED_BY(mu) = false;
  };
  struct Answer {
    Status status;
    std::string text;
    double seconds = 0;
  };

  // Asks every task at once.
  std::vector<Answer> AskAll(const std::string& question);
  Answer Ask(Peer& peer, const std::string& question);
  nlohmann::ordered_json Health(Peer& peer, const Answer& answer);
  StatusOr<Peer*> Find(const std::string& task);
  StatusOr<std::string> TraceOwn(std::chrono::milliseconds timeout);

  const Options options_;
  std::vector<std::unique_ptr<Peer>> peers_;  // constant
};

}  // namespace millstream

#endif  // MILLSTREAM_STATUS_CLUSTER_STATUS_H_
