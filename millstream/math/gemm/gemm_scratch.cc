// SPDX-License-Identifier: Apache-2.0
#include "millstream/math/gemm/gemm_scratch.h"

#include <cstdlib>
#include <memory>

#include "millstream/base/logging.h"

namespace millstream::math {
namespace {

struct Free {
  void operator()(void* p) const { std::free(p); }
};

struct Buffer {
  std::unique_ptr<void, Free> data;
  size_t bytes = 0;
};

}  // namespace

void* ThreadScratch(Scratch use, size_t bytes) {
  thread_local Buffer buffers[static_cast<int>(Scratch::kCount)];
  Buffer& buffer = buffers[static_cast<int>(use)];
  if (buffer.bytes < bytes) [[unlikely]] {
    constexpr size_t kPage = 4096;
    const size_t rounded = (bytes + kPage - 1) / kPage * kPage;
    buffer.data.reset();
    buffer.data.reset(std::aligned_alloc(kPage, rounded));
    MS_CHECK(buffer.data != nullptr);
    buffer.bytes = rounded;
  }
  return buffer.data.get();
}

}  // namespace millstream::math
