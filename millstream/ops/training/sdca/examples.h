// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_TRAINING_SDCA_EXAMPLES_H_
#define MILLSTREAM_OPS_TRAINING_SDCA_EXAMPLES_H_

#include <vector>

#include "millstream/framework/kernel.h"
#include "millstream/ops/training/sdca/shrink.h"

namespace millstream::sdca {

// The weights of one group of features: their values before this mini-batch, and what it has added so far.
struct GroupWeights {
  const float* nominal;
  float* delta;
};

// Where the op's lists of inputs and outputs begin. Each list has one entry per group.
struct Layout {
  explicit Layout(KernelInit& init);

  int num_sparse, num_values, num_dense;
  int example_indices, feature_indices, feature_values, dense_features;
  int example_weights, example_labels;
  int sparse_indices, sparse_weights, dense_weights, state;
  int out_state, out_sparse, out_dense;
};

struct Prediction {
  double now = 0;     // with what this mini-batch has added, times the number of partitions
  double before = 0;  // with the nominal weights
};

// A mini-batch with the weights its features have, all indices checked. The tensors of the context stay theirs.
// Groups are few and examples many: an example is a row in each group.
class Examples {
 public:
  // Reads the inputs and allocates the outputs of the weights, as zeros. InvalidArgument if they do not fit together.
  // As in TensorFlow a group's example indices ascend; entries from the first that does not on are left out.
  Status Read(KernelContext& ctx, const Layout& layout);

  int64_t size() const { return size_; }
  int64_t num_features() const { return num_features_; }  // of all examples, for estimates of cost
  float weight(int64_t example) const { return weights_[example]; }
  float label(int64_t example) const { return labels_[example]; }
  double squared_norm(int64_t example) const { return squared_norms_[example]; }

  Prediction Predict(int64_t example, const Shrinkage& shrinkage, float partitions) const;
  // delta += step * features of the example.
  void AddToWeights(int64_t example, double step);

 private:
  struct SparseGroup {
    GroupWeights weights;
    std::vector<int64_t> begins;  // of each example in `slots`, and the end
    std::vector<int64_t> slots;   // positions in the weights
    const float* values;          // null: all are 1
    double value(int64_t i) const { return values == nullptr ? 1.0 : static_cast<double>(values[i]); }
  };
  struct DenseGroup {
    GroupWeights weights;
    const float* rows;
    int64_t width;
  };

  Status ReadSparse(KernelContext& ctx, const Layout& layout, int group);
  Status ReadDense(KernelContext& ctx, const Layout& layout, int group);
  Status FindSlots(const Tensor& example_indices, const Tensor& feature_indices, const Tensor& known,
                   SparseGroup* group) const;
  void ComputeNorms(KernelContext& ctx);

  int64_t size_ = 0;
  int64_t num_features_ = 0;
  const float* weights_ = nullptr;
  const float* labels_ = nullptr;
  std::vector<double> squared_norms_;
  std::vector<SparseGroup> sparse_;
  std::vector<DenseGroup> dense_;
};

}  // namespace millstream::sdca

#endif  // MILLSTREAM_OPS_TRAINING_SDCA_EXAMPLES_H_
