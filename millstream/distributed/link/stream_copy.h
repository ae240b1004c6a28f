// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_LINK_STREAM_COPY_H_
#define MILLSTREAM_DISTRIBUTED_LINK_STREAM_COPY_H_

#include <cstddef>
#include <cstdint>

namespace millstream {

// memcpy() of a piece of a transfer of `total` bytes. Destinations that no cache can hold are written past it, which
// saves reading them first.
void CopyPayload(char* to, const char* from, size_t bytes, uint64_t total);

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_LINK_STREAM_COPY_H_
