// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/gradients/gradient.h"
#include "millstream/ops/elements/axes.h"
#include "millstream/ops/elements/blob.h"
#include "millstream/ops/elements/side_by_side.h"

namespace millstream {
namespace {

class PackKernel : public Kernel {
 public:
  explicit PackKernel(KernelInit& init) : axis_(init.Attr<int64_t>("axis")) {}

  Status Compute(KernelContext& ctx) override {
    const Shape& first = ctx.input(0).shape();
    const int n = ctx.num_inputs();
    int axis = 0;
    RETURN_IF_ERROR(NormalizeAxis(axis_, "axis", first.rank() + 1, &axis));
    for (int i = 1; i < n; ++i) {
      if (!(ctx.input(i).shape() == first)) {
        return errors::InvalidArgument("Shapes of all inputs must match: values[0].shape = ", first.ToString(),
                                       " != values[", i, "].shape = ", ctx.input(i).shape().ToString());
      }
    }
    Dims dims(first.dims().begin(), first.dims().end());
    dims.insert(dims.begin() + axis, n);
    ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    if (n == 1) {
      ctx.set_output(0, ctx.TakeInput(0).Reshaped(shape));
      return OkStatus();
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    const int64_t rows = first.Product(0, axis), width = first.Product(axis, first.rank());
    ColumnBlocks blocks;
    for (int i = 0; i < n; ++i) blocks.push_back({const_cast<void*>(ctx.input(i).raw()), width});
    JoinColumns(ctx, out->dtype(), blocks, rows, out->raw());
    return OkStatus();
  }

 private:
  const int64_t axis_;
};

class UnpackKernel : public Kernel {
 public:
  explicit UnpackKernel(KernelInit& init) : axis_(init.Attr<int64_t>("axis")) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor in = ctx.input(0);
    const int n = ctx.num_outputs();
    int axis = 0;
    RETURN_IF_ERROR(NormalizeAxis(axis_, "axis", in.rank(), &axis));
    if (in.dim(axis) != n) {
      return errors::InvalidArgument("Input shape axis ", axis, " must equal ", n, ", got shape ",
                                     in.shape().ToString());
    }
    Dims dims(in.shape().dims().begin(), in.shape().dims().end());
    dims.erase(dims.begin() + axis);
    ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    if (axis == 0 && ShareAll(ctx, in, shape)) return OkStatus();
    ColumnBlocks blocks;
    const int64_t rows = in.shape().Product(0, axis), width = in.shape().Product(axis + 1, in.rank());
    for (int i = 0; i < n; ++i) {
      ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(i, shape));
      blocks.push_back({out->raw(), width});
    }
    if (shape.num_elements() > 0) SplitColumns(ctx, in.dtype(), in.raw(), rows, blocks);
    return OkStatus();
  }

 private:
  // Outputs as views of the input, if all of them may be.
  static bool ShareAll(KernelContext& ctx, const Tensor& in, const Shape& shape) {
    const int n = ctx.num_outputs();
    if (n > 1 && (shape.num_elements() * DTypeSize(in.dtype()) % 64 != 0 || shape.num_elements() == 0)) return false;
    for (int i = 0; i < n; ++i) {
      const Tensor view = SharedRows(in, i, i + 1);
      if (!view.IsInitialized()) return false;
      ctx.set_output(i, view.Reshaped(shape));
    }
    return true;
  }

  const int64_t axis_;
};

Status PackShape(ShapeContext& c) {
  PartialShape in = c.input(0);
  for (int i = 1; i < c.num_inputs(); ++i) {
    ASSIGN_OR_RETURN(in, in.MergeWith(c.input(i)));
  }
  if (!in.rank_known()) return OkStatus();
  int64_t attr = 0;
  int axis = 0;
  RETURN_IF_ERROR(c.GetAttr("axis", &attr));
  RETURN_IF_ERROR(NormalizeAxis(attr, "axis", in.rank() + 1, &axis));
  std::vector<int64_t> dims = in.dims();
  dims.insert(dims.begin() + axis, c.num_inputs());
  c.set_output(0, PartialShape(std::move(dims)));
  return OkStatus();
}

Status UnpackShape(ShapeContext& c) {
  const PartialShape& in = c.input(0);
  if (!in.rank_known()) return OkStatus();
  int64_t attr = 0, size = 0;
  int axis = 0;
  RETURN_IF_ERROR(c.GetAttr("axis", &attr));
  RETURN_IF_ERROR(NormalizeAxis(attr, "axis", in.rank(), &axis));
  RETURN_IF_ERROR(ShapeContext::MergeDim(in.dim(axis), c.num_outputs(), &size));
  std::vector<int64_t> dims = in.dims();
  dims.erase(dims.begin() + axis);
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, PartialShape(dims));
  return OkStatus();
}

Status PackGrad(GradContext& g) {
  const int n = g.node().num_inputs();
  Node* unpack = g.Add("Unpack", {g.dy(0)}, {{"num", n}, {"axis", g.Attr<int64_t>("axis")}});
  RETURN_IF_ERROR(g.status());
  for (int i = 0; i < n; ++i) g.set_dx(i, Output(unpack, i));
  return OkStatus();
}

Status UnpackGrad(GradContext& g) {
  std::vector<Output> dy;
  for (int i = 0; i < g.node().num_outputs(); ++i) dy.push_back(g.dy(i));
  g.set_dx(0, g.Op("Pack", std::move(dy), {{"axis", g.Attr<int64_t>("axis")}}));
  return OkStatus();
}

OP("Pack")
    .Input("values: N * T")
    .Output("output: T")
    .Attr("N: int >= 1")
    .Attr("T: type")
    .Attr("axis: int = 0")
    .Shape(PackShape)
    .Gradient(PackGrad)
    .Cpu<PackKernel>()
    .Doc("Stacks tensors of equal shape along a new axis.");

OP("Unpack")
    .Input("value: T")
    .Output("output: num * T")
    .Attr("num: int >= 0")
    .Attr("T: type")
    .Attr("axis: int = 0")
    .Shape(UnpackShape)
    .Gradient(UnpackGrad)
    .Cpu<UnpackKernel>()
    .Doc("The tensors that lie along an axis, one by one.");

}  // namespace
}  // namespace millstream
