// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "millstream/framework/op.h"
#include "millstream/math/simd.h"

namespace millstream {
namespace {

// Three channels. All functions of pixels are without branches, so that loops over them are vectorised.
template <typename W>
struct Pixel {
  W a, b, c;
};

template <typename W>
MILLSTREAM_ALWAYS_INLINE W Larger(W x, W y) {
  return x > y ? x : y;
}
template <typename W>
MILLSTREAM_ALWAYS_INLINE W Smaller(W x, W y) {
  return x < y ? x : y;
}
template <typename W>
MILLSTREAM_ALWAYS_INLINE W Share(W x) {
  return Smaller(Larger(x, W(0)), W(1));
}
template <typename W>
MILLSTREAM_ALWAYS_INLINE W Highest(const Pixel<W>& p) {
  return Larger(p.a, Larger(p.b, p.c));
}
template <typename W>
MILLSTREAM_ALWAYS_INLINE W Lowest(const Pixel<W>& p) {
  return Smaller(p.a, Smaller(p.b, p.c));
}

template <typename W>
MILLSTREAM_ALWAYS_INLINE W HueOf(const Pixel<W>& p, W high, W range) {
  const W norm = W(1) / (W(6) * (range > W(0) ? range : W(1)));
  const W red = norm * (p.b - p.c), green = norm * (p.c - p.a) + W(2.0 / 6), blue = norm * (p.a - p.b) + W(4.0 / 6);
  const W other = p.b == high ? green : blue, hue = p.a == high ? red : other, turned = hue + W(1);
  const W positive = hue < W(0) ? turned : hue;
  return range > W(0) ? positive : W(0);
}
// What a hue (6 is all around) gives to each channel, from 0 to 1.
template <typename W>
MILLSTREAM_ALWAYS_INLINE Pixel<W> SharesOf(W hue) {
  return {Share(std::abs(hue - W(3)) - W(1)), Share(W(2) - std::abs(hue - W(2))), Share(W(2) - std::abs(hue - W(4)))};
}

struct RgbToHsv {
  template <typename W>
  MILLSTREAM_ALWAYS_INLINE Pixel<W> operator()(const Pixel<W>& p) const {
    const W high = Highest(p), range = high - Lowest(p), divisor = high > W(0) ? high : W(1);
    const W saturation = range / divisor;
    return {HueOf(p, high, range), high > W(0) ? saturation : W(0), high};
  }
};

struct HsvToRgb {
  template <typename W>
  MILLSTREAM_ALWAYS_INLINE Pixel<W> operator()(const Pixel<W>& p) const {
    const Pixel<W> s = SharesOf(p.a * W(6));
    const W least = W(1) - p.b;
    return {(least + p.b * s.a) * p.c, (least + p.b * s.b) * p.c, (least + p.b * s.c) * p.c};
  }
};

// Turns the hue by `delta` (1 is all around), keeping the least and the greatest channel as they are.
struct TurnHue {
  float delta;
  MILLSTREAM_ALWAYS_INLINE Pixel<float> operator()(const Pixel<float>& p) const {
    const float high = Highest(p), low = Lowest(p), range = high - low;
    const float turned = HueOf(p, high, range) + delta;
    const Pixel<float> s = SharesOf(6 * (turned - std::floor(turned)));
    return {low + range * s.a, low + range * s.b, low + range * s.c};
  }
};

struct ScaleSaturation {
  float scale;
  MILLSTREAM_ALWAYS_INLINE Pixel<float> operator()(const Pixel<float>& p) const {
    Pixel<float> hsv = RgbToHsv()(p);
    hsv.b = Share(hsv.b * scale);
    return HsvToRgb()(hsv);
  }
};

template <typename T, typename Fn>
Status MapPixels(KernelContext& ctx, Fn fn) {
  constexpr double kNanosecondsPerPixel = 3;
  const Tensor& in = ctx.input(0);
  ASSIGN_OR_RETURN(Tensor * out, ctx.ForwardOrAllocate({0}, 0, in.shape()));
  const T* x = in.data<T>();
  T* y = out->data<T>();
  using W = Compute<T>;
  ctx.ParallelFor(in.num_elements() / 3, kNanosecondsPerPixel, [=](int64_t begin, int64_t end) {
    simd::For<W>(begin, end, [=](int64_t i) MILLSTREAM_INLINE_LAMBDA {
      const Pixel<W> p =
          fn(Pixel<W>{static_cast<W>(x[3 * i]), static_cast<W>(x[3 * i + 1]), static_cast<W>(x[3 * i + 2])});
      y[3 * i] = static_cast<T>(p.a);
      y[3 * i + 1] = static_cast<T>(p.b);
      y[3 * i + 2] = static_cast<T>(p.c);
    });
  });
  return OkStatus();
}

template <typename T, typename Convert>
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
    return MapPixels<T>(ctx, Convert());
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
  return MapPixels<float>(ctx, TurnHue{ctx.input(1).scalar<float>()});
}

Status AdjustSaturationCpu(KernelContext& ctx) {
  RETURN_IF_ERROR(CheckColor(ctx.input(0), ctx.input(1), "scale"));
  return MapPixels<float>(ctx, ScaleSaturation{ctx.input(1).scalar<float>()});
}

// A part of an image: pixels [first, last) of `channels` channels each.
struct PixelRange {
  int64_t first, last, channels;
};

// Adds the channels of all pixels of a range to `totals`. Channels are repeated so that a loop goes over several
// pixels.
void AddChannels(const float* x, const PixelRange& r, int64_t repeated, double* totals) {
  std::vector<float> sums(static_cast<size_t>(repeated));
  float* const to = sums.data();
  const int64_t end = r.last * r.channels;
  for (int64_t i = r.first * r.channels; i < end; i += repeated) {
    simd::For<float>(0, std::min(repeated, end - i),
                     [to, from = x + i](int64_t k) MILLSTREAM_INLINE_LAMBDA { to[k] += from[k]; });
  }
  for (int64_t k = 0; k < repeated; ++k) totals[k % r.channels] += to[k];
}

// y = (x - mean) * factor + mean. Channels are repeated so that a loop goes over several pixels.
void MovePixels(const float* x, const PixelRange& r, const float* means, int64_t repeated, float factor, float* y) {
  const int64_t end = r.last * r.channels;
  for (int64_t i = r.first * r.channels; i < end; i += repeated) {
    simd::For<float>(0, std::min(repeated, end - i), [=, from = x + i, to = y + i](int64_t k) MILLSTREAM_INLINE_LAMBDA {
      to[k] = (from[k] - means[k]) * factor + means[k];
    });
  }
}

// Moves each channel away from its mean over the image. `pixels`: of one image; x may be y. Sums are of chunks of
// pixels that depend on the shape alone.
void MoveFromMeans(const KernelContext& ctx, int64_t images, int64_t pixels, int64_t channels, float factor,
                   const float* x, float* y) {
  constexpr int64_t kChunk = 4096, kRepeated = 512;
  const int64_t size = pixels * channels, chunks = (pixels + kChunk - 1) / kChunk;
  const int64_t repeated = std::max(channels, kRepeated / channels * channels);
  const double cost = 0.5 * static_cast<double>(std::min(kChunk, pixels) * channels);
  std::vector<double> sums(static_cast<size_t>(images * chunks * channels));
  std::vector<float> means(static_cast<size_t>(images * repeated));
  const auto range = [=](int64_t chunk) {
    return PixelRange{chunk * kChunk, std::min(pixels, (chunk + 1) * kChunk), channels};
  };
  ctx.ParallelFor(images * chunks, cost, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      AddChannels(x + i / chunks * size, range(i % chunks), repeated, &sums[i * channels]);
  });
  for (int64_t b = 0; b < images; ++b) {
    for (int64_t c = 0; c < channels; ++c) {
      double sum = 0;
      for (int64_t i = 0; i < chunks; ++i) sum += sums[(b * chunks + i) * channels + c];
      const auto mean = static_cast<float>(sum / static_cast<double>(pixels));
      for (int64_t at = c; at < repeated; at += channels) means[b * repeated + at] = mean;
    }
  }
  ctx.ParallelFor(images * chunks, cost, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t b = i / chunks;
      MovePixels(x + b * size, range(i % chunks), &means[b * repeated], repeated, factor, y + b * size);
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
