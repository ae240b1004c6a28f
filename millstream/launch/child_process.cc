// SPDX-License-Identifier: Apache-2.0
#include "millstream/launch/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <map>

#include "millstream/base/file.h"

namespace millstream::launch {
namespace {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }
  int Release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

struct Pipe {
  Fd read, write;
  static StatusOr<Pipe> Make() {
    std::array<int, 2> ends;
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return ErrnoStatus(errno, "pipe");
    Pipe pipe;
    pipe.read = Fd(ends[0]);
    pipe.write = Fd(ends[1]);
    return pipe;
  }
};

std::vector<std::string> MergedEnvironment(const ProcessSpec& spec) {
  std::map<std::string, std::string> values;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const absl::string_view text(*entry);
    const size_t equals = text.find('=');
    if (equals != absl::string_view::npos)
      values[std::string(text.substr(0, equals))] = std::string(text.substr(equals + 1));
  }
  for (const auto& [name, value] : spec.environment) values[name] = value;
  std::vector<std::string> merged;
  for (const auto& [name, value] : values) merged.push_back(absl::StrCat(name, "=", value));
  return merged;
}

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& s : strings) pointers.push_back(s.data());
  pointers.push_back(nullptr);
  return pointers;
}

// What the new process does before it is the program. Between fork() and exec(): nothing here may take memory or locks.
struct Beginning {
  pid_t parent;
  int in, out, err, failure;
  const char* folder;
  char** arguments;
  char** environment;

  [[noreturn]] void Run() const {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);  // it died before it could be asked
    struct sigaction by_default = {};
    by_default.sa_handler = SIG_DFL;
    for (int signal : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGCHLD, SIGQUIT}) sigaction(signal, &by_default, nullptr);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    const int input = in >= 0 ? in : open("/dev/null", O_RDONLY);
    const bool connected = dup2(input, 0) == 0 && dup2(out, 1) == 1 && dup2(err, 2) == 2;
    const bool there = *folder == 0 || chdir(folder) == 0;
    if (connected && there) execvpe(arguments[0], arguments, environment);
    const int error = there ? errno : -errno;
    [[maybe_unused]] const ssize_t written = write(failure, &error, sizeof(error));
    _exit(127);
  }
};

}  // namespace

StatusOr<Child> StartChild(const ProcessSpec& spec) {
  if (spec.command.empty()) return errors::InvalidArgument(spec.name, ": no command to start");
  ASSIGN_OR_RETURN(Pipe out, Pipe::Make());
  ASSIGN_OR_RETURN(Pipe err, Pipe::Make());
  ASSIGN_OR_RETURN(Pipe in, Pipe::Make());
  ASSIGN_OR_RETURN(Pipe failure, Pipe::Make());
  std::vector<std::string> command = spec.command;
  std::vector<std::string> environment = MergedEnvironment(spec);
  std::vector<char*> arguments = Pointers(command);
  std::vector<char*> variables = Pointers(environment);
  const Beginning beginning = {getpid(),
                               spec.remote() ? in.read.get() : -1,
                               out.write.get(),
                               err.write.get(),
                               failure.write.get(),
                               spec.folder.c_str(),
                               arguments.data(),
                               variables.data()};
  const pid_t pid = fork();
  if (pid < 0) return ErrnoStatus(errno, "fork");
  if (pid == 0) beginning.Run();
  setpgid(pid, pid);
  failure.write = Fd();
  int error = 0;
  ssize_t got;
  do got = read(failure.read.get(), &error, sizeof(error));
  while (got < 0 && errno == EINTR);
  if (got > 0) {
    waitpid(pid, nullptr, 0);
    return WithContext(error > 0 ? ErrnoStatus(error, spec.command[0]) : ErrnoStatus(-error, spec.folder),
                       "cannot start");
  }
  Child child;
  child.pid = pid;
  child.out = out.read.Release();
  child.err = err.read.Release();
  for (int fd : {child.out, child.err}) fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
  if (spec.remote()) {
    child.in = in.write.Release();
    fcntl(child.in, F_SETFL, fcntl(child.in, F_GETFL) | O_NONBLOCK);
    child.unsent = spec.input.substr(static_cast<size_t>(std::max<ssize_t>(0, WriteSome(child.in, spec.input))));
  }
  return child;
}

StatusOr<Captured> RunToEnd(const ProcessSpec& spec, std::chrono::steady_clock::time_point deadline) {
  ASSIGN_OR_RETURN(const Child child, StartChild(spec));
  Captured captured;
  Fd in(child.in), out(child.out), err(child.err);
  const std::array<std::pair<Fd*, std::string*>, 2> streams = {{{&out, &captured.out}, {&err, &captured.err}}};
  while (out.get() >= 0 || err.get() >= 0) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) {
      captured.exit_code = -1;
      break;
    }
    pollfd polled[2] = {{out.get(), POLLIN, 0}, {err.get(), POLLIN, 0}};
    poll(polled, 2, static_cast<int>(std::min<int64_t>(left.count(), 1000)));
    for (const auto& [fd, text] : streams) {
      char buffer[4096];
      const ssize_t got = fd->get() < 0 ? 1 : read(fd->get(), buffer, sizeof(buffer));
      if (fd->get() >= 0 && got > 0) text->append(buffer, static_cast<size_t>(got));
      if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) Fd(fd->Release());
    }
  }
  if (captured.exit_code < 0) kill(-child.pid, SIGKILL);
  int status = 0;
  while (waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (captured.exit_code == 0) captured.exit_code = ExitCodeOf(status);
  return captured;
}

int ExitCodeOf(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

std::string DescribeEnd(int wait_status) {
  if (!WIFSIGNALED(wait_status)) return absl::StrCat("exit code ", WEXITSTATUS(wait_status));
  return absl::StrCat("killed by signal ", WTERMSIG(wait_status), " (", strsignal(WTERMSIG(wait_status)), ")");
}

void LineSplitter::Add(absl::string_view bytes, const OnLine& on_line) {
  constexpr size_t kLongest = 64 << 10;
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    partial_.append(bytes.substr(0, end).data(), std::min(end, bytes.size()));
    if (end == absl::string_view::npos && partial_.size() < kLongest) return;
    on_line(partial_);
    partial_.clear();
    if (end == absl::string_view::npos) return;
    bytes.remove_prefix(end + 1);
  }
}

void LineSplitter::Finish(const OnLine& on_line) {
  if (!partial_.empty()) on_line(partial_);
  partial_.clear();
}

ssize_t WriteSome(int fd, absl::string_view bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t written = write(fd, bytes.data() + done, bytes.size() - done);
    if (written >= 0) {
      done += static_cast<size_t>(written);
    } else if (errno == EAGAIN) {
      break;
    } else if (errno != EINTR) {
      return -1;
    }
  }
  return static_cast<ssize_t>(done);
}

bool WriteAll(int fd, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written >= 0) {
      bytes.remove_prefix(static_cast<size_t>(written));
    } else if (errno == EAGAIN) {
      pollfd ready = {fd, POLLOUT, 0};
      poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

}  // namespace millstream::launch
