// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "millstream/framework/op.h"
#include "millstream/ops/elements/axes.h"

namespace millstream {
namespace {

// True if fewer than k of a row's scores are above that of the target. False if that cannot be said: the target is no
// class, or a score is not finite.
bool RowInTopK(const float* scores, int64_t classes, int64_t target, int64_t k) {
  if (target < 0 || target >= classes || !std::isfinite(scores[target])) return false;
  int64_t above = 0;
  for (int64_t c = 0; c < classes; ++c) {
    if (!std::isfinite(scores[c])) return false;
    if (scores[c] > scores[target] && ++above > k) return false;
  }
  return above < k;
}

class InTopK final : public Kernel {
 public:
  explicit InTopK(KernelInit& init) : k_(init.HasAttr("k") ? init.Attr<int64_t>("k") : -1) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor &predictions = ctx.input(0), &targets = ctx.input(1);
    if (predictions.rank() != 2) return errors::InvalidArgument("predictions must be 2-dimensional");
    if (targets.rank() != 1) return errors::InvalidArgument("targets must be 1-dimensional");
    if (predictions.dim(0) != targets.dim(0)) {
      return errors::InvalidArgument("First dimension of predictions ", predictions.dim(0),
                                     " must match length of targets ", targets.dim(0));
    }
    int64_t k = k_;
    if (ctx.num_inputs() > 2) {
      if (ctx.input(2).rank() != 0) {
        return errors::InvalidArgument("k must be 0-D, got shape ", ctx.input(2).shape().ToString());
      }
      RETURN_IF_ERROR(ReadIntScalar(ctx.input(2), "k", &k));
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, targets.shape()));
    const bool narrow = targets.dtype() == DType::kInt32;
    const int64_t classes = predictions.dim(1);
    const float* scores = predictions.data<float>();
    bool* result = out->data<bool>();
    ctx.ParallelFor(targets.dim(0), static_cast<double>(classes), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t target = narrow ? targets.data<int32_t>()[i] : targets.data<int64_t>()[i];
        result[i] = RowInTopK(scores + i * classes, classes, target, k);
      }
    });
    return OkStatus();
  }

 private:
  const int64_t k_;
};

Status InTopKShape(ShapeContext& c) {
  PartialShape predictions, targets;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 2, &predictions));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 1, &targets));
  int64_t batch = -1;
  RETURN_IF_ERROR(ShapeContext::MergeDim(predictions.dim(0), targets.dim(0), &batch));
  c.set_output(0, PartialShape({batch}));
  return OkStatus();
}

OP("InTopK")
    .Input("predictions: float")
    .Input("targets: T")
    .Output("precision: bool")
    .Attr("k: int")
    .Attr("T: {int32, int64} = DT_INT32")
    .Shape(InTopKShape)
    .CpuFor<InTopK>(IndexTypes{})
    .Doc("Whether the target of each row is among its k largest predictions; ties count as in.");

OP("InTopKV2")
    .Input("predictions: float")
    .Input("targets: T")
    .Input("k: T")
    .Output("precision: bool")
    .Attr("T: {int32, int64} = DT_INT32")
    .Shape(InTopKShape)
    .CpuFor<InTopK>(IndexTypes{})
    .Doc("InTopK with k as an input.");

}  // namespace
}  // namespace millstream
