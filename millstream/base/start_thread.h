// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_BASE_START_THREAD_H_
#define MILLSTREAM_BASE_START_THREAD_H_

#include <functional>
#include <thread>

#include "millstream/base/status.h"

namespace millstream {

// How many threads StartThread() lets run at a time in this process. A program asks for them: a dataset that prefetches
// has one.
inline constexpr int kMaxBackgroundThreads = 4096;

// Runs `body` on a new thread. ResourceExhausted if there are too many already, or the system has none to give; then
// `body` is not called and *thread is left as it was. REQUIRES: *thread is not joinable.
Status StartThread(std::function<void()> body, std::thread* thread);

}  // namespace millstream

#endif  // MILLSTREAM_BASE_START_THREAD_H_
