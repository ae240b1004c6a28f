// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_TRAINING_UPDATE_OP_H_
#define MILLSTREAM_OPS_TRAINING_UPDATE_OP_H_

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "millstream/framework/op.h"
#include "millstream/ops/resources/row_indices.h"
#include "millstream/ops/training/locked_variables.h"

namespace millstream {

// A scalar input of an update, found by its name. An op without an input of
// that name keeps the option's default.
class ScalarInput {
 public:
  ScalarInput(KernelInit& init, const char* name) : index_(InputIndex(init.op(), name)), name_(name) {}

  // InvalidArgument unless it is a scalar. `Option` is the type the arithmetic
  // happens in.
  template <typename T, typename Option>
  Status Read(const KernelContext& ctx, Option* option) const {
    if (index_ < 0) return OkStatus();
    const Tensor& t = ctx.input(index_);
    if (t.rank() != 0) return errors::InvalidArgument(name_, " is not a scalar: ", t.shape().ToString());
    *option = Option(t.scalar<T>());
    return OkStatus();
  }

  // -1 if there is none.
  static int InputIndex(const OpDef& op, absl::string_view name);

 private:
  const int index_;
  const char* const name_;
};

// Where the inputs of an update are.
struct UpdateInputs {
  explicit UpdateInputs(const OpDef& op);
  int variables;  // the first ones: the variable and its slots
  int grad;
  int indices;  // -1 in dense updates
};

// A rule is a class template over the element type:
//   Rule(KernelInit&)                                         finds scalars and
//   attributes StatusOr<Options> Read(const KernelContext&) const        the
//   hyperparameters of this step static void Apply(const Options&, const T*
//   grad, const std::array<T*, 4>& vars, int64_t n, ThreadPool*)
// The kernels below run it under the locks of all variables, over whole
// variables or over rows.
template <typename T, typename Rule>
class DenseUpdate final : public Kernel {
 public:
  explicit DenseUpdate(KernelInit& init) : inputs_(init.op()), rule_(init) {}

  Status Compute(KernelContext& ctx) override {
    LockedVariables variables;
    RETURN_IF_ERROR(variables.Lock(ctx, inputs_.variables, kDTypeOf<T>));
    const Tensor& grad = ctx.input(inputs_.grad);
    RETURN_IF_ERROR(variables.CheckDense(ctx, inputs_.grad));
    ASSIGN_OR_RETURN(const auto options, rule_.Read(ctx));
    Data data;
    OldData from;
    RETURN_IF_ERROR(variables.DataToRewrite(&data, &from));
    if (from == OldData{}) {
      Rule::Apply(options, grad.data<T>(), data, grad.num_elements(), ctx.pool());
    } else {
      ctx.ParallelFor(grad.num_elements(), kNanosecondsPerElement,
                      [&](int64_t begin, int64_t end) { Rewrite(options, grad.data<T>(), data, from, begin, end); });
    }
    if (ctx.num_outputs() > 0) ctx.set_output_ref(0, ctx.input_ref(0));
    return OkStatus();
  }

 private:
  using Data = std::array<T*, LockedVariables::kMax>;
  using OldData = std::array<const T*, LockedVariables::kMax>;
  static constexpr double kNanosecondsPerElement = 1.5;
  static constexpr int64_t kPiece = 4096 / sizeof(T);

  // Brings old values over piece by piece, each of which is in the nearest cache when it is updated.
  template <typename Options>
  static void Rewrite(const Options& options, const T* grad, const Data& data, const OldData& from, int64_t begin,
                      int64_t end) {
    for (int64_t at = begin; at < end; at += kPiece) {
      const int64_t n = std::min(kPiece, end - at);
      Data piece{};
      for (size_t i = 0; i < data.size(); ++i) {
        if (data[i] != nullptr) piece[i] = data[i] + at;
        if (from[i] != nullptr) std::copy_n(from[i] + at, n, piece[i]);
      }
      Rule::Apply(options, grad + at, piece, n, nullptr);
    }
  }

  const UpdateInputs inputs_;
  const Rule rule_;
};

template <typename T, typename Rule>
class SparseUpdate final : public Kernel {
 public:
  explicit SparseUpdate(KernelInit& init) : inputs_(init.op()), rule_(init) {}

