// SPDX-License-Identifier: Apache-2.0
#include "python/src/interrupt.h"

#include <nanobind/nanobind.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <thread>

#include "millstream/base/mutex.h"
#include "python/src/gil.h"

namespace nb = nanobind;

namespace millstream::python {
namespace {

int wake_fd = -1;
struct sigaction python_handler;
Mutex step_mu;
// What ends the wait of the main thread; empty while it does not wait. Never destroyed: the watching thread may use it
// last.
std::function<void()>& OnCancel() ABSL_EXCLUSIVE_LOCKS_REQUIRED(step_mu) {
  static auto* callback = new std::function<void()>;
  return *callback;
}

// Runs in a signal handler: only what is allowed there.
void OnInterrupt(int signal) {
  const int saved = errno;
  if (python_handler.sa_handler != SIG_DFL && python_handler.sa_handler != SIG_IGN) python_handler.sa_handler(signal);
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(wake_fd, &one, sizeof(one));
  errno = saved;
}

void Watch() {
  uint64_t count = 0;
  while (read(wake_fd, &count, sizeof(count)) == sizeof(count)) {
    MutexLock lock(step_mu);
    if (OnCancel()) OnCancel()();
  }
}

bool Install() {
  nb::module_ signal = nb::module_::import_("signal");
  if (!signal.attr("getsignal")(SIGINT).is(signal.attr("default_int_handler"))) return false;
  if (sigaction(SIGINT, nullptr, &python_handler) != 0 || (python_handler.sa_flags & SA_SIGINFO) != 0) return false;
  wake_fd = eventfd(0, EFD_CLOEXEC);
  if (wake_fd < 0) return false;
  std::thread(Watch).detach();  // lives as long as the process
  struct sigaction ours = python_handler;
  ours.sa_handler = OnInterrupt;
  return sigaction(SIGINT, &ours, nullptr) == 0;
}

}  // namespace

Interruptible::Interruptible(Cancellation* step)
    : Interruptible([step] { step->StartCancel(errors::Cancelled("Interrupted")); }) {}

Interruptible::Interruptible(std::function<void()> give_up) {
  if (!IsMainThread()) return;
  static const bool installed = Install();
  if (!installed) return;
  MutexLock lock(step_mu);
  previous_ = std::move(OnCancel());
  OnCancel() = std::move(give_up);
  registered_ = true;
}

Interruptible::~Interruptible() {
  if (!registered_) return;
  MutexLock lock(step_mu);
  OnCancel() = std::move(previous_);
}

}  // namespace millstream::python
