// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "millstream/framework/op.h"
#include "millstream/framework/op_traits.h"
#include "millstream/graph/gradients/gradient.h"
#include "millstream/ops/resources/row_indices.h"
#include "millstream/ops/resources/variable_input.h"
#include "millstream/tensor/dispatch.h"

namespace millstream {
namespace {

// An update that finds a snapshot copies the whole variable, at several times the bytes per second at which single rows
// are gathered. A gather of fewer rows than this share of a variable therefore holds the variable's lock, so that a
// step costs what its rows cost however large the table is.
constexpr int64_t kRowsPerLockedRow = 8;

// Rows of a variable, be it behind a reference or a handle.
class ResourceGather final : public Kernel {
 public:
  explicit ResourceGather(KernelInit& init)
      : dtype_(init.Attr<DType>(init.HasAttr("dtype") ? "dtype" : "T")),
        batch_dims_(init.HasAttr("batch_dims") ? init.Attr<int>("batch_dims") : 0) {}

  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const Ref<Variable> variable, VariableInput(ctx, 0, dtype_));
    Tensor snapshot;
    {
      MutexLock lock(variable->mu());
      const Tensor& params = variable->tensor();
      if (!params.IsInitialized()) return MissingVariable(ctx, 0);
      if (params.rank() > 0 && ctx.input(1).num_elements() < params.dim(0) / kRowsPerLockedRow) {
        return Gather(ctx, params);
      }
      snapshot = params;
    }
    return Gather(ctx, snapshot);
  }

 private:
  Status Gather(KernelContext& ctx, const Tensor& params) const {
    const Tensor& indices = ctx.input(1);
    if (params.rank() < 1) return errors::InvalidArgument("params must be at least 1 dimensional");
    const int batch_dims = batch_dims_ < 0 ? batch_dims_ + indices.rank() : batch_dims_;
    RETURN_IF_ERROR(CheckBatch(params, indices, batch_dims));
    RowIndices rows(indices);
    RETURN_IF_ERROR(rows.Check(params.dim(batch_dims)));
    std::vector<int64_t> dims(indices.shape().dims().begin(), indices.shape().dims().end());
    dims.insert(dims.end(), params.shape().dims().begin() + batch_dims + 1, params.shape().dims().end());
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    const Layout layout{indices.shape().Product(batch_dims, indices.rank()), params.dim(batch_dims),
                        params.shape().Product(batch_dims + 1, params.rank())};
    if (IsPlainBytes(dtype_)) {
      CopyBytes(ctx, rows, layout, params, out);
    } else {
      DispatchObjectType(dtype_,
                         [&](auto type) { CopyObjects<typename decltype(type)::type>(rows, layout, params, out); });
    }
    return OkStatus();
  }

  struct Layout {
    int64_t indices_per_batch, rows_per_batch, row;
    // Where the row that index i names begins.
    int64_t Source(const RowIndices& rows, int64_t i) const {
      return (i / indices_per_batch * rows_per_batch + rows[i]) * row;
    }
  };

  static Status CheckBatch(const Tensor& params, const Tensor& indices, int batch_dims) {
    if (batch_dims < 0 || batch_dims > indices.rank() || batch_dims >= params.rank()) {
      return errors::InvalidArgument("batch_dims (", batch_dims, ") must be at most rank(indices) (", indices.rank(),
                                     ") and less than rank(params) (", params.rank(), ").");
    }
    for (int d = 0; d < batch_dims; ++d) {
      if (params.dim(d) != indices.dim(d)) {
        return errors::InvalidArgument("params.shape[", d, "]: ", params.dim(d), " should be equal to indices.shape[",
                                       d, "]: ", indices.dim(d));
      }
    }
    return OkStatus();
  }

