// SPDX-License-Identifier: Apache-2.0
#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

// clang-format off: this header needs those above
#include <jpeglib.h>
// clang-format on

#include "millstream/ops/image/codec.h"

namespace millstream {
namespace {

// libjpeg reports errors by a call that must not return: it jumps, over frames without destructors only.
struct Errors {
  jpeg_error_mgr base;
  std::jmp_buf jump;
};

void Jump(j_common_ptr info) { std::longjmp(reinterpret_cast<Errors*>(info->err)->jump, 1); }
void CountWarning(j_common_ptr info, int level) { info->err->num_warnings += level < 0 ? 1 : 0; }
void Silent(j_common_ptr) {}

void Prepare(Errors* errors) {
  jpeg_std_error(&errors->base);
  errors->base.error_exit = Jump;
  errors->base.emit_message = CountWarning;
  errors->base.output_message = Silent;
}

bool ReadHeader(jpeg_decompress_struct* info, Errors* errors, absl::string_view file, const JpegDecodeOptions& o) {
  if (setjmp(errors->jump) != 0) return false;
  jpeg_create_decompress(info);
  jpeg_mem_src(info, const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(file.data())), file.size());
  if (jpeg_read_header(info, TRUE) != JPEG_HEADER_OK) return false;
  const int channels = o.channels == 0 ? std::min(info->num_components, 3) : o.channels;
  // Four components have no way straight to grey.
  info->out_color_space = channels == 1                                                              ? JCS_GRAYSCALE
                          : info->jpeg_color_space == JCS_CMYK || info->jpeg_color_space == JCS_YCCK ? JCS_CMYK
                                                                                                     : JCS_RGB;
  info->do_fancy_upsampling = o.fancy_upscaling ? TRUE : FALSE;
  info->scale_num = 1;
  info->scale_denom = static_cast<unsigned>(o.ratio);
  info->dct_method = o.fast_dct ? JDCT_IFAST : JDCT_ISLOW;
  jpeg_calc_output_dimensions(info);
  return true;
}

// The number of rows that could be read.
int64_t ReadRows(jpeg_decompress_struct* info, Errors* errors, unsigned char* to, size_t row) {
  volatile int64_t done = 0;
  if (setjmp(errors->jump) != 0) return done;
  jpeg_start_decompress(info);
  while (info->output_scanline < info->output_height) {
    JSAMPROW at = to + static_cast<size_t>(done) * row;
    if (jpeg_read_scanlines(info, &at, 1) != 1) break;
    done = done + 1;
  }
  if (info->output_scanline == info->output_height) jpeg_finish_decompress(info);
  return done;
}

// Inverted CMYK, as programs write it, to RGB.
void CmykToRgb(RawImage* image) {
  const std::vector<uint8_t> from = std::move(image->pixels);
  const size_t n = from.size() / 4;
  image->channels = 3;
  image->pixels.resize(3 * n);
  for (size_t i = 0; i < n; ++i) {
    for (size_t c = 0; c < 3; ++c)
      image->pixels[3 * i + c] = static_cast<uint8_t>(from[4 * i + c] * from[4 * i + 3] / 255);
  }
}

bool WriteImage(jpeg_compress_struct* info, Errors* errors, const RawImage& image, const JpegEncodeOptions& o,
                unsigned char** buffer, unsigned long* size) {
  if (setjmp(errors->jump) != 0) return false;
  jpeg_create_compress(info);
  jpeg_mem_dest(info, buffer, size);
  info->image_width = static_cast<JDIMENSION>(image.width);
  info->image_height = static_cast<JDIMENSION>(image.height);
  info->input_components = static_cast<int>(image.channels);
  info->in_color_space = image.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(info);
  if (o.optimize_size) info->optimize_coding = TRUE;
  info->density_unit = o.per_inch ? 1 : 2;
  info->X_density = static_cast<UINT16>(o.x_density);
  info->Y_density = static_cast<UINT16>(o.y_density);
  jpeg_set_quality(info, o.quality, TRUE);
  if (o.progressive) jpeg_simple_progression(info);
  if (!o.chroma_downsampling) {
    for (int i = 0; i < info->num_components; ++i) {
      info->comp_info[i].h_samp_factor = 1;
      info->comp_info[i].v_samp_factor = 1;
    }
  }
  jpeg_start_compress(info, TRUE);
  const auto row = static_cast<size_t>(image.width * image.channels);
  while (info->next_scanline < info->image_height) {
    JSAMPROW at = const_cast<JSAMPROW>(image.pixels.data()) + info->next_scanline * row;
    jpeg_write_scanlines(info, &at, 1);
  }
  jpeg_finish_compress(info);
  return true;
}

}  // namespace

StatusOr<RawImage> DecodeJpeg(absl::string_view file, const JpegDecodeOptions& options) {
  jpeg_decompress_struct info{};
  Errors errors_;
  Prepare(&errors_);
  info.err = &errors_.base;
  RawImage image;
  Status status;
  if (!ReadHeader(&info, &errors_, file, options)) {
    status = errors::InvalidArgument("Invalid JPEG data or crop window, data size ", file.size());
  } else {
    image.height = info.output_height;
    image.width = info.output_width;
    image.channels = info.output_components;
    status = image.Allocate();
    if (status.ok()) {
      const int64_t rows =
          ReadRows(&info, &errors_, image.pixels.data(), static_cast<size_t>(image.width * image.channels));
      const bool whole = rows == image.height && errors_.base.num_warnings == 0;
      if (!whole && !(options.accept_truncated && rows > 0)) {
        status = errors::InvalidArgument("Invalid JPEG data or crop window, data size ", file.size());
      }
    }
  }
  jpeg_destroy_decompress(&info);
  if (!status.ok()) return status;
  if (image.channels == 4) CmykToRgb(&image);
  return image;
}

StatusOr<RawImage> JpegShape(absl::string_view file) {
  jpeg_decompress_struct info{};
  Errors errors_;
  Prepare(&errors_);
  info.err = &errors_.base;
  RawImage image;
  const bool ok = ReadHeader(&info, &errors_, file, {});
  image.height = info.image_height;
  image.width = info.image_width;
  image.channels = info.num_components;
  jpeg_destroy_decompress(&info);
  if (!ok) return errors::InvalidArgument("Invalid JPEG data, size ", file.size());
  return image;
}

StatusOr<std::string> EncodeJpeg(const RawImage& image, const JpegEncodeOptions& options) {
  jpeg_compress_struct info{};
  Errors errors_;
  Prepare(&errors_);
  info.err = &errors_.base;
  unsigned char* buffer = nullptr;
  unsigned long size = 0;
  const bool ok = WriteImage(&info, &errors_, image, options, &buffer, &size);
  std::string out(reinterpret_cast<const char*>(buffer), ok ? size : 0);
  jpeg_destroy_compress(&info);
  std::free(buffer);
  if (!ok) return errors::Internal("JPEG encoding failed");
  return out;
}

}  // namespace millstream