  Status Compute(KernelContext& ctx) override {
    LockedVariables variables;
    RETURN_IF_ERROR(variables.Lock(ctx, inputs_.variables, kDTypeOf<T>));
    RETURN_IF_ERROR(variables.CheckSparse(ctx, inputs_.grad, inputs_.indices));
    const Tensor& grad = ctx.input(inputs_.grad);
    const RowIndices indices(ctx.input(inputs_.indices));
    const int64_t num_rows = variables.shape().dim(0);
    RETURN_IF_ERROR(indices.Check(num_rows));
    ASSIGN_OR_RETURN(const auto options, rule_.Read(ctx));
    std::array<T*, LockedVariables::kMax> data;
    RETURN_IF_ERROR(variables.MutableData(&data));
    const int64_t n = indices.size(), row = variables.shape().Product(1, variables.shape().rank());
    if (n > 0 && row > 0) {
      // Each thread takes a range of the variable's rows, so that repeated
      // indices add up in order.
      const double cost =
          row < 16 ? 0 : 1.5 * static_cast<double>(row) * static_cast<double>(n) / static_cast<double>(num_rows);
      ctx.ParallelFor(num_rows, cost, [&](int64_t begin, int64_t end) {
        for (int64_t i = 0; i < n; ++i) {
          const int64_t at = indices[i];
          if (at < begin || at >= end) continue;
          std::array<T*, LockedVariables::kMax> rows = data;
          for (int v = 0; v < inputs_.variables; ++v) rows[v] += at * row;
          Rule::Apply(options, grad.data<T>() + i * row, rows, row, nullptr);
        }
      });
    }
    if (ctx.num_outputs() > 0) ctx.set_output_ref(0, ctx.input_ref(0));
    return OkStatus();
  }

 private:
  const UpdateInputs inputs_;
  const Rule rule_;
};

// The ops of one optimizer: Apply<name>, ResourceApply<name>,
// SparseApply<name>, ResourceSparseApply<name>.
struct UpdateSpec {
  std::string name;
  std::vector<std::string> variables;  // "var" and its slots
  // Scalars, the gradient and "indices" (which only the sparse forms have), in
  // order; all of type T but "global_step".
  std::vector<std::string> inputs;
  std::vector<std::string> attrs = {};  // beyond T, Tindices and use_locking
  std::string doc;
  // The dense forms call "grad" so.
  std::string dense_grad = "grad";
};

enum class UpdateForm { kDense, kResourceDense, kSparse, kResourceSparse };

// Everything but the kernels.
OpBuilder DefineUpdate(const UpdateSpec& spec, UpdateForm form);

// A static of this type defines ops with their kernels: the dense forms, then
// the sparse ones.
template <template <typename> class Rule>
class UpdateOps {
 public:
  template <typename... Ts>
  UpdateOps& Dense(const UpdateSpec& spec, Types<Ts...> types) {
    DefineUpdate(spec, UpdateForm::kDense).template Cpu<DenseKernel>(types);
    return ResourceDense(spec, types);
  }
  template <typename... Ts>
  UpdateOps& ResourceDense(const UpdateSpec& spec, Types<Ts...> types) {
    DefineUpdate(spec, UpdateForm::kResourceDense).template Cpu<DenseKernel>(types);
    return *this;
  }
  template <typename... Ts>
  UpdateOps& Sparse(const UpdateSpec& spec, Types<Ts...> types) {
    DefineUpdate(spec, UpdateForm::kSparse).template Cpu<SparseKernel>(types);
    return ResourceSparse(spec, types);
  }
  template <typename... Ts>
  UpdateOps& ResourceSparse(const UpdateSpec& spec, Types<Ts...> types) {
    DefineUpdate(spec, UpdateForm::kResourceSparse).template Cpu<SparseKernel>(types);
    return *this;
  }

 private:
  template <typename T>
  using DenseKernel = DenseUpdate<T, Rule<T>>;
  template <typename T>
  using SparseKernel = SparseUpdate<T, Rule<T>>;
};

using FloatAndComplexTypes = Join<FloatTypes, ComplexTypes>;

}  // namespace millstream

#endif  // MILLSTREAM_OPS_TRAINING_UPDATE_OP_H_
