// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/audio/wav.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace millstream {
namespace {

constexpr int64_t kHeaderBytes = 44;

// A file, read from the front.
class WavReader {
 public:
  explicit WavReader(absl::string_view file) : rest_(file) {}

  bool at_end() const { return rest_.empty(); }

  Status Take(size_t n, absl::string_view* out) {
    if (n > rest_.size()) return errors::InvalidArgument("Data too short when trying to read string");
    *out = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return OkStatus();
  }
  // As much of n bytes as there is.
  void Skip(size_t n) { rest_.remove_prefix(std::min(n, rest_.size())); }
  Status Expect(absl::string_view text) {
    absl::string_view found;
    RETURN_IF_ERROR(Take(text.size(), &found));
    if (found == text) return OkStatus();
    return errors::InvalidArgument("Header mismatch: Expected ", text, " but found ", found);
  }
  template <typename T>
  Status Number(T* out) {
    absl::string_view bytes;
    RETURN_IF_ERROR(Take(sizeof(T), &bytes));
    *out = 0;
    for (size_t i = 0; i < sizeof(T); ++i) {
      *out = static_cast<T>(*out | static_cast<T>(static_cast<uint8_t>(bytes[i])) << (8 * i));
    }
    return OkStatus();
  }

 private:
  absl::string_view rest_;
};

// Chunks that may stand before the format.
bool MayPrecedeFormat(absl::string_view id) {
  for (const char* known : {"JUNK", "bext", "iXML", "qlty", "mext", "levl", "link", "axml"}) {
    if (id == known) return true;
  }
  return false;
}

Status FindFormat(WavReader* in) {
  absl::string_view id;
  for (;;) {
    RETURN_IF_ERROR(in->Take(4, &id));
    if (id == "fmt ") return OkStatus();
    if (!MayPrecedeFormat(id)) return errors::InvalidArgument("Unexpected field ", id);
    uint32_t size = 0;
    RETURN_IF_ERROR(in->Number(&size));
    RETURN_IF_ERROR(in->Take(size, &id));
  }
}

Status ReadFormat(WavReader* in, Wav* wav) {
  uint32_t chunk_size = 0, bytes_per_second = 0;
  uint16_t format = 0, channels = 0, bytes_per_frame = 0, bits = 0;
  RETURN_IF_ERROR(in->Number(&chunk_size));
  if (chunk_size != 16 && chunk_size != 18) {
    return errors::InvalidArgument("Bad format chunk size for WAV: Expected 16 or 18, but got", chunk_size);
  }
  RETURN_IF_ERROR(in->Number(&format));
  if (format != 1) return errors::InvalidArgument("Bad audio format for WAV: Expected 1 (PCM), but got", int{format});
  RETURN_IF_ERROR(in->Number(&channels));
  if (channels < 1) return errors::InvalidArgument("Bad number of channels for WAV: Expected at least 1, but got 0");
  RETURN_IF_ERROR(in->Number(&wav->rate));
  RETURN_IF_ERROR(in->Number(&bytes_per_second));
  RETURN_IF_ERROR(in->Number(&bytes_per_frame));
  RETURN_IF_ERROR(in->Number(&bits));
  if (bits != 16) return errors::InvalidArgument("Can only read 16-bit WAV files, but received ", int{bits});
  if (bytes_per_frame != 2 * int{channels}) {
    return errors::InvalidArgument("Bad bytes per sample in WAV header: Expected ", 2 * int{channels}, " but got ",
                                   int{bytes_per_frame});
  }
  const uint64_t expected = uint64_t{bytes_per_frame} * wav->rate;
  if (bytes_per_second != expected) {
    return errors::InvalidArgument("Bad bytes per second in WAV header: Expected ", expected, " but got ",
                                   bytes_per_second, " (sample_rate=", wav->rate,
                                   ", bytes_per_sample=", int{bytes_per_frame}, ")");
  }
  if (chunk_size == 18) in->Skip(2);
  wav->channels = channels;
  return OkStatus();
}

// The chunks after the format, of which one holds the samples.
Status ReadSamples(WavReader* in, Wav* wav) {
  bool found = false;
  while (!in->at_end()) {
    absl::string_view id;
    uint32_t size = 0;
    RETURN_IF_ERROR(in->Take(4, &id));
    RETURN_IF_ERROR(in->Number(&size));
    if (size > std::numeric_limits<int32_t>::max()) {
      return errors::InvalidArgument("WAV data chunk '", id, "' is too large: ", size, " bytes, but the limit is ",
                                     std::numeric_limits<int32_t>::max());
    }
    if (id != "data") {
      in->Skip(size);
      continue;
    }
    if (found) return errors::InvalidArgument("More than one data chunk found in WAV");
    found = true;
    wav->frames = size / (2 * wav->channels);
    RETURN_IF_ERROR(in->Take(static_cast<size_t>(2 * wav->frames * wav->channels), &wav->samples));
  }
  return found ? OkStatus() : errors::InvalidArgument("No data chunk found in WAV");
}

void PutLittle(uint64_t v, int bytes, std::string* out) {
  for (int i = 0; i < bytes; ++i) out->push_back(static_cast<char>(v >> (8 * i) & 0xff));
}

}  // namespace

