// SPDX-License-Identifier: Apache-2.0
#include "millstream/runtime/usual_time.h"

#include <sys/resource.h>

#include <algorithm>

namespace millstream {
namespace {

using Clock = std::chrono::steady_clock;

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

}  // namespace millstream
