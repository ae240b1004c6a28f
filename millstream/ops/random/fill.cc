// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/random/fill.h"

#include "millstream/ops/elements/as_float.h"
#include "millstream/tensor/dispatch.h"

namespace millstream {
namespace {

template <typename T>
void Fill(Distribution distribution, const math::Philox& philox, T* out, int64_t n, ThreadPool* pool) {
  if (distribution == Distribution::kUniform) return math::FillUniform(philox, out, n, pool);
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    if (distribution == Distribution::kNormal) return math::FillNormal(philox, out, n, pool);
    math::FillTruncatedNormal(philox, out, n, pool);
  }
}

}  // namespace

Status FillFloats(KernelContext& ctx, Distribution distribution, const math::Philox& philox, Tensor* out) {
  const int64_t n = out->num_elements();
  if (distribution == Distribution::kUniform) {
    if (DispatchOver(Types<Half, BFloat16>{}, out->dtype(), [&](auto type) {
          Fill(distribution, philox, out->data<typename decltype(type)::type>(), n, ctx.pool());
        }))
      return OkStatus();
  }
  ASSIGN_OR_RETURN(Tensor wide, FloatFor(ctx, out));
  DispatchOver(Types<float, double>{}, wide.dtype(), [&](auto type) {
    Fill(distribution, philox, wide.data<typename decltype(type)::type>(), n, ctx.pool());
  });
  StoreFloat(ctx, wide, out);
  return OkStatus();
}

void FillFullInts(const math::Philox& philox, Tensor* out) {
  math::PhiloxSampler sampler(philox);
  const auto words = static_cast<int64_t>(out->ByteSize() / sizeof(uint32_t));  // of 64 bits the low ones first
  for (int64_t i = 0; i < words; ++i) static_cast<uint32_t*>(out->raw())[i] = sampler.Next();
}

Status CheckIntRange(const Tensor& low, const Tensor& high) {
  if (low.rank() != 0) return errors::InvalidArgument("minval must be 0-D, got shape ", low.shape().ToString());
  if (high.rank() != 0) return errors::InvalidArgument("maxval must be 0-D, got shape ", high.shape().ToString());
  Status status;
  const bool known = DispatchOver(IndexTypes{}, low.dtype(), [&](auto type) {
    using Int = typename decltype(type)::type;
    const Int from = low.scalar<Int>(), to = high.scalar<Int>();
    if (from >= to) status = errors::InvalidArgument("Need minval < maxval, got ", from, " >= ", to);
  });
  return known ? status : errors::InvalidArgument("random integers of type ", DTypeName(low.dtype()));
}

Status FillInts(KernelContext& ctx, const math::Philox& philox, const Tensor& low, const Tensor& high, Tensor* out) {
  RETURN_IF_ERROR(CheckIntRange(low, high));
  DispatchOver(IndexTypes{}, out->dtype(), [&](auto type) {
    using Int = typename decltype(type)::type;
    math::FillUniformInt(philox, low.scalar<Int>(), high.scalar<Int>(), out->data<Int>(), out->num_elements(),
                         ctx.pool());
  });
  return OkStatus();
}

}  // namespace millstream
