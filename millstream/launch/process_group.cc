// SPDX-License-Identifier: Apache-2.0
#include "millstream/launch/process_group.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <deque>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "millstream/launch/guardian.h"
#include "millstream/launch/signal_pipe.h"

namespace millstream::launch {
namespace {

using Clock = std::chrono::steady_clock;

// How long what a process has left behind in its group may hold its output.
constexpr std::chrono::seconds kDrain{1};

struct Stream {
  int fd = -1;
  LineSplitter lines;
  bool open() const { return fd >= 0; }
  void Close() {
    if (fd >= 0) close(fd);
    fd = -1;
  }
};

struct Process {
  enum class State { kWaiting, kRunning, kDraining, kEnded };  // optional ones begin as ended
  ProcessSpec spec;
  State state = State::kWaiting;
  Clock::time_point when = {};  // kWaiting: when to start; kDraining: how long to wait
  pid_t pid = -1;
  int input = -1;
  Stream out, err;
  std::deque<std::string> tail = {};
  int restarts = 0;
  int quick_restarts = 0;  // since it last ran for a good while
  Clock::time_point started = {};
  std::string unsent = {};  // for its input, which takes no more now
  int wait_status = 0;
  bool asked_to_end = false;
  std::optional<Clock::time_point> kill_at = {};  // of one that was told to end alone

  bool alive() const { return state == State::kRunning || state == State::kDraining; }
};

}  // namespace

int GroupResult::exit_code() const {
  if (!failures.empty()) return failures[0].exit_code;
  return signal == 0 ? 0 : 128 + signal;
}

std::string GroupResult::Report() const {
  if (failures.empty()) return "";
  std::string report = absl::StrCat(failures[0].name, " failed first: ", failures[0].how);
  if (failures[0].last_lines.empty())
    absl::StrAppend(&report, ", without output");
  else
    absl::StrAppend(&report, "; its last output:");
  for (const std::string& line : failures[0].last_lines) absl::StrAppend(&report, "\n  | ", line);
  for (size_t i = 1; i < failures.size(); ++i)
    absl::StrAppend(&report, "\nthen ", failures[i].name, ": ", failures[i].how);
  return report;
}

class ProcessGroup::Supervisor {
 public:
  Supervisor(std::vector<ProcessSpec> specs, GroupOptions options) : options_(std::move(options)) {
    if (!options_.on_line)
      options_.on_line = [this](const std::string& name, bool is_error, absl::string_view line) {
        Print(is_error ? 2 : 1, absl::StrCat("[", name, "] ", line, "\n"));
      };
    if (!options_.on_note)
      options_.on_note = [this](absl::string_view note) {
        // A terminal has echoed "^C", in the middle of its last line perhaps.
        const bool new_line = std::exchange(after_echo_, false) && isatty(STDERR_FILENO) == 1;
        Print(2, absl::StrCat(new_line ? "\n" : "", "millstream: ", note, "\n"));
      };
    for (ProcessSpec& spec : specs) {
      processes_.emplace_back().spec = std::move(spec);
      if (processes_.back().spec.optional) processes_.back().state = Process::State::kEnded;
    }
  }

  GroupResult Run();
  void Stop(int signal);
  void Note(absl::string_view note) { options_.on_note(note); }
  void ReleaseServices() { options_.hold_services = false; }
  void StartByName(const std::string& name);
  void EndByName(const std::string& name);
  void FailByName(const std::string& name, const std::string& how, int exit_code);
  void Hold(bool held) { held_ = held; }
  bool stopping() const { return stop_deadline_.has_value(); }
  int num_running(bool services) const {
    return static_cast<int>(std::count_if(processes_.begin(), processes_.end(), [&](const Process& p) {
      return p.spec.service == services && p.state != Process::State::kEnded;
    }));
  }

 private:
  // Standard output that nobody reads any more ends the group, as it would end a single program.
  void Print(int fd, const std::string& text) {
    if (!WriteAll(fd, text) && errno == EPIPE && !stopping()) Stop(SIGPIPE);
  }
  void Start(Process& process);
  bool SendInput(Process& process);
  void Signal(Process& process, int signal);
  void Await();
  bool ReadStream(Process& process, bool is_error);
  void ReadControl();
  void OnExit(Process& process);
  void Finish(Process& process);
  void Fail(Process& process, std::string how, int exit_code);
  void NoteStopped(Process& process);
  void Advance(Process& process, Clock::time_point now);
  void AdvanceGroup(Clock::time_point now);
  bool AllEnded() const { return num_running(false) + num_running(true) == 0 && (!held_ || stopping()); }
  Process* Find(const std::string& name);

