// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/elementwise.cuh"
#include "millstream/devices/cuda/fill.h"
#include "millstream/devices/cuda/kernels/nn/pool_geometry.h"
#include "millstream/devices/cuda/kernels/nn/pool_lanes.cuh"
#include "millstream/devices/cuda/locate.cuh"
#include "millstream/ops/elements/axes.h"

namespace millstream::cuda {
namespace {

// Where an element of the (pooled) images is. `plane` is where its image and channel begin in the images, and elements
// of a plane lie `step` apart.
struct PoolPlace {
  int64_t image, channel, y, x;
  __device__ PoolPlace(const PoolGeometry& g, int64_t i, int64_t height, int64_t width) {
    if (!g.channels_first) channel = TakeDim(&i, g.channels);
    x = TakeDim(&i, width);
    y = TakeDim(&i, height);
    if (g.channels_first) channel = TakeDim(&i, g.channels);
    image = i;
  }
  __device__ int64_t Plane(const PoolGeometry& g, int64_t height, int64_t width) const {
    return g.channels_first ? (image * g.channels + channel) * height * width
                            : image * height * width * g.channels + channel;
  }
};
__device__ __forceinline__ int64_t PlaneStep(const PoolGeometry& g) { return g.channels_first ? 1 : g.channels; }

// The part of the window at output (y, x) that lies over the image.
struct PoolWindow {
  int64_t y0, y1, x0, x1;
  __device__ PoolWindow(const PoolGeometry& g, int64_t y, int64_t x) {
    const int64_t top = y * g.stride_height - g.pad_top, left = x * g.stride_width - g.pad_left;
    y0 = max(top, int64_t{0});
    y1 = min(top + g.window_height, g.in_height);
    x0 = max(left, int64_t{0});
    x1 = min(left + g.window_width, g.in_width);
  }
};

// Where in the plane the first maximum of the window is. As on the CPU nothing is greater than NaN in the first place,
// and NaN elsewhere is not greater than anything.
template <typename D>
__device__ __forceinline__ int64_t FirstMaximum(const D* plane, int64_t step, int64_t width, const PoolWindow& w,
                                                WideType<D>* best) {
  int64_t at = -1;
  for (int64_t y = w.y0; y < w.y1; ++y) {
    for (int64_t x = w.x0; x < w.x1; ++x) {
      const auto value = Widen(plane[(y * width + x) * step]);
      if (at < 0 || value > *best) {
        *best = value;
        at = y * width + x;
      }
    }
  }
  return at;
}

template <typename D>
__global__ void MaxPoolAll(PoolGeometry g, const D* in, D* out, int64_t count) {
  CUDA_FOR_EACH(i, count) {
    const PoolPlace p(g, i, g.out_height, g.out_width);
    WideType<D> best = 0;
    FirstMaximum(in + p.Plane(g, g.in_height, g.in_width), PlaneStep(g), g.in_width, PoolWindow(g, p.y, p.x), &best);
    out[i] = Narrow<D>(best);
  }
}

// The outputs whose windows hold row (or column) `at`.
struct Covering {
  int64_t begin, end;
  __device__ Covering(int64_t at, int64_t pad, int64_t window, int64_t stride, int64_t outputs) {
    const int64_t shifted = at + pad;
    begin = shifted < window ? 0 : (shifted - window) / stride + 1;
    end = min(shifted / stride + 1, outputs);
  }
};

// Each input adds up the gradients of the windows whose first maximum it is: no additions that depend on timing.
// Windows with another maximum need not be searched.
template <typename D>
__global__ void MaxPoolGradAll(PoolGeometry g, const D* in, const D* pooled, const D* dy, D* dx, int64_t count) {
  CUDA_FOR_EACH(i, count) {
    const PoolPlace p(g, i, g.in_height, g.in_width);
    const Covering ys(p.y, g.pad_top, g.window_height, g.stride_height, g.out_height);
    const Covering xs(p.x, g.pad_left, g.window_width, g.stride_width, g.out_width);
    const D* const plane = in + p.Plane(g, g.in_height, g.in_width);
    const int64_t out_plane = p.Plane(g, g.out_height, g.out_width);
    const int64_t step = PlaneStep(g), here = p.y * g.in_width + p.x;
    const WideType<D> own = Widen(in[i]);
    WideType<D> sum = 0;
    for (int64_t y = ys.begin; y < ys.end; ++y) {
      for (int64_t x = xs.begin; x < xs.end; ++x) {
        const int64_t out = out_plane + (y * g.out_width + x) * step;
        if (own == own && own != Widen(pooled[out])) continue;
        WideType<D> best = 0;
        if (FirstMaximum(plane, step, g.in_width, PoolWindow(g, y, x), &best) == here) sum += Widen(dy[out]);
      }
    }
    dx[i] = Narrow<D>(sum);
  }
}

// The gradient of the gradient: of each window, what is at its first maximum.
template <typename D>
__global__ void MaxPoolGradGradAll(PoolGeometry g, const D* in, const D* grad, D* out, int64_t count) {
  CUDA_FOR_EACH(i, count) {
    const PoolPlace p(g, i, g.out_height, g.out_width);
    const int64_t plane = p.Plane(g, g.in_height, g.in_width), step = PlaneStep(g);
    WideType<D> best = 0;
    const int64_t at = FirstMaximum(in + plane, step, g.in_width, PoolWindow(g, p.y, p.x), &best);
    out[i] = grad[plane + at * step];
  }
}

template <typename D>
__global__ void AvgPoolAll(PoolGeometry g, const D* in, D* out, int64_t count) {
  CUDA_FOR_EACH(i, count) {
    const PoolPlace p(g, i, g.out_height, g.out_width);
    const PoolWindow w(g, p.y, p.x);
    const D* const plane = in + p.Plane(g, g.in_height, g.in_width);
    const int64_t step = PlaneStep(g);
    WideType<D> sum = 0;
    for (int64_t y = w.y0; y < w.y1; ++y) {
      for (int64_t x = w.x0; x < w.x1; ++x) sum += Widen(plane[(y * g.in_width + x) * step]);
    }
    out[i] = Narrow<D>(sum / static_cast<WideType<D>>((w.y1 - w.y0) * (w.x1 - w.x0)));
  }
}

template <typename D>
__global__ void AvgPoolGradAll(PoolGeometry g, const D* dy, D* dx, int64_t count) {
  CUDA_FOR_EACH(i, count) {
    const PoolPlace p(g, i, g.in_height, g.in_width);
    const Covering ys(p.y, g.pad_top, g.window_height, g.stride_height, g.out_height);
    const Covering xs(p.x, g.pad_left, g.window_width, g.stride_width, g.out_width);
    const D* const grads = dy + p.Plane(g, g.out_height, g.out_width);
    const int64_t step = PlaneStep(g);
    WideType<D> sum = 0;
    for (int64_t y = ys.begin; y < ys.end; ++y) {
      for (int64_t x = xs.begin; x < xs.end; ++x) {
        const PoolWindow w(g, y, x);
        sum += Widen(grads[(y * g.out_width + x) * step]) / static_cast<WideType<D>>((w.y1 - w.y0) * (w.x1 - w.x0));
      }
    }
    dx[i] = Narrow<D>(sum);
  }
}

template <typename T>
class MaxPool final : public PoolKernel {
 public:
  explicit MaxPool(KernelInit& init) : PoolKernel(init, 1) {}

