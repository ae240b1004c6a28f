// SPDX-License-Identifier: Apache-2.0
#include <complex>

#include "absl/strings/str_join.h"
#include "millstream/graph/gradients/gradient.h"
#include "millstream/ops/elements/blob.h"
#include "millstream/ops/sparse/sparse_input.h"

namespace millstream {
namespace {

// Walks two sparse tensors in the order of their rows: visit(a, b) with the number of an entry in each, -1 where only
// the other one has it. REQUIRES: both are in order.
template <typename Visit>
void Merge(const SparseInput& a, const SparseInput& b, Visit visit) {
  int64_t i = 0, k = 0;
  while (i < a.size() || k < b.size()) {
    const int order = i == a.size() ? 1 : k == b.size() ? -1 : CompareIndices(a.at(i), b.at(k), a.rank());
    visit(order <= 0 ? i : -1, order >= 0 ? k : -1);
    i += order <= 0 ? 1 : 0;
    k += order >= 0 ? 1 : 0;
  }
}

Status CheckPair(const SparseInput& a, const SparseInput& b) {
  if (a.rank() != b.rank()) {
    return errors::InvalidArgument("Operands do not have the same ranks; got shapes: [", absl::StrJoin(a.shape, " "),
                                   "] and [", absl::StrJoin(b.shape, " "), "]");
  }
  for (int d = 0; d < a.rank(); ++d) {
    if (a.shape[d] == b.shape[d]) continue;
    return errors::InvalidArgument("Operands' shapes do not match: got ", a.shape[d], " and ", b.shape[d],
                                   " for dimension ", d);
  }
  return OkStatus();
}

template <typename T>
T Plus(T a, T b) {
  using W = std::conditional_t<std::is_integral_v<T>, uint64_t, Compute<T>>;
  return static_cast<T>(W(a) + W(b));
}

// Entries whose sum is smaller than the threshold are left out.
template <typename T>
class SparseAdd : public Kernel {
 public:
  explicit SparseAdd(KernelInit&) {}

  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const SparseInput a, ReadSparse(ctx, 0));
    ASSIGN_OR_RETURN(const SparseInput b, ReadSparse(ctx, 3));
    RETURN_IF_ERROR(CheckPair(a, b));
    RETURN_IF_ERROR(CheckBounds(a));
    RETURN_IF_ERROR(CheckBounds(b));
    const Tensor& threshold = ctx.input(6);
    if (threshold.rank() != 0) return errors::InvalidArgument("The threshold should be a scalar");
    double limit = 0;
    DispatchOver(RealTypes{}, threshold.dtype(),
                 [&](auto type) { limit = static_cast<double>(threshold.scalar<typename decltype(type)::type>()); });
    const T *x = a.values.data<T>(), *y = b.values.data<T>();
    std::vector<int64_t> entries;
    std::vector<T> sums;
    Merge(a, b, [&](int64_t i, int64_t k) {
      const T sum = i < 0 ? y[k] : k < 0 ? x[i] : Plus(x[i], y[k]);
      if (static_cast<double>(std::abs(sum)) < limit) return;
      const int64_t* at = i < 0 ? b.at(k) : a.at(i);
      entries.insert(entries.end(), at, at + a.rank());
      sums.push_back(sum);
    });
    ASSIGN_OR_RETURN(Tensor * values, WriteSparse(ctx, 0, entries, a.rank(), &a.shape));
    std::copy(sums.begin(), sums.end(), values->data<T>());
    return OkStatus();
  }
};

// The gradient of each operand's entries is that of the sum's entry, zero if that was left out.
Status SparseAddGradCpu(KernelContext& ctx) {
  const Tensor &dy = ctx.input(0), &sum = ctx.input(3);
  if (sum.rank() != 2 || dy.rank() != 1 || dy.dim(0) != sum.dim(0)) {
    return errors::InvalidArgument("# elements and rows of sum_indices should match");
  }
  const int rank = static_cast<int>(sum.dim(1));
  for (int o = 0; o < 2; ++o) {
    const Tensor& in = ctx.input(1 + o);
    if (in.rank() != 2 || in.dim(1) != rank) {
      return errors::InvalidArgument("The densified operands should have the same ndims");
    }
    ASSIGN_OR_RETURN(Tensor * dx, ctx.AllocateOutput(o, Shape({in.dim(0)})));
    FillZero(ctx, dx);
    DispatchBlob(dx->dtype(), [&](auto type) {
      using T = typename decltype(type)::type;
      int64_t k = 0;
      for (int64_t i = 0; i < in.dim(0); ++i) {
        const int64_t* at = in.data<int64_t>() + i * rank;
        while (k < sum.dim(0) && CompareIndices(sum.data<int64_t>() + k * rank, at, rank) < 0) ++k;
        if (k < sum.dim(0) && CompareIndices(sum.data<int64_t>() + k * rank, at, rank) == 0) {
          BlobData<T>(dx)[i] = BlobData<T>(dy)[k];
        }
      }
    });
  }
  return OkStatus();
}