  void CopyBytes(KernelContext& ctx, const RowIndices& rows, const Layout& layout, const Tensor& params,
                 Tensor* out) const {
    const size_t size = DTypeSize(dtype_), bytes = size * static_cast<size_t>(layout.row);
    const char* const from = static_cast<const char*>(params.raw());
    char* const to = static_cast<char*>(out->raw());
    if (bytes == 0) return;
    ctx.ParallelFor(rows.size(), 2 + 0.1 * static_cast<double>(bytes), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        std::memcpy(to + static_cast<size_t>(i) * bytes, from + static_cast<size_t>(layout.Source(rows, i)) * size,
                    bytes);
      }
    });
  }

  template <typename T>
  static void CopyObjects(const RowIndices& rows, const Layout& layout, const Tensor& params, Tensor* out) {
    for (int64_t i = 0; i < rows.size(); ++i) {
      const T* from = params.data<T>() + layout.Source(rows, i);
      std::copy(from, from + layout.row, out->data<T>() + i * layout.row);
    }
  }

  const DType dtype_;
  const int batch_dims_;
};

Status ResourceGatherShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape params, VariableShapeOf(c, 0, "dtype"));
  int batch_dims = 0;
  RETURN_IF_ERROR(c.GetAttr("batch_dims", &batch_dims));
  const PartialShape& indices = c.input(1);
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(params, 1, &params));
  if (!params.rank_known() || !indices.rank_known()) return OkStatus();
  if (batch_dims < 0) batch_dims += indices.rank();
  if (batch_dims < 0 || batch_dims > indices.rank() || batch_dims >= params.rank()) {
    return errors::InvalidArgument("batch_dims ", batch_dims, " is out of range for indices ", indices.ToString(),
                                   " and params ", params.ToString());
  }
  c.set_output(0, indices.Concatenate(params.Slice(batch_dims + 1, params.rank())));
  return OkStatus();
}

// Rows of the gradient belong to the rows that were read: a sparse gradient.
Status ResourceGatherGrad(GradContext& g) {
  const Output handle = g.input(0), indices = g.input(1);
  const Output params_shape = g.Op("VariableShape", {handle}, {{"out_type", DType::kInt64}});
  const Output flat_indices = g.Op("Reshape", {indices, g.scope().Constant({-1})});
  const Output row_shape =
      g.Op("StridedSlice", {params_shape, g.scope().Constant({1}), g.scope().Constant({0}), g.scope().Constant({1})},
           {{"end_mask", 1}});
  const Output minus_one = g.scope().Const(Tensor::Vector<int64_t>({-1}));
  const Output values_shape = g.Op("ConcatV2", {minus_one, row_shape, g.scope().Const(int32_t{0})});
  const Output values = g.Op("Reshape", {g.dy(0), values_shape});
  g.set_dx(0, Grad::Slices(values, flat_indices, params_shape));
  return g.status();
}

OP("ResourceGather")
    .Trait(OpTrait::kReadsVariable)
    .Input("resource: resource")
    .Input("indices: Tindices")
    .Output("output: dtype")
    .Attr("batch_dims: int = 0")
    .Attr("validate_indices: bool = true")
    .Attr("dtype: type")
    .Attr("Tindices: {int32, int64}")
    .Stateful()
    .Shape(ResourceGatherShape)
    .Gradient(ResourceGatherGrad)
    .Cpu<ResourceGather>()
    .Doc("Rows of the variable behind a handle.");

Status GatherReferenceShape(ShapeContext& c) {
  PartialShape ref;
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(0), 1, &ref));
  if (ref.rank_known()) c.set_output(0, c.input(1).Concatenate(ref.Slice(1, ref.rank())));
  return OkStatus();
}

OP("_GatherReference")
    .Input("ref: Ref(T)")
    .Input("indices: Tindices")
    .Output("output: T")
    .Attr("T: type")
    .Attr("Tindices: {int32, int64}")
    .Shape(GatherReferenceShape)
    .Cpu<ResourceGather>()
    .Doc("Rows of a reference variable, read without a snapshot of the whole.");

}  // namespace
}  // namespace millstream
