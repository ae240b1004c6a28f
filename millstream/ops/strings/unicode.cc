// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/elements/axes.h"
#include "millstream/ops/strings/string_map.h"
#include "millstream/ops/strings/text_encoding.h"
#include "millstream/tensor/dispatch.h"

namespace millstream {
namespace {

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
    const bool control = replace_control && c >= 0 && c <= 0x1f;
    if (c >= 0 && !control) {
      emit(c);
    } else if (kind == Kind::kStrict && !control) {
      return errors::InvalidArgument("Invalid formatting on input string");
    } else if (kind != Kind::kIgnore) {
      emit(replacement);
    }
    return OkStatus();
  }
};

class UnicodeReaderKernel : public Kernel {
 public:
  explicit UnicodeReaderKernel(KernelInit& init) : policy_(init), encoding_(init.Attr<std::string>("input_encoding")) {
    init.Check(TextReader::Open(encoding_).status());
  }

 protected:
  const ErrorPolicy policy_;
  const std::string encoding_;
};

class UnicodeDecode : public UnicodeReaderKernel {
 public:
  using UnicodeReaderKernel::UnicodeReaderKernel;

  Status Compute(KernelContext& ctx) override {
    std::vector<int32_t> characters;
    std::vector<int64_t> splits{0}, starts;
    ASSIGN_OR_RETURN(TextReader reader, TextReader::Open(encoding_));
    for (const std::string& s : ctx.input(0).flat<std::string>()) {
      for (reader.Begin(s); !reader.done();) {
        const auto start = static_cast<int64_t>(reader.at());
        RETURN_IF_ERROR(policy_.Pass(reader.Next(), [&](int32_t c) {
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

class UnicodeTranscode : public UnicodeReaderKernel {
 public:
  explicit UnicodeTranscode(KernelInit& init)
      : UnicodeReaderKernel(init), output_(EncodingFromName(init.Attr<std::string>("output_encoding"))) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor& in = ctx.input(0);
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, in.shape()));
    ASSIGN_OR_RETURN(TextReader reader, TextReader::Open(encoding_));
    for (int64_t i = 0; i < in.num_elements(); ++i) {
      std::string& text = out->data<std::string>()[i];
      for (reader.Begin(in.data<std::string>()[i]); !reader.done();) {
        RETURN_IF_ERROR(policy_.Pass(reader.Next(), [&](int32_t c) { WriteCharacter(output_, c, &text); }));
      }
    }
    return OkStatus();
  }

 private:
  const Encoding output_;
};

class UnicodeEncode : public Kernel {
 public:
  explicit UnicodeEncode(KernelInit& init)
      : policy_(init), encoding_(EncodingFromName(init.Attr<std::string>("output_encoding"))) {}

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

 private:
  const ErrorPolicy policy_;
  const Encoding encoding_;
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

void UnicodeDecodeOp(OpBuilder& op) {
  op.Input("input: string")
      .Output("row_splits: Tsplits")
      .Output("char_values: int32")
      .Attr("input_encoding: string")
      .Attr("errors: {'strict', 'replace', 'ignore'} = 'replace'")
      .Attr("replacement_char: int = 65533")
      .Attr("replace_control_characters: bool = false")
      .Attr("Tsplits: {int32, int64} = DT_INT64")
      .Shape(UnicodeDecodeShape)
      .Cpu<UnicodeDecode>()
      .Doc("The characters of strings, as a ragged tensor.");
}

OP("UnicodeDecode").With(UnicodeDecodeOp);
OP("UnicodeDecodeWithOffsets").With(UnicodeDecodeOp).Output("char_to_byte_starts: int64");

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
