// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_SERVER_OBSERVER_H_
#define MILLSTREAM_DISTRIBUTED_SERVER_OBSERVER_H_

#include <functional>
#include <string>

#include "millstream/distributed/observer/task_observer.h"
#include "millstream/distributed/server_options.h"

namespace millstream {

class Master;
class Worker;

// What an observer may look at. Everything is borrowed until Detach().
struct ObservedServer {
  const ServerOptions* options = nullptr;
  Worker* worker = nullptr;
  Master* master = nullptr;
  std::string address;             // "localhost:2222", as the cluster has it
  std::function<bool()> job_done;  // true once the task takes no more work
};

// Watches a whole server and shows it to people: millstream/status implements it, and whoever starts a server hands it
// in (status/start_server.h). A server without one works the same, unseen. The server calls Attach(), Serve(),
// StopServing() and Detach() once each, in this order (a start that failed may skip the first two); events come from
// before the first until after the last.
class ServerObserver : public TaskObserver {
 public:
  // Before the server accepts calls.
  virtual void Attach(const ObservedServer& server) = 0;
  // The server accepts calls; `cluster` has the port that it listens on. An error ends the start of the server.
  virtual Status Serve(const ClusterSpec& cluster) = 0;
  virtual void StopServing() = 0;
  // Answer() is not called any more, and nothing of the server may be used once this has returned.
  virtual void Detach() = 0;

  // What other tasks ask, or an evaluator tells (TaskService/Status), between Attach() and Detach().
  virtual StatusOr<std::string> Answer(const std::string& question) = 0;
  // Where people can look, "http://127.0.0.1:6006/"; "" if nowhere.
  virtual std::string url() const = 0;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_SERVER_OBSERVER_H_
