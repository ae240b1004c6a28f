// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_LAUNCH_CHILD_PROCESS_H_
#define MILLSTREAM_LAUNCH_CHILD_PROCESS_H_

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "millstream/base/status.h"

namespace millstream::launch {

// A process to start.
struct ProcessSpec {
  std::string name;                                              // how reports name it: "worker:1"
  std::vector<std::string> command;                              // the program is found along PATH
  std::vector<std::pair<std::string, std::string>> environment;  // over this process's own
  std::string folder;                                            // to start in; "": this process's
  int max_restarts = 0;                                          // how often it is started again after a failure
  // A service does not end by itself: it is stopped when all others have ended well.
  bool service = false;
  // It is started and ended by ProcessGroup::Start() and End(), and the group goes on when it fails.
  bool optional = false;
  // Set: the command is a connection to an agent on that host (agent.h). `input` is written to its standard input,
  // which stays open; signals follow as lines. Standard input of others is empty.
  std::string host;
  std::string input;

  bool remote() const { return !host.empty(); }
};

// A started process: its id, which is that of its process group too, and our ends of its pipes. `in` is -1 unless the
// process is remote; `out` and `err` do not block.
struct Child {
  pid_t pid = -1;
  int in = -1, out = -1, err = -1;
  std::string unsent;  // of the spec's input: what the process has not taken yet
};

// Starts the process in a process group of its own. It is killed if this process dies. NotFound and its like if the
// command cannot be run.
StatusOr<Child> StartChild(const ProcessSpec& spec);

// Runs a process to its end, or until `deadline`, when it is killed. Its whole output must fit into memory.
struct Captured {
  int exit_code = 0;  // -1: the deadline came first
  std::string out, err;
};
StatusOr<Captured> RunToEnd(const ProcessSpec& spec, std::chrono::steady_clock::time_point deadline);

// How a process ended, from what wait() says: 0 to 255, 128 + n for signal n; and in words.
int ExitCodeOf(int wait_status);
std::string DescribeEnd(int wait_status);

// Cuts what comes in pieces into lines. A line beyond 64 KB is cut too.
class LineSplitter {
 public:
  using OnLine = std::function<void(absl::string_view)>;
  void Add(absl::string_view bytes, const OnLine& on_line);
  void Finish(const OnLine& on_line);  // the last line may lack its end

 private:
  std::string partial_;
};

// Writes as much as `fd`, which does not block, takes now; returns how much that is, -1 if nobody reads it any more.
ssize_t WriteSome(int fd, absl::string_view bytes);
// Writes all of it, also where writing blocks. False if nobody reads it any more.
bool WriteAll(int fd, absl::string_view bytes);

}  // namespace millstream::launch

#endif  // MILLSTREAM_LAUNCH_CHILD_PROCESS_H_
