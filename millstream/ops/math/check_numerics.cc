// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "millstream/graph/gradients/gradient.h"

namespace millstream {
namespace {

enum Kind { kNegativeInfinity = 1, kPositiveInfinity = 2, kNotANumber = 4 };

// The bits of the exponent are all ones in infinities and NaN; NaN has other bits beside them.
template <typename U>
void Inspect(const void* data, U exponent, int64_t begin, int64_t end, std::atomic<int>* found) {
  const auto* x = static_cast<const U*>(data);
  const U magnitude = static_cast<U>(~U(0)) >> 1;
  U any = 0;
  for (int64_t i = begin; i < end; ++i) any |= static_cast<U>((x[i] & magnitude) >= exponent ? 1 : 0);
  if (any == 0) [[likely]]
    return;
  int kinds = 0;
  for (int64_t i = begin; i < end; ++i) {
    const U m = x[i] & magnitude;
    if (m < exponent) continue;
    kinds |= m > exponent ? kNotANumber : x[i] == m ? kPositiveInfinity : kNegativeInfinity;
  }
  found->fetch_or(kinds);
}

// "Inf and NaN"; with signs, "-Inf, +Inf, and NaN".
std::string KindNames(int found, bool signs) {
  std::vector<std::string> names;
  if (!signs && (found & (kNegativeInfinity | kPositiveInfinity)) != 0) names.emplace_back("Inf");
  if (signs && (found & kNegativeInfinity) != 0) names.emplace_back("-Inf");
  if (signs && (found & kPositiveInfinity) != 0) names.emplace_back("+Inf");
  if ((found & kNotANumber) != 0) names.emplace_back("NaN");
  return names.size() == 3 ? absl::StrCat(names[0], ", ", names[1], ", and ", names[2]) : absl::StrJoin(names, " and ");
}

template <bool kSigns>
class CheckNumericsKernel final : public Kernel {
 public:
  explicit CheckNumericsKernel(KernelInit& init) : message_(init.Attr<std::string>("message")) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    std::atomic<int> found{0};
    ctx.ParallelFor(x.num_elements(), 0.2, [&](int64_t begin, int64_t end) {
      switch (x.dtype()) {
        case DType::kFloat:
          return Inspect<uint32_t>(x.raw(), 0x7f800000u, begin, end, &found);
        case DType::kDouble:
          return Inspect<uint64_t>(x.raw(), uint64_t{0x7ff} << 52, begin, end, &found);
        case DType::kHalf:
          return Inspect<uint16_t>(x.raw(), 0x7c00, begin, end, &found);
        default:
          return Inspect<uint16_t>(x.raw(), 0x7f80, begin, end, &found);
      }
    });
    if (found != 0) {
      return errors::InvalidArgument(message_, " : Tensor had ", KindNames(found, kSigns), " values");
    }
    ctx.set_output(0, ctx.TakeInput(0));
    return OkStatus();
  }

 private:
  const std::string message_;
};

template <bool kSigns>
Status CheckNumericsGrad(GradContext& g) {
  const std::string message = absl::StrCat("Not a number (NaN) or infinity (Inf) values detected in gradient. ",
                                           g.Attr<std::string>("message"));
  g.set_dx(0, g.Op(kSigns ? "CheckNumericsV2" : "CheckNumerics", {g.dy(0)}, {{"message", message}}));
  return g.status();
}

#define CHECK_NUMERICS(Name, signs, doc)                \
  OP(Name)                                              \
      .Input("tensor: T")                               \
      .Output("output: T")                              \
      .Attr("T: {bfloat16, half, float, double}")       \
      .Attr("message: string")                          \
      .Stateful()                                       \
      .Shape(UnchangedShape)                            \
      .Gradient(CheckNumericsGrad<signs>)               \
      .CpuFor<CheckNumericsKernel<signs>>(FloatTypes{}) \
      .Doc(doc)

CHECK_NUMERICS("CheckNumerics", false, "The input as it is; an error if it has infinities or NaN.");
CHECK_NUMERICS("CheckNumericsV2", true, "CheckNumerics whose error tells the signs of infinities.");

}  // namespace
}  // namespace millstream
