// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "millstream/framework/op.h"
#include "millstream/tensor/dispatch.h"

namespace millstream {
namespace {

// Neighbours that get the same value, their mean.
struct Run {
  double sum;
  int64_t size;
  double mean() const { return sum / static_cast<double>(size); }
};

// The nearest row that never grows, by pooling neighbours that do (Kruskal, 1964).
template <typename In, typename Out>
void PoolRow(const In* in, int64_t n, std::vector<Run>* runs, Out* out, int32_t* segments) {
  runs->clear();
  for (int64_t i = 0; i < n; ++i) {
    Run last{static_cast<double>(in[i]), 1};
    while (!runs->empty() && last.mean() > runs->back().mean()) {
      last.sum += runs->back().sum;
      last.size += runs->back().size;
      runs->pop_back();
    }
    runs->push_back(last);
  }
  int32_t segment = 0;
  for (const Run& run : *runs) {
    out = std::fill_n(out, run.size, static_cast<Out>(run.mean()));
    segments = std::fill_n(segments, run.size, segment++);
  }
}

template <typename In>
class IsotonicRegression final : public Kernel {
 public:
  explicit IsotonicRegression(KernelInit&) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor& in = ctx.input(0);
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, in.shape()));
    ASSIGN_OR_RETURN(Tensor * segments, ctx.AllocateOutput(1, in.shape()));
    if (in.num_elements() == 0) return OkStatus();
    const int64_t n = in.rank() == 0 ? 1 : in.dim(in.rank() - 1);
    DispatchOver(FloatTypes{}, out->dtype(), [&]<typename Out>(std::type_identity<Out>) {
      ctx.ParallelFor(in.num_elements() / n, 20.0 * static_cast<double>(n), [&](int64_t begin, int64_t end) {
        std::vector<Run> runs;
        for (int64_t r = begin; r < end; ++r) {
          PoolRow(in.data<In>() + r * n, n, &runs, out->data<Out>() + r * n, segments->data<int32_t>() + r * n);
        }
      });
    });
    return OkStatus();
  }
};

Status IsotonicShape(ShapeContext& c) {
  c.set_output(0, c.input(0));
  c.set_output(1, c.input(0));
  return OkStatus();
}

OP("IsotonicRegression")
    .Input("input: T")
    .Output("output: output_dtype")
    .Output("segments: int32")
    .Attr("T: realnumbertype")
    .Attr("output_dtype: {half, bfloat16, float, double} = DT_FLOAT")
    .Shape(IsotonicShape)
    .Cpu<IsotonicRegression>(Join<FloatTypes, Types<int8_t, int16_t, int32_t, int64_t>>{})
    .Doc("For each row the nearest one, by squares, that never grows, and which of its elements are equal.");

}  // namespace
}  // namespace millstream
