// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_LAUNCH_DISCOVERY_H_
#define MILLSTREAM_LAUNCH_DISCOVERY_H_

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "millstream/launch/child_process.h"

namespace millstream::launch {

// How many workers may run on this host at the moment: what a script of the user prints, as Horovod's discovery scripts
// do, "localhost:4". The script is run again a second after it has ended, without holding up the caller.
class Discovery {
 public:
  using OnNote = std::function<void(const std::string&)>;
  // `script`: a command for the shell.
  explicit Discovery(std::string script) : script_(std::move(script)) {}
  ~Discovery();
  Discovery(const Discovery&) = delete;
  Discovery& operator=(const Discovery&) = delete;

  // Runs the script for the first time, to its end. An error says what is wrong with it.
  StatusOr<int> First();
  // The latest number of slots. A script that fails, or takes longer than ten seconds, is noted once, and leaves the
  // number as it is.
  int Poll(const OnNote& on_note);

  // Slots in the script's output. InvalidArgument names the line that makes no sense or is of another host.
  static StatusOr<int> SlotsIn(const std::string& output);

 private:
  using Clock = std::chrono::steady_clock;
  ProcessSpec Spec() const;
  void Read();
  StatusOr<int> Ended(int wait_status);
  void Close();

  const std::string script_;
  std::optional<Child> child_;
  std::string out_, err_;
  Clock::time_point next_ = {}, kill_at_ = {};
  int slots_ = 0;
  std::string noted_;
};

}  // namespace millstream::launch

#endif  // MILLSTREAM_LAUNCH_DISCOVERY_H_
