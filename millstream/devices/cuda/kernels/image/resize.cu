// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/elementwise.cuh"
#include "millstream/devices/cuda/fill.h"
#include "millstream/devices/cuda/locate.cuh"
#include "millstream/ops/image/taps.h"

namespace millstream::cuda {
namespace {

// One axis of a resized image: where element i comes from.
struct ResizeAxis {
  int64_t in, out;
  float scale;
  bool align_corners, half_pixel_centers;

  __device__ int64_t Clamp(int64_t at) const { return min(max(at, int64_t{0}), in - 1); }
  __device__ int64_t Nearest(int64_t i) const {
    const float at = (static_cast<float>(i) + (half_pixel_centers ? 0.5f : 0.0f)) * scale;
    return Clamp(static_cast<int64_t>(align_corners ? roundf(at) : floorf(at)));
  }
  // The elements below and above, and the share of the latter.
  __device__ float Bilinear(int64_t i, int64_t* low, int64_t* high) const {
    const float at = half_pixel_centers ? (static_cast<float>(i) + 0.5f) * scale - 0.5f : static_cast<float>(i) * scale;
    const float below = floorf(at);
    *low = Clamp(static_cast<int64_t>(below));
    *high = Clamp(static_cast<int64_t>(below) + 1);
    return at - below;
  }
};
struct ResizePlan {
  int64_t batch, channels;
  ResizeAxis y, x;

  int64_t inputs() const { return batch * y.in * x.in * channels; }
  int64_t outputs() const { return batch * y.out * x.out * channels; }
};

// Element i of the resized images.
struct ResizePlace {
  int64_t c, x, y, image;
  __device__ ResizePlace(const ResizePlan& p, int64_t i) {
    c = TakeDim(&i, p.channels);
    x = TakeDim(&i, p.x.out);
    y = TakeDim(&i, p.y.out);
    image = i;
  }
};
__device__ __forceinline__ int64_t PixelAt(const ResizePlan& p, int64_t image, int64_t y, int64_t x, int64_t c) {
  return ((image * p.y.in + y) * p.x.in + x) * p.channels + c;
}

template <typename D>
__global__ void ResizeBilinearAll(ResizePlan p, const D* in, float* out, int64_t count) {
  CUDA_FOR_EACH(i, count) {
    const ResizePlace at(p, i);
    int64_t y0, y1, x0, x1;
    const float fy = p.y.Bilinear(at.y, &y0, &y1), fx = p.x.Bilinear(at.x, &x0, &x1);
    const auto pixel = [&](int64_t y, int64_t x) {
      return static_cast<float>(Widen(in[PixelAt(p, at.image, y, x, at.c)]));
    };
    const float top = pixel(y0, x0) * (1 - fx) + pixel(y0, x1) * fx;
    const float bottom = pixel(y1, x0) * (1 - fx) + pixel(y1, x1) * fx;
    out[i] = top * (1 - fy) + bottom * fy;
  }
}

// Sums are of float or double; 16-bit results are rounded from them afterwards.
template <typename Sum>
__global__ void ResizeBilinearGradAll(ResizePlan p, const float* dy, Sum* sums, int64_t count) {
  CUDA_FOR_EACH(i, count) {
    const ResizePlace at(p, i);
    int64_t y0, y1, x0, x1;
    const float fy = p.y.Bilinear(at.y, &y0, &y1), fx = p.x.Bilinear(at.x, &x0, &x1);
    const Sum g = dy[i];
    atomicAdd(sums + PixelAt(p, at.image, y0, x0, at.c), g * (1 - fy) * (1 - fx));
    atomicAdd(sums + PixelAt(p, at.image, y0, x1, at.c), g * (1 - fy) * fx);
    atomicAdd(sums + PixelAt(p, at.image, y1, x0, at.c), g * fy * (1 - fx));
    atomicAdd(sums + PixelAt(p, at.image, y1, x1, at.c), g * fy * fx);
  }
}

template <typename D>
__global__ void ResizeNearestAll(ResizePlan p, const D* in, D* out, int64_t count) {
  CUDA_FOR_EACH(i, count) {
    const ResizePlace at(p, i);
    out[i] = in[PixelAt(p, at.image, p.y.Nearest(at.y), p.x.Nearest(at.x), at.c)];
  }
}
template <typename D, typename Sum>
__global__ void ResizeNearestGradAll(ResizePlan p, const D* dy, Sum* sums, int64_t count) {
  CUDA_FOR_EACH(i, count) {
    const ResizePlace at(p, i);
    atomicAdd(sums + PixelAt(p, at.image, p.y.Nearest(at.y), p.x.Nearest(at.x), at.c), Sum(Widen(dy[i])));
  }
}
template <typename D, typename Sum>
__global__ void StoreSums(const Sum* sums, D* out, int64_t count) {
  CUDA_FOR_EACH(i, count) { out[i] = Narrow<D>(sums[i]); }
}

class ResizeBase : public CudaKernel {
 protected:
  ResizeBase(KernelInit& init, Interpolation method) : options_{method} {
    options_.align_corners = init.Attr<bool>("align_corners");
    options_.half_pixel_centers = init.Attr<bool>("half_pixel_centers");
    if (options_.align_corners && options_.half_pixel_centers) {
      init.Fail(errors::InvalidArgument("If half_pixel_centers is True, align_corners must be False."));
    }
  }

  ResizePlan Plan(const ImageShape& images, int64_t in_height, int64_t in_width, int64_t out_height,
                  int64_t out_width) const {
    return {images.batch, images.channels, Axis(in_height, out_height), Axis(in_width, out_width)};
  }
  static StatusOr<Shape> ShapeFor(const ImageShape& images, int64_t height, int64_t width) {
    const int64_t dims[] = {images.batch, height, width, images.channels};
    return Shape::Make(dims);
  }

