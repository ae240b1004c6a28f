// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_IO_CHUNKED_SUM_H_
#define MILLSTREAM_IO_CHUNKED_SUM_H_

#include "absl/functional/function_ref.h"
#include "millstream/base/status.h"
#include "millstream/base/thread_pool.h"

namespace millstream {

// Moves `bytes` bytes at `data` from or to a file and returns their CRC-32C. move(at, n) moves n bytes that begin at
// data + at; it is called for chunks that are still in the cache when they are summed up, on several threads at once
// if there is a `pool`. The first error ends it.
StatusOr<uint32_t> MoveAndSum(const char* data, size_t bytes, ThreadPool* pool,
                              absl::FunctionRef<Status(size_t at, size_t n)> move);

}  // namespace millstream

#endif  // MILLSTREAM_IO_CHUNKED_SUM_H_
