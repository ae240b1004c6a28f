// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "millstream/framework/op.h"
#include "millstream/ops/audio/wav.h"
#include "millstream/ops/summary/summary_output.h"
#include "millstream/proto/summary.pb.h"

namespace millstream {

Status AddAudio(const std::string& tag, const Tensor& audio, int64_t max_outputs, float rate, proto::Summary* summary) {
  if (audio.rank() < 2 || audio.rank() > 3) {
    return errors::InvalidArgument("Tensor must be 3-D or 2-D, got: ", audio.shape().ToString());
  }
  if (!(rate > 0) || rate > 4e9f) return errors::InvalidArgument("sample_rate must be > 0 and fit a WAV file: ", rate);
  const int64_t frames = audio.dim(1), channels = audio.rank() == 3 ? audio.dim(2) : 1;
  const int64_t whole_rate = std::max<int64_t>(1, std::llrint(rate));
  const int64_t count = std::min(max_outputs, audio.dim(0));
  for (int64_t i = 0; i < count; ++i) {
    proto::Summary::Value* value = summary->add_value();
    value->set_tag(max_outputs > 1 ? absl::StrCat(tag, "/audio/", i) : absl::StrCat(tag, "/audio"));
    proto::Summary::Audio* out = value->mutable_audio();
    out->set_sample_rate(rate);
    out->set_num_channels(channels);
    out->set_length_frames(frames);
    out->set_content_type("audio/wav");
    const float* samples = audio.num_elements() == 0 ? nullptr : audio.data<float>() + i * frames * channels;
    ASSIGN_OR_RETURN(*out->mutable_encoded_audio_string(), EncodeWav(samples, frames, channels, whole_rate));
  }
  return OkStatus();
}

namespace {

class AudioSummary final : public Kernel {
 public:
  explicit AudioSummary(KernelInit& init)
      : max_outputs_(init.Attr<int64_t>("max_outputs")), rate_is_attr_(init.HasAttr("sample_rate")) {
    if (rate_is_attr_) rate_ = init.Attr<float>("sample_rate");
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& tag = ctx.input(0);
    if (tag.rank() != 0) return errors::InvalidArgument("Tag must be a scalar");
    float rate = rate_;
    if (!rate_is_attr_) {
      if (ctx.input(2).num_elements() != 1) {
        return errors::InvalidArgument("sample_rate must be rank-0 or contain a single value");
      }
      rate = ctx.input(2).data<float>()[0];
    }
    proto::Summary summary;
    RETURN_IF_ERROR(AddAudio(tag.scalar<std::string>(), ctx.input(1), max_outputs_, rate, &summary));
    return OutputSummary(ctx, summary);
  }

 private:
  const int64_t max_outputs_;
  const bool rate_is_attr_;
  float rate_ = 0;
};

OP("AudioSummaryV2")
    .Input("tag: string")
    .Input("tensor: float")
    .Input("sample_rate: float")
    .Output("summary: string")
    .Attr("max_outputs: int >= 1 = 3")
    .Shape(ScalarShape)
    .NotDifferentiable()
    .Cpu<AudioSummary>()
    .Doc("A summary with sounds, as WAV files.");

OP("AudioSummary")
    .Input("tag: string")
    .Input("tensor: float")
    .Output("summary: string")
    .Attr("sample_rate: float")
    .Attr("max_outputs: int >= 1 = 3")
    .Shape(ScalarShape)
    .NotDifferentiable()
    .Cpu<AudioSummary>()
    .Doc("AudioSummaryV2 whose sample rate is known before.");

}  // namespace
}  // namespace millstream
