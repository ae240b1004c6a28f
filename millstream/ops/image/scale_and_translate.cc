// SPDX-License-Identifier: Apache-2.0
// Resizing of images by any scale and translation, with filters of good quality.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "millstream/graph/gradients/gradient.h"
#include "millstream/ops/elements/blob.h"
#include "millstream/ops/image/taps.h"

namespace millstream {
namespace {

// A filter: its weight at a distance, zero beyond the radius.
struct Filter {
  float radius = 0;
  float (*weight)(float distance, float radius) = nullptr;
};

float Lanczos(float x, float radius) {
  if (x > radius) return 0;
  if (x <= 1e-3f) return 1;
  const float a = std::numbers::pi_v<float> * x;
  return radius * std::sin(a) * std::sin(a / radius) / (a * a);
}
float Gaussian(float x, float radius) {
  const float sigma = radius / 3;
  return x >= radius ? 0.0f : std::exp(-x * x / (2 * sigma * sigma));
}
float Box(float x, float) { return x < 0.5f ? 1.0f : x == 0.5f ? 0.5f : 0.0f; }
float Triangle(float x, float) { return std::max(0.0f, 1 - x); }
// The family of cubic filters of Mitchell and Netravali (1988); b = 0, c = 1/2 is that of Keys (1981).
float Cubic(float x, float b, float c) {
  if (x >= 2) return 0;
  if (x >= 1) return (((-b / 6 - c) * x + b + 5 * c) * x - 2 * b - 8 * c) * x + 4 * b / 3 + 4 * c;
  return ((2 - 1.5f * b - c) * x - 3 + 2 * b + c) * x * x + 1 - b / 3;
}
float Keys(float x, float) { return Cubic(x, 0, 0.5f); }
float Mitchell(float x, float) { return Cubic(x, 1 / 3.0f, 1 / 3.0f); }

StatusOr<Filter> FilterNamed(absl::string_view name) {
  if (name == "lanczos1") return Filter{1, Lanczos};
  if (name == "lanczos3") return Filter{3, Lanczos};
  if (name == "lanczos5") return Filter{5, Lanczos};
  if (name == "gaussian") return Filter{1.5f, Gaussian};
  if (name == "box") return Filter{1, Box};
  if (name == "triangle") return Filter{1, Triangle};
  if (name == "keyscubic") return Filter{2, Keys};
  if (name == "mitchellcubic") return Filter{2, Mitchell};
  return errors::InvalidArgument("Unrecognized kernel type: ", name);
}

// The part of an axis that the filter covers, for each element of the output. Elements from outside of the image have
// no taps.
Taps FilterTaps(const Filter& filter, bool antialias, int64_t in_size, int64_t out_size, float scale,
                float translation) {
  const float step = 1 / scale, begin = -step * translation;
  const float stretch = antialias ? std::max(step, 1.0f) : 1.0f, reach = filter.radius * stretch;
  const auto last = static_cast<float>(in_size - 1);
  Taps taps;
  std::vector<float> weights;
  for (int64_t i = 0; i < out_size; ++i, taps.EndElement()) {
    const float at = (static_cast<float>(i) + 0.5f) * step + begin;
    if (!(at >= 0 && at <= static_cast<float>(in_size))) continue;
    const auto first = static_cast<int64_t>(std::clamp(std::ceil(at - reach - 0.5f), 0.0f, last));
    const auto end = static_cast<int64_t>(std::clamp(std::floor(at + reach - 0.5f), 0.0f, last)) + 1;
    float sum = 0;
    weights.clear();
    for (int64_t k = first; k < end; ++k) {
      weights.push_back(filter.weight(std::abs((static_cast<float>(k) + 0.5f - at) / stretch), filter.radius));
      sum += weights.back();
    }
    if (std::abs(sum) < 1000 * std::numeric_limits<float>::min()) continue;
    for (int64_t k = first; k < end; ++k) taps.Add(k, weights[k - first] / sum);
  }
  return taps;
}

// What op and gradient share. Inputs 2 and 3 are scale and translation of height and width.
class Scaling : public Kernel {
 public:
  explicit Scaling(KernelInit& init) : antialias_(init.Attr<bool>("antialias")) {
    StatusOr<Filter> filter = FilterNamed(init.Attr<std::string>("kernel_type"));
    init.Check(filter.status());
    if (filter.ok()) filter_ = *filter;
  }

