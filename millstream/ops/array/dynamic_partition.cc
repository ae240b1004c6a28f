// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/elements/axes.h"
#include "millstream/ops/elements/blob.h"
#include "millstream/ops/elements/nd_index.h"
#include "millstream/ops/gradients/shape_of.h"

namespace millstream {
namespace {

Status PartitionCpu(KernelContext& ctx) {
  const Tensor& data = ctx.input(0);
  const Tensor& partitions = ctx.input(1);
  const int n = ctx.num_outputs();
  bool prefix = data.rank() >= partitions.rank();
  for (int d = 0; prefix && d < partitions.rank(); ++d) prefix = data.dim(d) == partitions.dim(d);
  if (!prefix) {
    return errors::InvalidArgument("data.shape must start with partitions.shape, got data.shape = ",
                                   data.shape().ToString(), ", partitions.shape = ", partitions.shape().ToString());
  }
  absl::InlinedVector<int64_t, 8> counts(n, 0);
  const auto targets = partitions.flat<int32_t>();
  for (size_t i = 0; i < targets.size(); ++i) {
    if (targets[i] < 0 || targets[i] >= n) {
      return errors::InvalidArgument("partitions", PlaceOf(partitions.shape(), static_cast<int64_t>(i)), " = ",
                                     targets[i], " is not in [0, ", n, ")");
    }
    ++counts[targets[i]];
  }
  Dims dims(1);
  dims.insert(dims.end(), data.shape().dims().begin() + partitions.rank(), data.shape().dims().end());
  absl::InlinedVector<Tensor*, 8> outputs;
  for (int p = 0; p < n; ++p) {
    dims[0] = counts[p];
    ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(p, shape));
    outputs.push_back(out);
  }
  const int64_t inner = data.shape().Product(partitions.rank(), data.rank());
  DispatchBlob(data.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    absl::InlinedVector<T*, 8> to;
    for (Tensor* out : outputs) to.push_back(BlobData<T>(out));
    const T* from = BlobData<T>(data);
    for (const int32_t p : targets) {
      CopyRun(from, inner, to[p]);
      from += inner;
      to[p] += inner;
    }
  });
  return OkStatus();
}

Status PartitionShape(ShapeContext& c) {
  const PartialShape& data = c.input(0);
  const PartialShape& partitions = c.input(1);
  if (!partitions.rank_known() || !data.rank_known()) return OkStatus();
  if (data.rank() < partitions.rank()) return errors::InvalidArgument("data has fewer dimensions than partitions");
  RETURN_IF_ERROR(data.Slice(0, partitions.rank()).MergeWith(partitions).status());
  const PartialShape out = PartialShape({-1}).Concatenate(data.Slice(partitions.rank(), data.rank()));
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, out);
  return OkStatus();
}

// Row numbers, partitioned in the same way, say where the gradients of the parts go back.
Status PartitionGrad(GradContext& g) {
  const int n = g.node().num_outputs();
  const Output partitions = g.input(1);
  const Output numbers = g.Op("Range", {g.scope().Const(0), g.Op("Size", {partitions}), g.scope().Const(1)});
  const Output shaped = g.Op("Reshape", {numbers, ShapeOf(g, partitions)});
  Node* rows = g.Add("DynamicPartition", {shaped, partitions}, {{"num_partitions", n}});
  RETURN_IF_ERROR(g.status());
  std::vector<Output> inputs;
  for (int i = 0; i < n; ++i) inputs.emplace_back(rows, i);
  for (int i = 0; i < n; ++i) inputs.push_back(g.dy(i));
  const Output joined = g.Op("ParallelDynamicStitch", std::move(inputs));
  g.set_dx(0, g.Op("Reshape", {joined, ShapeOf(g, g.input(0))}));
  return OkStatus();
}

OP("DynamicPartition")
    .Input("data: T")
    .Input("partitions: int32")
    .Output("outputs: num_partitions * T")
    .Attr("num_partitions: int >= 1")
    .Attr("T: type")
    .Shape(PartitionShape)
    .Gradient(PartitionGrad)
    .Cpu(PartitionCpu)
    .Doc("Deals the slices of data out to the outputs that partitions names.");

}  // namespace
}  // namespace millstream
