// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_LAUNCH_SIGNAL_PIPE_H_
#define MILLSTREAM_LAUNCH_SIGNAL_PIPE_H_

#include <csignal>
#include <map>
#include <vector>

namespace millstream::launch {

// While it lives, SIGINT, SIGTERM, SIGHUP and SIGCHLD are numbers to be read from fd(), and SIGPIPE is ignored. One at
// a time.
class SignalPipe {
 public:
  SignalPipe();
  ~SignalPipe();  // the former handlers are back
  SignalPipe(const SignalPipe&) = delete;
  SignalPipe& operator=(const SignalPipe&) = delete;

  int fd() const { return read_end_; }  // to poll
  // Signals that have come since. Never blocks.
  std::vector<int> Take();

 private:
  int read_end_ = -1;
  std::map<int, struct sigaction> former_;
};

}  // namespace millstream::launch

#endif  // MILLSTREAM_LAUNCH_SIGNAL_PIPE_H_