 protected:
  Status MakeTaps(const KernelContext& ctx, const ImageShape& in, int64_t height, int64_t width, Taps* y,
                  Taps* x) const {
    float scale[2], translation[2];
    RETURN_IF_ERROR(ReadPair(ctx.input(2), scale));
    if (!(scale[0] > 0 && scale[1] > 0)) return errors::InvalidArgument("Scale must be greater than zero.");
    RETURN_IF_ERROR(ReadPair(ctx.input(3), translation));
    *y = FilterTaps(filter_, antialias_, in.height, height, scale[0], translation[0]);
    *x = FilterTaps(filter_, antialias_, in.width, width, scale[1], translation[1]);
    return OkStatus();
  }

 private:
  static Status ReadPair(const Tensor& t, float* pair) {
    if (t.rank() != 1) return errors::InvalidArgument("t must be 1-dimensional", t.shape().ToString());
    if (t.num_elements() != 2) return errors::InvalidArgument("t must have two elements", t.shape().ToString());
    std::copy_n(t.data<float>(), 2, pair);
    return OkStatus();
  }

  Filter filter_;
  const bool antialias_;
};

class ScaleAndTranslate final : public Scaling {
 public:
  using Scaling::Scaling;
  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const ImageShape in, ReadImages(ctx.input(0), "input image"));
    int64_t height = 0, width = 0;
    RETURN_IF_ERROR(ReadImageSize(ctx.input(1), &height, &width));
    Taps y, x;
    RETURN_IF_ERROR(MakeTaps(ctx, in, height, width, &y, &x));
    const std::vector<int64_t> dims{in.batch, height, width, in.channels};
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    ASSIGN_OR_RETURN(const Tensor from, ImageAsFloat(ctx, ctx.input(0)));
    Resample(ctx, in, y, x, from.data<float>(), out->data<float>());
    return OkStatus();
  }
};

// Input 1 is the image that was resized, of which only the shape counts.
class ScaleAndTranslateGrad final : public Scaling {
 public:
  using Scaling::Scaling;
  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const ImageShape out, ReadImages(ctx.input(0), "input_grad"));
    ASSIGN_OR_RETURN(const ImageShape in, ReadImages(ctx.input(1), "original_image"));
    if (in.batch != out.batch || in.channels != out.channels) {
      return errors::InvalidArgument("grads and original_image must have the same batch and channels");
    }
    Taps y, x;
    RETURN_IF_ERROR(MakeTaps(ctx, in, out.height, out.width, &y, &x));
    ASSIGN_OR_RETURN(Tensor * dx, ctx.AllocateOutput(0, ctx.input(1).shape()));
    ResampleBack(ctx, in, y, x, ctx.input(0).data<float>(), dx->data<float>());
    return OkStatus();
  }
};

Status GradShape(ShapeContext& c) {
  c.set_output(0, c.input(1));
  return OkStatus();
}

Status ScaleGradient(GradContext& g) {
  g.set_dx(0, g.Op("ScaleAndTranslateGrad", {g.dy(0), g.input(0), g.input(2), g.input(3)},
                   {{"kernel_type", g.Attr<std::string>("kernel_type")}, {"antialias", g.Attr<bool>("antialias")}}));
  return g.status();
}

OP("ScaleAndTranslate")
    .Input("images: T")
    .Input("size: int32")
    .Input("scale: float")
    .Input("translation: float")
    .Output("resized_images: float")
    .Attr("T: {int8, uint8, int16, uint16, int32, int64, bfloat16, half, float, double}")
    .Attr("kernel_type: string = 'lanczos3'")
    .Attr("antialias: bool = true")
    .Shape(ResizeShape)
    .Gradient(ScaleGradient)
    .CpuFor<ScaleAndTranslate>(Join<FloatTypes, Types<int8_t, uint8_t, int16_t, uint16_t, int32_t, int64_t>>{})
    .HostMemory("size")
    .HostMemory("scale")
    .HostMemory("translation")
    .Doc("Images scaled, moved and cut to a size, through a filter.");

OP("ScaleAndTranslateGrad")
    .Input("grads: T")
    .Input("original_image: T")
    .Input("scale: float")
    .Input("translation: float")
    .Output("output: T")
    .Attr("T: {float}")
    .Attr("kernel_type: string = 'lanczos3'")
    .Attr("antialias: bool = true")
    .Shape(GradShape)
    .CpuFor<ScaleAndTranslateGrad>(Types<float>{})
    .HostMemory("scale")
    .HostMemory("translation")
    .Doc("The gradient of ScaleAndTranslate.");

}  // namespace
}  // namespace millstream
