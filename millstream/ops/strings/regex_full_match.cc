// SPDX-License-Identifier: Apache-2.0
#include <re2/re2.h>

#include <memory>

#include "millstream/framework/op.h"

namespace millstream {
namespace {

// RE2 takes linear time whatever the pattern, so a pattern from the network cannot stall the server.
StatusOr<std::unique_ptr<RE2>> CompilePattern(const std::string& pattern) {
  auto regex = std::make_unique<RE2>(pattern, RE2::Quiet);
  if (!regex->ok()) return errors::InvalidArgument("Invalid pattern: ", pattern, ", error: ", regex->error());
  return regex;
}

Status MatchAll(KernelContext& ctx, const RE2& regex) {
  const Tensor& in = ctx.input(0);
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, in.shape()));
  for (int64_t i = 0; i < in.num_elements(); ++i)
    out->data<bool>()[i] = RE2::FullMatch(in.data<std::string>()[i], regex);
  return OkStatus();
}

class StaticRegexFullMatch final : public Kernel {
 public:
  explicit StaticRegexFullMatch(KernelInit& init) {
    auto compiled = CompilePattern(init.Attr<std::string>("pattern"));
    init.Check(compiled.status());
    if (compiled.ok()) regex_ = *std::move(compiled);
  }
  Status Compute(KernelContext& ctx) override { return MatchAll(ctx, *regex_); }

 private:
  std::unique_ptr<RE2> regex_;
};

Status RegexFullMatch(KernelContext& ctx) {
  if (ctx.input(1).num_elements() != 1)
    return errors::InvalidArgument("Pattern must be scalar, but received ", ctx.input(1).shape().ToString());
  ASSIGN_OR_RETURN(const std::unique_ptr<RE2> regex, CompilePattern(ctx.input(1).data<std::string>()[0]));
  return MatchAll(ctx, *regex);
}

Status RegexFullMatchShape(ShapeContext& c) {
  PartialShape pattern;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 0, &pattern));
  return UnchangedShape(c);
}

OP("StaticRegexFullMatch")
    .Input("input: string")
    .Output("output: bool")
    .Attr("pattern: string")
    .Shape(UnchangedShape)
    .NotDifferentiable()
    .Cpu<StaticRegexFullMatch>()
    .Doc("True where the whole string matches the RE2 pattern.");

OP("RegexFullMatch")
    .Input("input: string")
    .Input("pattern: string")
    .Output("output: bool")
    .Shape(RegexFullMatchShape)
    .NotDifferentiable()
    .Cpu(RegexFullMatch)
    .Doc("True where the whole string matches the RE2 pattern.");

}  // namespace
}  // namespace millstream
