// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_STATE_SCATTER_SHAPES_H_
#define MILLSTREAM_OPS_STATE_SCATTER_SHAPES_H_

#include <algorithm>

#include "millstream/tensor/tensor.h"

namespace millstream {

// What kernels of ScatterAdd and its relatives check, on every device: updates have a row for each index, or are one
// scalar for all elements.
inline Status CheckScatterShapes(const Shape& var, const Shape& indices, const Shape& updates) {
  if (var.rank() < 1 && updates.rank() == 0) {
    return errors::InvalidArgument("params must be at least 1-D, got shape ", var.ToString());
  }
  bool fits = updates.rank() == 0;
  if (!fits && var.rank() > 0 && updates.rank() == indices.rank() + var.rank() - 1) {
    const auto lead = indices.dims(), tail = var.dims().subspan(1);
    fits = std::equal(lead.begin(), lead.end(), updates.dims().begin()) &&
           std::equal(tail.begin(), tail.end(), updates.dims().begin() + lead.size());
  }
  if (fits) return OkStatus();
  return errors::InvalidArgument(
      "Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], got updates.shape ",
      updates.ToString(), ", indices.shape ", indices.ToString(), ", params.shape ", var.ToString());
}

}  // namespace millstream

#endif  // MILLSTREAM_OPS_STATE_SCATTER_SHAPES_H_
