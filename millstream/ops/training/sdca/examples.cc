// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/training/sdca/examples.h"

#include <algorithm>
#include <array>
#include <limits>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "millstream/base/memory_budget.h"

namespace millstream::sdca {
namespace {

// Sums of f(i) over [0, n), in several lanes so that the loop can be vectorised.
template <typename F>
double SumOver(int64_t n, F f) {
  return simd::Run<double>([=] {
    constexpr int kLanes = 8;
    std::array<double, kLanes> lanes = {};
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      for (int k = 0; k < kLanes; ++k) lanes[k] += f(i + k);
    }
    double sum = 0;
    for (; i < n; ++i) sum += f(i);
    for (const double lane : lanes) sum += lane;
    return sum;
  });
}

// Output `to`, as large as the weights of input `from`, holds what is added to them.
StatusOr<GroupWeights> MakeWeights(KernelContext& ctx, int from, int to) {
  const Tensor& nominal = ctx.input(from);
  ASSIGN_OR_RETURN(Tensor * delta, ctx.AllocateOutput(to, nominal.shape()));
  std::fill_n(delta->data<float>(), delta->num_elements(), 0.0f);
  return GroupWeights{nominal.data<float>(), delta->data<float>()};
}

}  // namespace

Layout::Layout(KernelInit& init) {
  int end = 0;
  const auto size_of = [&](const char* name, int* begin) {
    init.InputRange(name, begin, &end);
    return end - *begin;
  };
  num_sparse = size_of("sparse_example_indices", &example_indices);
  size_of("sparse_feature_indices", &feature_indices);
  num_values = size_of("sparse_feature_values", &feature_values);
  num_dense = size_of("dense_features", &dense_features);
  size_of("example_weights", &example_weights);
  size_of("example_labels", &example_labels);
  size_of("sparse_indices", &sparse_indices);
  size_of("sparse_weights", &sparse_weights);
  size_of("dense_weights", &dense_weights);
  size_of("example_state_data", &state);
  init.OutputRange("out_example_state_data", &out_state, &end);
  init.OutputRange("out_delta_sparse_weights", &out_sparse, &end);
  init.OutputRange("out_delta_dense_weights", &out_dense, &end);
}

Status Examples::Read(KernelContext& ctx, const Layout& layout) {
  const Tensor &weights = ctx.input(layout.example_weights), &labels = ctx.input(layout.example_labels);
  size_ = weights.num_elements();
  if (size_ >= std::numeric_limits<int>::max()) {
    return errors::InvalidArgument("Too many examples in a mini-batch: ", size_);
  }
  if (labels.num_elements() != size_) {
    return errors::InvalidArgument("Expected ", size_, " example labels but got ", labels.num_elements());
  }
  weights_ = weights.data<float>();
  labels_ = labels.data<float>();
  sparse_.reserve(static_cast<size_t>(layout.num_sparse));
  for (int i = 0; i < layout.num_sparse; ++i) RETURN_IF_ERROR(ReadSparse(ctx, layout, i));
  dense_.reserve(static_cast<size_t>(layout.num_dense));
  for (int i = 0; i < layout.num_dense; ++i) RETURN_IF_ERROR(ReadDense(ctx, layout, i));
  ComputeNorms(ctx);
  return OkStatus();
}

Status Examples::ReadSparse(KernelContext& ctx, const Layout& layout, int group) {
  const Tensor& example_indices = ctx.input(layout.example_indices + group);
  const Tensor& feature_indices = ctx.input(layout.feature_indices + group);
  const Tensor& known = ctx.input(layout.sparse_indices + group);
  const int64_t count = example_indices.num_elements();
  if (feature_indices.num_elements() != count) {
    return errors::InvalidArgument("Found mismatched example_indices and feature_indices: ",
                                   example_indices.shape().ToString(), " vs ", feature_indices.shape().ToString());
  }
  SparseGroup read = {};
  if (group < layout.num_values) {
    const Tensor& values = ctx.input(layout.feature_values + group);
    if (values.num_elements() != count) {
      return errors::InvalidArgument("sparse_feature_values[", group, "] has ", values.num_elements(), " values for ",
                                     count, " feature indices");
    }
    read.values = values.data<float>();
  }
  if (known.num_elements() > ctx.input(layout.sparse_weights + group).num_elements()) {
    return errors::InvalidArgument("sparse_indices[", group,
                                   "] has more elements than its weights: ", known.num_elements(), " vs ",
                                   ctx.input(layout.sparse_weights + group).num_elements());
  }
  ASSIGN_OR_RETURN(read.weights, MakeWeights(ctx, layout.sparse_weights + group, layout.out_sparse + group));
  RETURN_IF_ERROR(FindSlots(example_indices, feature_indices, known, &read));
  num_features_ += static_cast<int64_t>(read.slots.size());
  sparse_.push_back(std::move(read));
  return OkStatus();
}