  GroupOptions options_;
  std::vector<Process> processes_;
  GroupResult result_;
  std::optional<Clock::time_point> stop_deadline_;      // set: all have been told to end
  std::optional<Clock::time_point> services_deadline_;  // set: the others have ended well
  Clock::time_point next_tick_ = {};
  bool held_ = false;
  bool after_echo_ = false;  // Ctrl-C was typed, and nothing has been printed since
  LineSplitter control_;
  SignalPipe signals_;
  std::unique_ptr<Guardian> guardian_;
};

GroupResult ProcessGroup::Supervisor::Run() {
  guardian_ = std::make_unique<Guardian>(options_.scratch_folder);
  for (Process& process : processes_) {
    if (!stopping() && !process.spec.optional) Start(process);
  }
  while (!AllEnded()) {
    Await();
    const auto now = Clock::now();
    for (Process& process : processes_) Advance(process, now);
    AdvanceGroup(now);
  }
  guardian_.reset();
  return std::move(result_);
}

void ProcessGroup::Supervisor::Start(Process& process) {
  StatusOr<Child> child = StartChild(process.spec);
  if (!child.ok()) {
    process.state = Process::State::kEnded;
    Fail(process, std::string(child.status().message()), 127);
    return;
  }
  guardian_->Watch(child->pid);
  process.pid = child->pid;
  process.input = child->in;
  process.out.fd = child->out;
  process.err.fd = child->err;
  process.tail.clear();
  process.unsent = std::move(child->unsent);
  process.started = Clock::now();
  process.state = Process::State::kRunning;
}

// Never waits for a process that does not read, such as an ssh whose connection hangs.
// False if it has not taken all.
bool ProcessGroup::Supervisor::SendInput(Process& process) {
  const ssize_t sent = WriteSome(process.input, process.unsent);
  const bool all = sent == static_cast<ssize_t>(process.unsent.size());
  if (sent < 0) process.unsent.clear();
  if (sent > 0) process.unsent.erase(0, static_cast<size_t>(sent));
  return all;
}

void ProcessGroup::Supervisor::Signal(Process& process, int signal) {
  if (!process.alive()) return;
  process.asked_to_end = true;
  if (process.spec.remote() && signal != SIGKILL) {
    absl::StrAppend(&process.unsent, "signal ", signal, "\n");
    // An agent that cannot be told ends its task when the connection does.
    if (!SendInput(process)) kill(-process.pid, signal);
  } else {
    kill(-process.pid, signal);
    kill(-process.pid, SIGCONT);  // one that was stopped would never see it
  }
}

void ProcessGroup::Supervisor::Stop(int signal) {
  const bool again = stopping();
  if (!again) {
    if (result_.failures.empty()) result_.signal = signal;
    stop_deadline_ = Clock::now() + options_.grace;
  }
  const bool others = num_running(false) > 0;
  for (Process& process : processes_) {
    if (process.state == Process::State::kWaiting) process.state = Process::State::kEnded;
    // Others may still need services, to save what they have done.
    if (process.spec.service && others && !again) continue;
    Signal(process, again ? SIGKILL : signal == SIGPIPE || signal == SIGHUP ? SIGTERM : signal);
  }
}

// Waits for output, signals, the control descriptor or the next deadline.
void ProcessGroup::Supervisor::Await() {
  std::vector<pollfd> polled = {{signals_.fd(), POLLIN, 0}, {options_.control_fd, POLLIN, 0}};
  for (const Process& process : processes_) {
    polled.push_back({process.out.fd, POLLIN, 0});
    polled.push_back({process.err.fd, POLLIN, 0});
  }
  for (const Process& process : processes_) polled.push_back({process.unsent.empty() ? -1 : process.input, POLLOUT, 0});
  poll(polled.data(), polled.size(), static_cast<int>(std::min<int64_t>(options_.tick.count(), 200)));
  for (size_t i = 0; i < processes_.size(); ++i) {
    if (polled[2 + 2 * i].revents != 0) ReadStream(processes_[i], false);
    if (polled[3 + 2 * i].revents != 0) ReadStream(processes_[i], true);
    if (polled[2 + 2 * processes_.size() + i].revents != 0) SendInput(processes_[i]);
  }
  if (polled[1].revents != 0) ReadControl();
  for (int number : signals_.Take()) {
    if (number == SIGCHLD) continue;
    if (number == SIGINT) after_echo_ = true;
    options_.on_note(absl::StrCat(stopping() ? "killing all tasks (" : "stopping all tasks (", strsignal(number),
                                  stopping() ? " again)" : "; once more kills them)"));
    Stop(number);
  }
}

// Takes what is there. False if that is nothing.
bool ProcessGroup::Supervisor::ReadStream(Process& process, bool is_error) {
  Stream& stream = is_error ? process.err : process.out;
  const auto on_line = [&](absl::string_view line) {
    process.tail.emplace_back(line);
    if (process.tail.size() > options_.tail_lines) process.tail.pop_front();
    options_.on_line(process.spec.name, is_error, line);
  };
  char buffer[16384];
  const ssize_t got = read(stream.fd, buffer, sizeof(buffer));
  if (got > 0) stream.lines.Add({buffer, static_cast<size_t>(got)}, on_line);
  if (got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR))) return got > 0;
  stream.lines.Finish(on_line);
  stream.Close();
  return false;
}

