// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_LAUNCH_AGENT_H_
#define MILLSTREAM_LAUNCH_AGENT_H_

#include <chrono>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "millstream/launch/child_process.h"

namespace millstream::launch {

// The far end of a task on another host: a process that the launcher starts there over ssh, one for each task. It reads
// one line, the request, from standard input, runs the task with its output on its own, and ends with the task's exit
// code. Lines "signal 15" may follow. When standard input ends, because the launcher or the connection is gone, it
// stops the task.
struct AgentRequest {
  ProcessSpec process;  // name, command, environment, folder
  std::string token;    // of the job; "": none. Kept in a file of this task alone.
  std::chrono::milliseconds grace{10000};

  std::string ToLine() const;
  static StatusOr<AgentRequest> FromLine(absl::string_view line);
};

// Serves one request on standard input and output; returns the exit code.
int ServeAgent();

// What the launcher asks first: whether an agent is there, and for ports. The answer stands on a line of its own, since
// other things may be printed by a login.
std::string AnswerPorts(const std::vector<int>& ports);
StatusOr<std::vector<int>> ParsePorts(absl::string_view output);

}  // namespace millstream::launch

#endif  // MILLSTREAM_LAUNCH_AGENT_H_
