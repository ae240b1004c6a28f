// SPDX-License-Identifier: Apache-2.0
#include "millstream/base/stack_guard.h"

#include <pthread.h>

#include <cstddef>

namespace millstream {
namespace {

constexpr size_t kUnknownSize = size_t{1} << 20;

// Below this address the thread's stack is low. Stacks grow downwards.
const char* FindLowMark(const char* here) {
  pthread_attr_t attributes;
  void* lowest = nullptr;
  size_t size = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return here - kUnknownSize / 2;
  const bool known = pthread_attr_getstack(&attributes, &lowest, &size) == 0 && lowest != nullptr;
  pthread_attr_destroy(&attributes);
  return known ? static_cast<const char*>(lowest) + size / 4 : here - kUnknownSize / 2;
}

__attribute__((tls_model("initial-exec"))) thread_local constinit const char* low_mark = nullptr;

}  // namespace

bool StackIsLow() {
  const char* const here = static_cast<const char*>(__builtin_frame_address(0));
  if (low_mark == nullptr) [[unlikely]]
    low_mark = FindLowMark(here);
  return here < low_mark;
}

Status NestedTooDeeply(absl::string_view what) {
  return errors::ResourceExhausted("The program nests ", what, " more deeply than a thread's stack allows");
}

}  // namespace millstream
