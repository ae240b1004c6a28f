// SPDX-License-Identifier: Apache-2.0
#include <png.h>

#include <csetjmp>
#include <cstring>

#include "millstream/ops/image/codec.h"

namespace millstream {

Status RawImage::Allocate() {
  constexpr int64_t kMaxBytes = int64_t{1} << 29;
  if (height <= 0 || width <= 0 || height >= 1 << 27 || width >= 1 << 27 || frames <= 0 || frames > 1 << 20 ||
      height * width > kMaxBytes / 8 / frames) {
    return errors::InvalidArgument("Image of ", frames, " x ", height, " x ", width, " pixels is empty or too large");
  }
  pixels.assign(static_cast<size_t>(frames * height * width * channels * (deep ? 2 : 1)), 0);
  return OkStatus();
}

namespace {

// libpng reports errors by a jump, over frames without destructors only.
struct Source {
  absl::string_view rest;
};

void ReadBytes(png_structp png, png_bytep to, png_size_t n) {
  auto* source = static_cast<Source*>(png_get_io_ptr(png));
  if (source->rest.size() < n) png_error(png, "the file ends early");
  std::memcpy(to, source->rest.data(), n);
  source->rest.remove_prefix(n);
}
void WriteBytes(png_structp png, png_bytep from, png_size_t n) {
  static_cast<std::string*>(png_get_io_ptr(png))->append(reinterpret_cast<const char*>(from), n);
}
void FlushBytes(png_structp) {}
void Jump(png_structp png, png_const_charp) { longjmp(png_jmpbuf(png), 1); }
void Ignore(png_structp, png_const_charp) {}

// Asks libpng for the channels and depth that are wanted.
void SetTransforms(png_structp png, png_infop info, int channels, bool deep) {
  const int type = png_get_color_type(png, info), depth = png_get_bit_depth(png, info);
  const bool transparent = png_get_valid(png, info, PNG_INFO_tRNS) != 0;
  if (type == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png);
  if (type == PNG_COLOR_TYPE_GRAY && depth < 8) png_set_expand_gray_1_2_4_to_8(png);
  const bool wants_alpha = channels == 2 || channels == 4;
  if (transparent && (channels == 0 || wants_alpha)) png_set_tRNS_to_alpha(png);
  if (channels != 0 && !wants_alpha) png_set_strip_alpha(png);
  if (wants_alpha && !transparent && (type & PNG_COLOR_MASK_ALPHA) == 0) {
    png_set_add_alpha(png, depth == 16 ? 0xffff : 0xff, PNG_FILLER_AFTER);
  }
  const bool color = type == PNG_COLOR_TYPE_PALETTE || (type & PNG_COLOR_MASK_COLOR) != 0;
  if (channels >= 3 && !color) png_set_gray_to_rgb(png);
  if ((channels == 1 || channels == 2) && color) png_set_rgb_to_gray(png, 1, 0.299, 0.587);
  if (!deep && depth == 16) png_set_strip_16(png);
  if (deep && depth < 16) png_set_expand_16(png);
  if (deep) png_set_swap(png);
  png_set_interlace_handling(png);
  png_read_update_info(png, info);
}

// The part that libpng may leave by a jump. False if it does.
bool ReadHeader(png_structp png, png_infop info, int channels, bool deep, RawImage* image) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_read_info(png, info);
  SetTransforms(png, info, channels, deep);
  image->width = png_get_image_width(png, info);
  image->height = png_get_image_height(png, info);
  image->channels = png_get_channels(png, info);
  // What we make room for must be what libpng writes.
  return (channels == 0 || image->channels == channels) &&
         png_get_rowbytes(png, info) == static_cast<size_t>(image->width * image->channels * (deep ? 2 : 1));
}
bool ReadRows(png_structp png, png_bytep* rows) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_read_image(png, rows);
  return true;
}
bool WriteRows(png_structp png, png_infop info, png_bytep* rows) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_write_info(png, info);
  if (png_get_bit_depth(png, info) == 16) png_set_swap(png);
  png_write_image(png, rows);
  png_write_end(png, info);
  return true;
}

std::vector<png_bytep> RowsOf(const RawImage& image) {
  std::vector<png_bytep> rows;
  const auto row = static_cast<size_t>(image.width * image.channels * (image.deep ? 2 : 1));
  for (int64_t y = 0; y < image.height; ++y) {
    rows.push_back(const_cast<png_bytep>(image.pixels.data()) + static_cast<size_t>(y) * row);
  }
  return rows;
}

}  // namespace

StatusOr<RawImage> DecodePng(absl::string_view file, int channels, bool deep) {
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, nullptr, Jump, Ignore);
  if (png == nullptr) return errors::ResourceExhausted("No memory to decode an image");
  png_infop info = png_create_info_struct(png);
  Source source{file};
  png_set_read_fn(png, &source, ReadBytes);
  RawImage image;
  image.deep = deep;
  Status status;
  if (info == nullptr || !ReadHeader(png, info, channels, deep, &image)) {
    status = errors::InvalidArgument("Invalid PNG header, data size ", file.size());
  }
  if (status.ok()) status = image.Allocate();
  if (status.ok()) {
    std::vector<png_bytep> rows = RowsOf(image);
    if (!ReadRows(png, rows.data())) status = errors::InvalidArgument("Invalid PNG data, size ", file.size());
  }
  png_destroy_read_struct(&png, &info, nullptr);
  if (!status.ok()) return status;
  return image;
}

StatusOr<std::string> EncodePng(const RawImage& image, int level) {
  static constexpr int kTypes[] = {0, PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                                   PNG_COLOR_TYPE_RGB_ALPHA};
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, Jump, Ignore);
  if (png == nullptr) return errors::ResourceExhausted("No memory to encode an image");
  png_infop info = png_create_info_struct(png);
  std::string out;
  png_set_write_fn(png, &out, WriteBytes, FlushBytes);
  png_set_compression_level(png, level);
  std::vector<png_bytep> rows = RowsOf(image);
  bool ok = info != nullptr;
  if (ok) {
    png_set_IHDR(png, info, static_cast<png_uint_32>(image.width), static_cast<png_uint_32>(image.height),
                 image.deep ? 16 : 8, kTypes[image.channels], PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    ok = WriteRows(png, info, rows.data());
  }
  png_destroy_write_struct(&png, &info);
  if (!ok) return errors::Internal("PNG encoding failed");
  return out;
}

}  // namespace millstream
