// SPDX-License-Identifier: Apache-2.0
#include <complex>

#include "millstream/ops/array/blob.h"
#include "millstream/ops/array/nd_index.h"
#include "millstream/ops/array/shape_of.h"

namespace millstream {
namespace {

template <typename T>
void AddTo(T* to, const T& value) {
  if constexpr (std::is_same_v<T, bool>)
    *to = *to || value;
  else
    *to += value;
}

// Checks that updates is indices.shape[:-1] + shape[depth:].
Status CheckShapes(const Tensor& indices, const Tensor& updates, const Shape& shape) {
  if (indices.rank() < 1)
    return errors::InvalidArgument("Indices shape must have rank at least one. Found: ", indices.shape().ToString());
  if (updates.rank() < 1)
    return errors::InvalidArgument("Updates shape must have rank at least one. Found: ", updates.shape().ToString());
  const int64_t depth = indices.dim(indices.rank() - 1);
  const int outer = indices.rank() - 1;
  bool fits = depth <= shape.rank() && updates.rank() == outer + shape.rank() - depth;
  for (int d = 0; fits && d < updates.rank(); ++d) {
    fits = updates.dim(d) == (d < outer ? indices.dim(d) : shape.dim(static_cast<int>(d - outer + depth)));
  }
  if (fits) return OkStatus();
  return errors::InvalidArgument(
      "Must have updates.shape = indices.shape[:-1] + shape[indices.shape[-1]:], got updates.shape: ",
      updates.shape().ToString(), ", indices.shape: ", indices.shape().ToString(), ", shape: ", shape.ToString());
}

template <typename T>
class ScatterNdKernel : public Kernel {
 public:
  explicit ScatterNdKernel(KernelInit& init) { init.Check(ReadBadIndexPolicy(init.attrs(), &policy_)); }

  Status Compute(KernelContext& ctx) override {
    const Tensor& indices = ctx.input(0);
    const Tensor& updates = ctx.input(1);
    Dims dims;
    RETURN_IF_ERROR(ReadIntVector(ctx.input(2), "Shape", &dims));
    ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    if (shape.num_elements() == 0 && (indices.num_elements() != 0 || updates.num_elements() != 0)) {
      return errors::InvalidArgument("Indices and updates specified for empty output shape");
    }
    RETURN_IF_ERROR(CheckShapes(indices, updates, shape));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    FillZero(ctx, out);
    const int64_t rows = indices.shape().Product(0, indices.rank() - 1);
    if (rows == 0 || updates.num_elements() == 0) return OkStatus();
    const int64_t inner = updates.num_elements() / rows;
    ASSIGN_OR_RETURN(Tensor offsets, ctx.AllocateTemp(DType::kInt64, Shape({rows})));
    RETURN_IF_ERROR(ResolveNdIndices(indices, shape, policy_, offsets.flat<int64_t>()));
    const int64_t* offset = offsets.data<int64_t>();
    const T* from = updates.data<T>();
    T* to = out->data<T>();
    // One thread: rows may point at the same place, and their order decides rounding.
    for (int64_t i = 0; i < rows; ++i, from += inner) {
      if (offset[i] < 0) continue;
      for (int64_t k = 0; k < inner; ++k) AddTo(to + offset[i] * inner + k, from[k]);
    }
    return OkStatus();
  }

 private:
  BadIndex policy_ = BadIndex::kError;
};

Status ScatterNdShape(ShapeContext& c) {
  PartialShape shape;
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(0), 1, &shape));
  ASSIGN_OR_RETURN(PartialShape out, c.ConstantAsShape(2));
  c.set_output(0, std::move(out));
  return OkStatus();
}

Status ScatterNdGrad(GradContext& g) {
  g.set_dx(1, g.Op("GatherNd", {g.dy(0), g.input(0)}));
  return OkStatus();
}

OP("ScatterNd")
    .Input("indices: Tindices")
    .Input("updates: T")
    .Input("shape: Tindices")
    .Output("output: T")
    .Attr("T: type")
    .Attr("Tindices: {int16, int32, int64}")
    .Attr("bad_indices_policy: string = ''")
    .Shape(ScatterNdShape)
    .Gradient(ScatterNdGrad)
    .Cpu<ScatterNdKernel>(Join<NumberAndBoolTypes, Types<std::string>>{}, "T")
    .HostMemory("shape")
    .Doc("Zeros of the given shape with updates added at the positions that indices spells out.");

}  // namespace
}  // namespace millstream
