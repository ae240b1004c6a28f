// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_FRAMEWORK_OP_TRAITS_H_
#define MILLSTREAM_FRAMEWORK_OP_TRAITS_H_

#include <cstdint>

namespace millstream {

// What executors, placer and rewrites ask of an op; declared where the op is defined (op.h), so that none of them has
// to know ops by name. A set of bits.
enum class OpTrait : uint32_t {
  kUpdates = 1 << 0,   // writes a variable or another resource that other nodes may read in the same step
  kMayBlock = 1 << 1,  // its kernel may hold its thread for long
};

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_OP_TRAITS_H_
