// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TESTS_CHAOS_THREADS_NETWORK_H_
#define MILLSTREAM_TESTS_CHAOS_THREADS_NETWORK_H_

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "millstream/base/mutex.h"
#include "millstream/distributed/link/unique_fd.h"

namespace millstream::chaos {

// The network between the tasks of one process, which can fail. A task listens at 127.0.0.1 and is known to others by
// an address of its own, at which the network listens on the same ports and passes bytes on. Who has dialed a
// connection is told from the task names in what it says first. What one task sends to another can be held (as if its
// packets were lost: it comes later, or never if the connection ends before) or delayed; connections can be reset; a
// task can be cut off; another program may hold its address. Thread-safe.
class Network {
 public:
  Network();
  ~Network();

  // Connections to `host` on these ports go to `task`.
  void Serve(const std::string& task, const std::string& host, const std::set<int>& ports);
  // Nobody listens there any more.
  void StopServing(const std::string& task);

  void Hold(const std::string& from, const std::string& to, bool held);
  void Delay(const std::string& from, const std::string& to, int64_t delay_ms);
  void Reset(const std::string& a, const std::string& b);
  // Ends all connections from and to a task, and refuses new ones.
  void CutOff(const std::string& task, bool off);
  // Who connects to the task gets this answer and no more; "": the connection is closed; nullptr: the task itself.
  void Squat(const std::string& task, const char* answer);
  // All conditions are normal again, but for tasks that are cut off.
  void Heal();
  size_t num_connections();

 private:
  struct Pipe;
  struct Connection;
  struct Listener {
    std::string task;
    int port;
    UniqueFd socket;
  };
  struct Condition {
    bool held = false;
    int64_t delay_ns = 0;
  };

  void Main();
  void Accept(Listener& listener) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Move(Connection& connection, Pipe& pipe) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Condition ConditionOf(const Connection& connection, const Pipe& pipe) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void ResetIf(const std::function<bool(const Connection&)>& which) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Wake();

  Mutex mu_;
  std::list<Listener> listeners_ ABSL_GUARDED_BY(mu_);
  std::list<Connection> connections_ ABSL_GUARDED_BY(mu_);
  std::map<std::pair<std::string, std::string>, Condition> conditions_ ABSL_GUARDED_BY(mu_);
  std::set<std::string> cut_off_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, std::string> squatters_ ABSL_GUARDED_BY(mu_);
  std::vector<UniqueFd> squatted_ ABSL_GUARDED_BY(mu_);
  bool quit_ ABSL_GUARDED_BY(mu_) = false;
  UniqueFd wake_;
  std::thread thread_;
};

// Ports on 127.0.0.1 at which this process listens.
std::set<int> ListeningPorts();

}  // namespace millstream::chaos

#endif  // MILLSTREAM_TESTS_CHAOS_THREADS_NETWORK_H_
