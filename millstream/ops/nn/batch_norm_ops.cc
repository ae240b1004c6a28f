// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/gradients/gradient.h"
#include "millstream/ops/nn/batch_norm_second_gradient.h"
#include "millstream/ops/nn/fused_batch_norm.h"

namespace millstream {
namespace {

// Reads the data format and gives input `i` with its rank.
Status Images(ShapeContext& c, int i, int* channel_axis, PartialShape* x) {
  std::string format;
  RETURN_IF_ERROR(c.GetAttr("data_format", &format));
  *channel_axis = static_cast<int>(format.find('C'));
  return ShapeContext::WithRank(c.input(i), static_cast<int>(format.size()), x);
}

// Merges the sizes of inputs [begin, end), which are vectors, into *channels.
Status MergeVectors(ShapeContext& c, int begin, int end, int64_t* channels) {
  for (int i = begin; i < end; ++i) {
    PartialShape vector;
    RETURN_IF_ERROR(ShapeContext::WithRank(c.input(i), 1, &vector));
    RETURN_IF_ERROR(ShapeContext::MergeDim(*channels, vector.dim(0), channels));
  }
  return OkStatus();
}

Status BatchNormShape(ShapeContext& c) {
  int axis = 0;
  PartialShape x;
  RETURN_IF_ERROR(Images(c, 0, &axis, &x));
  bool training = true;
  float factor = 1;
  RETURN_IF_ERROR(c.GetAttr("is_training", &training));
  RETURN_IF_ERROR(c.GetAttr("exponential_avg_factor", &factor));
  int64_t channels = x.dim(axis);
  RETURN_IF_ERROR(MergeVectors(c, 1, training && factor == 1.0f ? 3 : 5, &channels));
  x.set_dim(axis, channels);
  c.set_output(0, x);
  for (int i = 1; i < 5; ++i) c.set_output(i, PartialShape({channels}));
  return OkStatus();
}

Status BatchNormGradShape(ShapeContext& c) {
  int axis = 0;
  PartialShape dy, x;
  RETURN_IF_ERROR(Images(c, 0, &axis, &dy));
  RETURN_IF_ERROR(Images(c, 1, &axis, &x));
  int64_t channels = -1;
  RETURN_IF_ERROR(ShapeContext::MergeDim(dy.dim(axis), x.dim(axis), &channels));
  RETURN_IF_ERROR(MergeVectors(c, 2, 5, &channels));
  dy.set_dim(axis, channels);
  c.set_output(0, dy);
  for (int i = 1; i < 3; ++i) c.set_output(i, PartialShape({channels}));
  for (int i = 3; i < 5; ++i) c.set_output(i, PartialShape({0}));
  return OkStatus();
}

// With the slopes and offsets that were applied, for the gradient.
Status BatchNormActivationShape(ShapeContext& c) {
  RETURN_IF_ERROR(BatchNormShape(c));
  c.set_output(5, PartialShape({2, c.output(1).dim(0)}));
  return OkStatus();
}

Status Gradient(GradContext& g, const char* type) {
  const bool training = g.Attr<bool>("is_training");
  std::vector<Output> inputs = {g.dy(0), g.input(0), g.input(1)};
  inputs.push_back(training ? g.output(3) : g.input(3));
  inputs.push_back(training ? g.output(4) : g.input(4));
  if (g.node().num_outputs() > 5) inputs.push_back(g.output(5));
  Node* node = g.Add(type, std::move(inputs),
                     {{"epsilon", g.Attr<float>("epsilon")},
                      {"data_format", g.Attr<std::string>("data_format")},
                      {"is_training", training}});
  if (node == nullptr) return g.status();
  for (int i = 0; i < 3; ++i) g.set_dx(i, Output(node, i));
  return g.status();
}
Status GradientV1(GradContext& g) { return Gradient(g, "FusedBatchNormGrad"); }
Status GradientV2(GradContext& g) { return Gradient(g, "FusedBatchNormGradV2"); }
Status GradientV3(GradContext& g) { return Gradient(g, "FusedBatchNormGradV3"); }

using ImageTypes = Types<Half, BFloat16, float>;

OP("FusedBatchNorm")
    .Input("x: T")
    .Input("scale: T")
    .Input("offset: T")
    .Input("mean: T")
    .Input("variance: T")
    .Output("y: T")
    .Output("batch_mean: T")
    .Output("batch_variance: T")
    .Output("reserve_space_1: T")
    .Output("reserve_space_2: T")
    .Attr("T: {float}")
    .Attr("epsilon: float = 0.0001")
    .Attr("exponential_avg_factor: float = 1.0")
    .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
    .Attr("is_training: bool = true")
    .Shape(BatchNormShape)
    .Gradient(GradientV1)
    .CpuFor<FusedBatchNorm>(Types<float>{})
    .Expensive()
    .Doc("Normalises each channel to mean `offset` and deviation `scale`: by the batch, or by given statistics.");

OP("FusedBatchNormV2")
    .Input("x: T")
    .Input("scale: U")
    .Input("offset: U")
    .Input("mean: U")
    .Input("variance: U")
    .Output("y: T")
    .Output("batch_mean: U")
    .Output("batch_variance: U")
    .Output("reserve_space_1: U")
    .Output("reserve_space_2: U")
    .Attr("T: {half, bfloat16, float}")
    .Attr("U: {float}")
    .Attr("epsilon: float = 0.0001")
    .Attr("exponential_avg_factor: float = 1.0")
    .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
    .Attr("is_training: bool = true")
    .Shape(BatchNormShape)
    .Gradient(GradientV2)
    .CpuFor<FusedBatchNorm>(ImageTypes{})
    .Expensive()
    .Doc("FusedBatchNorm of images of 16-bit types too.");

// U is float on the CPU, as in TensorFlow.
OP("FusedBatchNormV3")
    .Input("x: T")
    .Input("scale: U")
    .Input("offset: U")
    .Input("mean: U")
    .Input("variance: U")
    .Output("y: T")
    .Output("batch_mean: U")
    .Output("batch_variance: U")
    .Output("reserve_space_1: U")
    .Output("reserve_space_2: U")
    .Output("reserve_space_3: U")
    .Attr("T: {half, bfloat16, float}")
    .Attr("U: {bfloat16, float}")
    .Attr("epsilon: float = 0.0001")
    .Attr("exponential_avg_factor: float = 1.0")
    .Attr("data_format: {'NHWC', 'NCHW', 'NDHWC', 'NCDHW'} = 'NHWC'")
    .Attr("is_training: bool = true")
    .Shape(BatchNormShape)
    .Gradient(GradientV3)
    .CpuFor<FusedBatchNorm>(Types<float>{}, "U")
    .Expensive()
    .Doc("FusedBatchNorm of images of 16-bit types too, and of volumes.");

OP("_FusedBatchNormActivation")
    .Input("x: T")
    .Input("scale: U")
    .Input("offset: U")
    .Input("mean: U")
    .Input("variance: U")
    .Input("side_input: num_side_inputs * T")
    .Output("y: T")
    .Output("batch_mean: U")
    .Output("batch_variance: U")
    .Output("reserve_space_1: U")
    .Output("reserve_space_2: U")
    .Output("applied: U")
    .Attr("T: {float}")
    .Attr("U: {float}")
    .Attr("epsilon: float = 0.0001")
    .Attr("exponential_avg_factor: float = 1.0")
    .Attr("num_side_inputs: int >= 0 = 0")
    .Attr("activation: {'Relu', 'Relu6'} = 'Relu'")
    .Attr("data_format: {'NHWC', 'NCHW', 'NDHWC', 'NCDHW'} = 'NHWC'")
    .Attr("is_training: bool = true")
    .Shape(BatchNormActivationShape)
    .CpuFor<FusedBatchNormActivation>(Types<float>{})
    .Expensive()
    .Doc("FusedBatchNormV3, the sum with another image if there is one, and an activation in one pass.");

OP("FusedBatchNormGrad")
    .Input("y_backprop: T")
    .Input("x: T")
    .Input("scale: T")
    .Input("reserve_space_1: T")
    .Input("reserve_space_2: T")
    .Output("x_backprop: T")
    .Output("scale_backprop: T")
    .Output("offset_backprop: T")
    .Output("reserve_space_3: T")
    .Output("reserve_space_4: T")
    .Attr("T: {float}")
    .Attr("epsilon: float = 0.0001")
    .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
    .Attr("is_training: bool = true")
    .Shape(BatchNormGradShape)
    .Gradient(BatchNormSecondGradient)
    .CpuFor<FusedBatchNormGrad>(Types<float>{})
    .Expensive()
    .Doc("The gradient of FusedBatchNorm.");

OP("FusedBatchNormGradV2")
    .Input("y_backprop: T")
    .Input("x: T")
    .Input("scale: float")
    .Input("reserve_space_1: U")
    .Input("reserve_space_2: U")
    .Output("x_backprop: T")
    .Output("scale_backprop: U")
    .Output("offset_backprop: U")
    .Output("reserve_space_3: U")
    .Output("reserve_space_4: U")
    .Attr("T: {half, bfloat16, float}")
    .Attr("U: {float}")
    .Attr("epsilon: float = 0.0001")
    .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
    .Attr("is_training: bool = true")
    .Shape(BatchNormGradShape)
    .Gradient(BatchNormSecondGradient)
    .CpuFor<FusedBatchNormGrad>(ImageTypes{})
    .Expensive()
    .Doc("The gradient of FusedBatchNormV2.");

OP("FusedBatchNormGradV3")
    .Input("y_backprop: T")
    .Input("x: T")
    .Input("scale: float")
    .Input("reserve_space_1: U")
    .Input("reserve_space_2: U")
    .Input("reserve_space_3: U")
    .Output("x_backprop: T")
    .Output("scale_backprop: U")
    .Output("offset_backprop: U")
    .Output("reserve_space_4: U")
    .Output("reserve_space_5: U")
    .Attr("T: {half, bfloat16, float}")
    .Attr("U: {float}")
    .Attr("epsilon: float = 0.0001")
    .Attr("data_format: {'NHWC', 'NCHW', 'NDHWC', 'NCDHW'} = 'NHWC'")
    .Attr("is_training: bool = true")
    .Shape(BatchNormGradShape)
    .Gradient(BatchNormSecondGradient)
    .CpuFor<FusedBatchNormGrad>(ImageTypes{})
    .Expensive()
    .Doc("The gradient of FusedBatchNormV3.");

OP("_FusedBatchNormActivationGrad")
    .Input("y_backprop: T")
    .Input("x: T")
    .Input("scale: float")
    .Input("reserve_space_1: U")
    .Input("reserve_space_2: U")
    .Input("applied: U")
    .Output("x_backprop: T")
    .Output("scale_backprop: U")
    .Output("offset_backprop: U")
    .Output("reserve_space_4: U")
    .Output("reserve_space_5: U")
    .Attr("T: {float}")
    .Attr("U: {float}")
    .Attr("epsilon: float = 0.0001")
    .Attr("activation: {'Relu', 'Relu6'} = 'Relu'")
    .Attr("data_format: {'NHWC', 'NCHW', 'NDHWC', 'NCDHW'} = 'NHWC'")
    .Attr("is_training: bool = true")
    .Shape(BatchNormGradShape)
    .CpuFor<FusedBatchNormActivationGrad>(Types<float>{})
    .Expensive()
    .Doc("The gradient of _FusedBatchNormActivation without a side input; `applied` is what that gave.");

}  // namespace
}  // namespace millstream