StatusOr<Wav> ParseWav(absl::string_view file) {
  if (file.size() > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
    return errors::InvalidArgument("WAV contents are too large for int: ", file.size());
  }
  WavReader in(file);
  Wav wav;
  uint32_t file_size = 0;  // not looked at
  RETURN_IF_ERROR(in.Expect("RIFF"));
  RETURN_IF_ERROR(in.Number(&file_size));
  RETURN_IF_ERROR(in.Expect("WAVE"));
  RETURN_IF_ERROR(FindFormat(&in));
  RETURN_IF_ERROR(ReadFormat(&in, &wav));
  RETURN_IF_ERROR(ReadSamples(&in, &wav));
  return wav;
}

StatusOr<std::string> EncodeWav(const float* samples, int64_t frames, int64_t channels, int64_t rate) {
  constexpr int64_t kMax = std::numeric_limits<uint32_t>::max();
  if (rate <= 0 || rate > kMax) return errors::InvalidArgument("sample_rate must be in (0, 2^32), got: ", rate);
  if (channels <= 0 || channels > 65535) {
    return errors::InvalidArgument("num_channels must be in (0, 2^16), got: ", channels);
  }
  if (frames < 0 || frames > (kMax - kHeaderBytes) / 2 / channels) {
    return errors::InvalidArgument("Provided channels and frames cannot be encoded as a WAV.");
  }
  const auto frame_bytes = static_cast<uint64_t>(2 * channels),
             data_bytes = static_cast<uint64_t>(frames) * frame_bytes;
  std::string wav = "RIFF";
  wav.reserve(static_cast<size_t>(kHeaderBytes) + data_bytes);
  PutLittle(kHeaderBytes - 8 + data_bytes, 4, &wav);
  wav += "WAVEfmt ";
  PutLittle(16, 4, &wav);
  PutLittle(1, 2, &wav);  // PCM
  PutLittle(static_cast<uint64_t>(channels), 2, &wav);
  PutLittle(static_cast<uint64_t>(rate), 4, &wav);
  PutLittle(static_cast<uint64_t>(rate) * frame_bytes, 4, &wav);
  PutLittle(frame_bytes, 2, &wav);
  PutLittle(16, 2, &wav);
  wav += "data";
  PutLittle(data_bytes, 4, &wav);
  for (int64_t i = 0; i < frames * channels; ++i) {
    const float v = std::isnan(samples[i]) ? 0 : std::clamp(std::round(samples[i] * 32768.0f), -32768.0f, 32767.0f);
    PutLittle(static_cast<uint64_t>(static_cast<int64_t>(v)), 2, &wav);
  }
  return wav;
}

}  // namespace millstream
