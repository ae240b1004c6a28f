// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_BASE_MEMORY_BUDGET_H_
#define MILLSTREAM_BASE_MEMORY_BUDGET_H_

#include <cstdint>
#include <new>
#include <stdexcept>

#include "millstream/base/status.h"

// The memory that the process may use, whoever takes it: tensors, strings, plans, messages, thread stacks.
//
// The kernel of the operating system does the counting: what the process uses is its private resident memory. Every
// thread measures that after each megabyte it takes through operator new (which this library replaces) or through the
// allocator of tensors, so nothing needs to be told when memory is given back, and the usual allocation costs one
// subtraction. An allocation of a megabyte or more is measured by itself, before it is made.
//
// Beyond the limit, allocations fail only where somebody can answer for them: in kernels, as std::bad_alloc, which the
// executor turns into ResourceExhausted with the name of the node; in planning and wherever state grows, by
// CheckMemory(). All other code (event loops, links, executors) gets its memory, and needs little.
namespace millstream {

// Default: MILLSTREAM_MAX_MEMORY_BYTES, else 90 % of what the machine, the cgroup, RLIMIT_AS and RLIMIT_DATA allow.
// Thread-safe.
void SetMemoryLimit(int64_t bytes);
int64_t MemoryLimit();

// Private resident bytes of this process. A system call or two; 0 where the system does not tell.
int64_t MeasureMemory();

// Pages that this process shares with others are not private; what it has taken of such memory itself is told here and
// counts as well.
void CountSharedMemory(int64_t bytes_more);

// ResourceExhausted if the process uses more than its limit, or would with `bytes` more. Measures.
Status CheckMemory(int64_t bytes = 0);
// What the last measurement said. One load: for loops that grow something.
bool MemoryIsExhausted();
Status MemoryExhausted();  // the error

// Counts `bytes` that the calling thread is about to take from the system. False if they are beyond the limit.
bool MayTakeMemory(int64_t bytes);

// Gives cached memory back to the system. That takes milliseconds: where it brings nothing, calls of the next moments
// (10 ms, then 20 and so on up to a second) do nothing.
void ReleaseMemory();
// What ReleaseMemory() calls, when memory runs out, before anything is refused: gives cached memory back. Must not wait
// for whoever may allocate.
void SetMemoryReleaser(void (*release)());

// While this lives, allocations of this thread fail beyond the limit (or never do, if `may_fail` is false). For code
// that leaves everything in order when operator new throws.
class AllocationsMayFail {
 public:
  explicit AllocationsMayFail(bool may_fail = true) : before_(may_fail_) { may_fail_ = may_fail; }
  ~AllocationsMayFail() { may_fail_ = before_; }
  AllocationsMayFail(const AllocationsMayFail&) = delete;
  AllocationsMayFail& operator=(const AllocationsMayFail&) = delete;

  static bool now() { return may_fail_; }

 private:
  // A plain word that is reached in one instruction, also from a library that was loaded late.
  __attribute__((tls_model("initial-exec"))) static thread_local constinit bool may_fail_;
  const bool before_;
};

// While this lives, the limit does not hold for tensors of this thread. For small ones whose makers cannot fail.
class BeyondMemoryLimit {
 public:
  BeyondMemoryLimit() : before_(now_) { now_ = true; }
  ~BeyondMemoryLimit() { now_ = before_; }
  BeyondMemoryLimit(const BeyondMemoryLimit&) = delete;
  BeyondMemoryLimit& operator=(const BeyondMemoryLimit&) = delete;

  static bool now() { return now_; }

 private:
  __attribute__((tls_model("initial-exec"))) static thread_local constinit bool now_;
  const bool before_;
};

// What a caught std::bad_alloc or std::length_error says.
Status OutOfMemory();

// Calls fn(), which returns a Status; allocations that fail in it are ResourceExhausted.
template <typename Fn>
Status CatchOutOfMemory(Fn fn) {
  try {
    return fn();
  } catch (const std::bad_alloc&) {
    return OutOfMemory();
  } catch (const std::length_error&) {
    return OutOfMemory();
  }
}

}  // namespace millstream

#endif  // MILLSTREAM_BASE_MEMORY_BUDGET_H_
