// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op.h"
#include "millstream/ops/quantized/quantized.h"

namespace millstream {
namespace {

// Inputs: images, mean, variance, beta, gamma, each followed by its range.
class QuantizedBatchNorm final : public Kernel {
 public:
  explicit QuantizedBatchNorm(KernelInit& init)
      : epsilon_(init.Attr<float>("variance_epsilon")), scales_(init.Attr<bool>("scale_after_normalization")) {
    RequireType(init, "out_type", DType::kQint32);
  }

  Status Compute(KernelContext& ctx) override {
    RETURN_IF_ERROR(Check(ctx));
    const Tensor& in = ctx.input(0);
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, in.shape()));
    const QuantizedRange<int32_t> result(-kHigh, kHigh);
    const int64_t depth = in.dim(3);
    std::vector<int32_t> scales(static_cast<size_t>(depth)), offsets(static_cast<size_t>(depth));
    for (int64_t c = 0; c < depth; ++c) {
      const float mean = Value(ctx, 3, c), variance = Value(ctx, 6, c), beta = Value(ctx, 9, c);
      float scale = 1.0f / std::sqrt(variance + epsilon_);
      if (scales_) scale *= Value(ctx, 12, c);
      scales[static_cast<size_t>(c)] = result.FromFloat(scale);
      offsets[static_cast<size_t>(c)] = result.FromFloat(-mean * scale + beta);
    }
    const QuantizedRange<uint8_t> codes(Low(ctx, 0), High(ctx, 0));
    int32_t table[256];
    for (int i = 0; i < 256; ++i) table[i] = result.FromFloat(codes.ToFloat(static_cast<uint8_t>(i)));
    const int32_t one = result.FromFloat(1);
    const auto* x = Integers<uint8_t>(in);
    auto* y = Integers<int32_t>(out);
    for (int64_t i = 0; i < in.num_elements(); ++i) {
      const auto c = static_cast<size_t>(i % depth);
      y[i] = WrapAdd(WrapMul(table[x[i]], scales[c]) / one, offsets[c]);
    }
    return OutputRange(ctx, 1, -kHigh, kHigh);
  }

 private:
  static constexpr float kHigh = 1 << 20;
  static float Low(const KernelContext& ctx, int i) { return ctx.input(i + 1).data<float>()[0]; }
  static float High(const KernelContext& ctx, int i) { return ctx.input(i + 2).data<float>()[0]; }
  static float Value(const KernelContext& ctx, int i, int64_t c) {
    return QuantizedRange<uint8_t>(Low(ctx, i), High(ctx, i)).ToFloat(Integers<uint8_t>(ctx.input(i))[c]);
  }

  static Status Check(const KernelContext& ctx) {
    constexpr const char* kNames[] = {"input", "mean", "var", "beta", "gamma"};
    for (int i = 0; i < 5; ++i) {
      if (ctx.input(3 * i + 1).num_elements() != 1) {
        return errors::InvalidArgument(kNames[i], "_min must have 1 element");
      }
      if (ctx.input(3 * i + 2).num_elements() != 1) {
        return errors::InvalidArgument(kNames[i], "_max must have 1 element");
      }
    }
    const Shape& in = ctx.input(0).shape();
    if (in.rank() != 4) return errors::InvalidArgument("input must be 4-dimensional", in.ToString());
    for (int i = 1; i < 5; ++i) {
      const Shape& shape = ctx.input(3 * i).shape();
      if (shape.rank() != 1) return errors::InvalidArgument(kNames[i], " must be 1-dimensional", shape.ToString());
    }
    const Shape& mean = ctx.input(3).shape();
    if (mean.dim(0) <= 1) return errors::InvalidArgument("Must have at least a mean value");
    if (mean.dim(0) != in.dim(3)) {
      return errors::InvalidArgument("Must provide as many means as the last dimension of the input tensor: ",
                                     mean.ToString(), " vs. ", in.ToString());
    }
    for (int i = 2; i < 5; ++i) {
      const Shape& shape = ctx.input(3 * i).shape();
      if (shape == mean) continue;
      return errors::InvalidArgument("Mean and ", kNames[i], " tensors must have the same shape: ", mean.ToString(),
                                     " vs. ", shape.ToString());
    }
    return OkStatus();
  }

  const float epsilon_;
  const bool scales_;
};

