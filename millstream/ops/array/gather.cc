// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/array/gather_grad.h"
#include "millstream/ops/elements/axes.h"
#include "millstream/ops/elements/blob.h"

namespace millstream {
namespace {

using GatherIndexTypes = Types<int16_t, int32_t, int64_t>;

// params as [batch, outer, limit, inner], indices as [batch, n], output as [batch, outer, n, inner].
struct GatherSizes {
  int64_t batch, outer, limit, inner, n;
};

template <typename Index>
int64_t FindBadIndex(const Index* indices, int64_t n, int64_t limit) {
  for (int64_t i = 0; i < n; ++i) {
    if (indices[i] < 0 || indices[i] >= limit) return i;
  }
  return -1;
}

template <typename T, typename Index>
void GatherRows(const KernelContext& ctx, const GatherSizes& s, const T* params, const Index* indices, T* out) {
  const double cost = 2.0 + kCopyCost<T> * static_cast<double>(s.inner);
  ctx.ParallelFor(s.batch * s.outer * s.n, cost, [=](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t group = begin / s.n, first = begin % s.n, last = std::min(s.n, first + end - begin);
      const T* from = params + group * s.limit * s.inner;
      const Index* index = indices + group / s.outer * s.n;
      T* to = out + begin * s.inner;
      if (s.inner == 1) {
        for (int64_t i = first; i < last; ++i) *to++ = from[index[i]];
      } else {
        for (int64_t i = first; i < last; ++i, to += s.inner) CopyRun(from + index[i] * s.inner, s.inner, to);
      }
      begin += last - first;
    }
  });
}

Status BadIndex(const Tensor& indices, int64_t at, int64_t value, int64_t limit) {
  std::string position;
  for (int d = indices.rank() - 1; d >= 0; --d) {
    position = absl::StrCat(at % indices.dim(d), position.empty() ? "" : ",", position);
    at /= indices.dim(d);
  }
  return errors::InvalidArgument("indices", indices.rank() > 0 ? absl::StrCat("[", position, "]") : "", " = ", value,
                                 " is not in [0, ", limit, ")");
}

class GatherKernel : public Kernel {
 public:
  explicit GatherKernel(KernelInit& init)
      : has_axis_(init.op().name == "GatherV2"), batch_dims_(has_axis_ ? init.Attr<int64_t>("batch_dims") : 0) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor& params = ctx.input(0);
    const Tensor& indices = ctx.input(1);
    if (params.rank() < 1) return errors::InvalidArgument("params must be at least 1 dimensional");
    int axis = 0, batch = 0;
    if (has_axis_) RETURN_IF_ERROR(ReadAxis(ctx.input(2), "axis", params.rank(), &axis));
    RETURN_IF_ERROR(CheckBatch(params.shape(), indices.shape(), axis, &batch));
    Dims dims(params.shape().dims().begin(), params.shape().dims().begin() + axis);
    dims.insert(dims.end(), indices.shape().dims().begin() + batch, indices.shape().dims().end());
    dims.insert(dims.end(), params.shape().dims().begin() + axis + 1, params.shape().dims().end());
    ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    const GatherSizes sizes = {params.shape().Product(0, batch), params.shape().Product(batch, axis), params.dim(axis),
                               params.shape().Product(axis + 1, params.rank()),
                               indices.shape().Product(batch, indices.rank())};
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    Status status;
    DispatchOver(GatherIndexTypes{}, indices.dtype(),
                 [&](auto type) { status = Run<typename decltype(type)::type>(ctx, sizes, params, indices, out); });
    return status;
  }

 private:
  template <typename Index>
  static Status Run(const KernelContext& ctx, const GatherSizes& sizes, const Tensor& params, const Tensor& indices,
                    Tensor* out) {
    if (out->num_elements() == 0) return OkStatus();
    const Index* index = indices.data<Index>();
    const int64_t bad = FindBadIndex(index, indices.num_elements(), sizes.limit);
    if (bad >= 0) return BadIndex(indices, bad, index[bad], sizes.limit);
    DispatchBlob(params.dtype(), [&](auto type) {
      using T = typename decltype(type)::type;
      GatherRows(ctx, sizes, BlobData<T>(params), index, BlobData<T>(out));
    });
    return OkStatus();
  }

