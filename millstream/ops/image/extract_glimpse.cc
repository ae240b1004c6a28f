// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "millstream/framework/op.h"
#include "millstream/math/random/random.h"
#include "millstream/ops/random/generator.h"

namespace millstream {
namespace {

// Windows of images around given places; what lies outside of the image is noise.
class ExtractGlimpse final : public Kernel {
 public:
  explicit ExtractGlimpse(KernelInit& init)
      : first_version_(init.op().name == "ExtractGlimpse"),
        centered_(init.Attr<bool>("centered")),
        normalized_(init.Attr<bool>("normalized")),
        stream_(0, 0) {
    const auto uniform = init.Attr<bool>("uniform_noise");
    const auto noise = init.Attr<std::string>("noise");
    if (uniform && !noise.empty() && noise != "uniform") {
      init.Fail(errors::InvalidArgument("The uniform_noise and noise could not be specified at the same time"));
    }
    if (noise == "uniform" || (noise.empty() && uniform)) {
      noise_ = Noise::kUniform;
    } else if (noise == "gaussian" || noise.empty()) {
      noise_ = Noise::kGaussian;
    } else if (noise != "zero") {
      init.Fail(errors::InvalidArgument("The noise could only be uniform, gaussian, or zero, got", noise));
    }
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor &in = ctx.input(0), &size = ctx.input(1), &offsets = ctx.input(2);
    RETURN_IF_ERROR(CheckInputs(in, size, offsets));
    const Glimpse g{in.dim(1), in.dim(2), in.dim(3), size.data<int32_t>()[0], size.data<int32_t>()[1]};
    const std::vector<int64_t> dims{in.dim(0), g.rows, g.cols, g.depth};
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    if (in.num_elements() == 0) return errors::InvalidArgument("input has no pixels: ", in.shape().ToString());
    for (int64_t b = 0; b < in.dim(0); ++b) {
      const float* image = in.data<float>() + b * g.height * g.width * g.depth;
      float* to = out->data<float>() + b * g.rows * g.cols * g.depth;
      ASSIGN_OR_RETURN(const int64_t top, Begin(offsets.data<float>()[2 * b], g.height, g.rows));
      ASSIGN_OR_RETURN(const int64_t left, Begin(offsets.data<float>()[2 * b + 1], g.width, g.cols));
      if (top < 0 || left < 0 || top + g.rows > g.height || left + g.cols > g.width) AddNoise(g, image, to);
      CopyOverlap(g, image, top, left, to);
    }
    return OkStatus();
  }

 private:
  enum class Noise { kZero, kUniform, kGaussian };
  struct Glimpse {
    int64_t height, width, depth, rows, cols;
  };

  static Status CheckInputs(const Tensor& in, const Tensor& size, const Tensor& offsets) {
    if (in.rank() != 4) {
      return errors::InvalidArgument("input must be 4-dimensional (batch_size, height, width, depth)",
                                     in.shape().ToString());
    }
    if (size.rank() != 1 || size.dim(0) != 2) {
      return errors::InvalidArgument("input must be a vector of size 2 (height, width)", size.shape().ToString());
    }
    if (offsets.rank() != 2) return errors::InvalidArgument("input must be a matrix", offsets.shape().ToString());
    if (offsets.dim(0) != in.dim(0)) {
      return errors::InvalidArgument("first dimension should be batch", offsets.shape().ToString());
    }
    if (offsets.dim(1) == 2) return OkStatus();
    return errors::InvalidArgument("second dimension should be of size 2 (y,x)", offsets.shape().ToString());
  }

  // The first row (column) of the window in the image.
  StatusOr<int64_t> Begin(float offset, int64_t image, int64_t window) const {
    const auto size = static_cast<float>(image);
    float at = normalized_ ? offset * size : offset;
    if (centered_) at = (first_version_ || normalized_ ? at / 2 : at) + size / 2;
    if (first_version_ || (normalized_ && centered_)) at -= static_cast<float>(window) / 2;
    if (!(std::fabs(at) < 1e9f)) return errors::InvalidArgument("offset is out of range: ", offset);
    return static_cast<int64_t>(at);
  }

