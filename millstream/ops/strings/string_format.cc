// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>

#include "absl/strings/escaping.h"
#include "absl/strings/str_split.h"
#include "millstream/framework/op.h"

namespace millstream {
namespace {

// Prints a tensor over several lines, `ends` elements at each end of each dimension (negative: all).
class Printer {
 public:
  Printer(const Tensor& t, int64_t ends) : t_(t), ends_(ends) {}

  std::string Print() {
    Dimension(0, 0);
    return std::move(text_);
  }

 private:
  void Dimension(int d, int64_t offset) {
    if (d == t_.rank()) {
      Element(offset);
      return;
    }
    const int64_t n = t_.dim(d), step = t_.shape().Product(d + 1, t_.rank());
    const bool all = ends_ < 0 || n <= 2 * ends_;
    text_ += "[";
    for (int64_t i = 0; i < n; ++i) {
      if (i > 0) Space(d);
      if (!all && i == ends_) {
        text_ += "...";
        i = n - ends_ - 1;
        continue;
      }
      Dimension(d + 1, offset + i * step);
    }
    text_ += "]";
  }

  // Between elements a blank; between rows a new line for each dimension that ends.
  void Space(int d) {
    if (d == t_.rank() - 1) {
      text_ += " ";
      return;
    }
    text_.append(static_cast<size_t>(t_.rank() - 1 - d), '\n');
    text_.append(static_cast<size_t>(d) + 1, ' ');
  }

  void Element(int64_t i) {
    if (t_.dtype() == DType::kString) {
      absl::StrAppend(&text_, "\"", absl::Utf8SafeCEscape(t_.data<std::string>()[i]), "\"");
    } else if (t_.dtype() == DType::kFloat) {
      Number(t_.data<float>()[i], 6, 9, [](const char* s) { return std::strtof(s, nullptr); });
    } else if (t_.dtype() == DType::kDouble) {
      Number(t_.data<double>()[i], 15, 17, [](const char* s) { return std::strtod(s, nullptr); });
    } else {
      const Tensor flat = t_.Reshaped(Shape({t_.num_elements()}));
      text_ += flat.SliceRows(i, i + 1).Reshaped(Shape()).SummarizeValue(1);
    }
  }

  // With few digits if they say all, else with as many as are ever needed.
  template <typename T, typename Parse>
  void Number(T value, int few, int many, Parse parse) {
    char buffer[40];
    std::snprintf(buffer, sizeof(buffer), "%.*g", few, static_cast<double>(value));
    if (parse(buffer) != value) std::snprintf(buffer, sizeof(buffer), "%.*g", many, static_cast<double>(value));
    text_ += buffer;
  }

  const Tensor& t_;
  const int64_t ends_;
  std::string text_;
};

class StringFormat : public Kernel {
 public:
  explicit StringFormat(KernelInit& init) : summarize_(init.Attr<int64_t>("summarize")) {
    const auto text = init.Attr<std::string>("template"), placeholder = init.Attr<std::string>("placeholder");
    parts_ = absl::StrSplit(text, placeholder);
    if (parts_.size() != init.input_types().size() + 1) {
      init.Fail(errors::InvalidArgument("num placeholders in template and num inputs must match: ", parts_.size() - 1,
                                        " vs. ", init.input_types().size()));
    }
  }

  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape()));
    std::string& text = out->scalar<std::string>();
    text = parts_[0];
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      absl::StrAppend(&text, Printer(ctx.input(i), summarize_).Print(), parts_[i + 1]);
    }
    return OkStatus();
  }

 private:
  const int64_t summarize_;
  std::vector<std::string> parts_;
};

Status StringFormatShape(ShapeContext& c) {
  std::string text, placeholder;
  RETURN_IF_ERROR(c.GetAttr("template", &text));
  RETURN_IF_ERROR(c.GetAttr("placeholder", &placeholder));
  const std::vector<std::string> parts = absl::StrSplit(text, placeholder);
  if (static_cast<int>(parts.size()) != c.num_inputs() + 1) {
    return errors::InvalidArgument("num placeholders in template and num inputs must match: ", parts.size() - 1,
                                   " vs. ", c.num_inputs());
  }
  return ScalarShape(c);
}

OP("StringFormat")
    .Input("inputs: T")
    .Output("output: string")
    .Attr("T: list(type) >= 0")
    .Attr("template: string = '%s'")
    .Attr("placeholder: string = '%s'")
    .Attr("summarize: int = 3")
    .Shape(StringFormatShape)
    .Cpu<StringFormat>()
    .Doc("A template with its placeholders replaced by tensors in print.");

}  // namespace
}  // namespace millstream
