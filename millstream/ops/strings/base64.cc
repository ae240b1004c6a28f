// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "millstream/ops/strings/string_map.h"

namespace millstream {
namespace {

// The alphabet that is safe in URLs.
class EncodeBase64 : public Kernel {
 public:
  explicit EncodeBase64(KernelInit& init) : pad_(init.Attr<bool>("pad")) {}
  Status Compute(KernelContext& ctx) override {
    return MapStrings<std::string>(ctx, 100, [this](const std::string& s) {
      std::string text = absl::WebSafeBase64Escape(s);
      if (pad_) text.append((4 - text.size() % 4) % 4, '=');
      return text;
    });
  }

 private:
  const bool pad_;
};

// True if `s` is in that alphabet, with padding that is whole or absent.
bool IsWebSafe(absl::string_view s) {
  size_t n = s.size();
  while (n > 0 && s[n - 1] == '=') --n;
  if (n != s.size() && (s.size() % 4 != 0 || s.size() - n > 2)) return false;
  for (const char c : s.substr(0, n)) {
    if (!absl::ascii_isalnum(c) && c != '-' && c != '_') return false;
  }
  return n % 4 != 1;
}

Status DecodeBase64Cpu(KernelContext& ctx) {
  const Tensor& in = ctx.input(0);
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, in.shape()));
  for (int64_t i = 0; i < in.num_elements(); ++i) {
    const std::string& s = in.data<std::string>()[i];
    if (s.size() % 4 == 1) return errors::InvalidArgument("Base64 string length cannot be 1 modulo 4.");
    if (!IsWebSafe(s) || !absl::WebSafeBase64Unescape(s, &out->data<std::string>()[i])) {
      return errors::InvalidArgument("Invalid character found in base64.");
    }
  }
  return OkStatus();
}

OP("EncodeBase64")
    .Input("input: string")
    .Output("output: string")
    .Attr("pad: bool = false")
    .Shape(UnchangedShape)
    .NotDifferentiable()
    .Cpu<EncodeBase64>()
    .Doc("Strings in base64 that is safe in URLs.");

OP("DecodeBase64")
    .Input("input: string")
    .Output("output: string")
    .Shape(UnchangedShape)
    .NotDifferentiable()
    .Cpu(DecodeBase64Cpu)
    .Doc("The inverse of EncodeBase64.");

}  // namespace
}  // namespace millstream