  static void CopyOverlap(const Glimpse& g, const float* image, int64_t top, int64_t left, float* to) {
    const int64_t first = std::max<int64_t>(0, -left), last = std::min(g.cols, g.width - left);
    for (int64_t y = 0; y < g.rows && first < last; ++y) {
      if (y + top < 0 || y + top >= g.height) continue;
      const float* from = image + ((y + top) * g.width + left + first) * g.depth;
      std::copy_n(from, (last - first) * g.depth, to + (y * g.cols + first) * g.depth);
    }
  }

  // In the range of the image, or as each channel is distributed.
  void AddNoise(const Glimpse& g, const float* image, float* to) {
    const int64_t n = g.rows * g.cols * g.depth, pixels = g.height * g.width;
    if (noise_ == Noise::kZero) return void(std::fill_n(to, n, 0.0f));
    Draws draws(stream_.Reserve(n + 1));
    if (noise_ == Noise::kUniform) {
      const auto [low, high] = std::minmax_element(image, image + pixels * g.depth);
      for (int64_t i = 0; i < n; ++i) to[i] = *low + static_cast<float>(draws.Uniform()) * (*high - *low);
      return;
    }
    for (int64_t c = 0; c < g.depth; ++c) {
      double sum = 0, squares = 0;
      float low = image[c], high = image[c];
      for (int64_t i = c; i < pixels * g.depth; i += g.depth) {
        sum += image[i];
        squares += static_cast<double>(image[i]) * image[i];
        low = std::min(low, image[i]);
        high = std::max(high, image[i]);
      }
      const double mean = sum / static_cast<double>(pixels);
      const double deviation = std::sqrt(std::max(0.0, squares / static_cast<double>(pixels) - mean * mean));
      for (int64_t i = c; i < n; i += g.depth) {
        const auto x = static_cast<float>(mean + draws.Normal() * deviation);
        to[i] = std::max(std::min(x, high), low);
      }
    }
  }

  const bool first_version_, centered_, normalized_;
  Noise noise_ = Noise::kZero;
  math::PhiloxStream stream_;
};

Status GlimpseShape(ShapeContext& c) {
  PartialShape in, offsets, size;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 4, &in));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(2), 2, &offsets));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 1, &size));
  int64_t batch = -1, pair = 2;
  RETURN_IF_ERROR(ShapeContext::MergeDim(in.dim(0), offsets.dim(0), &batch));
  RETURN_IF_ERROR(ShapeContext::MergeDim(offsets.dim(1), pair, &pair));
  RETURN_IF_ERROR(ShapeContext::MergeDim(size.dim(0), pair, &pair));
  std::vector<int64_t> window;
  if (!c.ConstantInts(1, &window)) {
    window = {-1, -1};
  } else if (window.size() != 2 || window[0] < 0 || window[1] < 0) {
    return errors::InvalidArgument("size must be two sizes that are not negative");
  }
  c.set_output(0, PartialShape({batch, window[0], window[1], in.dim(3)}));
  return OkStatus();
}

OpBuilder Define(const char* name) {
  OpBuilder op(name);
  op.Input("input: float").Input("size: int32").Input("offsets: float").Output("glimpse: float");
  op.Attr("centered: bool = true").Attr("normalized: bool = true").Attr("uniform_noise: bool = true");
  op.Attr("noise: string = 'uniform'").Shape(GlimpseShape).NotDifferentiable().Cpu<ExtractGlimpse>();
  return op.HostMemory("size").Doc("A window of each image at the given place, with noise where the image ends.");
}
const OpBuilder kFirst = Define("ExtractGlimpse");
const OpBuilder kSecond = Define("ExtractGlimpseV2");

}  // namespace
}  // namespace millstream