Status Examples::FindSlots(const Tensor& example_indices, const Tensor& feature_indices, const Tensor& known,
                           SparseGroup* group) const {
  const AllocationsMayFail never(false);  // a hash map that fails to grow is broken; these are as large as the inputs
  absl::flat_hash_map<int64_t, int64_t> slot_of;
  slot_of.reserve(static_cast<size_t>(known.num_elements()));
  for (int64_t i = 0; i < known.num_elements(); ++i) slot_of[known.data<int64_t>()[i]] = i;
  const int64_t* examples = example_indices.data<int64_t>();
  const int64_t* features = feature_indices.data<int64_t>();
  const int64_t count = example_indices.num_elements();
  group->begins.resize(static_cast<size_t>(size_) + 1);
  group->slots.reserve(static_cast<size_t>(count));
  absl::flat_hash_set<int64_t> in_example;
  int64_t i = 0;
  for (int64_t example = 0; example < size_; ++example) {
    in_example.clear();
    for (; i < count && examples[i] == example; ++i) {
      const auto found = slot_of.find(features[i]);
      if (found == slot_of.end()) {
        return errors::InvalidArgument("Found sparse feature indices out of valid range: ", features[i]);
      }
      if (!in_example.insert(features[i]).second) return errors::InvalidArgument("Duplicate index in sparse vector.");
      group->slots.push_back(found->second);
    }
    group->begins[static_cast<size_t>(example) + 1] = i;
  }
  return OkStatus();
}

Status Examples::ReadDense(KernelContext& ctx, const Layout& layout, int group) {
  const Tensor& rows = ctx.input(layout.dense_features + group);
  const Tensor& weights = ctx.input(layout.dense_weights + group);
  if (rows.rank() != 2) {
    return errors::InvalidArgument("Dense features at index ", group, " must be rank 2 but is rank ", rows.rank());
  }
  const int64_t width = rows.dim(1);
  if (width == 0 || width > weights.num_elements()) {
    return errors::InvalidArgument("More dense features than we have parameters for: ", width);
  }
  if (width < weights.num_elements() || rows.dim(0) < size_) {
    return errors::InvalidArgument("Dense features at index ", group, " must have ", size_, " rows and ",
                                   weights.num_elements(), " columns, got ", rows.shape().ToString());
  }
  DenseGroup read = {{}, rows.data<float>(), width};
  ASSIGN_OR_RETURN(read.weights, MakeWeights(ctx, layout.dense_weights + group, layout.out_dense + group));
  num_features_ += size_ * width;
  dense_.push_back(read);
  return OkStatus();
}

void Examples::ComputeNorms(KernelContext& ctx) {
  squared_norms_.resize(static_cast<size_t>(size_));
  const double cost = size_ == 0 ? 0 : static_cast<double>(num_features_) / static_cast<double>(size_);
  ctx.ParallelFor(size_, cost, [&](int64_t begin, int64_t end) {
    for (int64_t e = begin; e < end; ++e) {
      double sum = 0;
      for (const SparseGroup& g : sparse_) {
        for (int64_t i = g.begins[e]; i < g.begins[e + 1]; ++i) sum += g.value(i) * g.value(i);
      }
      for (const DenseGroup& g : dense_) {
        const float* x = g.rows + e * g.width;
        sum += SumOver(g.width, [=](int64_t i) { return static_cast<double>(x[i]) * x[i]; });
      }
      squared_norms_[e] = sum;
    }
  });
}

Prediction Examples::Predict(int64_t example, const Shrinkage& shrinkage, float partitions) const {
  Prediction sum;
  for (const SparseGroup& g : sparse_) {
    for (int64_t i = g.begins[example]; i < g.begins[example + 1]; ++i) {
      const float nominal = g.weights.nominal[g.slots[i]];
      sum.before += g.value(i) * shrinkage(nominal);
      sum.now += g.value(i) * shrinkage(nominal + g.weights.delta[g.slots[i]] * partitions);
    }
  }
  for (const DenseGroup& g : dense_) {
    const float *x = g.rows + example * g.width, *nominal = g.weights.nominal, *delta = g.weights.delta;
    sum.before += SumOver(g.width, [=](int64_t i) { return static_cast<double>(x[i]) * shrinkage(nominal[i]); });
    sum.now += SumOver(
        g.width, [=](int64_t i) { return static_cast<double>(x[i]) * shrinkage(nominal[i] + delta[i] * partitions); });
  }
  return sum;
}

void Examples::AddToWeights(int64_t example, double step) {
  for (SparseGroup& g : sparse_) {
    for (int64_t i = g.begins[example]; i < g.begins[example + 1]; ++i) {
      float& delta = g.weights.delta[g.slots[i]];
      delta = static_cast<float>(delta + g.value(i) * step);
    }
  }
  for (DenseGroup& g : dense_) {
    const float* x = g.rows + example * g.width;
    float* delta = g.weights.delta;
    simd::For<float>(0, g.width, [=, step = static_cast<float>(step)](int64_t i) { delta[i] += x[i] * step; });
  }
}

}  // namespace millstream::sdca
