// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "millstream/graph/gradients/gradient.h"
#include "millstream/ops/elements/blob.h"
#include "millstream/ops/gradients/relative.h"
#include "millstream/ops/image/taps.h"

namespace millstream {
namespace {

ResizeOptions ReadOptions(KernelInit& init, Interpolation method) {
  ResizeOptions o{method};
  o.align_corners = init.Attr<bool>("align_corners");
  if (init.HasAttr("half_pixel_centers")) o.half_pixel_centers = init.Attr<bool>("half_pixel_centers");
  if (o.align_corners && o.half_pixel_centers) {
    init.Fail(errors::InvalidArgument("If half_pixel_centers is True, align_corners must be False."));
  }
  return o;
}

// Output 0: images like those of `in` in the size that input 1 says.
StatusOr<Tensor*> AllocateResized(KernelContext& ctx, const ImageShape& in) {
  int64_t height = 0, width = 0;
  RETURN_IF_ERROR(ReadImageSize(ctx.input(1), &height, &width));
  RETURN_IF_ERROR(CheckTapMemory(ctx, height, width));
  const int64_t dims[] = {in.batch, height, width, in.channels};
  ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  return ctx.AllocateOutput(0, shape);
}

template <Interpolation method>
class Resize : public Kernel {
 public:
  explicit Resize(KernelInit& init) : options_(ReadOptions(init, method)) {}

  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const ImageShape in, ReadImages(ctx.input(0), "input"));
    ASSIGN_OR_RETURN(Tensor * out, AllocateResized(ctx, in));
    if (out->num_elements() == 0) return OkStatus();
    const Taps y = MakeTaps(options_, in.height, out->dim(1)), x = MakeTaps(options_, in.width, out->dim(2));
    ASSIGN_OR_RETURN(const Tensor from, ImageAsFloat(ctx, ctx.input(0)));
    Resample(ctx, in, y, x, from.data<float>(), out->data<float>());
    return OkStatus();
  }

 private:
  const ResizeOptions options_;
};

// Input 1 is the image that was resized, of which only the shape counts.
template <Interpolation method>
class ResizeGrad : public Kernel {
 public:
  explicit ResizeGrad(KernelInit& init) : options_(ReadOptions(init, method)) {}

  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const ImageShape out, ReadImages(ctx.input(0), "input_grad"));
    ASSIGN_OR_RETURN(const ImageShape in, ReadImages(ctx.input(1), "original_image"));
    if (in.batch != out.batch || in.channels != out.channels) {
      return errors::InvalidArgument("grads and original_image must have the same batch and channels");
    }
    const Taps y = MakeTaps(options_, in.height, out.height), x = MakeTaps(options_, in.width, out.width);
    ASSIGN_OR_RETURN(Tensor sums, ctx.AllocateTemp(DType::kFloat, ctx.input(1).shape()));
    ResampleBack(ctx, in, y, x, ctx.input(0).data<float>(), sums.data<float>());
    return SetFromFloat(ctx, 0, std::move(sums));
  }

 private:
  const ResizeOptions options_;
};

class ResizeNearest : public Kernel {
 public:
  explicit ResizeNearest(KernelInit& init) : options_(ReadOptions(init, Interpolation::kNearest)) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor& images = ctx.input(0);
    ASSIGN_OR_RETURN(const ImageShape in, ReadImages(images, "input"));
    ASSIGN_OR_RETURN(Tensor * out, AllocateResized(ctx, in));
    if (out->num_elements() == 0) return OkStatus();
    const int64_t height = out->dim(1), width = out->dim(2);
    const Taps y = MakeTaps(options_, in.height, height), x = MakeTaps(options_, in.width, width);
    DispatchBlob(images.dtype(), [&](auto type) {
      using T = typename decltype(type)::type;
      const T* from = BlobData<T>(images);
      T* to = BlobData<T>(out);
      const double cost = static_cast<double>(width) * (1.0 + kCopyCost<T> * static_cast<double>(in.channels));
      ctx.ParallelFor(in.batch * height, cost, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const T* row = from + (i / height * in.height + y.sources[i % height]) * in.width * in.channels;
          T* t = to + i * width * in.channels;
          for (int64_t j = 0; j < width; ++j)
            CopyRun(row + x.sources[j] * in.channels, in.channels, t + j * in.channels);
        }
      });
    });
    return OkStatus();
  }

 private:
  const ResizeOptions options_;
};

template <typename T>
class ResizeNearestGrad : public Kernel {
 public:
  explicit ResizeNearestGrad(KernelInit& init) : options_(ReadOptions(init, Interpolation::kNearest)) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor& dy = ctx.input(0);
    ASSIGN_OR_RETURN(const ImageShape out, ReadImages(dy, "input"));
    ASSIGN_OR_RETURN(Tensor * dx, AllocateResized(ctx, out));
    const int64_t height = dx->dim(1), width = dx->dim(2);
    const Taps y = MakeTaps(options_, height, out.height), x = MakeTaps(options_, width, out.width);
    // Sources grow: the rows of dy that belong to row i of dx lie between bounds[i] and bounds[i + 1].
    std::vector<int64_t> bounds(static_cast<size_t>(height) + 1, 0);
    for (const int64_t source : y.sources) ++bounds[source + 1];
    for (int64_t i = 0; i < height; ++i) bounds[i + 1] += bounds[i];
    const double cost = static_cast<double>(out.height * out.width * out.channels) / static_cast<double>(height);
    ctx.ParallelFor(out.batch * height, cost, [&](int64_t begin, int64_t end) {
      std::vector<Sum> sums(static_cast<size_t>(width * out.channels));
      for (int64_t i = begin; i < end; ++i) {
        std::fill(sums.begin(), sums.end(), Sum());
        for (int64_t k = bounds[i % height]; k < bounds[i % height + 1]; ++k) {
          AddRow(dy.data<T>() + (i / height * out.height + k) * out.width * out.channels, x, out.channels, sums.data());
        }
        std::transform(sums.begin(), sums.end(), dx->data<T>() + i * width * out.channels,
                       [](Sum v) { return static_cast<T>(v); });
      }
    });
    return OkStatus();
  }

 private:
  using Sum = std::conditional_t<std::is_integral_v<T>, uint64_t, millstream::Compute<T>>;

  static void AddRow(const T* from, const Taps& x, int64_t channels, Sum* sums) {
    for (const int64_t source : x.sources) {
      Sum* to = sums + source * channels;
      for (int64_t c = 0; c < channels; ++c) to[c] += static_cast<Sum>(from[c]);
      from += channels;
    }
  }

  const ResizeOptions options_;
};

