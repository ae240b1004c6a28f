// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_ELEMENTS_TESTING_THREADED_DEVICE_H_
#define MILLSTREAM_OPS_ELEMENTS_TESTING_THREADED_DEVICE_H_

#include <memory>
#include <vector>

#include "millstream/base/thread_pool.h"
#include "millstream/framework/cpu_device.h"

namespace millstream {

// A CPU device with threads of its own.
class ThreadedDevice {
 public:
  explicit ThreadedDevice(int threads)
      : pool_(threads), devices_(MakeCpuDevices("/job:localhost/replica:0/task:0", 1, 1, &pool_)) {}
  Device* get() const { return devices_[0].get(); }

 private:
  ThreadPool pool_;
  const std::vector<std::unique_ptr<Device>> devices_;
};

}  // namespace millstream

#endif  // MILLSTREAM_OPS_ELEMENTS_TESTING_THREADED_DEVICE_H_
