// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_STRINGS_TEXT_ENCODING_H_
#define MILLSTREAM_OPS_STRINGS_TEXT_ENCODING_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "millstream/base/status.h"

namespace millstream {

enum class Encoding { kUtf8, kUtf16Be, kUtf16Le, kUtf16, kUtf32Be, kUtf32, kAscii, kLatin1, kOther };

// kOther for names of encodings that only the C library may know.
Encoding EncodingFromName(const std::string& name);

// REQUIRES: kUtf8, kUtf16Be or kUtf32Be, and a Unicode scalar value.
void WriteCharacter(Encoding encoding, int32_t character, std::string* out);

inline bool IsSurrogate(int32_t c) { return c >= 0xd800 && c <= 0xdfff; }

// Reads the characters of strings in one encoding, one string after the other. Not thread-safe.
class TextReader {
 public:
  // InvalidArgument if nobody knows the encoding.
  static StatusOr<TextReader> Open(const std::string& encoding);

  void Begin(absl::string_view s);
  bool done() const { return at_ >= s_.size(); }
  // Where the next character begins. A byte order mark that decides how to read belongs to the first one.
  size_t at() const { return at_; }
  // -1 for what is no character. REQUIRES: !done().
  int32_t Next();

 private:
  class Converter;
  struct CloseConverter {
    void operator()(Converter* c) const;
  };

  explicit TextReader(Encoding encoding) : encoding_(encoding) {}
  uint32_t Unit(size_t bytes, bool big);
  size_t left() const { return s_.size() - at_; }
  void ReadMark();
  int32_t Next16();
  int32_t Next32();

  Encoding encoding_;
  std::unique_ptr<Converter, CloseConverter> converter_;
  absl::string_view s_;
  size_t at_ = 0;
  size_t mark_ = 0;  // size of the byte order mark
  bool big_ = true;
};

}  // namespace millstream

#endif  // MILLSTREAM_OPS_STRINGS_TEXT_ENCODING_H_
