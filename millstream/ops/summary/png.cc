// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/summary/png.h"

#include <zlib.h>

#include "absl/strings/string_view.h"

namespace millstream {
namespace {

void PutUint32(uint32_t v, std::string* out) {
  for (int shift = 24; shift >= 0; shift -= 8) out->push_back(static_cast<char>(v >> shift & 0xff));
}

void PutChunk(absl::string_view kind, absl::string_view data, std::string* png) {
  PutUint32(static_cast<uint32_t>(data.size()), png);
  const size_t from = png->size();
  absl::StrAppend(png, kind, data);
  const uLong crc = crc32_z(0, reinterpret_cast<const Bytef*>(png->data()) + from, png->size() - from);
  PutUint32(static_cast<uint32_t>(crc), png);
}

}  // namespace

StatusOr<std::string> EncodePng(const uint8_t* pixels, int64_t width, int64_t height, int channels) {
  static constexpr char kColorTypes[] = {0, 4, 2, 6};
  const size_t row = static_cast<size_t>(width * channels);
  std::string raw;
  raw.reserve((row + 1) * static_cast<size_t>(height));
  for (int64_t y = 0; y < height; ++y) {
    raw.push_back(0);  // rows are not filtered
    raw.append(reinterpret_cast<const char*>(pixels) + static_cast<size_t>(y) * row, row);
  }
  uLongf packed_size = compressBound(raw.size());
  std::string packed(packed_size, '\0');
  if (compress2(reinterpret_cast<Bytef*>(packed.data()), &packed_size, reinterpret_cast<const Bytef*>(raw.data()),
                raw.size(), Z_DEFAULT_COMPRESSION) != Z_OK ||
      packed_size > INT32_MAX) {
    return errors::ResourceExhausted("Could not pack an image of ", width, " by ", height);
  }
  packed.resize(packed_size);
  std::string header;
  PutUint32(static_cast<uint32_t>(width), &header);
  PutUint32(static_cast<uint32_t>(height), &header);
  header.push_back(8);
  header.push_back(kColorTypes[channels - 1]);
  header.append(3, '\0');  // deflate, no filter method of note, not interlaced
  std::string png("\x89PNG\r\n\x1a\n");
  PutChunk("IHDR", header, &png);
  PutChunk("IDAT", packed, &png);
  PutChunk("IEND", "", &png);
  return png;
}

}  // namespace millstream
