// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/array/scatter_nd.h"

#include <complex>

#include "millstream/math/simd.h"
#include "millstream/ops/elements/blob.h"
#include "millstream/ops/gradients/shape_of.h"

namespace millstream {
namespace {

template <NdUpdate update, typename T>
void CombineInto(T* to, const T& value) {
  using W = Compute<T>;
  if constexpr (update == NdUpdate::kMin) {
    if (W(value) < W(*to)) *to = value;
  } else if constexpr (update == NdUpdate::kMax) {
    if (W(*to) < W(value)) *to = value;
  } else if constexpr (std::is_same_v<T, bool>) {
    *to = update == NdUpdate::kAdd ? *to || value : *to != value;
  } else if constexpr (std::is_integral_v<T>) {
    // Unsigned arithmetic of at least 32 bits wraps around where the signed one would be undefined.
    using U = std::common_type_t<unsigned, std::make_unsigned_t<T>>;
    *to = static_cast<T>(update == NdUpdate::kAdd ? U(*to) + U(value) : U(*to) - U(value));
  } else if constexpr (update == NdUpdate::kAdd) {
    *to += value;
  } else {
    *to = T(W(*to) - W(value));
  }
}

// One slice. Choices instead of branches, so that loops are vectorised.
template <NdUpdate update, typename T>
MILLSTREAM_ALWAYS_INLINE void CombineSlice(const T* from, int64_t n, T* to) {
  if constexpr (std::is_floating_point_v<T> && (update == NdUpdate::kMin || update == NdUpdate::kMax)) {
    MILLSTREAM_INDEPENDENT_LOOP
    for (int64_t k = 0; k < n; ++k) {
      const T value = from[k], old = to[k];
      to[k] = (update == NdUpdate::kMin ? value < old : old < value) ? value : old;
    }
  } else {
    for (int64_t k = 0; k < n; ++k) CombineInto<update>(to + k, from[k]);
  }
}

struct Rows {
  const int64_t* offsets;  // of slices, negative: ignored
  int64_t n, inner;
};

// One thread: rows may point at the same place, and their order decides rounding.
template <NdUpdate update, typename T>
MILLSTREAM_ALWAYS_INLINE void CombineRows(const Rows& rows, const T* from, T* to) {
  for (int64_t i = 0; i < rows.n; ++i, from += rows.inner) {
    if (rows.offsets[i] < 0) continue;
    T* row = to + rows.offsets[i] * rows.inner;
    if constexpr (update == NdUpdate::kAssign) {
      CopyRun(from, rows.inner, row);
    } else {
      CombineSlice<update>(from, rows.inner, row);
    }
  }
}

template <NdUpdate update, typename TypeList>
bool CombineTyped(TypeList types, const Rows& rows, const Tensor& from, Tensor* to) {
  return DispatchOver(types, to->dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    const T* x = from.data<T>();
    T* y = to->data<T>();
    if constexpr (std::is_floating_point_v<T>) {
      simd::Run<T>([=] {
        CombineRows<update>(rows, x, y);
        return 0;
      });
    } else {
      CombineRows<update>(rows, x, y);
    }
  });
}

bool Combine(NdUpdate update, const Rows& rows, const Tensor& from, Tensor* to) {
  switch (update) {
    case NdUpdate::kAssign:
      DispatchBlob(to->dtype(), [&](auto type) {
        using T = typename decltype(type)::type;
        CombineRows<NdUpdate::kAssign>(rows, BlobData<T>(from), BlobData<T>(to));
      });
      return true;
    case NdUpdate::kAdd:
      return CombineTyped<NdUpdate::kAdd>(Join<NumberAndBoolTypes, Types<std::string>>{}, rows, from, to);
    case NdUpdate::kSub:
      return CombineTyped<NdUpdate::kSub>(NumberAndBoolTypes{}, rows, from, to);
    case NdUpdate::kMin:
      return CombineTyped<NdUpdate::kMin>(RealTypes{}, rows, from, to);
    case NdUpdate::kMax:
      return CombineTyped<NdUpdate::kMax>(RealTypes{}, rows, from, to);
  }
  return false;
}

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
    RETURN_IF_ERROR(CheckNdUpdate(indices, updates, shape));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    FillZero(ctx, out);
    return ScatterNdInto(ctx, NdUpdate::kAdd, indices, updates, policy_, out);
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
    .CpuFor<ScatterNdKernel>(Join<NumberAndBoolTypes, Types<std::string>>{}, "T")
    .HostMemory("shape")
    .Doc("Zeros of the given shape with updates added at the positions that indices spells out.");

}  // namespace

Status CheckNdUpdate(const Tensor& indices, const Tensor& updates, const Shape& shape) {
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

Status ScatterNdInto(KernelContext& ctx, NdUpdate update, const Tensor& indices, const Tensor& updates, BadIndex policy,
                     Tensor* to) {
  RETURN_IF_ERROR(CheckNdUpdate(indices, updates, to->shape()));
  const int64_t rows = indices.shape().Product(0, indices.rank() - 1);
  if (rows == 0 || updates.num_elements() == 0) return OkStatus();
  ASSIGN_OR_RETURN(Tensor offsets, ctx.AllocateTemp(DType::kInt64, Shape({rows})));
  RETURN_IF_ERROR(ResolveNdIndices(indices, to->shape(), policy, offsets.flat<int64_t>()));
  const Rows where{offsets.data<int64_t>(), rows, updates.num_elements() / rows};
  if (Combine(update, where, updates, to)) return OkStatus();
  return errors::InvalidArgument("There is no such update of ", DTypeName(to->dtype()));
}

Status CheckNdUpdateShapes(const ShapeContext& c, const PartialShape& shape) {
  PartialShape indices, updates;
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(1), 1, &indices));
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(2), 1, &updates));
  if (!shape.rank_known() || !indices.rank_known() || !updates.rank_known()) return OkStatus();
  const int outer = indices.rank() - 1;
  const int64_t depth = indices.dim(outer);
  if (depth < 0) return OkStatus();
  if (depth > shape.rank()) {
    return errors::InvalidArgument("indices.shape[-1] must be <= the rank, but saw indices ", indices.ToString(),
                                   " and shape ", shape.ToString());
  }
  const PartialShape expected = indices.Slice(0, outer).Concatenate(shape.Slice(static_cast<int>(depth), shape.rank()));
  return updates.MergeWith(expected).status();
}

}  // namespace millstream