  Status Issue(Call& call) override {
    using D = DeviceType<T>;
    const Tensor& in = call.input(0);
    RETURN_IF_ERROR(CheckNoDepth(call, "Depthwise max pooling is currently only implemented for CPU devices."));
    ASSIGN_OR_RETURN(const PoolGeometry g, Geometry(call, in.shape()));
    ASSIGN_OR_RETURN(const Shape shape, PooledShape(g));
    ASSIGN_OR_RETURN(Tensor * out, call.Output(0, shape));
    const int64_t count = shape.num_elements();
    if (count == 0) return OkStatus();
    const auto* const x = static_cast<const D*>(in.raw());
    auto* const y = static_cast<D*>(out->raw());
    if (HasPoolLanes<D>(g, x, y)) return LaunchMaxPoolLanes(call, g, x, y);
    MaxPoolAll<<<BlocksFor(count), kThreads, 0, call.stream()>>>(g, x, y, count);
    return call.Launched();
  }
};

// Inputs: images, the pooled images, gradient.
template <typename T, bool kSecond>
class MaxPoolGradKernel final : public PoolKernel {
 public:
  explicit MaxPoolGradKernel(KernelInit& init) : PoolKernel(init, 3) {}

  Status Issue(Call& call) override {
    using D = DeviceType<T>;
    const Tensor &in = call.input(0), &pooled = call.input(1), &grad = call.input(2);
    RETURN_IF_ERROR(CheckNoDepth(call, "MaxPoolingGrad is not yet supported on the depth dimension."));
    ASSIGN_OR_RETURN(const PoolGeometry g, Geometry(call, in.shape()));
    RETURN_IF_ERROR(CheckPooledShape("orig_output", g, pooled.shape()));
    if (!kSecond) RETURN_IF_ERROR(CheckPooledShape("grad", g, grad.shape()));
    if (kSecond && !(grad.shape() == in.shape())) {
      return errors::InvalidArgument("Expected grad shape to be ", in.shape().ToString(), ", but got ",
                                     grad.shape().ToString());
    }
    ASSIGN_OR_RETURN(Tensor * out, call.Output(0, kSecond ? pooled.shape() : in.shape()));
    const int64_t count = out->num_elements();
    if (count == 0) return OkStatus();
    if (grad.num_elements() == 0) return FillZero(call, out);
    const auto* const x = static_cast<const D*>(in.raw());
    const auto* const dy = static_cast<const D*>(grad.raw());
    auto* const to = static_cast<D*>(out->raw());
    if (kSecond) {
      MaxPoolGradGradAll<<<BlocksFor(count), kThreads, 0, call.stream()>>>(g, x, dy, to, count);
    } else if (HasPoolLanes<D>(g, x, to, dy) && HasGradLanes(g)) {
      return LaunchMaxPoolGradLanes(call, g, x, dy, to);
    } else {
      MaxPoolGradAll<<<BlocksFor(count), kThreads, 0, call.stream()>>>(g, x, static_cast<const D*>(pooled.raw()), dy,
                                                                       to, count);
    }
    return call.Launched();
  }
};
template <typename T>
using MaxPoolGrad = MaxPoolGradKernel<T, false>;
template <typename T>
using MaxPoolGradGrad = MaxPoolGradKernel<T, true>;

template <typename T>
class AvgPool final : public PoolKernel {
 public:
  explicit AvgPool(KernelInit& init) : PoolKernel(init, 1) {}

