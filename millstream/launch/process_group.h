// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_LAUNCH_PROCESS_GROUP_H_
#define MILLSTREAM_LAUNCH_PROCESS_GROUP_H_

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "millstream/launch/child_process.h"

namespace millstream::launch {

struct GroupOptions {
  // Between the request to end and SIGKILL.
  std::chrono::milliseconds grace{10000};
  // How long services have to end by themselves once the others have ended well.
  std::chrono::milliseconds service_grace{2000};
  // Before a process is started again; doubled each time, up to 16 times as long. One that had run for `good_run` is
  // started again as if it were the first time.
  std::chrono::milliseconds restart_delay{500};
  std::chrono::milliseconds good_run{60'000};
  // Services are kept, although the others have ended, until ReleaseServices(): the others are elsewhere.
  bool hold_services = false;
  size_t tail_lines = 20;  // of a process that failed, for the report
  // A folder that is removed with its files when Run() ends, and also if this process is killed; "": none.
  std::string scratch_folder;
  // Lines "signal 15" on this file descriptor are passed on as signals, and its end stops the processes; -1: none.
  int control_fd = -1;

  // Called by the thread of Run(). Lines come without their ends; by default they are printed as "[worker:1] line" on
  // the stream they came from, and notes (what the group does) as "millstream: ..." on standard error.
  std::function<void(const std::string& name, bool is_error, absl::string_view line)> on_line;
  std::function<void(absl::string_view note)> on_note;
  std::function<void()> on_tick;  // about every `tick`
  std::chrono::milliseconds tick{200};
  // An optional process has ended while the group was not being stopped.
  std::function<void(const std::string& name, int exit_code, const std::string& how)> on_optional_end;
};

struct GroupResult {
  struct Failure {
    std::string name, how;  // "worker:1", "exit code 3"
    int exit_code = 0;
    std::vector<std::string> last_lines;
  };
  std::vector<Failure> failures;  // the first first; processes that ended because they were told to are not among them
  int signal = 0;                 // the first signal that came from outside or by Stop(); 0: none

  // The first failure's; 128 + signal if there is none but a signal; else 0.
  int exit_code() const;
  // The first failure with its last output, then the others; "" if there is none.
  std::string Report() const;
};

// Processes that live and end together, each in a process group of its own.
//
// One that fails is started again as often as its spec says; when that is spent, the others are told to end (SIGTERM,
// after `grace` SIGKILL), services when no other is left: until then they may be needed. SIGINT, SIGTERM and SIGHUP are
// passed on so; the second one kills. When Run() returns, nothing of the processes and what they started in their
// process groups is left; if this process is killed, a guardian process sees to that.
//
// One group runs at a time in a process: it holds the signal handlers meanwhile. Not thread-safe; callbacks may call
// it.
class ProcessGroup {
 public:
  ProcessGroup(std::vector<ProcessSpec> processes, GroupOptions options);
  ~ProcessGroup();
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  // Starts all and returns when all have ended. Once.
  GroupResult Run();

  // Passes a note of the caller on, in the way of the group's own.
  void Note(absl::string_view note);
  // Tells all to end by `signal`, after `grace` by SIGKILL. Called again: SIGKILL at once.
  void Stop(int signal);
  // All is done elsewhere: services are stopped as soon as the others have ended well.
  void ReleaseServices();
  // For optional processes, by callbacks: starts one that does not run; tells one to end, after `grace` by SIGKILL.
  void Start(const std::string& name);
  void End(const std::string& name);
  // The group fails because of this process, with its last output, and the others are stopped.
  void Fail(const std::string& name, const std::string& how, int exit_code);
  // While it is held, the group goes on without any running process: the caller is about to start one.
  void Hold(bool held);
  bool stopping() const;
  int num_running(bool services) const;  // services, or others; those about to be started again count

 private:
  class Supervisor;
  std::unique_ptr<Supervisor> supervisor_;
};

}  // namespace millstream::launch

#endif  // MILLSTREAM_LAUNCH_PROCESS_GROUP_H_
