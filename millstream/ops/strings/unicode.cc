// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/ascii.h"
#include "millstream/ops/array/axes.h"
#include "millstream/ops/strings/string_map.h"
#include "millstream/ops/strings/utf8.h"
#include "millstream/tensor/dispatch.h"

namespace millstream {
namespace {

enum class Encoding { kUtf8, kUtf16Be, kUtf16Le, kUtf32Be, kAscii, kLatin1 };

StatusOr<Encoding> EncodingFromName(const std::string& name) {
  const std::string upper = absl::AsciiStrToUpper(name);
  if (upper == "UTF-8" || upper == "UTF8") return Encoding::kUtf8;
  if (upper == "UTF-16-BE" || upper == "UTF-16BE" || upper == "UTF-16") return Encoding::kUtf16Be;
  if (upper == "UTF-16-LE" || upper == "UTF-16LE") return Encoding::kUtf16Le;
  if (upper == "UTF-32-BE" || upper == "UTF-32BE" || upper == "UTF-32") return Encoding::kUtf32Be;
  if (upper == "US-ASCII" || upper == "ASCII") return Encoding::kAscii;
  if (upper == "ISO-8859-1" || upper == "LATIN1" || upper == "LATIN-1") return Encoding::kLatin1;
  return errors::InvalidArgument("Could not create converter for input encoding: ", name);
}

bool IsSurrogate(int32_t c) { return c >= 0xd800 && c <= 0xdfff; }

// The next character, -1 for what is none. REQUIRES: *at < s.size().
int32_t ReadCharacter(Encoding encoding, absl::string_view s, size_t* at) {
  const auto unit = [&](size_t bytes, bool big) {
    uint32_t value = 0;
    for (size_t i = 0; i < bytes; ++i) {
      value |= static_cast<uint32_t>(static_cast<unsigned char>(s[*at + i])) << 8 * (big ? bytes - 1 - i : i);
    }
    *at += bytes;
    return value;
  };
  const auto left = [&] { return s.size() - *at; };
  switch (encoding) {
    case Encoding::kUtf8:
      return ReadUtf8(s, at);
    case Encoding::kAscii:
    case Encoding::kLatin1: {
      const uint32_t c = unit(1, true);
      return encoding == Encoding::kAscii && c > 0x7f ? -1 : static_cast<int32_t>(c);
    }
    case Encoding::kUtf32Be: {
      if (left() < 4) break;
      const uint32_t c = unit(4, true);
      return c > 0x10ffff || IsSurrogate(static_cast<int32_t>(c)) ? -1 : static_cast<int32_t>(c);
    }
    default: {
      const bool big = encoding == Encoding::kUtf16Be;
      if (left() < 2) break;
      const uint32_t c = unit(2, big);
      if (!IsSurrogate(static_cast<int32_t>(c))) return static_cast<int32_t>(c);
      if (c >= 0xdc00 || left() < 2) return -1;
      const uint32_t low = unit(2, big);
      if (low < 0xdc00 || low > 0xdfff) {
        *at -= 2;
        return -1;
      }
      return static_cast<int32_t>(0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00));
    }
  }
  *at = s.size();
  return -1;
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

// What to do with bytes that are no character.
struct ErrorPolicy {
  enum class Kind { kStrict, kReplace, kIgnore } kind = Kind::kReplace;
  int32_t replacement = 0xfffd;
  bool replace_control = false;

  explicit ErrorPolicy(KernelInit& init) {
    const auto name = init.Attr<std::string>("errors");
    kind = name == "strict" ? Kind::kStrict : name == "ignore" ? Kind::kIgnore : Kind::kReplace;
    const auto c = init.Attr<int64_t>("replacement_char");
    if (c < 0 || c > 0x10ffff || IsSurrogate(static_cast<int32_t>(c))) {
      init.Fail(errors::InvalidArgument("replacement_char out of unicode codepoint range"));
    } else {
      replacement = static_cast<int32_t>(c);
    }
    if (init.HasAttr("replace_control_characters")) replace_control = init.Attr<bool>("replace_control_characters");
  }
  // Calls emit(character) for what stands for c; InvalidArgument if nothing may.
  template <typename Emit>
  Status Pass(int32_t c, Emit emit) const {
    if (c >= 0) {
      emit(replace_control && c <= 0x1f ? replacement : c);
    } else if (kind == Kind::kStrict) {
      return errors::InvalidArgument("Invalid formatting on input string");
    } else if (kind == Kind::kReplace) {
      emit(replacement);
    }
    return OkStatus();
  }
};

class UnicodeKernel : public Kernel {
 public:
  explicit UnicodeKernel(KernelInit& init, const char* attr) : policy_(init) {
    auto encoding = EncodingFromName(init.Attr<std::string>(attr));
    if (encoding.ok())
      encoding_ = *encoding;
    else
      init.Fail(encoding.status());
  }

 protected:
  const ErrorPolicy policy_;
  Encoding encoding_ = Encoding::kUtf8;
};

class UnicodeDecode : public UnicodeKernel {
 public:
  explicit UnicodeDecode(KernelInit& init) : UnicodeKernel(init, "input_encoding") {}

