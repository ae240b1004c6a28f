// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "millstream/framework/op.h"
#include "millstream/ops/resources/row_indices.h"
#include "millstream/ops/resources/variable_input.h"
#include "millstream/ops/state/scatter_shapes.h"
#include "millstream/tensor/dispatch.h"

namespace millstream {
namespace {

enum class Update { kAdd, kSub, kMul, kDiv, kMin, kMax };

template <typename T, Update kOp>
inline T Combine(T a, T b) {
  using W = Compute<T>;
  if constexpr (kOp == Update::kMin) return W(b) < W(a) ? b : a;
  if constexpr (kOp == Update::kMax) return W(a) < W(b) ? b : a;
  if constexpr (std::is_integral_v<T>) {
    // Unsigned arithmetic of at least 32 bits wraps around where the signed one
    // would be undefined.
    using U = std::common_type_t<unsigned, std::make_unsigned_t<T>>;
    if constexpr (kOp == Update::kAdd) return static_cast<T>(U(a) + U(b));
    if constexpr (kOp == Update::kSub) return static_cast<T>(U(a) - U(b));
    if constexpr (kOp == Update::kMul) return static_cast<T>(U(a) * U(b));
    if constexpr (kOp == Update::kDiv && std::is_signed_v<T>)
      return b == T(-1) ? static_cast<T>(U(0) - U(a)) : static_cast<T>(a / b);
    if constexpr (kOp == Update::kDiv) return static_cast<T>(a / b);
  } else {
    if constexpr (kOp == Update::kAdd) return T(W(a) + W(b));
    if constexpr (kOp == Update::kSub) return T(W(a) - W(b));
    if constexpr (kOp == Update::kMul) return T(W(a) * W(b));
    if constexpr (kOp == Update::kDiv) return T(W(a) / W(b));
  }
}

// Inputs of a scatter, after the checks that all of them share: rows of `row`
// elements each.
struct Rows {
  RowIndices indices;
  const Tensor& updates;
  int64_t row;
  bool scalar;  // one update for all elements
};

StatusOr<Rows> CheckScatter(const Tensor& var, const Tensor& indices, const Tensor& updates) {
  RETURN_IF_ERROR(CheckScatterShapes(var.shape(), indices.shape(), updates.shape()));
  RowIndices rows(indices);
  RETURN_IF_ERROR(rows.Check(var.dim(0)));
  return Rows{rows, updates, var.shape().Product(1, var.rank()), updates.rank() == 0};
}

// Calls body(i, row) for every index, in order for each row. Each thread takes
// a range of the variable's rows, so that sums do not depend on timing and
// nobody writes where another does.
template <typename Body>
void ForEachRow(KernelContext& ctx, const Rows& rows, int64_t num_rows, double ns_per_row, Body body) {
  const int64_t n = rows.indices.size();
  if (n == 0) return;
  const double cost = ns_per_row * static_cast<double>(n) / static_cast<double>(num_rows);
  ctx.ParallelFor(num_rows, ns_per_row < 32 ? 0 : cost, [&](int64_t begin, int64_t end) {
    for (int64_t i = 0; i < n; ++i) {
      const int64_t row = rows.indices[i];
      if (row >= begin && row < end) body(i, row);
    }
  });
}

template <typename T, Update kOp>
class ScatterOp final : public Kernel {
 public:
  explicit ScatterOp(KernelInit&) {}

  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(Ref<Variable> variable, VariableInput(ctx, 0, kDTypeOf<T>));
    {
      MutexLock lock(variable->mu());
      if (!variable->tensor().IsInitialized()) return MissingVariable(ctx, 0);
      ASSIGN_OR_RETURN(const Rows rows, CheckScatter(variable->tensor(), ctx.input(1), ctx.input(2)));
      if constexpr (kOp == Update::kDiv && std::is_integral_v<T>) {
        const auto updates = rows.updates.flat<T>();
        if (std::find(updates.begin(), updates.end(), T(0)) != updates.end()) {
          return errors::InvalidArgument("updates must not contain 0");
        }
      }
      ASSIGN_OR_RETURN(Tensor * var, variable->MutableTensor());
      Apply(ctx, rows, var);
    }
    ForwardRef(ctx);
    return OkStatus();
  }

 private:
  static void Apply(KernelContext& ctx, const Rows& rows, Tensor* var) {
    T* const to = var->data<T>();
    const T* const from = rows.updates.data<T>();
    ForEachRow(ctx, rows, var->dim(0), 0.5 * static_cast<double>(rows.row), [&](int64_t i, int64_t row) {
      T* t = to + row * rows.row;
      if (rows.scalar) {
        for (int64_t k = 0; k < rows.row; ++k) t[k] = Combine<T, kOp>(t[k], *from);
      } else {
        const T* f = from + i * rows.row;
        for (int64_t k = 0; k < rows.row; ++k) t[k] = Combine<T, kOp>(t[k], f[k]);
      }
    });
  }
};
template <typename T>
using ScatterAdd = ScatterOp<T, Update::kAdd>;
template <typename T>
using ScatterSub = ScatterOp<T, Update::kSub>;
template <typename T>
using ScatterMul = ScatterOp<T, Update::kMul>;
template <typename T>
using ScatterDiv = ScatterOp<T, Update::kDiv>;
template <typename T>
using ScatterMin = ScatterOp<T, Update::kMin>;
template <typename T>
using ScatterMax = ScatterOp<T, Update::kMax>;

// Only moves elements, so one kernel serves all types.
class ScatterUpdate final : public Kernel {
 public:
  explicit ScatterUpdate(KernelInit& init) : dtype_(init.Attr<DType>(init.HasAttr("T") ? "T" : "dtype")) {}

  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(Ref<Variable> variable, VariableInput(ctx, 0, dtype_));
    {
      MutexLock lock(variable->mu());
      if (!variable->tensor().IsInitialized()) return MissingVariable(ctx, 0);
      ASSIGN_OR_RETURN(const Rows rows, CheckScatter(variable->tensor(), ctx.input(1), ctx.input(2)));
      ASSIGN_OR_RETURN(Tensor * var, variable->MutableTensor());
      if (IsPlainBytes(dtype_)) {
        CopyBytes(ctx, rows, var);
      } else {
        DispatchObjectType(dtype_, [&](auto type) { CopyObjects<typename decltype(type)::type>(rows, var); });
      }
    }
    ForwardRef(ctx);
    return OkStatus();
  }