// An entry that only one operand has is compared with zero.
template <typename T, bool maximum>
class SparseExtreme : public Kernel {
 public:
  explicit SparseExtreme(KernelInit&) {}

  Status Compute(KernelContext& ctx) override {
    RETURN_IF_ERROR(CheckSparse(ctx, 0));
    RETURN_IF_ERROR(CheckSparse(ctx, 3));
    ASSIGN_OR_RETURN(const SparseInput a, ReadSparse(ctx, 0));
    ASSIGN_OR_RETURN(const SparseInput b, ReadSparse(ctx, 3));
    RETURN_IF_ERROR(CheckBounds(a));
    RETURN_IF_ERROR(CheckBounds(b));
    if (a.rank() == 0) return errors::InvalidArgument("Tensors must not be empty");
    RETURN_IF_ERROR(CheckPair(a, b));
    const T *x = a.values.data<T>(), *y = b.values.data<T>();
    std::vector<int64_t> entries;
    std::vector<T> results;
    Merge(a, b, [&](int64_t i, int64_t k) {
      using W = millstream::Compute<T>;
      const T u = i < 0 ? T(0) : x[i], v = k < 0 ? T(0) : y[k];
      results.push_back((W(u) < W(v)) == maximum ? v : u);
      const int64_t* at = i < 0 ? b.at(k) : a.at(i);
      entries.insert(entries.end(), at, at + a.rank());
    });
    ASSIGN_OR_RETURN(Tensor * values, WriteSparse(ctx, 0, entries, a.rank(), nullptr));
    std::copy(results.begin(), results.end(), values->data<T>());
    return OkStatus();
  }
};
template <typename T>
using SparseMaximum = SparseExtreme<T, true>;
template <typename T>
using SparseMinimum = SparseExtreme<T, false>;

Status CheckOperands(const Tensor& indices, const Tensor& values, const Dims& shape, const Tensor& dense) {
  const auto rank = static_cast<int64_t>(shape.size());
  if (values.dim(0) != indices.dim(0)) {
    return errors::InvalidArgument("Dimensions ", indices.dim(0), " and ", values.dim(0), " are not compatible");
  }
  if (rank != indices.dim(1)) {
    return errors::InvalidArgument("Dimensions ", indices.dim(1), " and ", rank, " are not compatible");
  }
  if (rank != dense.rank()) {
    return errors::InvalidArgument("Two operands have different ranks; received: ", rank, " and ", dense.rank());
  }
  for (int d = 0; d < dense.rank(); ++d) {
    if (shape[d] == dense.dim(d)) continue;
    return errors::InvalidArgument("Dimension ", d, " does not equal (no broadcasting is supported): sparse side ",
                                   shape[d], " vs dense side ", dense.dim(d));
  }
  return OkStatus();
}

template <typename T>
class SparseTensorDenseAdd : public Kernel {
 public:
  explicit SparseTensorDenseAdd(KernelInit&) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor &indices = ctx.input(0), &values = ctx.input(1), &dense = ctx.input(3);
    if (indices.rank() != 2) {
      return errors::InvalidArgument("Input a_indices should be a matrix but received shape: ",
                                     indices.shape().ToString());
    }
    if (values.rank() != 1 || ctx.input(2).rank() != 1) {
      return errors::InvalidArgument("Inputs a_values and a_shape should be vectors but received shapes: ",
                                     values.shape().ToString(), " and ", ctx.input(2).shape().ToString());
    }
    Dims shape;
    RETURN_IF_ERROR(ReadInts(ctx.input(2), &shape));
    RETURN_IF_ERROR(CheckOperands(indices, values, shape, dense));
    Dims places;
    RETURN_IF_ERROR(ReadInts(indices, &places));
    ASSIGN_OR_RETURN(Tensor * out, ctx.ForwardOrAllocate({3}, 0, dense.shape()));
    T* to = out->data<T>();
    if (out->raw() != dense.raw()) ParallelCopy(ctx, dense.data<T>(), dense.num_elements(), to);
    const size_t rank = shape.size();
    for (int64_t i = 0; i < values.dim(0); ++i) {
      int64_t at = 0;
      for (size_t d = 0; d < rank; ++d) {
        const int64_t index = places[static_cast<size_t>(i) * rank + d];
        if (index < 0 || index >= shape[d]) {
          return errors::InvalidArgument("Sparse tensor has an invalid index on dimension ", d, ": a_indices(", i, ",",
                                         d, ") = ", index);
        }
        at = at * shape[d] + index;
      }
      to[at] = Plus(to[at], values.data<T>()[i]);
    }
    return OkStatus();
  }
};

