// SPDX-License-Identifier: Apache-2.0
#include "millstream/base/thread_policy.h"

#include <sched.h>
#include <sys/resource.h>

#include <algorithm>

#include "millstream/base/thread_pool.h"

namespace millstream {
namespace {

using Clock = std::chrono::steady_clock;

// Waits that usually take longer than this, being woken included, are not worth looking for. Very long ones count as no
// more than kLongWait, or one would hide many short ones.
constexpr int64_t kWorthLooking = WaitPolicy::kLookNanos + 2 * kWakeUpNanos;
constexpr int64_t kLongWait = 2 * kWorthLooking;
constexpr uint32_t kLookAnyway = 8;  // one wait in so many

// One in eight, at random: a fixed order could always hit the same part of a step.
bool IsChosen() {
  thread_local uint32_t state = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(&state)) | 1;
  state = state * 1664525 + 1013904223;
  return (state >> 29) == 0;
}

void ReadThread(int64_t* taken_away, int64_t* cpu_nanos) {
  rusage use = {};
  getrusage(RUSAGE_THREAD, &use);
  *taken_away = use.ru_nivcsw;
  *cpu_nanos = (use.ru_utime.tv_sec + use.ru_stime.tv_sec) * int64_t{1'000'000'000} +
               (use.ru_utime.tv_usec + use.ru_stime.tv_usec) * int64_t{1000};
}

}  // namespace

int64_t CoreContention::Yield() {
  const int64_t before = NowNanos();
  sched_yield();
  const int64_t after = NowNanos();
  Yielded(after, after - before);
  return after;
}

bool LookWindow::Again() {
  const int64_t now = end_ == 0 ? 0 : NowNanos();
  if (now >= end_ || (contention_ != nullptr && !contention_->IsOver(now))) return false;
  if (contention_ != nullptr)
    contention_->Yield();
  else
    sched_yield();
  return true;
}

void SpinPolicy::Relax(int64_t now) {
  constexpr int64_t kPauseBeforeYield = 3'000;
  CpuPause();
  if (now - last_work_ >= kPauseBeforeYield) contention_.Yield();
}

void SpinPolicy::Woke(int64_t now, int64_t slept_ns, bool work) {
  last_work_ = now;
  if (work && slept_ns < max_ns_) {
    budget_ns_ = max_ns_;  // spinning would have caught it
  } else if (slept_ns > 4 * max_ns_) {
    budget_ns_ = budget_ns_ > max_ns_ / 16 ? budget_ns_ / 2 : 0;
  }
}

RunWatch::RunWatch(const UsualTime& usual)
    : measured_(usual.usual_.load(std::memory_order_relaxed) == UsualTime::kUnknown || IsChosen()) {
  if (!measured_) return;
  ReadThread(&taken_away_, &cpu_nanos_);
  start_ = Clock::now();
}

void RunWatch::Stop(UsualTime* usual, Clock::time_point end) {
  if (!measured_) return;
  int64_t nanos = std::chrono::nanoseconds(std::min(Clock::now(), end) - start_).count();
  int64_t taken_away = 0, cpu_nanos = 0;
  ReadThread(&taken_away, &cpu_nanos);
  if (taken_away != taken_away_) nanos = std::min(nanos, cpu_nanos - cpu_nanos_);
  usual->Took(nanos);
}

bool WaitPolicy::ShouldLook() const {
  thread_local uint32_t waits = 0;
  return usual_.IsBelow(kWorthLooking) || ++waits % kLookAnyway == 0;
}

void WaitPolicy::Waited(int64_t nanos) { usual_.Took(std::min(nanos, kLongWait)); }

thread_local int64_t ThreadLoan::limit_ = 0;

int64_t ThreadLoan::LimitFor(int tasks_on_host) {
  constexpr int64_t kAmongMany = 500'000;
  static const int cores = NumCores();
  return tasks_on_host > cores ? kAmongMany : kWakeUpNanos;
}

}  // namespace millstream
