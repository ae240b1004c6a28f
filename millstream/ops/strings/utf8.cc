// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/strings/utf8.h"

namespace millstream {

int64_t Utf8Length(absl::string_view s) {
  int64_t n = 0;
  for (const char c : s) n += IsUtf8Trail(c) ? 0 : 1;
  return n;
}

int32_t ReadUtf8(absl::string_view s, size_t* at) {
  const auto first = static_cast<unsigned char>(s[(*at)++]);
  if (first < 0x80) return first;
  if (first < 0xc2 || first > 0xf4) return -1;
  const int trail = first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
  int32_t value = first & (0x3f >> trail);
  for (int i = 0; i < trail; ++i) {
    if (*at >= s.size() || !IsUtf8Trail(s[*at])) return -1;
    const auto byte = static_cast<unsigned char>(s[*at]);
    if (i == 0) {
      // What would be longer than needed, a surrogate, or beyond the last character.
      if ((first == 0xe0 && byte < 0xa0) || (first == 0xed && byte > 0x9f)) return -1;
      if ((first == 0xf0 && byte < 0x90) || (first == 0xf4 && byte > 0x8f)) return -1;
    }
    value = value << 6 | (byte & 0x3f);
    ++*at;
  }
  return value;
}

void AppendUtf8(int32_t character, std::string* out) {
  const auto c = static_cast<uint32_t>(character);
  const auto push = [out](uint32_t byte) { out->push_back(static_cast<char>(byte)); };
  if (c < 0x80) {
    push(c);
    return;
  }
  if (c < 0x800) {
    push(0xc0 | c >> 6);
  } else {
    if (c < 0x10000) {
      push(0xe0 | c >> 12);
    } else {
      push(0xf0 | c >> 18);
      push(0x80 | (c >> 12 & 0x3f));
    }
    push(0x80 | (c >> 6 & 0x3f));
  }
  push(0x80 | (c & 0x3f));
}

}  // namespace millstream
