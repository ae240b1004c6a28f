// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/resources/join_tensors.h"

#include <algorithm>
#include <cstring>

#include "millstream/tensor/dispatch.h"

namespace millstream {

void JoinTensors(KernelContext& ctx, const std::vector<Tensor>& values, Tensor* out) {
  std::vector<int64_t> begins(values.size());
  int64_t total = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    begins[i] = total;
    total += values[i].num_elements();
  }
  if (total == 0) return;
  if (!IsPlainBytes(out->dtype())) {
    DispatchObjectType(out->dtype(), [&](auto type) {
      using T = typename decltype(type)::type;
      for (size_t i = 0; i < values.size(); ++i) {
        std::copy_n(values[i].data<T>(), values[i].num_elements(), out->data<T>() + begins[i]);
      }
    });
    return;
  }
  const size_t size = DTypeSize(out->dtype());
  const double cost = 0.1 * static_cast<double>(out->ByteSize()) / static_cast<double>(values.size());
  ctx.ParallelFor(static_cast<int64_t>(values.size()), cost, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      std::memcpy(static_cast<char*>(out->raw()) + static_cast<size_t>(begins[i]) * size, values[i].raw(),
                  values[i].ByteSize());
    }
  });
}

}  // namespace millstream
