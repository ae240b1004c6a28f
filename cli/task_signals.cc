// SPDX-License-Identifier: Apache-2.0
#include "cli/task_signals.h"

#include <unistd.h>

#include <atomic>
#include <cstring>

#include "millstream/base/logging.h"

namespace millstream::cli {

TaskSignals::TaskSignals() {
  sigemptyset(&set_);
  sigaddset(&set_, SIGTERM);
  sigaddset(&set_, SIGINT);
  sigset_t blocked = set_;
  sigaddset(&blocked, SIGUSR2);  // wakes the thread of a SignalWatch
  pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

std::string AwaitEnd(Server& server, const TaskSignals& signals) {
  std::atomic<bool> signalled{false};
  std::thread joiner([&] {
    server.Join();
    if (!signalled.exchange(true)) kill(getpid(), SIGTERM);  // wakes sigwait() below
  });
  int signal = 0;
  sigwait(&signals.set(), &signal);
  const bool job_ended = signalled.exchange(true);
  pthread_sigmask(SIG_UNBLOCK, &signals.set(), nullptr);
  if (!job_ended) server.EndJob(strsignal(signal));
  joiner.join();
  return job_ended ? "the job has ended" : strsignal(signal);
}

SignalWatch::SignalWatch(const TaskSignals& signals, std::function<void(const char* name)> on_signal)
    : thread_([set = signals.set(), on_signal = std::move(on_signal)]() mutable {
        sigaddset(&set, SIGUSR2);
        int signal = 0;
        sigwait(&set, &signal);
        if (signal == SIGUSR2) return;
        on_signal(strsignal(signal));
        sigwait(&set, &signal);
        if (signal != SIGUSR2) _exit(128 + signal);
      }) {}

EndLimit::EndLimit(std::chrono::seconds limit)
    : thread_([this, limit] {
        if (ended_.WaitUntil(std::chrono::steady_clock::now() + limit)) return;
        LogError(absl::StrCat("did not exit within ", limit.count(), " s of the stop request: exiting now"));
        _exit(1);
      }) {}

EndLimit::~EndLimit() {
  ended_.Notify();
  thread_.join();
}

SignalWatch::~SignalWatch() {
  pthread_kill(thread_.native_handle(), SIGUSR2);
  thread_.join();
}

}  // namespace millstream::cli
