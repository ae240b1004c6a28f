// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DEVICES_CUDA_COPY_TYPES_CUH_
#define MILLSTREAM_DEVICES_CUDA_COPY_TYPES_CUH_

#include <cstdint>
#include <type_traits>

namespace millstream::cuda {

// Calls fn(std::type_identity<U>) with a plain type of `bytes` (1, 2, 4, 8 or 16): what is only moved needs no more
// instances of device code than there are sizes.
template <typename Fn>
void WithUnit(int bytes, const Fn& fn) {
  switch (bytes) {
    case 1:
      return fn(std::type_identity<uint8_t>{});
    case 2:
      return fn(std::type_identity<uint16_t>{});
    case 4:
      return fn(std::type_identity<uint32_t>{});
    case 8:
      return fn(std::type_identity<uint2>{});
    default:
      return fn(std::type_identity<uint4>{});
  }
}

}  // namespace millstream::cuda

#endif  // MILLSTREAM_DEVICES_CUDA_COPY_TYPES_CUH_