// Each channel of each image with mean 0 and variance 1.
class QuantizedInstanceNorm final : public Kernel {
 public:
  explicit QuantizedInstanceNorm(KernelInit& init)
      : epsilon_(init.Attr<float>("variance_epsilon")),
        separation_(init.Attr<float>("min_separation")),
        given_(init.Attr<bool>("output_range_given")),
        given_low_(init.Attr<float>("given_y_min")),
        given_high_(init.Attr<float>("given_y_max")) {
    if (given_ && !(given_low_ < given_high_)) {
      init.Fail(
          errors::InvalidArgument("given_y_min must be less than given_y_max : ", given_low_, " >= ", given_high_));
    }
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& in = ctx.input(0);
    ASSIGN_OR_RETURN(const float low, RangeInput(ctx, 1, "x_min"));
    ASSIGN_OR_RETURN(const float high, RangeInput(ctx, 2, "x_max"));
    if (!(low < high)) {
      return errors::InvalidArgument("input_min must be less than input_max : ", low, " >= ", high);
    }
    if (in.rank() != 4) return errors::InvalidArgument("x must be 4-dimensional: ", in.shape().ToString());
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, in.shape()));
    ASSIGN_OR_RETURN(Tensor normed, ctx.AllocateTemp(DType::kFloat, in.shape()));
    float* y = normed.data<float>();
    const int64_t pixels = in.dim(1) * in.dim(2), channels = in.dim(3), image = pixels * channels;
    for (int64_t i = 0; i < in.dim(0); ++i) {
      for (int64_t c = 0; c < channels; ++c) {
        Normalize(Integers<uint8_t>(in) + i * image + c, pixels, channels, (high - low) / 255.0f, y + i * image + c);
      }
    }
    float out_low = given_low_, out_high = given_high_;
    if (!given_) {
      const auto ends = std::minmax_element(y, y + in.num_elements());
      out_low = in.num_elements() > 0 ? *ends.first : std::numeric_limits<float>::infinity();
      out_high = in.num_elements() > 0 ? *ends.second : -std::numeric_limits<float>::infinity();
    }
    if (out_high - out_low < separation_) out_high = out_low + separation_;
    const FloatQuantizedRange<uint8_t> codes(out_low, out_high);
    for (int64_t i = 0; i < in.num_elements(); ++i) Integers<uint8_t>(out)[i] = codes.FromFloat(y[i]);
    return OutputRange(ctx, 1, out_low, out_high);
  }

 private:
  // n pixels, `stride` apart.
  void Normalize(const uint8_t* x, int64_t n, int64_t stride, float scale, float* y) const {
    int64_t sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += x[i * stride];
    const auto mean = static_cast<float>(static_cast<double>(sum) / static_cast<double>(n));
    double squares = 0;
    for (int64_t i = 0; i < n; ++i) {
      y[i * stride] = scale * (static_cast<float>(x[i * stride]) - mean);
      squares += static_cast<double>(y[i * stride]) * y[i * stride];
    }
    const auto variance = static_cast<float>(squares / static_cast<double>(n));
    const float inverse = 1.0f / std::sqrt(variance + epsilon_);
    for (int64_t i = 0; i < n; ++i) y[i * stride] *= inverse;
  }

  const float epsilon_, separation_;
  const bool given_;
  const float given_low_, given_high_;
};

Status QuantizedBatchNormShape(ShapeContext& c) {
  PartialShape in, vector, unused;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 4, &in));
  for (int i = 1; i < 5; ++i) {
    RETURN_IF_ERROR(ShapeContext::WithRank(c.input(3 * i), 1, &vector));
    PartialShape merged = in;
    merged.set_dim(3, vector.dim(0));
    ASSIGN_OR_RETURN(in, in.MergeWith(merged));
  }
  for (int i = 0; i < 15; ++i) {
    if (i % 3 != 0) RETURN_IF_ERROR(ShapeContext::WithRank(c.input(i), 0, &unused));
  }
  c.set_output(0, in);
  c.set_output(1, Shape());
  c.set_output(2, Shape());
  return OkStatus();
}
Status QuantizedInstanceNormShape(ShapeContext& c) {
  PartialShape in;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 4, &in));
  c.set_output(0, in);
  return ScalarRanges(c, 1, 2);
}

OP("QuantizedBatchNormWithGlobalNormalization")
    .Input("t: Tinput")
    .Input("t_min: float")
    .Input("t_max: float")
    .Input("m: Tinput")
    .Input("m_min: float")
    .Input("m_max: float")
    .Input("v: Tinput")
    .Input("v_min: float")
    .Input("v_max: float")
    .Input("beta: Tinput")
    .Input("beta_min: float")
    .Input("beta_max: float")
    .Input("gamma: Tinput")
    .Input("gamma_min: float")
    .Input("gamma_max: float")
    .Output("result: out_type")
    .Output("result_min: float")
    .Output("result_max: float")
    .Attr("Tinput: {qint8, quint8, qint32, qint16, quint16}")
    .Attr("out_type: {qint8, quint8, qint32, qint16, quint16}")
    .Attr("variance_epsilon: float")
    .Attr("scale_after_normalization: bool")
    .Shape(QuantizedBatchNormShape)
    .NotDifferentiable()
    .CpuFor<QuantizedBatchNorm>(Types<Quint8>{}, "Tinput")
    .Doc("Batch normalization of quantized images with given means and variances.");

OP("QuantizedInstanceNorm")
    .Input("x: T")
    .Input("x_min: float")
    .Input("x_max: float")
    .Output("y: T")
    .Output("y_min: float")
    .Output("y_max: float")
    .Attr("T: {qint8, quint8, qint32, qint16, quint16}")
    .Attr("output_range_given: bool = false")
    .Attr("given_y_min: float = 0")
    .Attr("given_y_max: float = 0")
    .Attr("variance_epsilon: float = 1e-05")
    .Attr("min_separation: float = 0.001")
    .Shape(QuantizedInstanceNormShape)
    .NotDifferentiable()
    .CpuFor<QuantizedInstanceNorm>(Types<Quint8>{})
    .Doc("Quantized images with mean 0 and variance 1 in every channel.");

}  // namespace
}  // namespace millstream
