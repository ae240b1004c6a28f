// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/strings/text_encoding.h"

#include <iconv.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "millstream/ops/strings/utf8.h"

namespace millstream {
namespace {

// The C library's name for it. What is called Shift JIS elsewhere has a yen sign for the backslash there.
std::string LibraryName(const std::string& name) {
  const std::string upper = absl::AsciiStrToUpper(name);
  return upper == "SHIFT_JIS" || upper == "SHIFT-JIS" || upper == "SJIS" ? "CP932" : upper;
}

// Slashes in names are instructions to the library.
bool IsPlainName(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.';
  });
}

}  // namespace

Encoding EncodingFromName(const std::string& name) {
  const std::string upper = absl::AsciiStrToUpper(name);
  if (upper == "UTF-8" || upper == "UTF8") return Encoding::kUtf8;
  if (upper == "UTF-16-BE" || upper == "UTF-16BE") return Encoding::kUtf16Be;
  if (upper == "UTF-16-LE" || upper == "UTF-16LE") return Encoding::kUtf16Le;
  if (upper == "UTF-16") return Encoding::kUtf16;
  if (upper == "UTF-32-BE" || upper == "UTF-32BE") return Encoding::kUtf32Be;
  if (upper == "UTF-32") return Encoding::kUtf32;
  if (upper == "US-ASCII" || upper == "ASCII") return Encoding::kAscii;
  if (upper == "ISO-8859-1" || upper == "LATIN1" || upper == "LATIN-1") return Encoding::kLatin1;
  return Encoding::kOther;
}

void WriteCharacter(Encoding encoding, int32_t c, std::string* out) {
  const auto put = [out](uint32_t value, int bytes) {
    for (int i = bytes - 1; i >= 0; --i) out->push_back(static_cast<char>(value >> 8 * i));
  };
  if (encoding == Encoding::kUtf8) {
    AppendUtf8(c, out);
  } else if (encoding == Encoding::kUtf32Be) {
    put(static_cast<uint32_t>(c), 4);
  } else if (c < 0x10000) {
    put(static_cast<uint32_t>(c), 2);
  } else {
    const auto rest = static_cast<uint32_t>(c) - 0x10000;
    put(0xd800 | rest >> 10, 2);
    put(0xdc00 | (rest & 0x3ff), 2);
  }
}

// The C library's converter to UTF-32.
class TextReader::Converter {
 public:
  explicit Converter(const std::string& name) : iconv_(iconv_open("UTF-32BE", name.c_str())) {}
  ~Converter() {
    if (ok()) iconv_close(iconv_);
  }
  Converter(const Converter&) = delete;
  Converter& operator=(const Converter&) = delete;

  bool ok() const { return iconv_ != reinterpret_cast<iconv_t>(-1); }
  void Reset() { iconv(iconv_, nullptr, nullptr, nullptr, nullptr); }

  // There is room for one character only, so that no more than one is taken. What is none is one byte, and at the end
  // of the string all that is left.
  int32_t Next(absl::string_view s, size_t* at) {
    unsigned char out[4];
    char* from = const_cast<char*>(s.data() + *at);
    char* to = reinterpret_cast<char*>(out);
    size_t left = s.size() - *at, room = sizeof(out);
    const bool failed = iconv(iconv_, &from, &left, &to, &room) == static_cast<size_t>(-1);
    const bool incomplete = failed && errno == EINVAL;
    if (room == 0) {
      *at = s.size() - left;
      return static_cast<int32_t>(out[0] << 24 | out[1] << 16 | out[2] << 8 | out[3]);
    }
    *at = incomplete || left == 0 ? s.size() : s.size() - left + 1;
    return -1;
  }

 private:
  const iconv_t iconv_;
};

void TextReader::CloseConverter::operator()(Converter* c) const { delete c; }

StatusOr<TextReader> TextReader::Open(const std::string& encoding) {
  TextReader reader(EncodingFromName(encoding));
  if (reader.encoding_ == Encoding::kOther) {
    std::string name = LibraryName(encoding);
    if (IsPlainName(encoding)) reader.converter_.reset(new Converter(name));
    if (reader.converter_ != nullptr && !reader.converter_->ok()) {
      std::replace(name.begin(), name.end(), '_', '-');
      reader.converter_.reset(new Converter(name));
    }
    if (reader.converter_ == nullptr || !reader.converter_->ok()) {
      return errors::InvalidArgument("Could not create converter for input encoding: ", encoding);
    }
  }
  return reader;
}

void TextReader::Begin(absl::string_view s) {
  s_ = s;
  at_ = 0;
  big_ = encoding_ != Encoding::kUtf16Le;
  if (converter_ != nullptr) converter_->Reset();
  mark_ = 0;
  if (encoding_ != Encoding::kUtf16 && encoding_ != Encoding::kUtf32) return;
  ReadMark();
  mark_ = at_;
  if (!done()) at_ = 0;
}

uint32_t TextReader::Unit(size_t bytes, bool big) {
  uint32_t value = 0;
  for (size_t i = 0; i < bytes; ++i) {
    value |= static_cast<uint32_t>(static_cast<unsigned char>(s_[at_ + i])) << 8 * (big ? bytes - 1 - i : i);
  }
  at_ += bytes;
  return value;
}

// Takes a byte order mark where the encoding leaves the order open.
void TextReader::ReadMark() {
  const size_t bytes = encoding_ == Encoding::kUtf16 ? 2 : 4;
  if (left() < bytes) return;
  if (Unit(bytes, true) == 0xfeff) return;
  at_ = 0;
  if (Unit(bytes, false) == 0xfeff) {
    big_ = false;
    return;
  }
  at_ = 0;
}

int32_t TextReader::Next16() {
  if (left() < 2) {
    at_ = s_.size();
    return -1;
  }
  const uint32_t c = Unit(2, big_);
  if (!IsSurrogate(static_cast<int32_t>(c))) return static_cast<int32_t>(c);
  if (c >= 0xdc00 || left() < 2) return -1;
  const uint32_t low = Unit(2, big_);
  if (low < 0xdc00 || low > 0xdfff) {
    at_ -= 2;
    return -1;
  }
  return static_cast<int32_t>(0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00));
}

int32_t TextReader::Next32() {
  if (left() < 4) {
    at_ = s_.size();
    return -1;
  }
  const uint32_t c = Unit(4, big_);
  return c > 0x10ffff || IsSurrogate(static_cast<int32_t>(c)) ? -1 : static_cast<int32_t>(c);
}

int32_t TextReader::Next() {
  switch (encoding_) {
    case Encoding::kUtf8:
      return ReadUtf8(s_, &at_);
    case Encoding::kAscii:
    case Encoding::kLatin1: {
      const uint32_t c = Unit(1, true);
      return encoding_ == Encoding::kAscii && c > 0x7f ? -1 : static_cast<int32_t>(c);
    }
    case Encoding::kUtf16:
    case Encoding::kUtf32:
      if (at_ == 0) at_ = mark_;
      return encoding_ == Encoding::kUtf16 ? Next16() : Next32();
    case Encoding::kUtf32Be:
      return Next32();
    case Encoding::kOther:
      return converter_->Next(s_, &at_);
    default:
      return Next16();
  }
}

}  // namespace millstream
