// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_BASE_CORE_PLACEMENT_H_
#define MILLSTREAM_BASE_CORE_PLACEMENT_H_

#include <sched.h>

namespace millstream {

// The core that this thread runs on right now, or -1.
inline int CurrentCore() { return sched_getcpu(); }

// Keeps the calling thread off one core for as long as it lives, if there is another one that the thread may use. A
// system that packs threads onto few cores, as virtual machines' do, wakes a thread on the core of its waker even
// where that is busy and others are idle. Somebody else's change of the thread's cores in the meantime stays.
class OffCore {
 public:
  // Does nothing for a negative `core`.
  explicit OffCore(int core);
  ~OffCore();
  OffCore(const OffCore&) = delete;
  OffCore& operator=(const OffCore&) = delete;

 private:
  bool active_ = false;
  cpu_set_t before_, narrowed_;
};

}  // namespace millstream

#endif  // MILLSTREAM_BASE_CORE_PLACEMENT_H_
