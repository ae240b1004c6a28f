// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DEVICES_SHADOW_STREAM_H_
#define MILLSTREAM_DEVICES_SHADOW_STREAM_H_

#include <deque>
#include <functional>
#include <thread>

#include "millstream/base/mutex.h"
#include "millstream/framework/device.h"

namespace millstream::shadow {

// A thread that does what it was given in order, later than its caller would like: now and then it sleeps, so that
// whoever does not wait reads what is not there yet. Thread-safe.
class LateStream final : public Stream {
 public:
  // Before anything else. ResourceExhausted if there is no thread to be had.
  Status Start();
  ~LateStream() override;  // does all that is left. REQUIRES: not on the stream's thread

  void ThenCall(std::function<void()> fn) override;
  // REQUIRES: not called on the stream's thread.
  Status Wait() override;

 private:
  void Main();

  Mutex mu_;
  CondVar changed_;
  std::deque<std::function<void()>> work_ ABSL_GUARDED_BY(mu_);
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace millstream::shadow

#endif  // MILLSTREAM_DEVICES_SHADOW_STREAM_H_