  Status CheckBatch(const Shape& params, const Shape& indices, int axis, int* batch) const {
    if (batch_dims_ == 0) return OkStatus();
    if (batch_dims_ < -indices.rank() || batch_dims_ > indices.rank()) {
      return errors::InvalidArgument("Expected batch_dims in the range [", -indices.rank(), ", ", indices.rank(),
                                     "], but got ", batch_dims_);
    }
    *batch = static_cast<int>(batch_dims_ < 0 ? batch_dims_ + indices.rank() : batch_dims_);
    if (*batch >= params.rank()) {
      return errors::InvalidArgument("batch_dims (", *batch, ") must be less than rank(params) (", params.rank(), ").");
    }
    if (axis < *batch) {
      return errors::InvalidArgument("batch_dims (", *batch, ") must be less than or equal to axis (", axis, ").");
    }
    for (int d = 0; d < *batch; ++d) {
      if (params.dim(d) != indices.dim(d)) {
        return errors::InvalidArgument("params.shape[", d, "]: ", params.dim(d), " should be equal to indices.shape[",
                                       d, "]: ", indices.dim(d));
      }
    }
    return OkStatus();
  }

  const bool has_axis_;
  const int64_t batch_dims_;
};

Status GatherShape(ShapeContext& c) {
  PartialShape params;
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(0), 1, &params));
  if (!params.rank_known()) return OkStatus();
  c.set_output(0, c.input(1).Concatenate(params.Slice(1, params.rank())));
  return OkStatus();
}

Status GatherV2Shape(ShapeContext& c) {
  PartialShape params, axis_shape;
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(0), 1, &params));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(2), 0, &axis_shape));
  const PartialShape& indices = c.input(1);
  int64_t batch = 0, value = 0;
  RETURN_IF_ERROR(c.GetAttr("batch_dims", &batch));
  if (!params.rank_known() || !indices.rank_known()) return OkStatus();
  if (batch < 0) batch += indices.rank();
  if (batch < 0 || batch > indices.rank() || batch >= params.rank()) {
    return errors::InvalidArgument("batch_dims ", batch, " does not fit indices of rank ", indices.rank(),
                                   " and params of rank ", params.rank());
  }
  const int b = static_cast<int>(batch);
  if (!c.ConstantInt(2, &value)) {
    c.set_output(0, PartialShape::UnknownOfRank(params.rank() - 1 + indices.rank() - b));
    return OkStatus();
  }
  int axis = 0;
  RETURN_IF_ERROR(NormalizeAxis(value, "axis", params.rank(), &axis));
  if (axis < b) return errors::InvalidArgument("batch_dims (", b, ") must be less than or equal to axis (", axis, ").");
  ASSIGN_OR_RETURN(const PartialShape common, params.Slice(0, b).MergeWith(indices.Slice(0, b)));
  c.set_output(0, common.Concatenate(params.Slice(b, axis))
                      .Concatenate(indices.Slice(b, indices.rank()))
                      .Concatenate(params.Slice(axis + 1, params.rank())));
  return OkStatus();
}

OP("Gather")
    .Input("params: Tparams")
    .Input("indices: Tindices")
    .Output("output: Tparams")
    .Attr("validate_indices: bool = true")
    .Attr("Tparams: type")
    .Attr("Tindices: {int32, int64}")
    .Shape(GatherShape)
    .Gradient(GatherGrad)
    .Cpu<GatherKernel>()
    .Doc("Rows of params by number.");

OP("GatherV2")
    .Input("params: Tparams")
    .Input("indices: Tindices")
    .Input("axis: Taxis")
    .Output("output: Tparams")
    .Attr("batch_dims: int = 0")
    .Attr("Tparams: type")
    .Attr("Tindices: {int16, int32, int64}")
    .Attr("Taxis: {int32, int64}")
    .Shape(GatherV2Shape)
    .Gradient(GatherV2Grad)
    .Cpu<GatherKernel>()
    .HostMemory("axis")
    .Doc("Slices of params along an axis by number; leading batch dimensions are paired with those of indices.");

}  // namespace
}  // namespace millstream
