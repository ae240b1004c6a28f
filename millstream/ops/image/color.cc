// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "millstream/framework/op.h"

namespace millstream {
namespace {

struct Pixel {
  double a, b, c;
};

Pixel RgbToHsv(Pixel p) {
  const double high = std::max({p.a, p.b, p.c}), range = high - std::min({p.a, p.b, p.c});
  const double saturation = high > 0 ? range / high : 0;
  double hue = 0;
  if (range > 0) {
    const double norm = 1 / (6 * range);
    if (p.a == high)
      hue = norm * (p.b - p.c);
    else if (p.b == high)
      hue = norm * (p.c - p.a) + 2.0 / 6;
    else
      hue = norm * (p.a - p.b) + 4.0 / 6;
    if (hue < 0) hue += 1;
  }
  return {hue, saturation, high};
}

Pixel HsvToRgb(Pixel p) {
  const double h = p.a * 6;
  const auto mix = [&](double share) { return ((1 - p.b) + p.b * std::clamp(share, 0.0, 1.0)) * p.c; };
  return {mix(std::fabs(h - 3) - 1), mix(2 - std::fabs(h - 2)), mix(2 - std::fabs(h - 4))};
}

// Turns the hue by `delta` (1 is all around), keeping the least and the greatest channel as they are.
Pixel TurnHue(Pixel p, double delta) {
  const double high = std::max({p.a, p.b, p.c}), low = std::min({p.a, p.b, p.c}), range = high - low;
  if (range == 0) return p;
  double hue = RgbToHsv(p).a + delta;
  hue = 6 * (hue - std::floor(hue));
  const auto mix = [&](double share) { return low + range * std::clamp(share, 0.0, 1.0); };
  return {mix(std::fabs(hue - 3) - 1), mix(2 - std::fabs(hue - 2)), mix(2 - std::fabs(hue - 4))};
}

template <typename T, typename Fn>
Status MapPixels(KernelContext& ctx, double cost, Fn fn) {
  const Tensor& in = ctx.input(0);
  ASSIGN_OR_RETURN(Tensor * out, ctx.ForwardOrAllocate({0}, 0, in.shape()));
  const T* x = in.data<T>();
  T* y = out->data<T>();
  using W = Compute<T>;
  ctx.ParallelFor(in.num_elements() / 3, cost, [&](int64_t begin, int64_t end) {
    for (int64_t i = 3 * begin; i < 3 * end; i += 3) {
      const Pixel p =
          fn(Pixel{static_cast<double>(W(x[i])), static_cast<double>(W(x[i + 1])), static_cast<double>(W(x[i + 2]))});
      y[i] = static_cast<T>(static_cast<W>(p.a));
      y[i + 1] = static_cast<T>(static_cast<W>(p.b));
      y[i + 2] = static_cast<T>(static_cast<W>(p.c));
    }
  });
  return OkStatus();
}

template <typename T, Pixel (*convert)(Pixel)>
class ConvertColor : public Kernel {
 public:
  explicit ConvertColor(KernelInit&) {}
  Status Compute(KernelContext& ctx) override {
    const Tensor& in = ctx.input(0);
    if (in.rank() < 1) return errors::InvalidArgument("input must be at least 1D", in.shape().ToString());
    if (in.dim(in.rank() - 1) != 3) {
      return errors::FailedPrecondition("input must have 3 channels but input only has ", in.dim(in.rank() - 1),
                                        " channels.");
    }
    return MapPixels<T>(ctx, 20, convert);
  }
};
template <typename T>
using ToHsv = ConvertColor<T, RgbToHsv>;
template <typename T>
using ToRgb = ConvertColor<T, HsvToRgb>;

Status CheckColor(const Tensor& in, const Tensor& factor, const char* what) {
  if (in.rank() < 3) return errors::InvalidArgument("input must be at least 3-D, got shape", in.shape().ToString());
  if (factor.rank() != 0) return errors::InvalidArgument(what, " must be scalar: ", factor.shape().ToString());
  if (in.dim(in.rank() - 1) != 3) {
    return errors::InvalidArgument("input must have 3 channels but instead has ", in.dim(in.rank() - 1), " channels.");
  }
  return OkStatus();
}

template <Status (*fn)(KernelContext&)>
class FunctionKernel : public Kernel {
 public:
  explicit FunctionKernel(KernelInit&) {}
  Status Compute(KernelContext& ctx) override { return fn(ctx); }
};

Status AdjustHueCpu(KernelContext& ctx) {
  RETURN_IF_ERROR(CheckColor(ctx.input(0), ctx.input(1), "delta"));
  const double delta = ctx.input(1).scalar<float>();
  return MapPixels<float>(ctx, 30, [=](Pixel p) { return TurnHue(p, delta); });
}

Status AdjustSaturationCpu(KernelContext& ctx) {
  RETURN_IF_ERROR(CheckColor(ctx.input(0), ctx.input(1), "scale"));
  const double scale = ctx.input(1).scalar<float>();
  return MapPixels<float>(ctx, 30, [=](Pixel p) {
    Pixel hsv = RgbToHsv(p);
    hsv.b = std::clamp(hsv.b * scale, 0.0, 1.0);
    return HsvToRgb(hsv);
  });
}

// Moves each channel away from its mean over the image. `pixels`: of one image; x may be y.
void MoveFromMeans(const KernelContext& ctx, int64_t images, int64_t pixels, int64_t channels, float factor,
                   const float* x, float* y) {
  const int64_t size = pixels * channels;
  ctx.ParallelFor(images, static_cast<double>(size), [=](int64_t begin, int64_t end) {
    std::vector<double> mean(static_cast<size_t>(channels));
    for (int64_t b = begin; b < end; ++b) {
      const float* from = x + b * size;
      float* to = y + b * size;
      std::fill(mean.begin(), mean.end(), 0.0);
      for (int64_t i = 0; i < size; ++i) mean[i % channels] += from[i];
      for (double& m : mean) m /= static_cast<double>(pixels);
      for (int64_t i = 0; i < size; ++i) {
        const auto m = static_cast<float>(mean[i % channels]);
        to[i] = (from[i] - m) * factor + m;
      }
    }
  });
}

// Output 0 gets the images of `x`, which may be its own elements; input 0 says their shape, input 1 the factor.
void AdjustAll(const KernelContext& ctx, const float* x, Tensor* out) {
  const Shape& shape = out->shape();
  if (shape.num_elements() == 0) return;
  const int64_t channels = shape.dim(shape.rank() - 1);
  const int64_t pixels = shape.dim(shape.rank() - 3) * shape.dim(shape.rank() - 2);
  MoveFromMeans(ctx, shape.num_elements() / (pixels * channels), pixels, channels, ctx.input(1).scalar<float>(), x,
                out->data<float>());
}

Status CheckContrast(const KernelContext& ctx) {
  const Tensor& in = ctx.input(0);
  if (in.rank() < 3) return errors::InvalidArgument("input must be at least 3-D, got shape", in.shape().ToString());
  for (int i = 1; i < ctx.num_inputs(); ++i) {
    const Tensor& t = ctx.input(i);
    if (t.rank() != 0)
      return errors::InvalidArgument(ctx.op().inputs[i].name, " must be scalar: ", t.shape().ToString());
  }
  return OkStatus();
}

Status AdjustContrastCpu(KernelContext& ctx) {
  RETURN_IF_ERROR(CheckContrast(ctx));
  const Tensor& in = ctx.input(0);
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, in.shape()));
  AdjustAll(ctx, in.data<float>(), out);
  return OkStatus();
}

