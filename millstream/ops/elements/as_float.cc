// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/elements/as_float.h"

#include "millstream/ops/elements/narrow.h"

namespace millstream {
namespace {
constexpr double kCost = 0.3;
}

StatusOr<Tensor> AsFloat(KernelContext& ctx, const Tensor& t) {
  if (!IsNarrow(t.dtype())) return t;
  ASSIGN_OR_RETURN(Tensor wide, ctx.AllocateTemp(DType::kFloat, t.shape()));
  const auto* from = static_cast<const uint16_t*>(t.raw());
  float* to = wide.data<float>();
  ctx.ParallelFor(
      t.num_elements(), kCost,
      [&](int64_t begin, int64_t end) { WidenToFloat(t.dtype(), from + begin, to + begin, end - begin); }, 64);
  return wide;
}

StatusOr<Tensor> FloatFor(KernelContext& ctx, Tensor* out) {
  if (!IsNarrow(out->dtype())) return *out;
  return ctx.AllocateTemp(DType::kFloat, out->shape());
}

void StoreFloat(KernelContext& ctx, const Tensor& wide, Tensor* out) {
  if (!IsNarrow(out->dtype())) return;
  const float* from = wide.data<float>();
  auto* to = static_cast<uint16_t*>(out->raw());
  ctx.ParallelFor(
      out->num_elements(), kCost,
      [&](int64_t begin, int64_t end) { NarrowFromFloat(out->dtype(), from + begin, to + begin, end - begin); }, 64);
}

}  // namespace millstream
