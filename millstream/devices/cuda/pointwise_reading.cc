// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/pointwise_reading.h"

namespace millstream::cuda {

bool FindReading(const Strided<2>& at, int k, int lanes, Operand* how) {
  *how = {Reading::kFull, 1};
  if (at.rank == 0) return lanes == 1;
  const int64_t inner = at.strides[k][0];
  if (at.rank == 1) {
    if (inner == 0) how->reading = Reading::kOne;
    return inner == 0 || inner == 1;
  }
  if (at.rank != 2 || at.dims[0] % lanes != 0) return false;
  const int64_t outer = at.strides[k][1];
  how->row_groups = at.dims[0] / lanes;
  if (inner == 1 && outer == at.dims[0]) return true;
  if (inner == 1 && outer == 0) {
    how->reading = Reading::kRow;
    return true;
  }
  if (inner == 0 && (outer == 1 || outer == 0)) {
    how->reading = outer == 1 ? Reading::kColumn : Reading::kOne;
    return true;
  }
  return false;
}

}  // namespace millstream::cuda
