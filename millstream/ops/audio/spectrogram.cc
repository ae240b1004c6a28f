// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>

#include "millstream/framework/op.h"
#include "millstream/framework/shape_context.h"
#include "millstream/math/fft/fft.h"

namespace millstream {
namespace {

Status CheckWindow(int64_t window, int64_t stride) {
  constexpr int64_t kMax = std::numeric_limits<int32_t>::max();
  if (window <= 1 || window > kMax) return errors::InvalidArgument("window_size must be > 1, got ", window);
  if (stride <= 0 || stride > kMax) return errors::InvalidArgument("stride must be > 0, got ", stride);
  return OkStatus();
}

int64_t TransformLength(int64_t window) {
  int64_t length = 1;
  while (length < window) length *= 2;
  return length;
}

int64_t WindowCount(int64_t frames, int64_t window, int64_t stride) {
  return frames < window ? 0 : 1 + (frames - window) / stride;
}

// Input [frames, channels], output [channels, windows, frequencies].
class Spectrogram final : public Kernel {
 public:
  explicit Spectrogram(KernelInit& init)
      : window_(init.Attr<int64_t>("window_size")),
        stride_(init.Attr<int64_t>("stride")),
        squared_(init.Attr<bool>("magnitude_squared")) {
    init.Check(CheckWindow(window_, stride_));
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& audio = ctx.input(0);
    if (audio.rank() != 2) return errors::InvalidArgument("input must be 2-dimensional", audio.shape().ToString());
    const int64_t channels = audio.dim(1), windows = WindowCount(audio.dim(0), window_, stride_);
    const int64_t length = TransformLength(window_), frequencies = 1 + length / 2;
    const int64_t dims[] = {channels, windows, frequencies};
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    // From here on the window is no longer than the input.
    const math::FftPlan<double> plan(length, /*real=*/true);
    const std::vector<double> hann = Hann();
    const double cost = 2.0 * static_cast<double>(length) * std::log2(static_cast<double>(length));
    ctx.ParallelFor(
        channels * windows, cost,
        [&](int64_t begin, int64_t end) {
          std::vector<double> lines(static_cast<size_t>(kWindowsAtATime * length));
          std::vector<std::complex<double>> spectra(static_cast<size_t>(kWindowsAtATime * frequencies));
          for (int64_t first = begin; first < end; first += kWindowsAtATime) {
            const int64_t count = std::min(kWindowsAtATime, end - first);
            for (int64_t i = 0; i < count; ++i) {
              const float* from =
                  audio.data<float>() + (first + i) % windows * stride_ * channels + (first + i) / windows;
              for (int64_t k = 0; k < window_; ++k) lines[i * length + k] = from[k * channels] * hann[k];
            }
            plan.RunFromReal(lines.data(), {.outer_stride = length}, spectra.data(), {.outer_stride = frequencies},
                             count, nullptr);
            float* to = out->data<float>() + first * frequencies;
            for (int64_t k = 0; k < count * frequencies; ++k) {
              const auto square = static_cast<float>(std::norm(spectra[k]));
              to[k] = squared_ ? square : std::sqrt(square);
            }
          }
        },
        kWindowsAtATime);
    return OkStatus();
  }

 private:
  static constexpr int64_t kWindowsAtATime = 8;

  std::vector<double> Hann() const {
    std::vector<double> weights(static_cast<size_t>(window_));
    for (int64_t i = 0; i < window_; ++i) {
      weights[i] = 0.5 - 0.5 * std::cos(2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(window_));
    }
    return weights;
  }

  const int64_t window_, stride_;
  const bool squared_;
};

Status SpectrogramShape(ShapeContext& c) {
  PartialShape audio;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 2, &audio));
  int64_t window = 0, stride = 0;
  RETURN_IF_ERROR(c.GetAttr("window_size", &window));
  RETURN_IF_ERROR(c.GetAttr("stride", &stride));
  RETURN_IF_ERROR(CheckWindow(window, stride));
  const int64_t windows = audio.dim(0) < 0 ? -1 : WindowCount(audio.dim(0), window, stride);
  c.set_output(0, PartialShape({audio.dim(1), windows, 1 + TransformLength(window) / 2}));
  return OkStatus();
}

OP("AudioSpectrogram")
    .Input("input: float")
    .Output("spectrogram: float")
    .Attr("window_size: int")
    .Attr("stride: int")
    .Attr("magnitude_squared: bool = false")
    .Shape(SpectrogramShape)
    .Cpu<Spectrogram>()
    .Expensive()
    .Doc("How strong each frequency is in windows of sounds [frames, channels]: [channels, windows, frequencies].");

}  // namespace
}  // namespace millstream
