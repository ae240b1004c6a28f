// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_BASE_THREAD_POLICY_H_
#define MILLSTREAM_BASE_THREAD_POLICY_H_

#include <atomic>
#include <chrono>
#include <cstdint>

// How threads wait, and who does the work that a wait was for: the policy of thread pools, links, the gRPC loop,
// executors and callers of steps. Waking a blocked thread takes about kWakeUpNanos. So
//   - a thread without work spins for a while before it blocks, but only while the core is free and where
//     work tends to come soon: SpinPolicy, CoreContention, WaitPolicy, LookWindow (nobody else pauses or yields in a
//     loop: tools/check_layers.py);
//   - a thread that brings what a step waited for lends itself to the step, where the rest of the step is usually
//     short: ThreadLoan, UsualTime.
namespace millstream {

inline constexpr int64_t kWakeUpNanos = 20'000;
// How long an idle worker of a thread pool spins: bridges the gaps between ops of a step and between steps.
inline constexpr int64_t kPoolSpinNanos = 60'000;
// For how long a step with loops may use a thread that was lent to it.
inline constexpr int64_t kLongestLoanNanos = 200'000;

// Nanoseconds of the steady clock.
inline int64_t NowNanos() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

inline void CpuPause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Notices that there are more threads than cores: then a yield takes long, and spinning would only take the core from
// whoever has work, so it is left for `pause_ns`. Thread-safe.
class CoreContention {
 public:
  explicit constexpr CoreContention(int64_t pause_ns) : pause_ns_(pause_ns) {}
  bool IsOver(int64_t now) const { return now >= until_.load(std::memory_order_relaxed); }
  // Lets others have the core. Returns the time afterwards.
  int64_t Yield();
  // A yield that ended at `now` kept the thread from running for `took_ns`.
  void Yielded(int64_t now, int64_t took_ns) {
    constexpr int64_t kOthersRan = 15'000;
    if (took_ns > kOthersRan) until_.store(now + pause_ns_, std::memory_order_relaxed);
  }

 private:
  const int64_t pause_ns_;
  std::atomic<int64_t> until_{0};
};

// The time in which a thread looks for what it waits for before it blocks. Of one thread.
class LookWindow {
 public:
  // `nanos` of zero: blocks at once. `contention` null: yields as long as the window lasts, for threads that wait for
  // work which others do on this very core.
  LookWindow(int64_t nanos, CoreContention* contention)
      : end_(nanos > 0 ? NowNanos() + nanos : 0), contention_(contention) {}
  // After a look in vain. Lets others have the core and returns true: look again; false: block.
  bool Again();

 private:
  const int64_t end_;
  CoreContention* const contention_;
};

// Looks up to `looks` times in a row, then yields, while the window lasts. True once `done()`.
template <typename Done>
bool LookFor(LookWindow window, int looks, const Done& done) {
  do {
    for (int i = 0; i < looks; ++i) {
      if (done()) return true;
      CpuPause();
    }
  } while (window.Again());
  return done();
}

// Decides how long a thread that serves a network or shared memory spins when it has nothing to do. Learns from what
// came of it: spins while work tends to come within `max_ns`, not otherwise, and not under contention. Of one thread at
// a time.
class SpinPolicy {
 public:
  explicit SpinPolicy(int64_t max_ns) : max_ns_(max_ns), budget_ns_(max_ns) {}

  void Worked(int64_t now) { last_work_ = now; }
  // True: look again, and then call this again; false: block.
  bool ShouldSpin(int64_t now) const { return now - last_work_ < budget_ns_ && contention_.IsOver(now); }
  // Between two looks: a pause, and a yield once there has been no work for 3 us.
  void Relax(int64_t now);
  CoreContention& contention() { return contention_; }
  // A block ended after `slept_ns`, with or without work.
  void Woke(int64_t now, int64_t slept_ns, bool work);
  int64_t budget_ns() const { return budget_ns_; }

 private:
  const int64_t max_ns_;
  int64_t budget_ns_;
  int64_t last_work_ = 0;
  CoreContention contention_{1'000'000};
};

// How long something usually keeps its thread, learned from one run in eight. A run during which the system gave the
// core to somebody else counts with the time of the processor that it used: who is woken by what a short run sends
// often takes its core at once, and that does not make the run long. One that waits counts in full. Thread-safe.
class UsualTime {
 public:
  // True once it is known to be less than `nanos`.
  bool IsBelow(int64_t nanos) const { return usual_.load(std::memory_order_relaxed) < nanos; }
  void Took(int64_t nanos) {
    const int64_t usual = usual_.load(std::memory_order_relaxed);
    usual_.store(usual == kUnknown ? nanos : usual + (nanos - usual) / 8, std::memory_order_relaxed);
  }

 private:
  friend class RunWatch;
  static constexpr int64_t kUnknown = INT64_MAX;
  std::atomic<int64_t> usual_{kUnknown};
};

// Measures a run from its construction to Stop(), on one thread, if it is one of those that are measured.
class RunWatch {
 public:
  explicit RunWatch(const UsualTime& usual);
  // `end`: when the run ended, if that was before now.
  void Stop(UsualTime* usual, std::chrono::steady_clock::time_point end = std::chrono::steady_clock::time_point::max());

 private:
  bool measured_;
  std::chrono::steady_clock::time_point start_;
  int64_t taken_away_ = 0, cpu_nanos_ = 0;  // of this thread, at the start
};

// Whether a caller that waits for something that others do, such as a step, should spin before it blocks: where the
// wait is usually short, and now and then to see whether that has changed. Thread-safe.
class WaitPolicy {
 public:
  static constexpr int64_t kLookNanos = 60'000;
  bool ShouldLook() const;
  void Waited(int64_t nanos);

 private:
  UsualTime usual_;
};

// While one lives, a step that waited may go on where its wait ended, on this thread, if what it does then usually
// takes less than `limit_ns`: waking another thread takes longer, or there is no core for it. For threads that bring
// values from elsewhere and hold no lock.
class ThreadLoan {
 public:
  explicit ThreadLoan(int64_t limit_ns) : outer_(limit_) { limit_ = limit_ns; }
  ~ThreadLoan() { limit_ = outer_; }
  ThreadLoan(const ThreadLoan&) = delete;
  ThreadLoan& operator=(const ThreadLoan&) = delete;
  // 0: this thread is not lent.
  static int64_t limit_ns() { return limit_; }
  // How long a loan may be on a host with so many tasks of the job: about as long as waking another thread takes. Where
  // there are more tasks than cores, another thread would only take the core from this one or from a neighbour, and
  // longer runs stay too; not very long ones, since links wait meanwhile.
  static int64_t LimitFor(int tasks_on_host);

 private:
  static thread_local int64_t limit_;
  const int64_t outer_;
};

}  // namespace millstream

#endif  // MILLSTREAM_BASE_THREAD_POLICY_H_
