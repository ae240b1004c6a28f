// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_STUCK_STEPS_H_
#define MILLSTREAM_DISTRIBUTED_STUCK_STEPS_H_

#include <chrono>
#include <map>
#include <string>
#include <thread>

#include "millstream/base/notification.h"
#include "millstream/distributed/master/master.h"
#include "millstream/distributed/server_options.h"

namespace millstream {

// Says which tasks of the cluster do not answer while a step of this task's master takes long: in synchronous training
// every step waits for other workers, which the step itself does not know. Looks from time to time, so steps pay
// nothing.
class StuckSteps {
 public:
  struct Options {
    std::chrono::milliseconds first{10'000};  // that a step may take before anybody asks
    std::chrono::milliseconds again{30'000};
  };
  // All are borrowed.
  StuckSteps(const ServerOptions* server, Master* master) : StuckSteps(server, master, Options()) {}
  StuckSteps(const ServerOptions* server, Master* master, Options options);
  ~StuckSteps() { Stop(); }
  void Stop();

 private:
  void Watch();
  std::string Silent() const;  // "/job:worker/replica:0/task:1 at localhost:2223 (does not answer)"; "" if all answer

  const ServerOptions* const server_;
  Master* const master_;
  const Options options_;
  Notification quit_;
  std::thread thread_;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_STUCK_STEPS_H_
