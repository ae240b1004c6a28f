// SPDX-License-Identifier: Apache-2.0
#include "tests/chaos/threads/virtual_time.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <thread>

namespace millstream::chaos {
namespace {

constexpr int kWakeSignal = SIGURG;  // ignored by default, and blocked but for the time of a wait
constexpr int64_t kNever = INT64_MAX;
constexpr long kLookEvery = 50'000;  // ns of real time
// A jump goes this much beyond the next deadline, so that those that are close to each other take one: no wait ends
// early, and late ones are what a busy machine makes of them, too.
constexpr int64_t kLateness = 50'000'000;  // ns

int64_t RealNanos() {
  timespec now;
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

int64_t NanosOf(const timespec& t) { return t.tv_sec * 1'000'000'000LL + t.tv_nsec; }

timespec SpecOf(int64_t nanos) {
  return {static_cast<time_t>(nanos / 1'000'000'000), static_cast<long>(nanos % 1'000'000'000)};
}

void RealSleep(long nanos) {
  const timespec time = {0, nanos};
  syscall(SYS_nanosleep, &time, nullptr);
}

template <typename F>
F* Original(const char* name, const char* version) {
  void* function = dlvsym(RTLD_NEXT, name, version);
  if (function == nullptr) abort();
  return reinterpret_cast<F*>(function);
}

// A thread that waits until a time.
struct Sleeper {
  int64_t deadline;
  pthread_cond_t* condition;  // null: it is woken by the signal
  pid_t thread;
};

// All that is shared. Never destroyed: threads may outlive main().
struct Clock {
  std::atomic<bool> running{false};
  std::atomic<int64_t> skipped{0};
  std::atomic<uint64_t> jumps{0};
  std::atomic<int64_t> deadlocked_since{0};
  // The library's own lock, not a Mutex: nothing here may come back to this file.
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  std::multimap<int64_t, const Sleeper*> sleepers;  // under `lock`, by deadline
};
Clock& clock_of_process() {
  static auto* const clock = new Clock;
  return *clock;
}

class Locked {
 public:
  Locked() { pthread_mutex_lock(&clock_of_process().lock); }
  ~Locked() { pthread_mutex_unlock(&clock_of_process().lock); }
};

// Registers a wait for as long as it lives.
class Waiting {
 public:
  Waiting(int64_t deadline, pthread_cond_t* condition)
      : sleeper_{deadline, condition, static_cast<pid_t>(syscall(SYS_gettid))} {
    const Locked locked;
    place_ = clock_of_process().sleepers.emplace(deadline, &sleeper_);
  }
  ~Waiting() {
    const Locked locked;
    clock_of_process().sleepers.erase(place_);
  }

 private:
  const Sleeper sleeper_;
  std::multimap<int64_t, const Sleeper*>::iterator place_;
};

// Whose wait is over is woken. Returns the next deadline.
int64_t WakeDue(int64_t now) {
  Clock& clock = clock_of_process();
  for (const auto& [deadline, sleeper] : clock.sleepers) {
    if (deadline > now) return deadline;
    if (sleeper->condition != nullptr)
      pthread_cond_broadcast(sleeper->condition);
    else
      syscall(SYS_tgkill, getpid(), sleeper->thread, kWakeSignal);
  }
  return kNever;
}

// The threads of this process, looked at from one of them.
class Threads {
 public:
  // True if every other thread slept, and none of them ran, from the beginning to the end of this call.
  bool AllSleep() {
    List();
    std::map<pid_t, std::string> before;
    for (const auto& [thread, files] : files_) {
      if (!Sleeps(files.state)) return false;
      before[thread] = Read(files.runs);
    }
    return std::all_of(files_.begin(), files_.end(), [&](const auto& entry) {
      return Sleeps(entry.second.state) && Read(entry.second.runs) == before[entry.first];
    });
  }

 private:
  struct Files {
    int state, runs;
  };

  void List() {
    std::set<pid_t> seen;
    DIR* folder = opendir("/proc/self/task");
    while (const dirent* entry = readdir(folder)) {
      const pid_t thread = atoi(entry->d_name);
      if (thread > 0 && thread != own_) seen.insert(thread);
    }
    closedir(folder);
    std::erase_if(files_, [&](const auto& entry) {
      if (seen.contains(entry.first)) return false;
      close(entry.second.state);
      close(entry.second.runs);
      return true;
    });
    for (const pid_t thread : seen) {
      if (files_.contains(thread)) continue;
      const std::string name = "/proc/self/task/" + std::to_string(thread);
      files_[thread] = {open((name + "/stat").c_str(), O_RDONLY | O_CLOEXEC),
                        open((name + "/schedstat").c_str(), O_RDONLY | O_CLOEXEC)};
    }
  }
  static std::string Read(int file) {
    char text[512];
    const ssize_t size = pread(file, text, sizeof(text), 0);
    return size <= 0 ? std::string() : std::string(text, static_cast<size_t>(size));
  }
  // A thread that has just ended sleeps, too.
  static bool Sleeps(int file) {
    const std::string text = Read(file);
    const size_t at = text.rfind(')');
    return text.empty() || at == std::string::npos || at + 2 >= text.size() || text[at + 2] == 'S' ||
           text[at + 2] == 'X' || text[at + 2] == 'Z';
  }

  const pid_t own_ = static_cast<pid_t>(syscall(SYS_gettid));
  std::map<pid_t, Files> files_;
};

void RunClock() {
  Clock& clock = clock_of_process();
  Threads threads;
  for (;;) {
    RealSleep(kLookEvery);
    int64_t next = 0;
    {
      const Locked locked;
      next = WakeDue(VirtualTime::now_ns());
    }
    if (!threads.AllSleep()) {
      clock.deadlocked_since = 0;
      continue;
    }
    const Locked locked;
    next = WakeDue(VirtualTime::now_ns());
    if (next == kNever) {
      if (clock.deadlocked_since == 0) clock.deadlocked_since = RealNanos();
      continue;
    }
    const int64_t ahead = next + kLateness - VirtualTime::now_ns();
    if (ahead <= kLateness) continue;
    clock.skipped += ahead;
    ++clock.jumps;
    WakeDue(next + kLateness);
  }
}

// How long a wait until `deadline` takes by the real clock, in ms, from now.
int RealMillis(int64_t deadline) {
  if (deadline == kNever) return -1;
  const int64_t left = deadline - VirtualTime::now_ns();
  return static_cast<int>(std::clamp<int64_t>((left + 999'999) / 1'000'000, 0, 1'000'000'000));
}

int64_t DeadlineAfter(int timeout_ms) {
  return timeout_ms < 0 ? kNever : VirtualTime::now_ns() + int64_t{timeout_ms} * 1'000'000;
}

// Calls `wait` with the time that is left and the mask to wait under, until it has a result or the deadline has passed.
template <typename F>
int WaitInterruptibly(int64_t deadline, const F& wait) {
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  sigdelset(&mask, kWakeSignal);
  const Waiting waiting(deadline, nullptr);
  for (;;) {
    const int result = wait(RealMillis(deadline), &mask);
    if (result != 0 && !(result < 0 && errno == EINTR)) return result;
    if (deadline != kNever && VirtualTime::now_ns() >= deadline) return 0;
    // Some other signal is the caller's to see.
    if (result < 0 && deadline == kNever) return result;
  }
}

}  // namespace

void VirtualTime::Start() {
  struct sigaction nothing = {};
  nothing.sa_handler = [](int) {};
  sigaction(kWakeSignal, &nothing, nullptr);
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, kWakeSignal);
  pthread_sigmask(SIG_BLOCK, &mask, nullptr);
  clock_of_process().running = true;
  std::thread(RunClock).detach();
}

int64_t VirtualTime::now_ns() { return RealNanos() + clock_of_process().skipped.load(); }
int64_t VirtualTime::skipped_ns() { return clock_of_process().skipped.load(); }
uint64_t VirtualTime::jumps() { return clock_of_process().jumps.load(); }
double VirtualTime::deadlocked_s() {
  const int64_t since = clock_of_process().deadlocked_since.load();
  return since == 0 ? 0 : static_cast<double>(RealNanos() - since) / 1e9;
}

}  // namespace millstream::chaos

// The functions that take the place of the C library's.
using millstream::chaos::VirtualTime;

extern "C" {

int clock_gettime(clockid_t id, timespec* time) noexcept {
  const long result = syscall(SYS_clock_gettime, id, time);
  if (result == 0 && id == CLOCK_MONOTONIC) *time = millstream::chaos::SpecOf(VirtualTime::now_ns());
  return static_cast<int>(result);
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t id, const timespec* until) {
  using millstream::chaos::Original;
  static auto* const original = Original<decltype(pthread_cond_clockwait)>("pthread_cond_clockwait", "GLIBC_2.30");
  if (id != CLOCK_MONOTONIC) return original(condition, mutex, id, until);
  const int64_t deadline = millstream::chaos::NanosOf(*until);
  const millstream::chaos::Waiting waiting(deadline, condition);
  const timespec real = millstream::chaos::SpecOf(std::max<int64_t>(0, deadline - VirtualTime::skipped_ns()));
  return original(condition, mutex, id, &real);
}

int epoll_wait(int set, epoll_event* events, int most, int timeout_ms) {
  const auto wait = [&](int left_ms, const sigset_t* mask) {
    return static_cast<int>(syscall(SYS_epoll_pwait, set, events, most, left_ms, mask, _NSIG / 8));
  };
  if (timeout_ms <= 0) return wait(timeout_ms, nullptr);
  return millstream::chaos::WaitInterruptibly(millstream::chaos::DeadlineAfter(timeout_ms), wait);
}

int poll(pollfd* files, nfds_t count, int timeout_ms) {
  const auto wait = [&](int left_ms, const sigset_t* mask) {
    timespec left = millstream::chaos::SpecOf(int64_t{left_ms} * 1'000'000);
    return static_cast<int>(syscall(SYS_ppoll, files, count, left_ms < 0 ? nullptr : &left, mask, _NSIG / 8));
  };
  if (timeout_ms <= 0) return wait(timeout_ms, nullptr);
  return millstream::chaos::WaitInterruptibly(millstream::chaos::DeadlineAfter(timeout_ms), wait);
}

int nanosleep(const timespec* time, timespec* /*left*/) {
  const int64_t deadline = VirtualTime::now_ns() + millstream::chaos::NanosOf(*time);
  while (VirtualTime::now_ns() < deadline) {
    millstream::chaos::WaitInterruptibly(deadline, [&](int, const sigset_t* mask) {
      timespec left = millstream::chaos::SpecOf(std::max<int64_t>(0, deadline - VirtualTime::now_ns()));
      return static_cast<int>(syscall(SYS_ppoll, nullptr, 0, &left, mask, _NSIG / 8));
    });
  }
  return 0;
}

int clock_nanosleep(clockid_t id, int flags, const timespec* time, timespec* left) {
  if (id != CLOCK_MONOTONIC) return static_cast<int>(syscall(SYS_clock_nanosleep, id, flags, time, left));
  timespec span = *time;
  if ((flags & TIMER_ABSTIME) != 0)
    span = millstream::chaos::SpecOf(std::max<int64_t>(0, millstream::chaos::NanosOf(*time) - VirtualTime::now_ns()));
  return nanosleep(&span, left);
}

}  // extern "C"
