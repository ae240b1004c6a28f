// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/borrowed_kernel.h"
#include "millstream/devices/cuda/pointwise.cuh"

namespace millstream::cuda {
namespace {

using ComparedTypes = Join<FloatTypes, Types<int8_t, int16_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>>;
using EqualTypes = Join<ComparedTypes, Types<bool>>;
using HostCompared = Types<int32_t>;
using BoolOnly = Types<bool>;

struct LessFn {
  template <typename T>
  __device__ bool operator()(T x, T y) const {
    return x < y;
  }
};
struct LessEqualFn {
  template <typename T>
  __device__ bool operator()(T x, T y) const {
    return x <= y;
  }
};
template <bool kNot>
struct EqualFn {
  template <typename T>
  __device__ bool operator()(T x, T y) const {
    return (x == y) != kNot;
  }
};
struct AndFn {
  __device__ bool operator()(bool x, bool y) const { return x && y; }
};
struct OrFn {
  __device__ bool operator()(bool x, bool y) const { return x || y; }
};
struct NotFn {
  __device__ bool operator()(bool x) const { return !x; }
};
struct IsNanFn {
  template <typename T>
  __device__ bool operator()(T x) const {
    return x != x;
  }
};
struct IsInfFn {
  template <typename T>
  __device__ bool operator()(T x) const {
    return isinf(x);
  }
};
struct IsFiniteFn {
  template <typename T>
  __device__ bool operator()(T x) const {
    return isfinite(x);
  }
};
struct NearFn {
  explicit NearFn(KernelInit& init) : tolerance(init.Attr<float>("tolerance")) {}
  float tolerance;
  template <typename T>
  __device__ bool operator()(T x, T y) const {
    return fabs(x - y) < T(tolerance);
  }
};

// With incompatible_shape_error = false, tensors of shapes that do not broadcast are simply not equal.
template <typename T, bool kNot>
class EqualKernel final : public CudaKernel {
 public:
  explicit EqualKernel(KernelInit& init) : is_error_(init.Attr<bool>("incompatible_shape_error")) {}

  Status Issue(Call& call) override {
    using D = DeviceType<T>;
    const Tensor& a = call.input(0);
    const Tensor& b = call.input(1);
    const StatusOr<Shape> shape = BroadcastShapes(a.shape(), b.shape());
    if (!shape.ok() && is_error_) return shape.status();
    ASSIGN_OR_RETURN(Tensor * out, call.Output(0, shape.ok() ? *shape : Shape()));
    if (!shape.ok()) {
      RETURN_IF_CUDA_ERROR(cudaMemsetAsync(out->raw(), kNot ? 1 : 0, 1, call.stream()));
      return OkStatus();
    }
    RETURN_IF_ERROR(LaunchBinary(call.stream(), EqualFn<kNot>(), a.shape(), b.shape(), *shape,
                                 static_cast<bool*>(out->raw()), static_cast<const D*>(a.raw()),
                                 static_cast<const D*>(b.raw())));
    return call.Launched();
  }

 private:
  const bool is_error_;
};
template <typename T>
using Equal = EqualKernel<T, false>;
template <typename T>
using NotEqual = EqualKernel<T, true>;

// Does not broadcast.
template <typename T>
class ApproximateEqual final : public CudaKernel {
 public:
  explicit ApproximateEqual(KernelInit& init) : fn_(init) {}

  Status Issue(Call& call) override {
    const Tensor &x = call.input(0), &y = call.input(1);
    if (!(x.shape() == y.shape())) {
      return errors::InvalidArgument("x and y must be of the same shape. x shape: ", x.shape().ToString(),
                                     ". y shape: ", y.shape().ToString());
    }
    ASSIGN_OR_RETURN(Tensor * out, call.Output(0, x.shape()));
    LaunchPointwise(call.stream(), fn_, x.num_elements(), static_cast<bool*>(out->raw()),
                    static_cast<const T*>(x.raw()), static_cast<const T*>(y.raw()));
    return call.Launched();
  }

 private:
  const NearFn fn_;
};

POINTWISE_COMPARE("Less", LessFn, ComparedTypes);
POINTWISE_COMPARE("LessEqual", LessEqualFn, ComparedTypes);
POINTWISE_SWAPPED("Greater", LessFn, ComparedTypes);
POINTWISE_SWAPPED("GreaterEqual", LessEqualFn, ComparedTypes);
CUDA_KERNEL("Equal").For<Equal>(EqualTypes{});
CUDA_KERNEL("NotEqual").For<NotEqual>(EqualTypes{});
POINTWISE_TEST("IsNan", IsNanFn, FloatTypes);
POINTWISE_TEST("IsInf", IsInfFn, FloatTypes);
POINTWISE_TEST("IsFinite", IsFiniteFn, FloatTypes);
CUDA_KERNEL("ApproximateEqual").For<ApproximateEqual>(Types<float, double>{});
CUDA_KERNEL("LogicalAnd").Class<Pointwise<AndFn>::Binary<bool>>();
CUDA_KERNEL("LogicalOr").Class<Pointwise<OrFn>::Binary<bool>>();
CUDA_KERNEL("LogicalNot").Class<Pointwise<NotFn>::Unary<bool>>();

CUDA_HOST_KERNEL("Less").For(HostCompared{});
CUDA_HOST_KERNEL("LessEqual").For(HostCompared{});
CUDA_HOST_KERNEL("Greater").For(HostCompared{});
CUDA_HOST_KERNEL("GreaterEqual").For(HostCompared{});
CUDA_HOST_KERNEL("Equal").For(HostCompared{});
CUDA_HOST_KERNEL("NotEqual").For(HostCompared{});

}  // namespace
}  // namespace millstream::cuda
