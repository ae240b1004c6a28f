// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "millstream/framework/op.h"
#include "millstream/framework/shape_context.h"

namespace millstream {
namespace {

constexpr double kQuietest = 1e-12;  // of a band, so that its logarithm is finite

double MelOf(double hertz) { return 1127.0 * std::log1p(hertz / 700.0); }

// A frequency's place among a spectrogram's, no larger than an int32.
int64_t FrequencyIndex(double x) {
  return static_cast<int64_t>(std::min(x, static_cast<double>(std::numeric_limits<int32_t>::max())));
}

// Where a frequency of a spectrogram falls in overlapping triangles that are equally wide in mel.
struct MelPlace {
  int64_t band;   // on whose falling side it lies; -1 before the first
  double weight;  // its part in that band; the rest goes to the next one
};

struct MelBands {
  int64_t count;
  int64_t first, last;  // frequencies that fall into bands
  std::vector<MelPlace> places;

  // The logarithms of the sums in all bands, from squared magnitudes.
  void Apply(const float* squares, double* out) const {
    std::fill_n(out, count, 0.0);
    for (int64_t i = first; i <= last; ++i) {
      const auto& [band, weight] = places[static_cast<size_t>(i)];
      const double magnitude = std::sqrt(static_cast<double>(squares[i])), part = magnitude * weight;
      if (band >= 0) out[band] += part;
      if (band + 1 < count) out[band + 1] += magnitude - part;
    }
    for (int64_t i = 0; i < count; ++i) out[i] = std::log(out[i] < kQuietest ? kQuietest : out[i]);
  }
};

// Input [channels, windows, frequencies], output [channels, windows, coefficients].
class Mfcc final : public Kernel {
 public:
  explicit Mfcc(KernelInit& init)
      : high_(init.Attr<float>("upper_frequency_limit")),
        low_(init.Attr<float>("lower_frequency_limit")),
        bands_(init.Attr<int64_t>("filterbank_channel_count")),
        coefficients_(init.Attr<int64_t>("dct_coefficient_count")) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor &spectrogram = ctx.input(0), &rate = ctx.input(1);
    if (spectrogram.rank() != 3) {
      return errors::InvalidArgument("spectrogram must be 3-dimensional", spectrogram.shape().ToString());
    }
    if (rate.rank() != 0) {
      return errors::InvalidArgument("Input sample_rate should be a scalar tensor, got ", rate.shape().ToString(),
                                     " instead.");
    }
    const int64_t frequencies = spectrogram.dim(2), windows = spectrogram.dim(0) * spectrogram.dim(1);
    RETURN_IF_ERROR(Check(frequencies, rate.scalar<int32_t>()));
    const int64_t dims[] = {spectrogram.dim(0), spectrogram.dim(1), coefficients_};
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    const MelBands bands = MakeBands(frequencies, rate.scalar<int32_t>());
    if (bands.last >= frequencies) {  // TensorFlow gives zeros, too
      std::fill_n(out->data<float>(), out->num_elements(), 0.0f);
      return OkStatus();
    }
    ASSIGN_OR_RETURN(const Tensor cosines, MakeCosines(ctx));
    const int64_t mel_dims[] = {windows, bands_};
    ASSIGN_OR_RETURN(const Shape mel_shape, Shape::Make(mel_dims));
    ASSIGN_OR_RETURN(Tensor mel, ctx.AllocateTemp(DType::kDouble, mel_shape));
    const double cost =
        4.0 * static_cast<double>(frequencies) + static_cast<double>(bands_) * static_cast<double>(coefficients_ + 10);
    ctx.ParallelFor(windows, cost, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        double* line = mel.data<double>() + i * bands_;
        bands.Apply(spectrogram.data<float>() + i * frequencies, line);
        Transform(cosines.data<double>(), line, out->data<float>() + i * coefficients_);
      }
    });
    return OkStatus();
  }

 private:
  Status Check(int64_t frequencies, int32_t rate) const {
    constexpr int64_t kMax = std::numeric_limits<int32_t>::max();
    const bool fits = frequencies >= 2 && frequencies < kMax && rate > 0 && low_ >= 0 && high_ > low_;
    if (fits && coefficients_ >= 1 && coefficients_ <= bands_ && bands_ < kMax - 1) return OkStatus();
    return errors::InvalidArgument("Mfcc initialization failed for channel count ", frequencies, ", sample rate ", rate,
                                   " and filterbank_channel_count ", bands_);
  }

  MelBands MakeBands(int64_t frequencies, int32_t rate) const {
    const double hertz = 0.5 * rate / static_cast<double>(frequencies - 1);  // from one frequency to the next
    // The frequency zero belongs to no band.
    MelBands b{bands_, FrequencyIndex(1.5 + low_ / hertz), FrequencyIndex(high_ / hertz), {}};
    if (b.last >= frequencies) return b;
    const double low = MelOf(low_), step = (MelOf(high_) - low) / static_cast<double>(bands_ + 1);
    const auto center = [&](int64_t band) { return low + step * static_cast<double>(band + 1); };
    b.places.resize(static_cast<size_t>(frequencies));
    int64_t next = 0;
    for (int64_t i = b.first; i <= b.last; ++i) {
      const double mel = MelOf(static_cast<double>(i) * hertz);
      while (next < bands_ && center(next) < mel) ++next;
      const double begin = next > 0 ? center(next - 1) : low, end = center(next);
      b.places[static_cast<size_t>(i)] = {next - 1, (end - mel) / (end - begin)};
    }
    return b;
  }

  // [coefficients, bands] of the cosine transform.
  StatusOr<Tensor> MakeCosines(KernelContext& ctx) const {
    const int64_t dims[] = {coefficients_, bands_};
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor cosines, ctx.AllocateTemp(DType::kDouble, shape));
    const auto n = static_cast<double>(bands_);
    double* to = cosines.data<double>();
    for (int64_t k = 0; k < coefficients_; ++k) {
      const double angle = std::numbers::pi / n * static_cast<double>(k);
      for (int64_t i = 0; i < bands_; ++i)
        *to++ = std::sqrt(2.0 / n) * std::cos(angle * (static_cast<double>(i) + 0.5));
    }
    return cosines;
  }

  void Transform(const double* cosines, const double* mel, float* out) const {
    for (int64_t k = 0; k < coefficients_; ++k, cosines += bands_) {
      double sum = 0;
      for (int64_t i = 0; i < bands_; ++i) sum += cosines[i] * mel[i];
      out[k] = static_cast<float>(sum);
    }
  }

  const float high_, low_;
  const int64_t bands_, coefficients_;
};

Status MfccShape(ShapeContext& c) {
  PartialShape spectrogram, unused;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 3, &spectrogram));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 0, &unused));
  int64_t coefficients = 0;
  RETURN_IF_ERROR(c.GetAttr("dct_coefficient_count", &coefficients));
  if (coefficients < 0) return errors::InvalidArgument("dct_coefficient_count must be positive, got ", coefficients);
  c.set_output(0, PartialShape({spectrogram.dim(0), spectrogram.dim(1), coefficients}));
  return OkStatus();
}

OP("Mfcc")
    .Input("spectrogram: float")
    .Input("sample_rate: int32")
    .Output("output: float")
    .Attr("upper_frequency_limit: float = 4000")
    .Attr("lower_frequency_limit: float = 20")
    .Attr("filterbank_channel_count: int = 40")
    .Attr("dct_coefficient_count: int = 13")
    .Shape(MfccShape)
    .Cpu<Mfcc>()
    .Expensive()
    .Doc("Mel frequency cepstral coefficients of a spectrogram of squared magnitudes.");

}  // namespace
}  // namespace millstream
