// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TESTS_CHAOS_THREADS_VIRTUAL_TIME_H_
#define MILLSTREAM_TESTS_CHAOS_THREADS_VIRTUAL_TIME_H_

#include <cstdint>

namespace millstream::chaos {

// Time for a program of many threads in which waiting costs nothing. The steady clock of the whole process runs as
// always while any thread runs; as soon as all threads sleep it jumps just beyond the next deadline of those who wait.
// A step that waits 30 s for a lost peer so takes some milliseconds, and a machine under load makes no deadline pass
// early by more than the work itself takes.
//
// The program needs no seam for it: this file defines the functions of the C library by which threads read the clock
// and wait (clock_gettime, pthread_cond_clockwait, epoll_wait, poll, nanosleep), in front of the library's own. Whether
// all threads sleep is read from /proc/self/task, which knows of a wake-up at once. The system clock stays as it is.
class VirtualTime {
 public:
  // Before other threads are started: they inherit the signal mask.
  static void Start();

  static int64_t now_ns();
  // How much time was jumped over, and how often.
  static int64_t skipped_ns();
  static uint64_t jumps();
  // All threads sleep, and none of them ever wakes by itself: seconds for which that has been so (0: it is not).
  static double deadlocked_s();
};

}  // namespace millstream::chaos

#endif  // MILLSTREAM_TESTS_CHAOS_THREADS_VIRTUAL_TIME_H_