// The first version takes any numbers and holds the result in a range.
template <typename T>
class AdjustContrastInRange final : public Kernel {
 public:
  explicit AdjustContrastInRange(KernelInit&) {}
  Status Compute(KernelContext& ctx) override {
    RETURN_IF_ERROR(CheckContrast(ctx));
    const Tensor& in = ctx.input(0);
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, in.shape()));
    float* y = out->data<float>();
    std::transform(in.data<T>(), in.data<T>() + in.num_elements(), y, [](T x) { return static_cast<float>(x); });
    AdjustAll(ctx, y, out);
    const float low = ctx.input(2).scalar<float>(), high = ctx.input(3).scalar<float>();
    for (int64_t i = 0; i < in.num_elements(); ++i) y[i] = std::max(std::min(y[i], high), low);
    return OkStatus();
  }
};

Status ColorShape(ShapeContext& c) {
  PartialShape in;
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(0), 1, &in));
  if (!in.rank_known()) return OkStatus();
  int64_t three = 0;
  RETURN_IF_ERROR(ShapeContext::MergeDim(in.dim(in.rank() - 1), 3, &three));
  in.set_dim(in.rank() - 1, 3);
  c.set_output(0, std::move(in));
  return OkStatus();
}
Status AdjustShape(ShapeContext& c) {
  PartialShape in;
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(0), 3, &in));
  c.set_output(0, std::move(in));
  return OkStatus();
}

Status ContrastShape(ShapeContext& c) {
  PartialShape scalar;
  for (int i = 1; i < c.num_inputs(); ++i) RETURN_IF_ERROR(ShapeContext::WithRank(c.input(i), 0, &scalar));
  return AdjustShape(c);
}

OP("RGBToHSV")
    .Input("images: T")
    .Output("output: T")
    .Attr("T: {half, bfloat16, float, double} = DT_FLOAT")
    .Shape(ColorShape)
    .Cpu<ToHsv>(FloatTypes{})
    .Doc("Hue, saturation and value of red, green and blue.");

OP("HSVToRGB")
    .Input("images: T")
    .Output("output: T")
    .Attr("T: {half, bfloat16, float, double} = DT_FLOAT")
    .Shape(ColorShape)
    .NotDifferentiable()
    .Cpu<ToRgb>(FloatTypes{})
    .Doc("Red, green and blue of hue, saturation and value.");

OP("AdjustHue")
    .Input("images: T")
    .Input("delta: float")
    .Output("output: T")
    .Attr("T: {half, float} = DT_FLOAT")
    .Shape(AdjustShape)
    .CpuFor<FunctionKernel<AdjustHueCpu>>(Types<float>{})
    .Doc("Images with their hue turned by a part of the circle.");

OP("AdjustSaturation")
    .Input("images: T")
    .Input("scale: float")
    .Output("output: T")
    .Attr("T: {half, float} = DT_FLOAT")
    .Shape(AdjustShape)
    .CpuFor<FunctionKernel<AdjustSaturationCpu>>(Types<float>{})
    .Doc("Images with their saturation multiplied.");

OP("AdjustContrastv2")
    .Input("images: T")
    .Input("contrast_factor: float")
    .Output("output: T")
    .Attr("T: {half, float} = DT_FLOAT")
    .Shape(ContrastShape)
    .CpuFor<FunctionKernel<AdjustContrastCpu>>(Types<float>{})
    .Doc("Images whose channels are moved away from their means.");

OP("AdjustContrast")
    .Input("images: T")
    .Input("contrast_factor: float")
    .Input("min_value: float")
    .Input("max_value: float")
    .Output("output: float")
    .Attr("T: {uint8, int8, int16, int32, int64, float, double}")
    .Shape(ContrastShape)
    .Cpu<AdjustContrastInRange>(Types<uint8_t, int8_t, int16_t, int32_t, float, double>{})
    .Doc("AdjustContrastv2 whose result is held in a range.");

}  // namespace
}  // namespace millstream