void ProcessGroup::Supervisor::ReadControl() {
  char buffer[256];
  const ssize_t got = read(options_.control_fd, buffer, sizeof(buffer));
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) {
    options_.control_fd = -1;
    if (!stopping()) Stop(SIGTERM);
    return;
  }
  control_.Add({buffer, static_cast<size_t>(got)}, [this](absl::string_view line) {
    int number = 0;
    if (absl::ConsumePrefix(&line, "signal ") && absl::SimpleAtoi(line, &number) && number > 0 && number < NSIG)
      Stop(number);
  });
}

// The process has ended, but is not waited for yet: so nobody else can get the number of its group.
void ProcessGroup::Supervisor::OnExit(Process& process) {
  process.state = Process::State::kDraining;
  process.when = Clock::now() + kDrain;
  kill(-process.pid, SIGTERM);  // what it has left in its group
}

void ProcessGroup::Supervisor::Finish(Process& process) {
  kill(-process.pid, SIGKILL);
  while (waitpid(process.pid, &process.wait_status, 0) < 0 && errno == EINTR) {
  }
  guardian_->Forget(process.pid);
  if (process.input >= 0) close(std::exchange(process.input, -1));
  process.state = Process::State::kEnded;
  const int code = ExitCodeOf(process.wait_status);
  if (process.spec.optional) {
    if (!stopping() && options_.on_optional_end) {
      options_.on_optional_end(process.spec.name, code, DescribeEnd(process.wait_status));
    }
    return;
  }
  if (code == 0 || process.asked_to_end) return;
  // ssh itself ends so when it is the connection that fails.
  const std::string how = process.spec.remote() && code == 255
                              ? absl::StrCat("lost the connection to ", process.spec.host)
                              : DescribeEnd(process.wait_status);
  if (process.restarts >= process.spec.max_restarts || services_deadline_) {
    Fail(process, process.restarts == 0 ? how : absl::StrCat(how, ", after ", process.restarts, " restarts"), code);
    return;
  }
  ++process.restarts;
  if (Clock::now() - process.started >= options_.good_run) process.quick_restarts = 0;
  const auto delay = options_.restart_delay * (1 << std::min(process.quick_restarts++, 4));
  options_.on_note(absl::StrCat(process.spec.name, " ended: ", how, "; starting it again in ",
                                static_cast<double>(delay.count()) / 1000, " s (", process.restarts, " of ",
                                process.spec.max_restarts, ")"));
  process.state = Process::State::kWaiting;
  process.when = Clock::now() + delay;
}

void ProcessGroup::Supervisor::Fail(Process& process, std::string how, int exit_code) {
  options_.on_note(absl::StrCat(process.spec.name, " failed: ", how, stopping() ? "" : "; stopping the other tasks"));
  result_.failures.push_back(
      {process.spec.name, std::move(how), exit_code, {process.tail.begin(), process.tail.end()}});
  if (!stopping()) Stop(SIGTERM);
}

Process* ProcessGroup::Supervisor::Find(const std::string& name) {
  const auto found =
      std::find_if(processes_.begin(), processes_.end(), [&](const Process& p) { return p.spec.name == name; });
  return found == processes_.end() ? nullptr : &*found;
}

