// SPDX-License-Identifier: Apache-2.0
// Which ops may work with 16-bit floats when a program asks for mixed precision (framework/precision_class.h).
#include "millstream/framework/precision_class.h"

namespace millstream {
namespace {

constexpr const char* kAllowed[] = {
    "BatchMatMul",
    "BatchMatMulV2",
    "Conv2D",
    "Conv2DBackpropFilter",
    "Conv2DBackpropInput",
    "Conv3D",
    "Conv3DBackpropFilterV2",
    "Conv3DBackpropInputV2",
    "DepthwiseConv2dNative",
    "DepthwiseConv2dNativeBackpropFilter",
    "DepthwiseConv2dNativeBackpropInput",
    "Einsum",
    "MatMul",
};

// Batch normalization computes its moments in float: only images are of the type T.
constexpr const char* kInferred[] = {
    "Add",
    "AddN",
    "AddV2",
    "AvgPool",
    "AvgPool3D",
    "AvgPool3DGrad",
    "AvgPoolGrad",
    "BiasAdd",
    "BiasAddGrad",
    "Elu",
    "EluGrad",
    "Erf",
    "Erfc",
    "FusedBatchNormGradV2",
    "FusedBatchNormGradV3",
    "FusedBatchNormV2",
    "FusedBatchNormV3",
    "LeakyRelu",
    "LeakyReluGrad",
    "Mul",
    "RealDiv",
    "Selu",
    "SeluGrad",
    "Sigmoid",
    "SigmoidGrad",
    "Softplus",
    "SoftplusGrad",
    "Softsign",
    "SoftsignGrad",
    "Sqrt",
    "Sub",
    "Tanh",
    "TanhGrad",
};

constexpr const char* kCleared[] = {
    "Abs",
    "BatchToSpace",
    "BatchToSpaceND",
    "BroadcastTo",
    "Ceil",
    "Concat",
    "ConcatV2",
    "DepthToSpace",
    "ExpandDims",
    "Floor",
    "Identity",
    "MaxPool",
    "MaxPool3D",
    "MaxPool3DGrad",
    "MaxPoolGrad",
    "Maximum",
    "Minimum",
    "MirrorPad",
    "MirrorPadGrad",
    "Neg",
    "OnesLike",
    "Pack",
    "Pad",
    "PadV2",
    "Relu",
    "Relu6",
    "Relu6Grad",
    "ReluGrad",
    "Reshape",
    "Reverse",
    "ReverseV2",
    "Select",
    "SelectV2",
    "Shape",
    "Sign",
    "Size",
    "Slice",
    "SpaceToBatch",
    "SpaceToBatchND",
    "SpaceToDepth",
    "Split",
    "SplitV",
    "Squeeze",
    "StopGradient",
    "StridedSlice",
    "StridedSliceGrad",
    "Tile",
    "Transpose",
    "Unpack",
    "ZerosLike",
};

constexpr const char* kDenied[] = {
    "Cosh",
    "Cumprod",
    "Cumsum",
    "EuclideanNorm",
    "Exp",
    "Expm1",
    "L2Loss",
    "LRN",
    "LRNGrad",
    "Log",
    "Log1p",
    "LogSoftmax",
    "Mean",
    "Pow",
    "Prod",
    "Reciprocal",
    "Rsqrt",
    "Sinh",
    "Softmax",
    "SoftmaxCrossEntropyWithLogits",
    "SparseSoftmaxCrossEntropyWithLogits",
    "Square",
    "SquaredDifference",
    "Sum",
};

[[maybe_unused]] const bool kClassesRegistered = [] {
  for (const char* op : kAllowed) AddPrecisionClass(op, PrecisionClass::kAllow);
  for (const char* op : kInferred) AddPrecisionClass(op, PrecisionClass::kInfer);
  for (const char* op : kCleared) AddPrecisionClass(op, PrecisionClass::kClear);
  for (const char* op : kDenied) AddPrecisionClass(op, PrecisionClass::kDeny);
  return true;
}();

}  // namespace
}  // namespace millstream
