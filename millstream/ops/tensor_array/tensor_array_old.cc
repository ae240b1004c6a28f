// SPDX-License-Identifier: Apache-2.0
// The first two versions of the ops on arrays, which graphs of TensorFlow before 1.0 carry: the handle is a reference
// to two strings, then two strings.
#include "millstream/framework/op.h"
#include "millstream/ops/tensor_array/tensor_array_kernels.h"

namespace millstream {
namespace {

// Input 0 is a handle of two strings, the others have these ranks (-1: any); `outputs` says the rest.
template <ShapeFn outputs, int... ranks>
Status V2Shape(ShapeContext& c) {
  PartialShape handle, unused;
  int64_t two = 0;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 1, &handle));
  if (handle.rank_known()) RETURN_IF_ERROR(ShapeContext::MergeDim(handle.dim(0), 2, &two));
  int i = 0;
  for (const int rank : std::initializer_list<int>{ranks...}) {
    ++i;
    if (rank >= 0) RETURN_IF_ERROR(ShapeContext::WithRank(c.input(i), rank, &unused));
  }
  return outputs(c);
}

Status HandleOutput(ShapeContext& c) {
  c.set_output(0, PartialShape({2}));
  return OkStatus();
}

Status CreateV2Shape(ShapeContext& c) {
  PartialShape unused;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 0, &unused));
  return HandleOutput(c);
}

Status ConcatOutputs(ShapeContext& c) {
  c.set_output(1, PartialShape({-1}));
  return OkStatus();
}

OP("TensorArray")
    .Input("size: int32")
    .Output("handle: Ref(string)")
    .Attr("dtype: type")
    .Attr("dynamic_size: bool = false")
    .Attr("clear_after_read: bool = true")
    .Attr("tensor_array_name: string = ''")
    .Attr("element_shape: shape = { unknown_rank: true }")
    .Stateful()
    .Shape(UnknownShape)
    .NotDifferentiable()
    .Cpu<TensorArrayCreate>()
    .Doc("TensorArrayV3 with a handle of strings, by reference.");

OP("TensorArrayV2")
    .Input("size: int32")
    .Output("handle: string")
    .Attr("dtype: type")
    .Attr("element_shape: shape = { unknown_rank: true }")
    .Attr("dynamic_size: bool = false")
    .Attr("clear_after_read: bool = true")
    .Attr("tensor_array_name: string = ''")
    .Stateful()
    .Shape(CreateV2Shape)
    .NotDifferentiable()
    .Cpu<TensorArrayCreate>()
    .Doc("TensorArrayV3 with a handle of strings.");

OP("TensorArrayGrad")
    .Input("handle: string")
    .Input("flow_in: float")
    .Output("grad_handle: Ref(string)")
    .Attr("source: string")
    .Stateful()
    .Shape(UnknownShape)
    .NotDifferentiable()
    .Cpu<TensorArrayGradient>()
    .Doc("TensorArrayGradV3 with a handle of strings, by reference.");

OP("TensorArrayGradV2")
    .Input("handle: string")
    .Input("flow_in: float")
    .Output("grad_handle: string")
    .Attr("source: string")
    .Stateful()
    .Shape(V2Shape<&HandleOutput>)
    .NotDifferentiable()
    .Cpu<TensorArrayGradient>()
    .Doc("TensorArrayGradV3 with a handle of strings.");

OP("TensorArrayWrite")
    .Input("handle: Ref(string)")
    .Input("index: int32")
    .Input("value: T")
    .Input("flow_in: float")
    .Output("flow_out: float")
    .Attr("T: type")
    .Shape(UnknownShape)
    .Cpu(TensorArrayWriteCpu)
    .Doc("TensorArrayWriteV3 with a handle of strings, by reference.");

OP("TensorArrayWriteV2")
    .Input("handle: string")
    .Input("index: int32")
    .Input("value: T")
    .Input("flow_in: float")
    .Output("flow_out: float")
    .Attr("T: type")
    .Shape(V2Shape<&ScalarShape, 0, -1, 0>)
    .Cpu(TensorArrayWriteCpu)
    .Doc("TensorArrayWriteV3 with a handle of strings.");

OP("TensorArrayRead")
    .Input("handle: Ref(string)")
    .Input("index: int32")
    .Input("flow_in: float")
    .Output("value: dtype")
    .Attr("dtype: type")
    .Shape(UnknownShape)
    .Cpu(TensorArrayReadCpu)
    .Doc("TensorArrayReadV3 with a handle of strings, by reference.");

OP("TensorArrayReadV2")
    .Input("handle: string")
    .Input("index: int32")
    .Input("flow_in: float")
    .Output("value: dtype")
    .Attr("dtype: type")
    .Shape(V2Shape<&UnknownShape, 0, 0>)
    .Cpu(TensorArrayReadCpu)
    .Doc("TensorArrayReadV3 with a handle of strings.");

OP("TensorArrayGather")
    .Input("handle: Ref(string)")
    .Input("indices: int32")
    .Input("flow_in: float")
    .Output("value: dtype")
    .Attr("dtype: type")
    .Attr("element_shape: shape = { unknown_rank: true }")
    .Shape(UnknownShape)
    .Cpu<TensorArrayStack>()
    .Doc("TensorArrayGatherV3 with a handle of strings, by reference.");

