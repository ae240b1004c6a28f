// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_BASE_SEALED_MEMORY_H_
#define MILLSTREAM_BASE_SEALED_MEMORY_H_

#include <cstdint>

#include "millstream/base/status.h"

namespace millstream {

// The size of a memory file that nobody can shrink, so that who maps it never faults. InvalidArgument for anything else
// that another process may have passed in its place.
StatusOr<uint64_t> SealedMemoryBytes(int fd);

// A descriptor of what another process of this host and user calls `descriptor`, opened with `access` (O_RDONLY,
// O_RDWR); -1 with errno if it is not to be had. It may be anything: check it. The caller closes it.
int OpenDescriptorOf(int64_t process, int64_t descriptor, int access);

}  // namespace millstream

#endif  // MILLSTREAM_BASE_SEALED_MEMORY_H_
