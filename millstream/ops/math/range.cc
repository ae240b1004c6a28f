// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "millstream/framework/op.h"
#include "millstream/math/simd.h"
#include "millstream/tensor/dispatch.h"

namespace millstream {
namespace {

// TensorFlow also takes vectors with one element for scalars here.
Status CheckScalar(const Tensor& t, const char* name) {
  if (t.rank() == 0 || (t.rank() == 1 && t.dim(0) == 1)) return OkStatus();
  return errors::InvalidArgument(name, " must be a scalar, not shape ", t.shape().ToString());
}

// How many values lie in [start, limit) in steps of delta.
template <typename C>
StatusOr<int64_t> CountSteps(C start, C limit, C delta) {
  if (delta == 0) return errors::InvalidArgument("Requires delta != 0: ", delta);
  if (delta > 0 && !(start <= limit)) {
    return errors::InvalidArgument("Requires start <= limit when delta > 0: ", start, "/", limit);
  }
  if (delta < 0 && !(start >= limit)) {
    return errors::InvalidArgument("Requires start >= limit when delta < 0: ", start, "/", limit);
  }
  if constexpr (std::is_integral_v<C>) {
    // Distances of 64-bit integers may need 64 unsigned bits.
    const auto widen = [](C v) { return static_cast<uint64_t>(static_cast<int64_t>(v)); };
    const uint64_t distance = delta > 0 ? widen(limit) - widen(start) : widen(start) - widen(limit);
    const uint64_t step = delta > 0 ? widen(delta) : 0 - widen(delta);
    const uint64_t count = distance / step + (distance % step != 0 ? 1 : 0);
    if (count <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return static_cast<int64_t>(count);
  } else {
    const double count = std::ceil(std::fabs((static_cast<double>(limit) - static_cast<double>(start)) / delta));
    if (count < 9.2e18) return static_cast<int64_t>(count);
  }
  return errors::InvalidArgument("Requires ((limit - start) / delta) <= ", std::numeric_limits<int64_t>::max());
}

// values[i] = first + i * step for begin <= i < end. Loops "of float" exist for every instruction set.
template <typename T, typename Step>
void FillRange(Step first, Step step, int64_t begin, int64_t end, T* values) {
  if constexpr (std::is_integral_v<T>) {
    // The low bits of the results are all that is kept.
    using U = std::make_unsigned_t<T>;
    const U low_first = static_cast<U>(first), low_step = static_cast<U>(step);
    simd::For<float>(begin, end, [=](int64_t i) MILLSTREAM_INLINE_LAMBDA {
      values[i] = static_cast<T>(static_cast<U>(low_first + static_cast<U>(i) * low_step));
    });
  } else {
    for (int64_t i = begin; i < end; ++i) values[i] = static_cast<T>(first + static_cast<Step>(i) * step);
  }
}

Status RangeKernel(KernelContext& ctx) {
  static constexpr const char* kNames[] = {"start", "limit", "delta"};
  for (int i = 0; i < 3; ++i) RETURN_IF_ERROR(CheckScalar(ctx.input(i), kNames[i]));
  Status status = errors::Unimplemented("Range of type ", DTypeName(ctx.input_dtype(0)));
  DispatchOver(Join<FloatTypes, IndexTypes>{}, ctx.input_dtype(0), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = Compute<T>;
    status = [&]() -> Status {
      const C start = ctx.input(0).scalar<T>(), limit = ctx.input(1).scalar<T>(), delta = ctx.input(2).scalar<T>();
      ASSIGN_OR_RETURN(const int64_t n, CountSteps<C>(start, limit, delta));
      ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape({n})));
      T* values = out->data<T>();
      // Steps of integers may pass through values that do not fit; the results do.
      using Step = std::conditional_t<std::is_integral_v<C>, uint64_t, C>;
      const auto first = static_cast<Step>(start), step = static_cast<Step>(delta);
      ctx.ParallelFor(
          n, 0.3, [=](int64_t begin, int64_t end) { FillRange<T>(first, step, begin, end, values); }, 64);
      return OkStatus();
    }();
  });
  return status;
}

Status LinSpaceKernel(KernelContext& ctx) {
  static constexpr const char* kNames[] = {"start", "stop", "num"};
  for (int i = 0; i < 3; ++i) {
    if (ctx.input(i).rank() != 0) {
      return errors::InvalidArgument(kNames[i], " must be a scalar, not shape ", ctx.input(i).shape().ToString());
    }
  }
  const Tensor& num = ctx.input(2);
  const int64_t n = num.dtype() == DType::kInt32 ? num.scalar<int32_t>() : num.scalar<int64_t>();
  if (n <= 0) return errors::InvalidArgument("Requires num > 0: ", n);
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape({n})));
  DispatchOver(Types<float, double>{}, ctx.input_dtype(0), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T start = ctx.input(0).scalar<T>(), stop = ctx.input(1).scalar<T>();
    const T step = n > 1 ? (stop - start) / static_cast<T>(n - 1) : T(0);
    for (int64_t i = 0; i < n; ++i) out->data<T>()[i] = start + step * static_cast<T>(i);
    if (n > 1) out->data<T>()[n - 1] = stop;
  });
  return OkStatus();
}

Status RangeShape(ShapeContext& c) {
  PartialShape scalar;
  for (int i = 0; i < 3; ++i) RETURN_IF_ERROR(ShapeContext::WithRank(c.input(i), 0, &scalar));
  c.set_output(0, PartialShape::UnknownOfRank(1));
  const Tensor *start = c.constant(0), *limit = c.constant(1), *delta = c.constant(2);
  if (start == nullptr || limit == nullptr || delta == nullptr) return OkStatus();
  Status status;
  DispatchOver(Join<FloatTypes, IndexTypes>{}, start->dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (start->num_elements() != 1 || limit->num_elements() != 1 || delta->num_elements() != 1) return;
    auto n = CountSteps<Compute<T>>(start->scalar<T>(), limit->scalar<T>(), delta->scalar<T>());
    status = n.status();
    if (n.ok()) c.set_output(0, PartialShape({*n}));
  });
  return status;
}

Status LinSpaceShape(ShapeContext& c) {
  PartialShape scalar;
  for (int i = 0; i < 3; ++i) RETURN_IF_ERROR(ShapeContext::WithRank(c.input(i), 0, &scalar));
  int64_t n = -1;
  if (c.ConstantInt(2, &n) && n <= 0) return errors::InvalidArgument("Requires num > 0: ", n);
  c.set_output(0, PartialShape({n}));
  return OkStatus();
}

OP("Range")
    .Input("start: Tidx")
    .Input("limit: Tidx")
    .Input("delta: Tidx")
    .Output("output: Tidx")
    .Attr("Tidx: {bfloat16, half, float, double, int8, int16, int32, int64, uint16, uint32, uint64} = DT_INT32")
    .Shape(RangeShape)
    .NotDifferentiable()
    .Cpu(RangeKernel)
    .HostMemory("start")
    .HostMemory("limit")
    .HostMemory("delta")
    .Doc("start, start + delta, ... up to limit, which is left out.");

OP("LinSpace")
    .Input("start: T")
    .Input("stop: T")
    .Input("num: Tidx")
    .Output("output: T")
    .Attr("T: {bfloat16, half, float, double}")
    .Attr("Tidx: {int32, int64} = DT_INT32")
    .Shape(LinSpaceShape)
    .NotDifferentiable()
    .Cpu(LinSpaceKernel)
    .HostMemory("start")
    .HostMemory("stop")
    .HostMemory("num")
    .Doc("`num` values from start to stop, at equal distances.");

}  // namespace
}  // namespace millstream
