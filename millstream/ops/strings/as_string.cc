// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <cstdio>

#include "millstream/framework/op.h"
#include "millstream/tensor/dispatch.h"
#include "millstream/tensor/encoded_variant.h"

namespace millstream {
namespace {

constexpr int64_t kMaxWidth = 1 << 16;
constexpr double kElementCost = 60;  // nanoseconds

template <typename... Args>
std::string Format(const std::string& format, Args... args) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"
  char small[64];
  const int n = std::snprintf(small, sizeof(small), format.c_str(), args...);
  if (n < static_cast<int>(sizeof(small))) return std::string(small, static_cast<size_t>(std::max(n, 0)));
  std::string large(static_cast<size_t>(n), '\0');
  std::snprintf(large.data(), large.size() + 1, format.c_str(), args...);
#pragma GCC diagnostic pop
  return large;
}

// What printf makes of it by "%f".
std::string Fixed(double v) {
  char text[384];  // the largest double has 309 digits before the point
  const auto end = std::to_chars(text, text + sizeof(text), v, std::chars_format::fixed, 6);
  return std::string(text, end.ptr);
}

// The attributes as one printf format, made once.
class AsString final : public Kernel {
 public:
  explicit AsString(KernelInit& init) {
    const DType type = init.Attr<DType>("T");
    const auto precision = init.Attr<int64_t>("precision"), width = init.Attr<int64_t>("width");
    const bool scientific = init.Attr<bool>("scientific"), shortest = init.Attr<bool>("shortest");
    const auto fill = init.Attr<std::string>("fill");
    const bool floating = IsFloating(type) || IsComplex(type);
    if (scientific && shortest)
      init.Fail(errors::InvalidArgument("Cannot select both scientific and shortest notation"));
    if (fill.size() > 1) init.Fail(errors::InvalidArgument("Fill string must be one or fewer characters"));
    if (!floating && (scientific || shortest)) {
      init.Fail(errors::InvalidArgument("scientific and shortest format not supported for datatype ", DTypeName(type)));
    }
    if (!floating && precision >= 0)
      init.Fail(errors::InvalidArgument("precision not supported for datatype ", DTypeName(type)));
    if (!fill.empty() && std::string(" +-0#").find(fill[0]) == std::string::npos) {
      init.Fail(errors::InvalidArgument("Fill argument not supported: \"", fill, "\""));
    }
    if (width > kMaxWidth || precision > kMaxWidth)
      init.Fail(errors::InvalidArgument("width and precision must be at most ", kMaxWidth));
    format_ = absl::StrCat("%", fill, width >= 0 ? absl::StrCat(width) : "",
                           precision >= 0 ? absl::StrCat(".", precision) : "");
    if (type == DType::kString)
      format_ = absl::StrCat("%", fill == "-" ? fill : "", width >= 0 ? absl::StrCat(width) : "", "s");
    else if (floating)
      format_ += shortest ? "g" : scientific ? "e" : "f";
    else
      format_ += type == DType::kUint64 ? "llu" : "lld";
    plain_ = format_ == "%f" || format_ == "%lld" || format_ == "%llu";
    if (IsComplex(type)) format_ = absl::StrCat("(", format_, ",", format_, ")");
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& in = ctx.input(0);
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, in.shape()));
    DispatchOver(Join<PodTypes, Types<std::string, Variant>>{}, in.dtype(), [&](auto type) {
      using T = typename decltype(type)::type;
      const T* from = in.data<T>();
      std::string* to = out->data<std::string>();
      ctx.ParallelFor(in.num_elements(), kElementCost, [=, this](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) to[i] = Text(from[i]);
      });
    });
    return OkStatus();
  }

 private:
  template <typename T>
  std::string Text(const T& v) const {
    if constexpr (std::is_same_v<T, std::string>) {
      return format_ == "%s" ? v : Format(format_, v.c_str());
    } else if constexpr (std::is_same_v<T, Variant>) {
      return ShowVariant(v);
    } else if constexpr (std::is_same_v<T, bool>) {
      return v ? "true" : "false";
    } else if constexpr (kIsComplex<T>) {
      return Format(format_, static_cast<double>(v.real()), static_cast<double>(v.imag()));
    } else if constexpr (std::is_integral_v<T>) {
      if (plain_) return absl::StrCat(v);
      if constexpr (std::is_same_v<T, uint64_t>)
        return Format(format_, static_cast<unsigned long long>(v));
      else
        return Format(format_, static_cast<long long>(v));
    } else if constexpr (std::is_same_v<T, double>) {
      return plain_ ? Fixed(v) : Format(format_, v);
    } else {
      const auto wide = static_cast<double>(static_cast<float>(v));
      return plain_ ? Fixed(wide) : Format(format_, wide);
    }
  }

  std::string format_;
  bool plain_ = false;  // no attribute differs from its default
};

OP("AsString")
    .Input("input: T")
    .Output("output: string")
    .Attr(
        "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64, complex64, "
        "complex128, bool, "
        "variant, string}")
    .Attr("precision: int = -1")
    .Attr("scientific: bool = false")
    .Attr("shortest: bool = false")
    .Attr("width: int = -1")
    .Attr("fill: string = ''")
    .Shape(UnchangedShape)
    .NotDifferentiable()
    .Cpu<AsString>()
    .Doc("Elements as text.");

}  // namespace
}  // namespace millstream
