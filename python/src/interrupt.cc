// SPDX-License-Identifier: Apache-2.0
#include "python/src/interrupt.h"

#include <nanobind/nanobind.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <thread>
#include <vector>

#include "millstream/base/mutex.h"
#include "python/src/exit_deadline.h"
#include "python/src/gil.h"

namespace nb = nanobind;

namespace millstream::python {
namespace {

constexpr auto kStepGrace = std::chrono::seconds(1);
constexpr auto kLookAgain = std::chrono::milliseconds(5);

int wake_fd = -1;
std::array<struct sigaction, NSIG> python_handlers;
pthread_t main_thread;

// What the main thread waits in. Never destroyed: the watching thread may use it last.
struct Wait {
  Mutex mu;
  std::function<void()> cancel ABSL_GUARDED_BY(mu);  // empty while it does not wait
  bool is_step ABSL_GUARDED_BY(mu) = false;
  uint64_t number ABSL_GUARDED_BY(mu) = 0;  // another one for each wait
  std::vector<std::function<void()>> on_stuck ABSL_GUARDED_BY(mu);
  static Wait& Global() {
    static auto* const wait = new Wait;
    return *wait;
  }
};

// Runs in a signal handler: only what is allowed there.
void OnInterrupt(int signal) {
  const int saved = errno;
  const auto python_handler = python_handlers[static_cast<size_t>(signal)].sa_handler;
  if (python_handler != SIG_DFL && python_handler != SIG_IGN) python_handler(signal);
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(wake_fd, &one, sizeof(one));
  errno = saved;
}

// True if the main thread is still in wait `number` after the grace.
bool StillWaits(uint64_t number) {
  Wait& wait = Wait::Global();
  const auto deadline = std::chrono::steady_clock::now() + kStepGrace;
  while (std::chrono::steady_clock::now() < deadline) {
    {
      MutexLock lock(wait.mu);
      if (wait.number != number) return false;
    }
    std::this_thread::sleep_for(kLookAgain);
  }
  return true;
}

void CancelWait() {
  Wait& wait = Wait::Global();
  uint64_t number = 0;
  bool is_step = false;
  std::vector<std::function<void()>> on_stuck;
  {
    MutexLock lock(wait.mu);
    if (!wait.cancel || ExitWasJustHeld()) return;
    number = wait.number;
    is_step = wait.is_step;
    on_stuck = wait.on_stuck;
  }
  const bool in_cluster = !on_stuck.empty();
  if (is_step && in_cluster && !StillWaits(number)) return;
  {
    MutexLock lock(wait.mu);
    if (wait.number == number && wait.cancel) wait.cancel();
  }
  if (!in_cluster || !StillWaits(number)) return;
  for (const auto& end_waits : on_stuck) end_waits();
}

void WatchSignals() {
  uint64_t count = 0;
  while (read(wake_fd, &count, sizeof(count)) == sizeof(count)) CancelWait();
}

bool StartWatching() {
  wake_fd = eventfd(0, EFD_CLOEXEC);
  if (wake_fd < 0) return false;
  main_thread = pthread_self();
  std::thread(WatchSignals).detach();  // lives as long as the process
  return true;
}

bool Wrap(int number) {
  static const bool watching = StartWatching();
  struct sigaction& python_handler = python_handlers[static_cast<size_t>(number)];
  if (!watching || sigaction(number, nullptr, &python_handler) != 0 || (python_handler.sa_flags & SA_SIGINFO) != 0)
    return false;
  struct sigaction ours = python_handler;
  ours.sa_handler = OnInterrupt;
  return sigaction(number, &ours, nullptr) == 0;
}

bool WrapInterrupt() {
  nb::module_ signal = nb::module_::import_("signal");
  return signal.attr("getsignal")(SIGINT).is(signal.attr("default_int_handler")) && Wrap(SIGINT);
}

bool& AnySignalIsWatched() {
  static bool any = false;  // used with the GIL held
  return any;
}

}  // namespace

Interruptible::Interruptible(Cancellation* step)
    : Interruptible([step] { step->StartCancel(errors::Cancelled("Interrupted")); }, /*is_step=*/true) {}

Interruptible::Interruptible(std::function<void()> give_up) : Interruptible(std::move(give_up), /*is_step=*/false) {}

Interruptible::Interruptible(std::function<void()> give_up, bool is_step) {
  if (!IsMainThread()) return;
  static const bool installed = WrapInterrupt();
  if (!installed && !AnySignalIsWatched()) return;
  Wait& wait = Wait::Global();
  MutexLock lock(wait.mu);
  previous_ = std::move(wait.cancel);
  previous_is_step_ = wait.is_step;
  wait.cancel = std::move(give_up);
  wait.is_step = is_step;
  ++wait.number;
  registered_ = true;
}

Interruptible::~Interruptible() {
  if (!registered_) return;
  Wait& wait = Wait::Global();
  MutexLock lock(wait.mu);
  wait.cancel = std::move(previous_);
  wait.is_step = previous_is_step_;
  ++wait.number;
}

void WatchSignal(int number) {
  if (Wrap(number)) AnySignalIsWatched() = true;
}

void OnStuckStep(std::function<void()> end_waits) {
  Wait& wait = Wait::Global();
  MutexLock lock(wait.mu);
  wait.on_stuck.push_back(std::move(end_waits));
}

bool InterruptMainThread() {
  struct sigaction handler = {};
  if (wake_fd < 0 || sigaction(SIGTERM, nullptr, &handler) != 0) return false;
  if ((handler.sa_flags & SA_SIGINFO) == 0 && (handler.sa_handler == SIG_DFL || handler.sa_handler == SIG_IGN))
    return false;
  return pthread_kill(main_thread, SIGTERM) == 0;  // NOLINT(bugprone-bad-signal-to-kill-thread): it has a handler
}

}  // namespace millstream::python
