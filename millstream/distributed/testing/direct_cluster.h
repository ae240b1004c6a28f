// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_TESTING_DIRECT_CLUSTER_H_
#define MILLSTREAM_DISTRIBUTED_TESTING_DIRECT_CLUSTER_H_

#include <memory>
#include <string>
#include <vector>

#include "millstream/distributed/master/master_session.h"
#include "millstream/distributed/master/remote_task.h"

namespace millstream::testing {

// Several tasks in one process, without sockets: frames go through queues, calls are function calls. Task 0 is where
// the master is; it uses the others as remote tasks.
class DirectCluster {
 public:
  // "/job:worker/replica:0/task:0" and so on. `ask_after`: as in WorkerOptions.
  explicit DirectCluster(const std::vector<std::string>& tasks,
                         std::chrono::milliseconds ask_after = WorkerOptions().ask_after);
  ~DirectCluster();

  std::unique_ptr<MasterSession> NewSession(const proto::ConfigProto& config = {});
  Worker& worker(size_t i);
  // Ends every link of a task, as its death would.
  void Cut(size_t i);
  // A network that fails for a while. From now on frames that `from` sends over the link that it dialed to `to` do not
  // arrive; Release() delivers them. Dials the link if there is none.
  void Hold(size_t from, size_t to);
  void Release(size_t from, size_t to);
  // Both ends give up the link that `from` dialed; what was held is lost. The next session dials another one.
  void Lose(size_t from, size_t to);
  // The same at one end; the other does not notice.
  void LoseAtDialer(size_t from, size_t to);
  void LoseAtAcceptor(size_t from, size_t to);

 private:
  struct Node;
  class Channel;
  class Link;

  std::shared_ptr<RemoteTask> Connect(size_t from, size_t to);
  // The ends of the link that `from` dialed: its own and the other one.
  std::pair<std::shared_ptr<Link>, std::shared_ptr<Link>> EndsOf(size_t from, size_t to);

  std::vector<std::unique_ptr<Node>> nodes_;
  TimerQueue timers_;
  std::atomic<uint64_t> next_step_{1000};
  int next_session_ = 0;
};

}  // namespace millstream::testing

#endif  // MILLSTREAM_DISTRIBUTED_TESTING_DIRECT_CLUSTER_H_