  Status Compute(KernelContext& ctx) override {
    std::vector<int32_t> characters;
    std::vector<int64_t> splits{0}, starts;
    for (const std::string& s : ctx.input(0).flat<std::string>()) {
      for (size_t at = 0; at < s.size();) {
        const auto start = static_cast<int64_t>(at);
        RETURN_IF_ERROR(policy_.Pass(ReadCharacter(encoding_, s, &at), [&](int32_t c) {
          characters.push_back(c);
          starts.push_back(start);
        }));
      }
      splits.push_back(static_cast<int64_t>(characters.size()));
    }
    ASSIGN_OR_RETURN(Tensor * rows, ctx.AllocateOutput(0, Shape({static_cast<int64_t>(splits.size())})));
    DispatchOver(IndexTypes{}, rows->dtype(), [&](auto type) {
      std::copy(splits.begin(), splits.end(), rows->data<typename decltype(type)::type>());
    });
    ctx.set_output(1, Tensor::Vector(characters));
    if (ctx.num_outputs() > 2) ctx.set_output(2, Tensor::Vector(starts));
    return OkStatus();
  }
};

class UnicodeTranscode : public UnicodeKernel {
 public:
  explicit UnicodeTranscode(KernelInit& init) : UnicodeKernel(init, "input_encoding") {
    auto encoding = EncodingFromName(init.Attr<std::string>("output_encoding"));
    if (encoding.ok())
      output_ = *encoding;
    else
      init.Fail(encoding.status());
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& in = ctx.input(0);
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, in.shape()));
    for (int64_t i = 0; i < in.num_elements(); ++i) {
      const std::string& s = in.data<std::string>()[i];
      std::string& text = out->data<std::string>()[i];
      for (size_t at = 0; at < s.size();) {
        RETURN_IF_ERROR(
            policy_.Pass(ReadCharacter(encoding_, s, &at), [&](int32_t c) { WriteCharacter(output_, c, &text); }));
      }
    }
    return OkStatus();
  }

 private:
  Encoding output_ = Encoding::kUtf8;
};

class UnicodeEncode : public UnicodeKernel {
 public:
  explicit UnicodeEncode(KernelInit& init) : UnicodeKernel(init, "output_encoding") {}

  Status Compute(KernelContext& ctx) override {
    const auto characters = ctx.input(0).flat<int32_t>();
    Dims splits;
    RETURN_IF_ERROR(ReadInts(ctx.input(1), &splits));
    if (splits.empty()) return errors::InvalidArgument("Input_splits should contain elements, but was 0");
    if (splits[0] != 0) return errors::InvalidArgument("First value in input_splits must be zero.");
    if (splits.back() != static_cast<int64_t>(characters.size())) {
      return errors::InvalidArgument("Last value in input_splits must be equal to the number of input_values");
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape({static_cast<int64_t>(splits.size()) - 1})));
    for (size_t i = 1; i < splits.size(); ++i) {
      if (splits[i] < splits[i - 1]) {
        return errors::InvalidArgument("Values in input_splits must be equal or in ascending order.");
      }
      if (splits[i] > splits.back()) return errors::InvalidArgument("input_splits is out of range");
      std::string& text = out->data<std::string>()[i - 1];
      for (int64_t k = splits[i - 1]; k < splits[i]; ++k) {
        const int32_t c = characters[k];
        const bool valid = c >= 0 && c <= 0x10ffff && !IsSurrogate(c);
        RETURN_IF_ERROR(policy_.Pass(valid ? c : -1, [&](int32_t v) { WriteCharacter(encoding_, v, &text); }));
      }
    }
    return OkStatus();
  }
};

Status UnicodeDecodeShape(ShapeContext& c) {
  const int64_t n = c.input(0).num_elements();
  c.set_output(0, PartialShape({n < 0 ? -1 : n + 1}));
  for (int i = 1; i < c.num_outputs(); ++i) c.set_output(i, PartialShape({-1}));
  return OkStatus();
}

Status UnicodeEncodeShape(ShapeContext& c) {
  PartialShape values, splits;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 1, &values));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 1, &splits));
  c.set_output(0, PartialShape({splits.dim(0) < 0 ? -1 : splits.dim(0) - 1}));
  return OkStatus();
}

#define DECODE(Name, starts)                                              \
  OP(Name)                                                                \
      .Input("input: string")                                             \
      .Output("row_splits: Tsplits")                                      \
      .Output("char_values: int32") starts.Attr("input_encoding: string") \
      .Attr("errors: {'strict', 'replace', 'ignore'} = 'replace'")        \
      .Attr("replacement_char: int = 65533")                              \
      .Attr("replace_control_characters: bool = false")                   \
      .Attr("Tsplits: {int32, int64} = DT_INT64")                         \
      .Shape(UnicodeDecodeShape)                                          \
      .Cpu<UnicodeDecode>()                                               \
      .Doc("The characters of strings, as a ragged tensor.")

DECODE("UnicodeDecode", );
DECODE("UnicodeDecodeWithOffsets", .Output("char_to_byte_starts: int64"));
#undef DECODE

OP("UnicodeEncode")
    .Input("input_values: int32")
    .Input("input_splits: Tsplits")
    .Output("output: string")
    .Attr("errors: {'ignore', 'replace', 'strict'} = 'replace'")
    .Attr("output_encoding: {'UTF-8', 'UTF-16-BE', 'UTF-32-BE'}")
    .Attr("replacement_char: int = 65533")
    .Attr("Tsplits: {int32, int64} = DT_INT64")
    .Shape(UnicodeEncodeShape)
    .Cpu<UnicodeEncode>()
    .Doc("Strings from the rows of a ragged tensor of characters.");

OP("UnicodeTranscode")
    .Input("input: string")
    .Output("output: string")
    .Attr("input_encoding: string")
    .Attr("output_encoding: {'UTF-8', 'UTF-16-BE', 'UTF-32-BE'}")
    .Attr("errors: {'strict', 'replace', 'ignore'} = 'replace'")
    .Attr("replacement_char: int = 65533")
    .Attr("replace_control_characters: bool = false")
    .Shape(UnchangedShape)
    .Cpu<UnicodeTranscode>()
    .Doc("Strings in another encoding.");

}  // namespace
}  // namespace millstream
