// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_BASE_NOTIFICATION_H_
#define MILLSTREAM_BASE_NOTIFICATION_H_

#include <chrono>

#include "millstream/base/mutex.h"

namespace millstream {

// A one-shot event.
class Notification {
 public:
  void Notify() {
    MutexLock lock(mu_);
    notified_ = true;
    cv_.NotifyAll();  // under the lock: the waiter may destroy this object as soon as it sees the flag
  }
  bool HasBeenNotified() const {
    MutexLock lock(mu_);
    return notified_;
  }
  void Wait() {
    MutexLock lock(mu_);
    while (!notified_) cv_.Wait(mu_);
  }
  // False if the deadline passed first.
  bool WaitUntil(std::chrono::steady_clock::time_point deadline) {
    MutexLock lock(mu_);
    while (!notified_) {
      if (!cv_.WaitUntil(mu_, deadline)) return notified_;
    }
    return true;
  }

 private:
  mutable Mutex mu_;
  CondVar cv_;
  bool notified_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace millstream

#endif  // MILLSTREAM_BASE_NOTIFICATION_H_
