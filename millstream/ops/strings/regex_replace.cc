// SPDX-License-Identifier: Apache-2.0
#include <re2/re2.h>

#include <memory>

#include "millstream/ops/strings/string_map.h"

namespace millstream {
namespace {

Status CheckPattern(const RE2& regex, const std::string& pattern, const std::string& rewrite) {
  if (!regex.ok()) return errors::InvalidArgument("Invalid pattern: ", pattern, ", error: ", regex.error());
  std::string problem;
  if (!regex.CheckRewriteString(rewrite, &problem)) {
    return errors::InvalidArgument("Invalid rewrite: ", rewrite, ", error: ", problem);
  }
  return OkStatus();
}

Status ReplaceAll(KernelContext& ctx, const RE2& regex, const std::string& rewrite, bool global) {
  return MapStrings<std::string>(ctx, 300, [&](std::string s) {
    if (global)
      RE2::GlobalReplace(&s, regex, rewrite);
    else
      RE2::Replace(&s, regex, rewrite);
    return s;
  });
}

class RegexReplace : public Kernel {
 public:
  explicit RegexReplace(KernelInit& init) : global_(init.Attr<bool>("replace_global")) {}
  Status Compute(KernelContext& ctx) override {
    const Tensor &pattern = ctx.input(1), &rewrite = ctx.input(2);
    if (pattern.rank() != 0) {
      return errors::InvalidArgument("Pattern must be scalar, but received ", pattern.shape().ToString());
    }
    if (rewrite.rank() != 0) {
      return errors::InvalidArgument("Rewrite must be scalar, but received ", rewrite.shape().ToString());
    }
    const RE2 regex(pattern.scalar<std::string>(), RE2::Quiet);
    if (!regex.ok()) {
      return errors::InvalidArgument("Invalid pattern: ", pattern.scalar<std::string>(), ", error: ", regex.error());
    }
    return ReplaceAll(ctx, regex, rewrite.scalar<std::string>(), global_);
  }

 private:
  const bool global_;
};

class StaticRegexReplace : public Kernel {
 public:
  explicit StaticRegexReplace(KernelInit& init)
      : rewrite_(init.Attr<std::string>("rewrite")), global_(init.Attr<bool>("replace_global")) {
    const auto pattern = init.Attr<std::string>("pattern");
    regex_ = std::make_unique<RE2>(pattern, RE2::Quiet);
    init.Check(CheckPattern(*regex_, pattern, rewrite_));
  }
  Status Compute(KernelContext& ctx) override { return ReplaceAll(ctx, *regex_, rewrite_, global_); }

 private:
  std::unique_ptr<RE2> regex_;
  const std::string rewrite_;
  const bool global_;
};

Status RegexReplaceShape(ShapeContext& c) {
  PartialShape unused;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 0, &unused));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(2), 0, &unused));
  return UnchangedShape(c);
}

OP("RegexReplace")
    .Input("input: string")
    .Input("pattern: string")
    .Input("rewrite: string")
    .Output("output: string")
    .Attr("replace_global: bool = true")
    .Shape(RegexReplaceShape)
    .NotDifferentiable()
    .Cpu<RegexReplace>()
    .Doc("Replaces what matches an RE2 pattern.");

OP("StaticRegexReplace")
    .Input("input: string")
    .Output("output: string")
    .Attr("pattern: string")
    .Attr("rewrite: string")
    .Attr("replace_global: bool = true")
    .Shape(UnchangedShape)
    .Cpu<StaticRegexReplace>()
    .Doc("Replaces what matches an RE2 pattern, known when the graph is made.");

}  // namespace
}  // namespace millstream
