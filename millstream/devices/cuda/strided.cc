// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/strided.h"

namespace millstream::cuda {

std::array<int64_t, kMaxRank> BroadcastStrides(const Shape& in, const Shape& out) {
  std::array<int64_t, kMaxRank> strides = {};
  const int missing = out.rank() - in.rank();
  int64_t stride = 1;
  for (int d = in.rank() - 1; d >= 0; --d) {
    strides[d + missing] = in.dim(d) == 1 ? 0 : stride;
    stride *= in.dim(d);
  }
  return strides;
}

}  // namespace millstream::cuda