OP("TensorArrayGatherV2")
    .Input("handle: string")
    .Input("indices: int32")
    .Input("flow_in: float")
    .Output("value: dtype")
    .Attr("dtype: type")
    .Attr("element_shape: shape = { unknown_rank: true }")
    .Shape(V2Shape<&UnknownShape, 1, 0>)
    .Cpu<TensorArrayStack>()
    .Doc("TensorArrayGatherV3 with a handle of strings.");

OP("TensorArrayScatter")
    .Input("handle: Ref(string)")
    .Input("indices: int32")
    .Input("value: T")
    .Input("flow_in: float")
    .Output("flow_out: float")
    .Attr("T: type")
    .Shape(UnknownShape)
    .Cpu(TensorArrayScatterCpu)
    .Doc("TensorArrayScatterV3 with a handle of strings, by reference.");

OP("TensorArrayScatterV2")
    .Input("handle: string")
    .Input("indices: int32")
    .Input("value: T")
    .Input("flow_in: float")
    .Output("flow_out: float")
    .Attr("T: type")
    .Shape(V2Shape<&ScalarShape, 1, -1, 0>)
    .Cpu(TensorArrayScatterCpu)
    .Doc("TensorArrayScatterV3 with a handle of strings.");

OP("TensorArrayConcat")
    .Input("handle: Ref(string)")
    .Input("flow_in: float")
    .Output("value: dtype")
    .Output("lengths: int64")
    .Attr("dtype: type")
    .Attr("element_shape_except0: shape = { unknown_rank: true }")
    .Shape(UnknownShape)
    .Cpu<TensorArrayConcat>()
    .Doc("TensorArrayConcatV3 with a handle of strings, by reference.");

OP("TensorArrayConcatV2")
    .Input("handle: string")
    .Input("flow_in: float")
    .Output("value: dtype")
    .Output("lengths: int64")
    .Attr("dtype: type")
    .Attr("element_shape_except0: shape = { unknown_rank: true }")
    .Shape(V2Shape<&ConcatOutputs, 0>)
    .Cpu<TensorArrayConcat>()
    .Doc("TensorArrayConcatV3 with a handle of strings.");

OP("TensorArraySplit")
    .Input("handle: Ref(string)")
    .Input("value: T")
    .Input("lengths: int64")
    .Input("flow_in: float")
    .Output("flow_out: float")
    .Attr("T: type")
    .Shape(UnknownShape)
    .Cpu(TensorArraySplitCpu)
    .Doc("TensorArraySplitV3 with a handle of strings, by reference.");

OP("TensorArraySplitV2")
    .Input("handle: string")
    .Input("value: T")
    .Input("lengths: int64")
    .Input("flow_in: float")
    .Output("flow_out: float")
    .Attr("T: type")
    .Shape(V2Shape<&ScalarShape, -1, 1, 0>)
    .Cpu(TensorArraySplitCpu)
    .Doc("TensorArraySplitV3 with a handle of strings.");

OP("TensorArraySize")
    .Input("handle: Ref(string)")
    .Input("flow_in: float")
    .Output("size: int32")
    .Shape(UnknownShape)
    .NotDifferentiable()
    .Cpu(TensorArraySizeCpu)
    .Doc("TensorArraySizeV3 with a handle of strings, by reference.");

OP("TensorArraySizeV2")
    .Input("handle: string")
    .Input("flow_in: float")
    .Output("size: int32")
    .Shape(V2Shape<&ScalarShape>)
    .NotDifferentiable()
    .Cpu(TensorArraySizeCpu)
    .Doc("TensorArraySizeV3 with a handle of strings.");

OP("TensorArrayClose")
    .Input("handle: Ref(string)")
    .Shape(NoOutputs)
    .NotDifferentiable()
    .Cpu(TensorArrayCloseCpu)
    .Doc("TensorArrayCloseV3 with a handle of strings, by reference.");

OP("TensorArrayCloseV2")
    .Input("handle: string")
    .Shape(V2Shape<&NoOutputs>)
    .NotDifferentiable()
    .Cpu(TensorArrayCloseCpu)
    .Doc("TensorArrayCloseV3 with a handle of strings.");

OP("TensorArrayPack")
    .Input("handle: Ref(string)")
    .Input("flow_in: float")
    .Output("value: dtype")
    .Attr("dtype: type")
    .Attr("element_shape: shape = { unknown_rank: true }")
    .Shape(UnknownShape)
    .Cpu<TensorArrayStack>()
    .Doc("All elements of an array, stacked.");

OP("TensorArrayUnpack")
    .Input("handle: Ref(string)")
    .Input("value: T")
    .Input("flow_in: float")
    .Output("flow_out: float")
    .Attr("T: type")
    .Shape(UnknownShape)
    .Cpu(TensorArrayUnpackCpu)
    .Doc("Fills an array with the rows of a tensor.");

}  // namespace
}  // namespace millstream
