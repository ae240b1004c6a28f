// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_AUDIO_WAV_H_
#define MILLSTREAM_OPS_AUDIO_WAV_H_

#include <string>

#include "millstream/base/status.h"

// WAV files of 16-bit PCM samples.
namespace millstream {

// What a file holds. A view of it: the file must outlive this.
struct Wav {
  int64_t frames = 0;    // points in time
  int64_t channels = 0;  // samples for each, at least one
  uint32_t rate = 0;     // frames in a second
  absl::string_view samples;

  // Sample i in [-1, 1), frame by frame. REQUIRES: i < frames * channels.
  float Sample(int64_t i) const {
    const auto low = static_cast<uint8_t>(samples[static_cast<size_t>(2 * i)]);
    const auto high = static_cast<uint8_t>(samples[static_cast<size_t>(2 * i + 1)]);
    return static_cast<float>(static_cast<int16_t>(low | high << 8)) / 32768.0f;
  }
};

// InvalidArgument for anything that is not such a file, or is cut short.
StatusOr<Wav> ParseWav(absl::string_view file);

// Samples beyond [-1, 1) are cut off, NaN is silence. InvalidArgument unless channels, rate and size fit a file.
StatusOr<std::string> EncodeWav(const float* samples, int64_t frames, int64_t channels, int64_t rate);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_AUDIO_WAV_H_
