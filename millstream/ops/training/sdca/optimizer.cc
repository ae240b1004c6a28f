// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstring>

#include "millstream/framework/op.h"
#include "millstream/math/random/random.h"
#include "millstream/ops/training/sdca/examples.h"
#include "millstream/ops/training/sdca/loss.h"
#include "millstream/ops/training/sdca/sampling.h"

namespace millstream::sdca {
namespace {

// What is kept of an example between mini-batches; a row of example_state_data.
struct ExampleState {
  float dual, primal_loss, dual_loss, weight;
};
constexpr int64_t kStateWidth = sizeof(ExampleState) / sizeof(float);
static_assert(kStateWidth == 4);

// One pass over a mini-batch by proximal stochastic dual coordinate ascent (Shalev-Shwartz and Zhang, 2012). With
// several partitions of the loss that add their changes to one model, each step is as careful as if the others took
// the same one (Ma et al., "Adding vs. Averaging in Distributed Primal-Dual Optimization", 2015).
//
// Steps follow each other, since each builds on the one before. The order is random, from seeds that are fixed: a
// training that is repeated repeats its orders.
class SdcaOptimizer final : public Kernel {
 public:
  explicit SdcaOptimizer(KernelInit& init)
      : layout_(init),
        shrinkage_(init),
        loss_(FindLoss(init.Attr<std::string>("loss_type"))),
        adaptive_(init.Attr<bool>(init.HasAttr("adaptive") ? "adaptive" : "adaptative")),
        partitions_(static_cast<float>(init.Attr<int>("num_loss_partitions"))),
        random_(/*seed=*/1, /*seed2=*/1) {
    if (loss_ == nullptr) {
      init.Fail(errors::InvalidArgument("Unsupported loss type: ", init.Attr<std::string>("loss_type")));
    }
    if (layout_.num_sparse + layout_.num_dense == 0) {
      init.Fail(errors::InvalidArgument("Requires at least one feature to train."));
    }
  }

  Status Compute(KernelContext& ctx) override {
    Examples examples;
    RETURN_IF_ERROR(examples.Read(ctx, layout_));
    std::vector<double> labels(static_cast<size_t>(examples.size()));
    for (int64_t i = 0; i < examples.size(); ++i) {
      ASSIGN_OR_RETURN(labels[i], loss_->Label(examples.label(i)));
    }
    ASSIGN_OR_RETURN(ExampleState * states, MakeStates(ctx, examples.size()));
    for (const int64_t i : Order(ctx, examples, labels, states)) Step(i, labels[i], examples, states[i]);
    return OkStatus();
  }

 private:
  StatusOr<ExampleState*> MakeStates(KernelContext& ctx, int64_t num_examples) const {
    const Tensor& in = ctx.input(layout_.state);
    if (in.rank() != 2) {
      return errors::InvalidArgument("example_state_data must be rank 2 but is rank ", in.rank());
    }
    const Shape shape({num_examples, kStateWidth});
    if (in.shape() != shape) {
      return errors::InvalidArgument("Expected shape ", shape.ToString(), " for example_state_data, got ",
                                     in.shape().ToString());
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.ForwardOrAllocate({layout_.state}, layout_.out_state, shape));
    if (out->raw() != in.raw() && num_examples > 0) {
      std::memcpy(out->data<float>(), in.data<float>(), static_cast<size_t>(num_examples) * sizeof(ExampleState));
    }
    return reinterpret_cast<ExampleState*>(out->data<float>());
  }

  std::vector<int64_t> Order(KernelContext& ctx, const Examples& examples, const std::vector<double>& labels,
                             const ExampleState* states) {
    const int64_t n = examples.size();
    if (!adaptive_) {
      std::vector<int64_t> order(static_cast<size_t>(n));
      math::FillPermutation(random_.Reserve(math::ReservedShuffleBlocks(n)), order.data(), n);
      return order;
    }
    std::vector<double> importance(static_cast<size_t>(n));
    const double cost = 20 + (n == 0 ? 0 : 2.0 * static_cast<double>(examples.num_features()) / static_cast<double>(n));
    ctx.ParallelFor(n, cost, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const double prediction = examples.Predict(i, shrinkage_, partitions_).now;
        const double residue = states[i].dual + loss_->Slope(labels[i], prediction);
        importance[i] = examples.weight(i) *
                        std::sqrt(examples.squared_norm(i) + shrinkage_.l2() * loss_->smoothness()) * std::abs(residue);
      }
    });
    return AdaptiveOrder(importance, random_.Reserve(AdaptiveOrderBlocks(n)));
  }

