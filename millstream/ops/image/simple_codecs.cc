// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "absl/strings/match.h"
#include "millstream/ops/image/codec.h"

namespace millstream {
namespace {

// Little-endian numbers from a file that may end anywhere.
class Bytes {
 public:
  explicit Bytes(absl::string_view data) : data_(data) {}
  bool failed() const { return failed_; }
  size_t left() const { return data_.size(); }
  uint32_t Number(int bytes) {
    uint32_t value = 0;
    for (int i = 0; i < bytes; ++i) value |= static_cast<uint32_t>(Byte()) << 8 * i;
    return value;
  }
  uint8_t Byte() {
    if (data_.empty()) {
      failed_ = true;
      return 0;
    }
    const auto b = static_cast<uint8_t>(data_[0]);
    data_.remove_prefix(1);
    return b;
  }
  void Skip(size_t n) {
    failed_ |= n > data_.size();
    data_.remove_prefix(std::min(n, data_.size()));
  }

 private:
  absl::string_view data_;
  bool failed_ = false;
};

// One frame of LZW codes to palette numbers; stops quietly where the data is wrong.
void ReadLzw(Bytes* in, int min_size, std::vector<uint8_t>* out, size_t wanted) {
  // The word of code i is that of prefix[i], then last[i].
  std::vector<int16_t> prefix(4096, -1);
  std::vector<uint8_t> last(4096, 0), first(4096, 0);
  const int clear = 1 << min_size, stop = clear + 1;
  for (int i = 0; i < clear; ++i) last[i] = first[i] = static_cast<uint8_t>(i);
  int size = min_size + 1, previous = -1, count = stop + 1;
  const auto reset = [&] {
    count = stop + 1;
    size = min_size + 1;
    previous = -1;
  };
  uint32_t bits = 0;
  int have = 0;
  std::vector<uint8_t> word;
  for (uint8_t block = in->Byte(); block != 0 && !in->failed(); block = in->Byte()) {
    for (int i = 0; i < block; ++i) {
      bits |= static_cast<uint32_t>(in->Byte()) << have;
      have += 8;
      while (have >= size) {
        const int code = static_cast<int>(bits & ((1u << size) - 1));
        bits >>= size;
        have -= size;
        if (code == clear) {
          reset();
          continue;
        }
        if (code == stop || out->size() >= wanted || code > count || (code == count && previous < 0)) continue;
        if (previous >= 0 && count < 4096) {
          prefix[count] = static_cast<int16_t>(previous);
          last[count] = first[code < count ? code : previous];
          first[count] = first[previous];
          if (++count == 1 << size && size < 12) ++size;
        }
        if (code >= count) continue;
        word.clear();
        for (int at = code; at >= 0; at = prefix[at]) word.push_back(last[at]);
        out->insert(out->end(), word.rbegin(), word.rend());
        previous = code;
      }
    }
  }
}

using Palette = std::vector<uint8_t>;

Palette ReadPalette(Bytes* in, int flags) {
  Palette palette(static_cast<size_t>(3 * (2 << (flags & 7))));
  for (uint8_t& b : palette) b = in->Byte();
  return palette;
}

void SkipBlocks(Bytes* in) {
  for (uint8_t n = in->Byte(); n != 0 && !in->failed(); n = in->Byte()) in->Skip(n);
}

// Draws one image of a GIF into `frame`.
Status ReadGifImage(Bytes* in, const Palette& global, int transparent, int64_t height, int64_t width, uint8_t* frame) {
  const uint32_t left = in->Number(2), top = in->Number(2), w = in->Number(2), h = in->Number(2);
  const int flags = in->Byte();
  const Palette palette = (flags & 0x80) != 0 ? ReadPalette(in, flags) : global;
  const int min_size = in->Byte();
  if (in->failed() || min_size < 1 || min_size > 11) return errors::InvalidArgument("Invalid GIF data");
  std::vector<uint8_t> numbers;
  const auto wanted = static_cast<size_t>(w) * h;
  if (static_cast<int64_t>(wanted) > 4 * height * width + 65536) return errors::InvalidArgument("Invalid GIF data");
  ReadLzw(in, min_size, &numbers, wanted);
  size_t next = 0;
  for (int pass = 0; pass < ((flags & 0x40) != 0 ? 4 : 1); ++pass) {
    static constexpr uint32_t kStart[] = {0, 4, 2, 1}, kStep[] = {8, 8, 4, 2};
    const bool interlaced = (flags & 0x40) != 0;
    for (uint32_t y = interlaced ? kStart[pass] : 0; y < h; y += interlaced ? kStep[pass] : 1) {
      for (uint32_t x = 0; x < w; ++x, ++next) {
        if (next >= numbers.size() || numbers[next] == transparent) continue;
        const size_t color = 3 * size_t{numbers[next]};
        if (top + y >= static_cast<uint32_t>(height) || left + x >= static_cast<uint32_t>(width) ||
            color + 2 >= palette.size())
          continue;
        std::copy_n(&palette[color], 3, frame + (static_cast<int64_t>(top + y) * width + left + x) * 3);
      }
    }
  }
  return OkStatus();
}

}  // namespace

ImageFormat FormatOf(absl::string_view file) {
  if (absl::StartsWith(file, "\xff\xd8\xff")) return ImageFormat::kJpeg;
  if (absl::StartsWith(file, "\x89PNG\r\n\x1a\n")) return ImageFormat::kPng;
  if (absl::StartsWith(file, "GIF8")) return ImageFormat::kGif;
  if (absl::StartsWith(file, "BM")) return ImageFormat::kBmp;
  return ImageFormat::kUnknown;
}

StatusOr<RawImage> DecodeGif(absl::string_view file) {
  Bytes in(file);
  in.Skip(6);
  RawImage image;
  image.channels = 3;
  image.width = in.Number(2);
  image.height = in.Number(2);
  const int flags = in.Byte();
  in.Skip(2);
  Palette global;
  if ((flags & 0x80) != 0) global = ReadPalette(&in, flags);
  if (in.failed()) return errors::InvalidArgument("Invalid GIF data (size ", file.size(), ")");
  RETURN_IF_ERROR(image.Allocate());
  std::vector<uint8_t> frames;
  std::vector<uint8_t> canvas(image.pixels.size(), 0);
  int transparent = -1;
  image.frames = 0;
  while (!in.failed()) {
    const uint8_t kind = in.Byte();
    if (kind == 0x3b || in.failed()) break;
    if (kind == 0x21) {
      const uint8_t label = in.Byte();
      if (label == 0xf9) {
        in.Skip(1);
        const int packed = in.Byte();
        in.Skip(2);
        const int color = in.Byte();
        transparent = (packed & 1) != 0 ? color : -1;
      }
      SkipBlocks(&in);
    } else if (kind == 0x2c) {
      RETURN_IF_ERROR(ReadGifImage(&in, global, transparent, image.height, image.width, canvas.data()));
      if ((frames.size() + canvas.size()) > size_t{1} << 29) return errors::InvalidArgument("The GIF is too large");
      frames.insert(frames.end(), canvas.begin(), canvas.end());
      ++image.frames;
      transparent = -1;
    } else {
      break;
    }
  }
  if (image.frames == 0) return errors::InvalidArgument("Invalid GIF data (size ", file.size(), ")");
  image.pixels = std::move(frames);
  return image;
}

StatusOr<RawImage> DecodeBmp(absl::string_view file, int channels) {
  Bytes in(file);
  in.Skip(10);
  const uint32_t offset = in.Number(4);
  in.Skip(4);
  RawImage image;
  image.width = static_cast<int32_t>(in.Number(4));
  const auto signed_height = static_cast<int64_t>(static_cast<int32_t>(in.Number(4)));
  in.Skip(2);
  const uint32_t depth = in.Number(2);
  if (in.failed() || file.size() < 32) {
    return errors::InvalidArgument("Incomplete bmp content, requires at least 32 bytes to find the header size");
  }
  image.height = std::abs(signed_height);
  image.channels = depth / 8;
  if (channels != 0 && channels != image.channels) {
    return errors::InvalidArgument("channels attribute ", channels, " does not match bits per pixel from file ",
                                   image.channels);
  }
  if (image.channels != 1 && image.channels != 3 && image.channels != 4) {
    return errors::InvalidArgument("Number of channels inherent in the image must be 1, 3 or 4, was ", image.channels);
  }
  RETURN_IF_ERROR(image.Allocate());
  const int64_t row = (depth * image.width + 31) / 32 * 4;
  if (offset > file.size() || static_cast<int64_t>(file.size() - offset) < row * image.height) {
    return errors::InvalidArgument("Incomplete bmp content");
  }
  for (int64_t y = 0; y < image.height; ++y) {
    const char* from = file.data() + offset + (signed_height > 0 ? image.height - 1 - y : y) * row;
    uint8_t* to = image.pixels.data() + y * image.width * image.channels;
    for (int64_t x = 0; x < image.width; ++x) {
      for (int64_t c = 0; c < image.channels; ++c) {
        // Stored as blue, green, red.
        const int64_t s = image.channels >= 3 && c < 3 ? 2 - c : c;
        to[x * image.channels + c] = static_cast<uint8_t>(from[x * image.channels + s]);
      }
    }
  }
  return image;
}

}  // namespace millstream