Status SparseAddShape(ShapeContext& c) {
  PartialShape shape;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(2), 1, &shape));
  SetSparseOutput(c, 0, shape.dim(0));
  return OkStatus();
}
Status SparseAddGradShape(ShapeContext& c) {
  for (int o = 0; o < 2; ++o) {
    PartialShape in;
    RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1 + o), 2, &in));
    c.set_output(o, PartialShape({in.dim(0)}));
  }
  return OkStatus();
}
Status SparseExtremeShape(ShapeContext& c) {
  c.set_output(0, PartialShape({-1, -1}));
  c.set_output(1, PartialShape({-1}));
  return OkStatus();
}
Status DenseAddShape(ShapeContext& c) {
  c.set_output(0, c.input(3));
  return OkStatus();
}

Status SparseAddGradient(GradContext& g) {
  Node* node = g.Add("SparseAddGrad", {g.dy(1), g.input(0), g.input(3), g.output(0)});
  if (node == nullptr) return g.status();
  g.set_dx(1, Output(node, 0));
  g.set_dx(4, Output(node, 1));
  return g.status();
}
Status DenseAddGradient(GradContext& g) {
  g.set_dx(1, g.Op("GatherNd", {g.dy(0), g.input(0)}));
  g.set_dx(3, g.dy(0));
  return g.status();
}

using AddTypes = Types<std::complex<float>, std::complex<double>, float, double, int8_t, int16_t, int32_t, int64_t>;

OP("SparseAdd")
    .Input("a_indices: int64")
    .Input("a_values: T")
    .Input("a_shape: int64")
    .Input("b_indices: int64")
    .Input("b_values: T")
    .Input("b_shape: int64")
    .Input("thresh: Treal")
    .Output("sum_indices: int64")
    .Output("sum_values: T")
    .Output("sum_shape: int64")
    .Attr("T: numbertype")
    .Attr("Treal: realnumbertype")
    .Shape(SparseAddShape)
    .Gradient(SparseAddGradient)
    .Cpu<SparseAdd>(AddTypes{})
    .Doc("The sum of two sparse tensors without the entries whose size is below a threshold.");

OP("SparseAddGrad")
    .Input("backprop_val_grad: T")
    .Input("a_indices: int64")
    .Input("b_indices: int64")
    .Input("sum_indices: int64")
    .Output("a_val_grad: T")
    .Output("b_val_grad: T")
    .Attr("T: numbertype")
    .Shape(SparseAddGradShape)
    .NotDifferentiable()
    .Cpu(SparseAddGradCpu)
    .Doc("The gradient of SparseAdd.");

OP("SparseTensorDenseAdd")
    .Input("a_indices: Tindices")
    .Input("a_values: T")
    .Input("a_shape: Tindices")
    .Input("b: T")
    .Output("output: T")
    .Attr("T: numbertype")
    .Attr("Tindices: {int32, int64}")
    .Shape(DenseAddShape)
    .Gradient(DenseAddGradient)
    .Cpu<SparseTensorDenseAdd>(NumberTypes{})
    .Doc("A dense tensor with the entries of a sparse one added.");

#define SPARSE_EXTREME(Name, doc)      \
  OP("SparseSparse" #Name)             \
      .Input("a_indices: int64")       \
      .Input("a_values: T")            \
      .Input("a_shape: int64")         \
      .Input("b_indices: int64")       \
      .Input("b_values: T")            \
      .Input("b_shape: int64")         \
      .Output("output_indices: int64") \
      .Output("output_values: T")      \
      .Attr("T: realnumbertype")       \
      .Shape(SparseExtremeShape)       \
      .Cpu<Sparse##Name>(RealTypes{})  \
      .Doc(doc)

SPARSE_EXTREME(Maximum, "The larger of two sparse tensors, element by element.");
SPARSE_EXTREME(Minimum, "The smaller of two sparse tensors, element by element.");
#undef SPARSE_EXTREME

}  // namespace
}  // namespace millstream