void ProcessGroup::Supervisor::StartByName(const std::string& name) {
  Process* process = Find(name);
  if (process == nullptr || process->state != Process::State::kEnded || stopping()) return;
  process->asked_to_end = false;
  process->kill_at.reset();
  Start(*process);
}

void ProcessGroup::Supervisor::EndByName(const std::string& name) {
  Process* process = Find(name);
  if (process == nullptr || !process->alive() || process->kill_at) return;
  Signal(*process, SIGTERM);
  process->kill_at = Clock::now() + options_.grace;
}

void ProcessGroup::Supervisor::FailByName(const std::string& name, const std::string& how, int exit_code) {
  held_ = false;
  if (Process* process = Find(name); process != nullptr) Fail(*process, how, exit_code);
}

// By SIGSTOP or a debugger: others may wait for it, and people would not know why.
void ProcessGroup::Supervisor::NoteStopped(Process& process) {
  siginfo_t info = {};
  if (waitid(P_PID, static_cast<id_t>(process.pid), &info, WSTOPPED | WCONTINUED | WNOHANG) != 0 || info.si_pid == 0)
    return;
  if (info.si_code == CLD_CONTINUED) return options_.on_note(absl::StrCat(process.spec.name, " goes on"));
  options_.on_note(absl::StrCat(process.spec.name, " was stopped (", strsignal(info.si_status),
                                "); others may wait for it. 'kill -CONT ", process.pid, "' resumes it"));
}

void ProcessGroup::Supervisor::Advance(Process& process, Clock::time_point now) {
  if (process.state == Process::State::kWaiting && now >= process.when) Start(process);
  if (process.kill_at && process.alive() && now >= *process.kill_at) Signal(process, SIGKILL);
  if (process.state == Process::State::kRunning) {
    NoteStopped(process);
    siginfo_t info = {};
    if (waitid(P_PID, static_cast<id_t>(process.pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        info.si_pid == process.pid) {
      OnExit(process);
    }
  }
  if (process.state != Process::State::kDraining) return;
  if (now >= process.when) {
    kill(-process.pid, SIGKILL);
    for (bool is_error : {false, true}) {
      Stream& stream = is_error ? process.err : process.out;
      while (stream.open() && ReadStream(process, is_error)) {
      }
      stream.Close();  // what escaped from the group may hold it for ever
    }
  }
  if (!process.out.open() && !process.err.open()) Finish(process);
}

void ProcessGroup::Supervisor::AdvanceGroup(Clock::time_point now) {
  if (options_.on_tick && now >= next_tick_) {
    next_tick_ = now + options_.tick;
    options_.on_tick();
  }
  if (stopping()) {
    const bool late = now >= *stop_deadline_;
    for (Process& process : processes_) {
      if (late)
        Signal(process, SIGKILL);
      else if (process.spec.service && !process.asked_to_end && num_running(false) == 0)
        Signal(process, SIGTERM);
    }
  } else if (!options_.hold_services && !held_ && num_running(false) == 0) {
    if (!services_deadline_) services_deadline_ = now + options_.service_grace;
    if (now < *services_deadline_) return;
    Stop(SIGTERM);
    result_.signal = 0;  // this is the way it should end
  }
}

ProcessGroup::ProcessGroup(std::vector<ProcessSpec> processes, GroupOptions options)
    : supervisor_(std::make_unique<Supervisor>(std::move(processes), std::move(options))) {}
ProcessGroup::~ProcessGroup() = default;
GroupResult ProcessGroup::Run() { return supervisor_->Run(); }
void ProcessGroup::Note(absl::string_view note) { supervisor_->Note(note); }
void ProcessGroup::Stop(int signal) { supervisor_->Stop(signal); }
void ProcessGroup::ReleaseServices() { supervisor_->ReleaseServices(); }
void ProcessGroup::Start(const std::string& name) { supervisor_->StartByName(name); }
void ProcessGroup::End(const std::string& name) { supervisor_->EndByName(name); }
void ProcessGroup::Fail(const std::string& name, const std::string& how, int exit_code) {
  supervisor_->FailByName(name, how, exit_code);
}
void ProcessGroup::Hold(bool held) { supervisor_->Hold(held); }
bool ProcessGroup::stopping() const { return supervisor_->stopping(); }
int ProcessGroup::num_running(bool services) const { return supervisor_->num_running(services); }

}  // namespace millstream::launch
