// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_STRINGS_UTF8_H_
#define MILLSTREAM_OPS_STRINGS_UTF8_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace millstream {

// True for the bytes that go on with a character.
inline bool IsUtf8Trail(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

// The number of characters, counted by their first bytes.
int64_t Utf8Length(absl::string_view s);

// The character at `at`, which moves behind it; -1 for bytes that are no character, of which the longest part that
// could begin one is taken (at least one byte). REQUIRES: *at < s.size().
int32_t ReadUtf8(absl::string_view s, size_t* at);
// REQUIRES: a Unicode scalar value.
void AppendUtf8(int32_t character, std::string* out);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_STRINGS_UTF8_H_
