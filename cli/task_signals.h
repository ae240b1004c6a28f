// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_CLI_TASK_SIGNALS_H_
#define MILLSTREAM_CLI_TASK_SIGNALS_H_

#include <chrono>
#include <csignal>
#include <functional>
#include <string>
#include <thread>

#include "millstream/base/notification.h"
#include "millstream/distributed/server.h"

namespace millstream::cli {

// Blocks SIGTERM and SIGINT, which then end the process only where it waits for them, and ignores SIGPIPE. To be made
// before the first thread.
class TaskSignals {
 public:
  TaskSignals();
  const sigset_t& set() const { return set_; }

 private:
  sigset_t set_;
};

// Until the job ends, or a signal comes and nobody uses the server any more (Server::EndJob()); says which. A second
// signal ends the process at once.
std::string AwaitEnd(Server& server, const TaskSignals& signals);

// Calls a function when a signal comes, while other threads work. A second signal ends the process at once.
class SignalWatch {
 public:
  SignalWatch(const TaskSignals& signals, std::function<void(const char* name)> on_signal);
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

 private:
  std::thread thread_;
};

// While one lives, the process has that long to end: a call that cannot be cancelled must not keep it.
class EndLimit {
 public:
  explicit EndLimit(std::chrono::seconds limit);
  ~EndLimit();
  EndLimit(const EndLimit&) = delete;
  EndLimit& operator=(const EndLimit&) = delete;

 private:
  Notification ended_;
  std::thread thread_;
};

}  // namespace millstream::cli

#endif  // MILLSTREAM_CLI_TASK_SIGNALS_H_
