// SPDX-License-Identifier: Apache-2.0
#include <atomic>

#include "absl/strings/numbers.h"
#include "millstream/framework/op.h"

namespace millstream {
namespace {

bool ParseNumber(const std::string& text, float* out) { return absl::SimpleAtof(text, out); }
bool ParseNumber(const std::string& text, double* out) { return absl::SimpleAtod(text, out); }
template <typename T>
bool ParseNumber(const std::string& text, T* out) {
  return absl::SimpleAtoi(text, out);
}

template <typename T>
class StringToNumber final : public Kernel {
 public:
  explicit StringToNumber(KernelInit&) {}
  Status Compute(KernelContext& ctx) override {
    const Tensor& text = ctx.input(0);
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, text.shape()));
    constexpr double kNanosecondsPerNumber = 30;
    const std::string* from = text.data<std::string>();
    T* to = out->data<T>();
    std::atomic<int64_t> wrong{text.num_elements()};  // the first string that is no number
    ctx.ParallelFor(text.num_elements(), kNanosecondsPerNumber, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        if (ParseNumber(from[i], &to[i])) continue;
        int64_t first = wrong.load();
        while (i < first && !wrong.compare_exchange_weak(first, i)) {
        }
        return;
      }
    });
    if (wrong < text.num_elements()) {
      return errors::InvalidArgument("StringToNumberOp could not correctly convert string: ", from[wrong]);
    }
    return OkStatus();
  }
};

OP("StringToNumber")
    .Input("string_tensor: string")
    .Output("output: out_type")
    .Attr("out_type: {float, double, int32, int64, uint32, uint64} = DT_FLOAT")
    .Shape(UnchangedShape)
    .NotDifferentiable()
    .Cpu<StringToNumber>(Types<float, double, int32_t, int64_t, uint32_t, uint64_t>{}, "out_type")
    .Doc("Numbers read from strings.");

}  // namespace
}  // namespace millstream
