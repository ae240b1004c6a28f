// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/elements/product.h"

#include <algorithm>

#include "millstream/math/gemm/gemm_generic.h"
#include "millstream/ops/elements/complex_product.h"
#include "millstream/ops/elements/narrow.h"
#include "millstream/tensor/dispatch.h"

namespace millstream {
namespace {

template <typename T>
math::GemmArgs<T> MakeArgs(const T* a, const T* b, const ProductArgs& args, T* c) {
  math::GemmArgs<T> g;
  g.m = args.m, g.n = args.n, g.k = args.k;
  g.a = a, g.b = b, g.c = c;
  g.trans_a = args.transpose_a, g.trans_b = args.transpose_b;
  g.conj_a = args.conjugate_a, g.conj_b = args.conjugate_b;
  if (args.bias != nullptr) g.bias = static_cast<const T*>(args.bias->raw());
  g.activation = args.activation;
  return g;
}

template <typename T>
void MultiplyOne(const math::GemmArgs<T>& g, ThreadPool* pool) {
  if constexpr (std::is_floating_point_v<T>)
    math::Gemm(g, pool);
  else if constexpr (kIsComplex<T>)
    MultiplyComplex(g, pool);
  else
    math::GemmGeneric(g, pool);
}

template <typename T>
void MultiplyBatch(const T* a, const T* b, const ProductArgs& args, T* c, ThreadPool* pool) {
  const math::GemmArgs<T> first = MakeArgs(a, b, args, c);
  if (args.batch == 1) return MultiplyOne(first, pool);
  if constexpr (std::is_floating_point_v<T>) {
    if (args.offsets_a == nullptr) {
      return math::BatchGemm({first, args.batch, args.stride_a, args.stride_b, args.stride_c}, pool);
    }
  }
  const double cost = 0.1 * static_cast<double>(args.m) * static_cast<double>(args.n) * static_cast<double>(args.k);
  pool->ParallelFor(args.batch, cost + 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      math::GemmArgs<T> g = first;
      g.a += args.offsets_a != nullptr ? args.offsets_a[i] : i * args.stride_a;
      g.b += args.offsets_b != nullptr ? args.offsets_b[i] : i * args.stride_b;
      g.c += i * args.stride_c;
      MultiplyOne(g, nullptr);
    }
  });
}

StatusOr<Tensor> Widened(KernelContext& ctx, const Tensor& t) {
  ASSIGN_OR_RETURN(Tensor wide, ctx.AllocateTemp(DType::kFloat, t.shape()));
  WidenToFloat(t.dtype(), t.raw(), wide.data<float>(), t.num_elements());
  return wide;
}

// 16-bit floats are multiplied as float and rounded once.
Status MultiplyNarrow(KernelContext& ctx, const Tensor& a, const Tensor& b, ProductArgs args, Tensor* c) {
  ASSIGN_OR_RETURN(const Tensor wide_a, Widened(ctx, a));
  ASSIGN_OR_RETURN(const Tensor wide_b, Widened(ctx, b));
  ASSIGN_OR_RETURN(Tensor wide_c, ctx.AllocateTemp(DType::kFloat, c->shape()));
  Tensor bias;
  if (args.bias != nullptr) {
    ASSIGN_OR_RETURN(bias, Widened(ctx, *args.bias));
    args.bias = &bias;
  }
  MultiplyBatch(wide_a.data<float>(), wide_b.data<float>(), args, wide_c.data<float>(), ctx.pool());
  NarrowFromFloat(c->dtype(), wide_c.data<float>(), c->raw(), c->num_elements());
  return OkStatus();
}

}  // namespace

Status MultiplyMatrices(KernelContext& ctx, const Tensor& a, const Tensor& b, const ProductArgs& args, Tensor* c) {
  if (c->num_elements() == 0) return OkStatus();
  if (a.dtype() == DType::kHalf || a.dtype() == DType::kBfloat16) return MultiplyNarrow(ctx, a, b, args, c);
  // Integer products wrap around: one loop serves both signs.
  using Multiplied = Types<float, double, int16_t, int32_t, int64_t, std::complex<float>, std::complex<double>>;
  const bool known = DispatchOver(Multiplied{}, a.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    MultiplyBatch(a.data<T>(), b.data<T>(), args, c->data<T>(), ctx.pool());
  });
  return known ? OkStatus() : errors::Unimplemented("No matrix product of type ", DTypeName(a.dtype()));
}

}  // namespace millstream
