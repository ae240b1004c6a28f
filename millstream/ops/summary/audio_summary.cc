// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "millstream/framework/op.h"
#include "millstream/ops/summary/summary_output.h"
#include "millstream/proto/summary.pb.h"

namespace millstream {
namespace {

void PutLittle(uint32_t v, int bytes, std::string* out) {
  for (int i = 0; i < bytes; ++i) out->push_back(static_cast<char>(v >> (8 * i) & 0xff));
}

// A WAV file of 16-bit samples.
std::string EncodeWav(const float* samples, int64_t frames, int64_t channels, uint32_t rate) {
  const uint32_t data_bytes = static_cast<uint32_t>(frames * channels * 2);
  std::string wav = "RIFF";
  PutLittle(36 + data_bytes, 4, &wav);
  wav += "WAVEfmt ";
  PutLittle(16, 4, &wav);
  PutLittle(1, 2, &wav);  // PCM
  PutLittle(static_cast<uint32_t>(channels), 2, &wav);
  PutLittle(rate, 4, &wav);
  PutLittle(rate * static_cast<uint32_t>(channels) * 2, 4, &wav);
  PutLittle(static_cast<uint32_t>(channels) * 2, 2, &wav);
  PutLittle(16, 2, &wav);
  wav += "data";
  PutLittle(data_bytes, 4, &wav);
  for (int64_t i = 0; i < frames * channels; ++i) {
    const float v = std::isnan(samples[i]) ? 0 : std::clamp(std::round(samples[i] * 32768.0f), -32768.0f, 32767.0f);
    PutLittle(static_cast<uint32_t>(static_cast<int32_t>(v)), 2, &wav);
  }
  return wav;
}

class AudioSummary final : public Kernel {
 public:
  explicit AudioSummary(KernelInit& init) : max_outputs_(init.Attr<int64_t>("max_outputs")) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor &tag = ctx.input(0), &audio = ctx.input(1), &rate_input = ctx.input(2);
    if (tag.rank() != 0) return errors::InvalidArgument("Tag must be a scalar");
    if (audio.rank() < 2 || audio.rank() > 3) {
      return errors::InvalidArgument("Tensor must be 3-D or 2-D, got: ", audio.shape().ToString());
    }
    if (rate_input.rank() != 0) return errors::InvalidArgument("sample_rate must be a scalar");
    const float rate = rate_input.scalar<float>();
    if (!(rate > 0) || rate > 1e9f) return errors::InvalidArgument("sample_rate must be > 0");
    const int64_t frames = audio.dim(1), channels = audio.rank() == 3 ? audio.dim(2) : 1;
    if (channels < 1 || channels > 65535 || frames > (int64_t{1} << 30) / channels) {
      return errors::InvalidArgument("Audio of shape ", audio.shape().ToString(), " does not fit a WAV file");
    }
    proto::Summary summary;
    const int64_t count = std::min(max_outputs_, audio.dim(0));
    for (int64_t i = 0; i < count; ++i) {
      proto::Summary::Value* value = summary.add_value();
      value->set_tag(max_outputs_ > 1 ? absl::StrCat(tag.scalar<std::string>(), "/audio/", i)
                                      : absl::StrCat(tag.scalar<std::string>(), "/audio"));
      proto::Summary::Audio* out = value->mutable_audio();
      out->set_sample_rate(rate);
      out->set_num_channels(channels);
      out->set_length_frames(frames);
      out->set_content_type("audio/wav");
      out->set_encoded_audio_string(
          EncodeWav(audio.data<float>() + i * frames * channels, frames, channels, static_cast<uint32_t>(rate)));
    }
    return OutputSummary(ctx, summary);
  }

 private:
  const int64_t max_outputs_;
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

}  // namespace
}  // namespace millstream
