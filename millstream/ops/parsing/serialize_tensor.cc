// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/escaping.h"
#include "millstream/framework/op.h"
#include "millstream/proto/tensor.pb.h"
#include "millstream/tensor/tensor_proto.h"

namespace millstream {
namespace {

Status SerializeTensorCpu(KernelContext& ctx) {
  proto::TensorProto message;
  RETURN_IF_ERROR(TensorToProto(ctx.input(0), &message));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape()));
  if (message.SerializeToString(&out->scalar<std::string>())) return OkStatus();
  return errors::InvalidArgument("The tensor is too large to be serialized");
}

Status ParseTensorCpu(KernelContext& ctx) {
  const Tensor& in = ctx.input(0);
  if (in.rank() != 0) {
    return errors::InvalidArgument("Expected `serialized` to be a scalar, got shape: ", in.shape().ToString());
  }
  proto::TensorProto message;
  if (!message.ParseFromString(in.scalar<std::string>())) {
    return errors::InvalidArgument("Could not parse `serialized` as TensorProto, base64: ",
                                   absl::Base64Escape(in.scalar<std::string>().substr(0, 1000)));
  }
  ASSIGN_OR_RETURN(Tensor tensor, TensorFromProto(message));
  if (tensor.dtype() != ctx.output_dtype(0)) {
    return errors::InvalidArgument("Type mismatch between parsed tensor (", DTypeName(tensor.dtype()), ") and dtype (",
                                   DTypeName(ctx.output_dtype(0)), ")");
  }
  ctx.set_output(0, std::move(tensor));
  return OkStatus();
}

OP("SerializeTensor")
    .Input("tensor: T")
    .Output("serialized: string")
    .Attr("T: type")
    .Shape(ScalarShape)
    .NotDifferentiable()
    .Cpu(SerializeTensorCpu)
    .Doc("A tensor as the bytes of a TensorProto.");

OP("ParseTensor")
    .Input("serialized: string")
    .Output("output: out_type")
    .Attr("out_type: type")
    .Shape(UnknownShape)
    .NotDifferentiable()
    .Cpu(ParseTensorCpu)
    .Doc("The tensor in the bytes of a TensorProto.");

}  // namespace
}  // namespace millstream
