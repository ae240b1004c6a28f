// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_join.h"
#include "millstream/ops/elements/axes.h"
#include "millstream/ops/elements/blob.h"
#include "millstream/ops/elements/nd_index.h"
#include "millstream/ops/gradients/shape_of.h"

namespace millstream {
namespace {

std::string Place(const Tensor& indices, int64_t i) {
  Dims at;
  if (!ReadInts(indices.SliceRows(i, i + 1), &at).ok()) return "";
  return absl::StrCat("indices[", i, "] = [", absl::StrJoin(at, ","), "]");
}

// The error for the first row of indices that does not lie in the shape.
Status OutOfBounds(const Tensor& indices, const Shape& shape) {
  Dims at;
  RETURN_IF_ERROR(ReadInts(indices, &at));
  const auto depth = static_cast<size_t>(shape.rank());
  for (size_t i = 0; i < at.size(); ++i) {
    if (at[i] >= 0 && at[i] < shape.dim(static_cast<int>(i % depth))) continue;
    return errors::InvalidArgument(Place(indices, static_cast<int64_t>(i / depth)),
                                   " is out of bounds: need 0 <= index < [", absl::StrJoin(shape.dims(), ","), "]");
  }
  return errors::InvalidArgument("Indices are not valid (out of bounds).  Shape: ", shape.ToString());
}

class SparseToDenseKernel : public Kernel {
 public:
  explicit SparseToDenseKernel(KernelInit& init) : validate_(init.Attr<bool>("validate_indices")) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor& indices = ctx.input(0);
    const Tensor& values = ctx.input(2);
    const Tensor& fill = ctx.input(3);
    if (indices.rank() > 2) {
      return errors::InvalidArgument("sparse_indices should be a scalar, vector, or matrix, got shape ",
                                     indices.shape().ToString());
    }
    Dims dims;
    RETURN_IF_ERROR(ReadIntVector(ctx.input(1), "output_shape", &dims));
    ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    const int64_t n = indices.rank() > 0 ? indices.dim(0) : 1;
    const int64_t depth = indices.rank() > 1 ? indices.dim(1) : 1;
    if (depth != shape.rank()) {
      return errors::InvalidArgument("output_shape has incorrect number of elements: ", shape.rank(),
                                     " should be: ", depth);
    }
    if (values.rank() > 1 || (values.rank() == 1 && values.dim(0) != n)) {
      return errors::InvalidArgument("sparse_values has incorrect shape ", values.shape().ToString(),
                                     ", should be [] or [", n, "]");
    }
    if (fill.rank() != 0) return errors::InvalidArgument("default_value should be a scalar.");
    ASSIGN_OR_RETURN(Tensor offsets, ctx.AllocateTemp(DType::kInt64, Shape({n})));
    const Tensor rows = indices.Reshaped(Shape({n, depth}));
    if (!ResolveNdIndices(rows, shape, BadIndex::kError, offsets.flat<int64_t>()).ok()) {
      return validate_ ? OutOfBounds(rows, shape)
                       : errors::InvalidArgument("Indices are not valid (out of bounds).  Shape: ", shape.ToString());
    }
    const int64_t* offset = offsets.data<int64_t>();
    for (int64_t i = 1; validate_ && i < n; ++i) {
      if (offset[i] > offset[i - 1]) continue;
      return errors::InvalidArgument(Place(rows, i), offset[i] == offset[i - 1]
                                                         ? " is repeated"
                                                         : " is out of order. Many sparse ops require sorted indices.");
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    const bool one = values.rank() == 0;
    DispatchBlob(fill.dtype(), [&](auto type) {
      using T = typename decltype(type)::type;
      T* to = BlobData<T>(out);
      const T* from = BlobData<T>(values);
      ParallelFill(ctx, *BlobData<T>(fill), shape.num_elements(), to);
      for (int64_t i = 0; i < n; ++i) to[offset[i]] = from[one ? 0 : i];
    });
    return OkStatus();
  }

 private:
  const bool validate_;
};

Status SparseToDenseShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape out, c.ConstantAsShape(1));
  c.set_output(0, std::move(out));
  return OkStatus();
}

Output SumAll(const GradContext& g, Output x) {
  return g.Op("Sum", {x, g.Op("Range", {g.scope().Const(0), g.Op("Rank", {x}), g.scope().Const(1)})});
}

Status SparseToDenseGrad(GradContext& g) {
  Output indices = g.input(0);
  const PartialShape shape = g.scope().ShapeOf(indices);
  if (shape.rank() == 1) indices = g.Op("ExpandDims", {indices, g.scope().Const(-1)});
  const Output values = g.Op("GatherNd", {g.dy(0), indices});
  g.set_dx(2, values);
  g.set_dx(3, g.Op("Sub", {SumAll(g, g.dy(0)), SumAll(g, values)}));
  return OkStatus();
}

OP("SparseToDense")
    .Input("sparse_indices: Tindices")
    .Input("output_shape: Tindices")
    .Input("sparse_values: T")
    .Input("default_value: T")
    .Output("dense: T")
    .Attr("validate_indices: bool = true")
    .Attr("T: type")
    .Attr("Tindices: {int32, int64}")
    .Shape(SparseToDenseShape)
    .Gradient(SparseToDenseGrad)
    .Cpu<SparseToDenseKernel>()
    .Doc("A dense tensor from values at given positions and a default elsewhere.");

}  // namespace
}  // namespace millstream
