// SPDX-License-Identifier: Apache-2.0
// Sparse tensors as vectors of three strings or variants, and in a map that gives out numbers for them.
#include <algorithm>

#include "millstream/framework/op.h"
#include "millstream/ops/elements/blob.h"
#include "millstream/ops/sparse/sparse_input.h"
#include "millstream/ops/sparse/sparse_parts.h"
#include "millstream/ops/variants/tensor_box.h"
#include "millstream/proto/tensor.pb.h"
#include "millstream/tensor/tensor_proto.h"

namespace millstream {
namespace {

Status Pack(const Tensor& from, Tensor* to, int64_t at) {
  if (to->dtype() == DType::kVariant) {
    to->data<Variant>()[at] = Variant(MakeRef<TensorBox>(from));
    return OkStatus();
  }
  proto::TensorProto message;
  RETURN_IF_ERROR(TensorToProto(from, &message));
  if (!message.SerializeToString(&to->data<std::string>()[at])) return errors::Internal("Could not serialize a tensor");
  return OkStatus();
}

StatusOr<Tensor> Unpack(const Tensor& from, int64_t at, DType dtype) {
  Tensor t;
  if (from.dtype() == DType::kVariant) {
    const auto* box = from.data<Variant>()[at].get<TensorBox>();
    if (box == nullptr) return errors::InvalidArgument("Could not get a tensor from serialized_sparse[", at, "]");
    t = box->tensor;
  } else {
    proto::TensorProto message;
    if (!message.ParseFromString(from.data<std::string>()[at])) {
      return errors::InvalidArgument("Could not parse serialized proto");
    }
    ASSIGN_OR_RETURN(t, TensorFromProto(message));
  }
  if (t.dtype() == dtype) return t;
  return errors::InvalidArgument("Requested SparseTensor of type ", DTypeName(dtype), " but SparseTensor[", at / 3,
                                 "].",
                                 at % 3 == 0   ? "indices"
                                 : at % 3 == 1 ? "values"
                                               : "shape",
                                 ".dtype() == ", DTypeName(t.dtype()));
}

Status SerializeSparseCpu(KernelContext& ctx) {
  RETURN_IF_ERROR(ReadSparse(ctx, 0).status());
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape({3})));
  for (int i = 0; i < 3; ++i) RETURN_IF_ERROR(Pack(ctx.input(i), out, i));
  return OkStatus();
}

Status SerializeManySparseCpu(KernelContext& ctx) {
  std::vector<SparseParts> rows;
  RETURN_IF_ERROR(SplitRows(ctx, &rows));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape({static_cast<int64_t>(rows.size()), 3})));
  for (size_t r = 0; r < rows.size(); ++r) {
    RETURN_IF_ERROR(Pack(rows[r].indices, out, static_cast<int64_t>(3 * r)));
    RETURN_IF_ERROR(Pack(rows[r].values, out, static_cast<int64_t>(3 * r + 1)));
    RETURN_IF_ERROR(Pack(rows[r].shape, out, static_cast<int64_t>(3 * r + 2)));
  }
  return OkStatus();
}

Status Deserialize(KernelContext& ctx, bool many) {
  const Tensor& in = ctx.input(0);
  if (many ? in.rank() != 2 : in.rank() < 1) {
    return errors::InvalidArgument("Serialized sparse should have ", many ? "two dimensions" : "non-zero rank",
                                   " but received shape ", in.shape().ToString());
  }
  if (in.dim(in.rank() - 1) != 3) {
    return errors::InvalidArgument("Serialized sparse should have 3 as the last dimension but received shape ",
                                   in.shape().ToString());
  }
  const int64_t n = in.num_elements() / 3;
  if (n == 0)
    return errors::InvalidArgument("Must have at least 1 serialized SparseTensor, but input matrix has 0 rows");
  std::vector<SparseParts> parts(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) {
    ASSIGN_OR_RETURN(parts[i].indices, Unpack(in, 3 * i, DType::kInt64));
    ASSIGN_OR_RETURN(parts[i].values, Unpack(in, 3 * i + 1, ctx.output_dtype(1)));
    ASSIGN_OR_RETURN(parts[i].shape, Unpack(in, 3 * i + 2, DType::kInt64));
  }
  if (in.rank() == 1) {
    RETURN_IF_ERROR(MakeSparse(parts[0].indices, parts[0].values, parts[0].shape).status());
    ctx.set_output(0, parts[0].indices);
    ctx.set_output(1, parts[0].values);
    ctx.set_output(2, parts[0].shape);
    return OkStatus();
  }
  return JoinRows(ctx, parts, Shape(in.shape().dims().first(in.rank() - 1)), "shape", 0);
}
Status DeserializeCpu(KernelContext& ctx) { return Deserialize(ctx, false); }
Status DeserializeManyCpu(KernelContext& ctx) { return Deserialize(ctx, true); }

Status SerializeShape(ShapeContext& c) {
  PartialShape unused;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 2, &unused));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 1, &unused));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(2), 1, &unused));
  c.set_output(0, PartialShape({3}));
  return OkStatus();
}
Status SerializeManyShape(ShapeContext& c) {
  RETURN_IF_ERROR(SerializeShape(c));
  c.set_output(0, PartialShape({-1, 3}));
  return OkStatus();
}
Status DeserializeShape(ShapeContext& c) {
  SetSparseOutput(c, 0, -1);
  return OkStatus();
}

OP("SerializeSparse")
    .Input("sparse_indices: int64")
    .Input("sparse_values: T")
    .Input("sparse_shape: int64")
    .Output("serialized_sparse: out_type")
    .Attr("T: type")
    .Attr("out_type: {string, variant} = DT_STRING")
    .Shape(SerializeShape)
    .Cpu(SerializeSparseCpu)
    .Doc("A sparse tensor as three strings or variants.");

OP("SerializeManySparse")
    .Input("sparse_indices: int64")
    .Input("sparse_values: T")
    .Input("sparse_shape: int64")
    .Output("serialized_sparse: out_type")
    .Attr("T: type")
    .Attr("out_type: {string, variant} = DT_STRING")
    .Shape(SerializeManyShape)
    .Cpu(SerializeManySparseCpu)
    .Doc("Each row of a sparse tensor as three strings or variants.");

OP("DeserializeSparse")
    .Input("serialized_sparse: Tserialized")
    .Output("sparse_indices: int64")
    .Output("sparse_values: dtype")
    .Output("sparse_shape: int64")
    .Attr("dtype: type")
    .Attr("Tserialized: {string, variant} = DT_STRING")
    .Shape(DeserializeShape)
    .Cpu(DeserializeCpu)
    .Doc("Serialized sparse tensors, stacked.");

OP("DeserializeManySparse")
    .Input("serialized_sparse: string")
    .Output("sparse_indices: int64")
    .Output("sparse_values: dtype")
    .Output("sparse_shape: int64")
    .Attr("dtype: type")
    .Shape(DeserializeShape)
    .Cpu(DeserializeManyCpu)
    .Doc("Serialized sparse tensors as the rows of one.");

}  // namespace
}  // namespace millstream