  Status Issue(Call& call) override {
    using D = DeviceType<T>;
    const Tensor& in = call.input(0);
    ASSIGN_OR_RETURN(const PoolGeometry g, Geometry(call, in.shape()));
    ASSIGN_OR_RETURN(const Shape shape, PooledShape(g));
    ASSIGN_OR_RETURN(Tensor * out, call.Output(0, shape));
    const int64_t count = shape.num_elements();
    if (count == 0) return OkStatus();
    AvgPoolAll<<<BlocksFor(count), kThreads, 0, call.stream()>>>(g, static_cast<const D*>(in.raw()),
                                                                 static_cast<D*>(out->raw()), count);
    return call.Launched();
  }
};

// Inputs: shape of the images, gradient.
template <typename T>
class AvgPoolGrad final : public PoolKernel {
 public:
  explicit AvgPoolGrad(KernelInit& init) : PoolKernel(init, 2) {}

  Status Issue(Call& call) override {
    using D = DeviceType<T>;
    const Tensor &sizes = call.input(0), &grad = call.input(1);
    if (sizes.rank() != 1 || sizes.num_elements() != 4) {
      return errors::InvalidArgument("out_backprop must have 4 sizes, got shape ", sizes.shape().ToString());
    }
    Dims dims;
    RETURN_IF_ERROR(ReadInts(sizes, &dims));
    ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    ASSIGN_OR_RETURN(const PoolGeometry g, Geometry(call, shape));
    RETURN_IF_ERROR(CheckPooledShape("grad", g, grad.shape()));
    ASSIGN_OR_RETURN(Tensor * out, call.Output(0, shape));
    const int64_t count = shape.num_elements();
    if (count == 0) return OkStatus();
    if (grad.num_elements() == 0) return FillZero(call, out);
    AvgPoolGradAll<<<BlocksFor(count), kThreads, 0, call.stream()>>>(g, static_cast<const D*>(grad.raw()),
                                                                     static_cast<D*>(out->raw()), count);
    return call.Launched();
  }
};

CUDA_KERNEL("MaxPool").For<MaxPool>(FloatTypes{});
CUDA_KERNEL("MaxPoolV2").HostMemory("ksize").HostMemory("strides").For<MaxPool>(FloatTypes{});
CUDA_KERNEL("MaxPoolGrad").For<MaxPoolGrad>(FloatTypes{});
CUDA_KERNEL("MaxPoolGradV2").HostMemory("ksize").HostMemory("strides").For<MaxPoolGrad>(FloatTypes{});
CUDA_KERNEL("MaxPoolGradGrad").For<MaxPoolGradGrad>(FloatTypes{});
CUDA_KERNEL("MaxPoolGradGradV2").HostMemory("ksize").HostMemory("strides").For<MaxPoolGradGrad>(FloatTypes{});
CUDA_KERNEL("AvgPool").For<AvgPool>(FloatTypes{});
CUDA_KERNEL("AvgPoolGrad").HostMemory("orig_input_shape").For<AvgPoolGrad>(FloatTypes{});

}  // namespace
}  // namespace millstream::cuda
