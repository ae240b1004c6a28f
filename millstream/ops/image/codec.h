// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_IMAGE_CODEC_H_
#define MILLSTREAM_OPS_IMAGE_CODEC_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "millstream/base/status.h"

namespace millstream {

// Pixels by rows from the top; channels of a pixel are next to each other, 8 bits each (16 if deep, native order).
struct RawImage {
  int64_t frames = 1, height = 0, width = 0, channels = 0;
  bool deep = false;
  std::vector<uint8_t> pixels;

  // InvalidArgument if it would be larger than we decode. Sets pixels to zero.
  Status Allocate();
};

// What comes in is not trusted. `channels` 0 keeps those of the file; `deep` asks for 16 bits.
StatusOr<RawImage> DecodePng(absl::string_view file, int channels, bool deep);
// `level` is that of zlib, -1 its default.
StatusOr<std::string> EncodePng(const RawImage& image, int level);

struct JpegDecodeOptions {
  int channels = 0;
  int ratio = 1;  // 1, 2, 4, 8: the size is divided by it
  bool fancy_upscaling = true;
  bool fast_dct = true;
  bool accept_truncated = false;  // what is missing is grey
};
StatusOr<RawImage> DecodeJpeg(absl::string_view file, const JpegDecodeOptions& options);
// Height, width and channels, without the pixels.
StatusOr<RawImage> JpegShape(absl::string_view file);

struct JpegEncodeOptions {
  bool grey = false;
  int quality = 95;
  bool progressive = false, optimize_size = false, chroma_downsampling = true;
  bool per_inch = true;
  int x_density = 300, y_density = 300;
};
StatusOr<std::string> EncodeJpeg(const RawImage& image, const JpegEncodeOptions& options);

StatusOr<RawImage> DecodeBmp(absl::string_view file, int channels);
// All frames, each as it is seen, in three channels.
StatusOr<RawImage> DecodeGif(absl::string_view file);

enum class ImageFormat { kUnknown, kPng, kJpeg, kGif, kBmp };
ImageFormat FormatOf(absl::string_view file);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_IMAGE_CODEC_H_