  void Step(int64_t i, double label, Examples& examples, ExampleState& state) const {
    const double l2 = shrinkage_.l2(), weight = examples.weight(i);
    const Prediction prediction = examples.Predict(i, shrinkage_, partitions_);
    const double curvature = partitions_ * weight * examples.squared_norm(i) / l2;
    const double dual = loss_->BestDual({label, prediction.now, state.dual, curvature});
    examples.AddToWeights(i, (dual - state.dual) * weight / l2);
    const double conjugate = loss_->Conjugate(label, state.dual);
    state.dual_loss = static_cast<float>(std::isinf(conjugate) ? conjugate : conjugate * weight);
    state.dual = static_cast<float>(dual);
    state.primal_loss = static_cast<float>(loss_->Primal(label, prediction.before) * weight);
    state.weight = examples.weight(i);
  }

  const Layout layout_;
  const Shrinkage shrinkage_;
  const Loss* const loss_;
  const bool adaptive_;
  const float partitions_;
  math::PhiloxStream random_;
};

Status SdcaOptimizerShape(ShapeContext& c) {
  int64_t sparse = 0, values = 0, dense = 0;
  RETURN_IF_ERROR(c.GetAttr("num_sparse_features", &sparse));
  RETURN_IF_ERROR(c.GetAttr("num_sparse_features_with_values", &values));
  RETURN_IF_ERROR(c.GetAttr("num_dense_features", &dense));
  c.set_output(0, PartialShape({-1, kStateWidth}));
  const int weights = c.num_inputs() - static_cast<int>(sparse + dense) - 1;  // the last input is the state
  for (int i = 0; i < static_cast<int>(sparse + dense); ++i) c.set_output(1 + i, c.input(weights + i));
  return OkStatus();
}

OpBuilder DefineSdcaOptimizer(const char* name, const char* adaptive) {
  return OpBuilder(name)
      .Input("sparse_example_indices: num_sparse_features * int64")
      .Input("sparse_feature_indices: num_sparse_features * int64")
      .Input("sparse_feature_values: num_sparse_features_with_values * float")
      .Input("dense_features: num_dense_features * float")
      .Input("example_weights: float")
      .Input("example_labels: float")
      .Input("sparse_indices: num_sparse_features * int64")
      .Input("sparse_weights: num_sparse_features * float")
      .Input("dense_weights: num_dense_features * float")
      .Input("example_state_data: float")
      .Output("out_example_state_data: float")
      .Output("out_delta_sparse_weights: num_sparse_features * float")
      .Output("out_delta_dense_weights: num_dense_features * float")
      .Attr("loss_type: {'logistic_loss', 'squared_loss', 'hinge_loss', 'smooth_hinge_loss', 'poisson_loss'}")
      .Attr(adaptive)
      .Attr("num_sparse_features: int >= 0")
      .Attr("num_sparse_features_with_values: int >= 0")
      .Attr("num_dense_features: int >= 0")
      .Attr("l1: float")
      .Attr("l2: float")
      .Attr("num_loss_partitions: int >= 1")
      .Attr("num_inner_iterations: int >= 1")
      .Shape(SdcaOptimizerShape)
      .NotDifferentiable()
      .Cpu<SdcaOptimizer>()
      .Expensive()
      .Doc(
          "What one pass of stochastic dual coordinate ascent over a mini-batch adds to the weights of a linear model. "
          "As in TensorFlow num_inner_iterations changes nothing.");
}

[[maybe_unused]] const OpBuilder kSdcaOptimizer = DefineSdcaOptimizer("SdcaOptimizer", "adaptative: bool = false");
[[maybe_unused]] const OpBuilder kSdcaOptimizerV2 = DefineSdcaOptimizer("SdcaOptimizerV2", "adaptive: bool = false");

}  // namespace
}  // namespace millstream::sdca
