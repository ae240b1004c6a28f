// SPDX-License-Identifier: Apache-2.0
#include "millstream/base/start_thread.h"

#include <atomic>
#include <system_error>

namespace millstream {
namespace {

constinit std::atomic<int> running{0};

Status NoThread(absl::string_view why) {
  running.fetch_sub(1, std::memory_order_relaxed);
  return errors::ResourceExhausted("Cannot start a thread: ", why);
}

}  // namespace

Status StartThread(std::function<void()> body, std::thread* thread) {
  if (running.fetch_add(1, std::memory_order_relaxed) >= kMaxBackgroundThreads) {
    return NoThread(absl::StrCat(kMaxBackgroundThreads, " are running in this process"));
  }
  try {
    *thread = std::thread([body = std::move(body)]() mutable {
      body();
      body = nullptr;
      running.fetch_sub(1, std::memory_order_relaxed);
    });
  } catch (const std::system_error& error) {
    return NoThread(error.what());
  }
  return OkStatus();
}

}  // namespace millstream
