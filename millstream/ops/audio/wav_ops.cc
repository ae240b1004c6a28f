// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "millstream/framework/op.h"
#include "millstream/framework/shape_context.h"
#include "millstream/ops/audio/wav.h"

namespace millstream {
namespace {

// A size that is -1 where the file decides.
int64_t DesiredSize(KernelInit& init, const char* name) {
  const auto size = init.Attr<int64_t>(name);
  if (size < -1 || size > std::numeric_limits<int32_t>::max()) {
    init.Fail(errors::InvalidArgument(name, " must be >= -1 and an int32, got ", size));
  }
  return size;
}

class DecodeWavKernel final : public Kernel {
 public:
  explicit DecodeWavKernel(KernelInit& init)
      : channels_(DesiredSize(init, "desired_channels")), frames_(DesiredSize(init, "desired_samples")) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor& contents = ctx.input(0);
    if (contents.rank() != 0) {
      return errors::InvalidArgument("contents must be scalar, got shape ", contents.shape().ToString());
    }
    ASSIGN_OR_RETURN(const Wav wav, ParseWav(contents.scalar<std::string>()));
    const int64_t frames = frames_ < 0 ? wav.frames : frames_, channels = channels_ < 0 ? wav.channels : channels_;
    const int64_t dims[] = {frames, channels};
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor * audio, ctx.AllocateOutput(0, shape));
    ASSIGN_OR_RETURN(Tensor * rate, ctx.AllocateOutput(1, Shape()));
    rate->data<int32_t>()[0] = static_cast<int32_t>(wav.rate);
    if (shape.num_elements() == 0) return OkStatus();
    // Channels that the file does not have repeat its last one; frames that it does not have are silent.
    float* to = audio->data<float>();
    const int64_t known = std::min(frames, wav.frames);
    for (int64_t i = 0; i < known; ++i) {
      for (int64_t c = 0; c < channels; ++c) *to++ = wav.Sample(i * wav.channels + std::min(c, wav.channels - 1));
    }
    std::fill_n(to, (frames - known) * channels, 0.0f);
    return OkStatus();
  }

 private:
  const int64_t channels_, frames_;
};

Status EncodeWavCpu(KernelContext& ctx) {
  const Tensor &audio = ctx.input(0), &rate = ctx.input(1);
  if (audio.rank() != 2) return errors::InvalidArgument("audio must be 2-dimensional", audio.shape().ToString());
  if (rate.rank() != 0) {
    return errors::InvalidArgument("Input sample_rate should be a scalar tensor, got ", rate.shape().ToString(),
                                   " instead.");
  }
  if (audio.num_elements() >= std::numeric_limits<int32_t>::max()) {
    return errors::InvalidArgument("Cannot encode audio with >= max int32 elements");
  }
  const float* samples = audio.num_elements() == 0 ? nullptr : audio.data<float>();
  ASSIGN_OR_RETURN(std::string wav, EncodeWav(samples, audio.dim(0), audio.dim(1), rate.scalar<int32_t>()));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape()));
  out->data<std::string>()[0] = std::move(wav);
  return OkStatus();
}

Status DecodeWavShape(ShapeContext& c) {
  PartialShape unused;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 0, &unused));
  int64_t channels = -1, frames = -1;
  RETURN_IF_ERROR(c.GetAttr("desired_channels", &channels));
  RETURN_IF_ERROR(c.GetAttr("desired_samples", &frames));
  if (channels < -1) return errors::InvalidArgument("channels must be non-negative, got ", channels);
  if (frames < -1) return errors::InvalidArgument("samples must be non-negative, got ", frames);
  c.set_output(0, PartialShape({frames, channels}));
  c.set_output(1, Shape());
  return OkStatus();
}

Status EncodeWavShape(ShapeContext& c) {
  PartialShape unused;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 2, &unused));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 0, &unused));
  return ScalarShape(c);
}

OP("DecodeWav")
    .Input("contents: string")
    .Output("audio: float")
    .Output("sample_rate: int32")
    .Attr("desired_channels: int = -1")
    .Attr("desired_samples: int = -1")
    .Shape(DecodeWavShape)
    .Cpu<DecodeWavKernel>()
    .Doc("The samples of a WAV file with 16 bits each, as numbers from -1 to 1: [frames, channels].");

OP("EncodeWav")
    .Input("audio: float")
    .Input("sample_rate: int32")
    .Output("contents: string")
    .Shape(EncodeWavShape)
    .Cpu(EncodeWavCpu)
    .Doc("A WAV file of samples [frames, channels] from -1 to 1.");

}  // namespace
}  // namespace millstream