 private:
  void CopyBytes(KernelContext& ctx, const Rows& rows, Tensor* var) const {
    const size_t size = DTypeSize(dtype_), bytes = size * static_cast<size_t>(rows.row);
    char* const to = static_cast<char*>(var->raw());
    const char* const from = static_cast<const char*>(rows.updates.raw());
    ForEachRow(ctx, rows, var->dim(0), 0.1 * static_cast<double>(bytes), [&](int64_t i, int64_t row) {
      char* t = to + static_cast<size_t>(row) * bytes;
      if (!rows.scalar) {
        std::memcpy(t, from + static_cast<size_t>(i) * bytes, bytes);
      } else {
        for (size_t k = 0; k < bytes; k += size) std::memcpy(t + k, from, size);
      }
    });
  }

  template <typename T>
  static void CopyObjects(const Rows& rows, Tensor* var) {
    const T* const from = rows.updates.data<T>();
    for (int64_t i = 0; i < rows.indices.size(); ++i) {
      T* t = var->data<T>() + rows.indices[i] * rows.row;
      for (int64_t k = 0; k < rows.row; ++k) t[k] = rows.scalar ? *from : from[i * rows.row + k];
    }
  }

  const DType dtype_;
};

// `var` is the variable's shape; updates are a scalar or indices.shape +
// var.shape[1:].
Status CheckScatterShape(const ShapeContext& c, const PartialShape& var) {
  const PartialShape& updates = c.input(2);
  if (!updates.rank_known() || updates.rank() == 0 || !var.rank_known() || var.rank() == 0) return OkStatus();
  const PartialShape expected = c.input(1).Concatenate(var.Slice(1, var.rank()));
  return updates.MergeWith(expected).status();
}

Status ScatterShape(ShapeContext& c) {
  PartialShape var;
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(0), 1, &var));
  RETURN_IF_ERROR(CheckScatterShape(c, var));
  c.set_output(0, var);
  return OkStatus();
}

Status ResourceScatterShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape var, VariableShapeOf(c, 0, "dtype"));
  return CheckScatterShape(c, var);
}

OP("ScatterUpdate")
    .Updates()
    .Input("ref: Ref(T)")
    .Input("indices: Tindices")
    .Input("updates: T")
    .Output("output_ref: Ref(T)")
    .Attr("T: type")
    .Attr("Tindices: {int32, int64}")
    .Attr("use_locking: bool = true")
    .Shape(ScatterShape)
    .Cpu<ScatterUpdate>()
    .Doc("Replaces rows of a variable.");

OP("ResourceScatterUpdate")
    .Updates()
    .Input("resource: resource")
    .Input("indices: Tindices")
    .Input("updates: dtype")
    .Attr("dtype: type")
    .Attr("Tindices: {int32, int64}")
    .Stateful()
    .Shape(ResourceScatterShape)
    .Cpu<ScatterUpdate>()
    .Doc("Replaces rows of the variable behind a handle.");

#define SCATTER_OPS(Name, type_spec, types, doc) \
  OP("Scatter" #Name)                            \
      .Updates()                                 \
      .Input("ref: Ref(T)")                      \
      .Input("indices: Tindices")                \
      .Input("updates: T")                       \
      .Output("output_ref: Ref(T)")              \
      .Attr("T: " type_spec)                     \
      .Attr("Tindices: {int32, int64}")          \
      .Attr("use_locking: bool = false")         \
      .Shape(ScatterShape)                       \
      .NotDifferentiable()                       \
      .Cpu<Scatter##Name>(types{})               \
      .Doc(doc " of a variable.");               \
  OP("ResourceScatter" #Name)                    \
      .Updates()                                 \
      .Input("resource: resource")               \
      .Input("indices: Tindices")                \
      .Input("updates: dtype")                   \
      .Attr("dtype: numbertype")                 \
      .Attr("Tindices: {int32, int64}")          \
      .Stateful()                                \
      .Shape(ResourceScatterShape)               \
      .Cpu<Scatter##Name>(types{}, "dtype")      \
      .Doc(doc " of the variable behind a handle.")

SCATTER_OPS(Add, "numbertype", NumberTypes, "Adds to rows");
SCATTER_OPS(Sub, "numbertype", NumberTypes, "Subtracts from rows");
SCATTER_OPS(Mul, "numbertype", NumberTypes, "Multiplies rows");
SCATTER_OPS(Div, "numbertype", NumberTypes, "Divides rows");
SCATTER_OPS(Min, "{half, bfloat16, float, double, int32, int64}", RealTypes, "Lowers rows");
SCATTER_OPS(Max, "{half, bfloat16, float, double, int32, int64}", RealTypes, "Raises rows");
#undef SCATTER_OPS

}  // namespace
}  // namespace millstream
