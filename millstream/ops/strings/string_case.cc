// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/ascii.h"
#include "millstream/ops/strings/string_map.h"
#include "millstream/ops/strings/utf8.h"

namespace millstream {
namespace {

Status StripCpu(KernelContext& ctx) {
  return MapStrings<std::string>(ctx, 30,
                                 [](const std::string& s) { return std::string(absl::StripAsciiWhitespace(s)); });
}

// Whether an op counts bytes or characters.
bool ReadUnit(KernelInit& init) { return init.Attr<std::string>("unit") == "UTF8_CHAR"; }

class StringLength : public Kernel {
 public:
  explicit StringLength(KernelInit& init) : characters_(ReadUnit(init)) {}
  Status Compute(KernelContext& ctx) override {
    return MapStrings<int32_t>(ctx, characters_ ? 20 : 2, [this](const std::string& s) {
      return static_cast<int32_t>(characters_ ? Utf8Length(s) : static_cast<int64_t>(s.size()));
    });
  }

 private:
  const bool characters_;
};

// Without an encoding only ASCII letters change.
template <bool upper>
class ChangeCase : public Kernel {
 public:
  explicit ChangeCase(KernelInit& init) {
    const auto encoding = init.Attr<std::string>("encoding");
    unicode_ = encoding == "utf-8";
    if (!unicode_ && !encoding.empty()) {
      init.Fail(errors::InvalidArgument("only utf-8 or '' (no encoding) is supported, received ", encoding));
    }
  }
  Status Compute(KernelContext& ctx) override {
    return MapStrings<std::string>(ctx, 50, [this](const std::string& s) {
      if (!unicode_) return upper ? absl::AsciiStrToUpper(s) : absl::AsciiStrToLower(s);
      return ChangeUnicode(s);
    });
  }

 private:
  static std::string ChangeUnicode(const std::string& s) {
    std::string out;
    for (size_t at = 0; at < s.size();) {
      const int32_t c = ReadUtf8(s, &at);
      AppendUtf8(c < 0 ? 0xfffd : Change(c), &out);
    }
    return out;
  }
  // One character for one; those that become several are left alone.
  static int32_t Change(int32_t c);

  bool unicode_ = false;
};

// Pairs of upper and lower case by blocks of Unicode: Latin, Greek, Cyrillic and Armenian.
int32_t ToLower(int32_t c) {
  const auto in = [c](int32_t a, int32_t b) { return c >= a && c <= b; };
  if (c < 0x80) return in('A', 'Z') ? c + 32 : c;
  if (in(0xc0, 0xde) && c != 0xd7) return c + 32;
  if ((in(0x100, 0x12f) || in(0x132, 0x137) || in(0x14a, 0x177) || in(0x1e00, 0x1e95) || in(0x1ea0, 0x1eff)) &&
      c % 2 == 0)
    return c + 1;
  if ((in(0x139, 0x148) || in(0x179, 0x17e)) && c % 2 == 1) return c + 1;
  if (c == 0x178) return 0xff;
  if (in(0x391, 0x3ab) && c != 0x3a2) return c + 32;
  if (c == 0x386) return 0x3ac;
  if (in(0x388, 0x38a)) return c + 37;
  if (c == 0x38c) return 0x3cc;
  if (in(0x38e, 0x38f)) return c + 63;
  if (in(0x410, 0x42f)) return c + 32;
  if (in(0x400, 0x40f)) return c + 80;
  if ((in(0x460, 0x481) || in(0x48a, 0x4bf) || in(0x4d0, 0x52f)) && c % 2 == 0) return c + 1;
  if (in(0x531, 0x556)) return c + 48;
  return c;
}

int32_t ToUpper(int32_t c) {
  if (c == 0xb5) return 0x39c;
  if (c == 0x17f) return 'S';
  if (c == 0x3c2) return 0x3a3;
  if (c == 0xdf || c == 0xf7 || c == 0xd7) return c;
  // The capital whose small letter this is: it is never further away than this.
  for (const int32_t distance : {32, 1, 80, 48, -121, 38, 37, 64, 63}) {
    const int32_t candidate = c - distance;
    if (candidate > 0 && candidate != c && ToLower(candidate) == c) return candidate;
  }
  return c;
}

template <>
int32_t ChangeCase<false>::Change(int32_t c) {
  return ToLower(c);
}
template <>
int32_t ChangeCase<true>::Change(int32_t c) {
  return ToUpper(c);
}

OP("StringStrip")
    .Input("input: string")
    .Output("output: string")
    .Shape(UnchangedShape)
    .Cpu(StripCpu)
    .Doc("Strings without white space at their ends.");

OP("StringLength")
    .Input("input: string")
    .Output("output: int32")
    .Attr("unit: {'BYTE', 'UTF8_CHAR'} = 'BYTE'")
    .Shape(UnchangedShape)
    .Cpu<StringLength>()
    .Doc("The number of bytes or characters of each string.");

OP("StringLower")
    .Input("input: string")
    .Output("output: string")
    .Attr("encoding: string = ''")
    .Shape(UnchangedShape)
    .Cpu<ChangeCase<false>>()
    .Doc("Strings in small letters.");

OP("StringUpper")
    .Input("input: string")
    .Output("output: string")
    .Attr("encoding: string = ''")
    .Shape(UnchangedShape)
    .Cpu<ChangeCase<true>>()
    .Doc("Strings in capital letters.");

}  // namespace
}  // namespace millstream