 private:
  ResizeAxis Axis(int64_t in, int64_t out) const {
    return {in, out, ScaleOf(options_, in, out), options_.align_corners, options_.half_pixel_centers};
  }

  ResizeOptions options_;
};

// Runs `add` with zeroed sums of the type that fits D, and stores them as D.
template <typename D, typename Add>
Status SumInto(Call& call, Tensor* out, const Add& add) {
  using Sum = std::conditional_t<std::is_same_v<D, double>, double, float>;
  const int64_t count = out->num_elements();
  if (count == 0) return OkStatus();
  if constexpr (std::is_same_v<D, Sum>) {
    RETURN_IF_ERROR(FillZero(call, out));
    add(static_cast<Sum*>(out->raw()));
  } else {
    ASSIGN_OR_RETURN(Tensor sums, call.Temp(kDTypeOf<Sum>, out->shape()));
    RETURN_IF_ERROR(FillZero(call, &sums));
    add(static_cast<Sum*>(sums.raw()));
    StoreSums<<<BlocksFor(count), kThreads, 0, call.stream()>>>(static_cast<const Sum*>(sums.raw()),
                                                                static_cast<D*>(out->raw()), count);
  }
  return call.Launched();
}

template <typename T, bool kNearest>
class Resize final : public ResizeBase {
 public:
  explicit Resize(KernelInit& init) : ResizeBase(init, kNearest ? Interpolation::kNearest : Interpolation::kBilinear) {}

  Status Issue(Call& call) override {
    using D = DeviceType<T>;
    ASSIGN_OR_RETURN(const ImageShape in, ReadImages(call.input(0), "input"));
    int64_t height = 0, width = 0;
    RETURN_IF_ERROR(ReadImageSize(call.input(1), &height, &width));
    ASSIGN_OR_RETURN(const Shape shape, ShapeFor(in, height, width));
    ASSIGN_OR_RETURN(Tensor * out, call.Output(0, shape));
    const int64_t count = shape.num_elements();
    if (count == 0) return OkStatus();
    const ResizePlan plan = Plan(in, in.height, in.width, height, width);
    const auto* const from = static_cast<const D*>(call.input(0).raw());
    if constexpr (kNearest) {
      ResizeNearestAll<<<BlocksFor(count), kThreads, 0, call.stream()>>>(plan, from, static_cast<D*>(out->raw()),
                                                                         count);
    } else {
      ResizeBilinearAll<<<BlocksFor(count), kThreads, 0, call.stream()>>>(plan, from, static_cast<float*>(out->raw()),
                                                                          count);
    }
    return call.Launched();
  }
};
template <typename T>
using ResizeNearest = Resize<T, true>;
template <typename T>
using ResizeBilinear = Resize<T, false>;

// Inputs: gradient, the images that were resized.
template <typename T>
class ResizeBilinearGrad final : public ResizeBase {
 public:
  explicit ResizeBilinearGrad(KernelInit& init) : ResizeBase(init, Interpolation::kBilinear) {}

  Status Issue(Call& call) override {
    ASSIGN_OR_RETURN(const ImageShape out, ReadImages(call.input(0), "input_grad"));
    ASSIGN_OR_RETURN(const ImageShape in, ReadImages(call.input(1), "original_image"));
    if (in.batch != out.batch || in.channels != out.channels) {
      return errors::InvalidArgument("grads and original_image must have the same batch and channels");
    }
    ASSIGN_OR_RETURN(Tensor * dx, call.Output(0, call.input(1).shape()));
    const ResizePlan plan = Plan(in, in.height, in.width, out.height, out.width);
    return SumInto<DeviceType<T>>(call, dx, [&](auto* sums) {
      ResizeBilinearGradAll<<<BlocksFor(plan.outputs()), kThreads, 0, call.stream()>>>(
          plan, static_cast<const float*>(call.input(0).raw()), sums, plan.outputs());
    });
  }
};

// Inputs: gradient, the size of the images that were resized.
template <typename T>
class ResizeNearestGrad final : public ResizeBase {
 public:
  explicit ResizeNearestGrad(KernelInit& init) : ResizeBase(init, Interpolation::kNearest) {}

  Status Issue(Call& call) override {
    ASSIGN_OR_RETURN(const ImageShape out, ReadImages(call.input(0), "input"));
    int64_t height = 0, width = 0;
    RETURN_IF_ERROR(ReadImageSize(call.input(1), &height, &width));
    ASSIGN_OR_RETURN(const Shape shape, ShapeFor(out, height, width));
    ASSIGN_OR_RETURN(Tensor * dx, call.Output(0, shape));
    const ResizePlan plan = Plan(out, height, width, out.height, out.width);
    return SumInto<DeviceType<T>>(call, dx, [&](auto* sums) {
      ResizeNearestGradAll<<<BlocksFor(plan.outputs()), kThreads, 0, call.stream()>>>(
          plan, static_cast<const DeviceType<T>*>(call.input(0).raw()), sums, plan.outputs());
    });
  }
};

CUDA_KERNEL("ResizeBilinear").HostMemory("size").For<ResizeBilinear>(Join<FloatTypes, Types<uint8_t>>{});
CUDA_KERNEL("ResizeBilinearGrad").For<ResizeBilinearGrad>(FloatTypes{});
CUDA_KERNEL("ResizeNearestNeighbor").HostMemory("size").For<ResizeNearest>(Join<FloatTypes, Types<uint8_t>>{});
CUDA_KERNEL("ResizeNearestNeighborGrad").HostMemory("size").For<ResizeNearestGrad>(FloatTypes{});

}  // namespace
}  // namespace millstream::cuda