Status ResizeGradShape(ShapeContext& c) {
  c.set_output(0, c.input(1));
  return OkStatus();
}

// `like` says the size of the images that were resized.
Status ResizeGradient(GradContext& g, const char* op, Output like) {
  g.set_dx(0, Relative(g, op, {g.dy(0), like}, {"align_corners", "half_pixel_centers"}));
  return g.status();
}
Status BilinearGrad(GradContext& g) { return ResizeGradient(g, "ResizeBilinearGrad", g.input(0)); }
Status BicubicGrad(GradContext& g) { return ResizeGradient(g, "ResizeBicubicGrad", g.input(0)); }

Status NearestGrad(GradContext& g) {
  const Scope& s = g.scope();
  const Output size =
      g.Op("StridedSlice", {g.Op("Shape", {g.input(0)}), s.Constant({1}), s.Constant({3}), s.Constant({1})});
  return ResizeGradient(g, "ResizeNearestNeighborGrad", size);
}

using ImageTypes = Types<int8_t, uint8_t, int16_t, uint16_t, int32_t, int64_t, BFloat16, Half, float, double>;
using NearestGradTypes = Types<uint8_t, int8_t, int32_t, Half, float, double, BFloat16>;

OP("ResizeBilinear")
    .Input("images: T")
    .Input("size: int32")
    .Output("resized_images: float")
    .Attr("T: {int8, uint8, int16, uint16, int32, int64, bfloat16, half, float, double, bfloat16}")
    .Attr("align_corners: bool = false")
    .Attr("half_pixel_centers: bool = false")
    .Shape(ResizeShape)
    .Gradient(BilinearGrad)
    .CpuFor<Resize<Interpolation::kBilinear>>(ImageTypes{})
    .HostMemory("size")
    .Doc("Images in another size, interpolated linearly.");

OP("ResizeBilinearGrad")
    .Input("grads: float")
    .Input("original_image: T")
    .Output("output: T")
    .Attr("T: {float, bfloat16, half, double}")
    .Attr("align_corners: bool = false")
    .Attr("half_pixel_centers: bool = false")
    .Shape(ResizeGradShape)
    .NotDifferentiable()
    .CpuFor<ResizeGrad<Interpolation::kBilinear>>(FloatTypes{})
    .Doc("The gradient of ResizeBilinear.");

OP("ResizeBicubic")
    .Input("images: T")
    .Input("size: int32")
    .Output("resized_images: float")
    .Attr("T: {int8, uint8, int16, uint16, int32, int64, half, float, double, bfloat16}")
    .Attr("align_corners: bool = false")
    .Attr("half_pixel_centers: bool = false")
    .Shape(ResizeShape)
    .Gradient(BicubicGrad)
    .CpuFor<Resize<Interpolation::kBicubic>>(ImageTypes{})
    .HostMemory("size")
    .Doc("Images in another size, interpolated by cubics.");

OP("ResizeBicubicGrad")
    .Input("grads: float")
    .Input("original_image: T")
    .Output("output: T")
    .Attr("T: {float, double}")
    .Attr("align_corners: bool = false")
    .Attr("half_pixel_centers: bool = false")
    .Shape(ResizeGradShape)
    .CpuFor<ResizeGrad<Interpolation::kBicubic>>(Types<float, double>{})
    .Doc("The gradient of ResizeBicubic.");

OP("ResizeArea")
    .Input("images: T")
    .Input("size: int32")
    .Output("resized_images: float")
    .Attr("T: {int8, uint8, int16, uint16, int32, int64, half, float, double, bfloat16}")
    .Attr("align_corners: bool = false")
    .Shape(ResizeShape)
    .CpuFor<Resize<Interpolation::kArea>>(ImageTypes{})
    .HostMemory("size")
    .Doc("Images in another size, averaged over the area of each pixel.");

OP("ResizeNearestNeighbor")
    .Input("images: T")
    .Input("size: int32")
    .Output("resized_images: T")
    .Attr("T: {int8, uint8, int16, uint16, int32, int64, half, float, double, bfloat16}")
    .Attr("align_corners: bool = false")
    .Attr("half_pixel_centers: bool = false")
    .Shape(ResizeShape)
    .Gradient(NearestGrad)
    .CpuFor<ResizeNearest>(ImageTypes{})
    .HostMemory("size")
    .Doc("Images in another size, each pixel from its nearest neighbour.");

OP("ResizeNearestNeighborGrad")
    .Input("grads: T")
    .Input("size: int32")
    .Output("output: T")
    .Attr("T: {uint8, int8, int32, half, float, double, bfloat16}")
    .Attr("align_corners: bool = false")
    .Attr("half_pixel_centers: bool = false")
    .Shape(ResizeShape)
    .Cpu<ResizeNearestGrad>(NearestGradTypes{})
    .HostMemory("size")
    .Doc("The gradient of ResizeNearestNeighbor.");

}  // namespace
}  // namespace millstream
