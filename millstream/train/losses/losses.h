// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_LOSSES_LOSSES_H_
#define MILLSTREAM_TRAIN_LOSSES_LOSSES_H_

#include <string>
#include <vector>

#include "millstream/graph/scope.h"

namespace millstream::losses {

// Losses as tf.losses has them: each element times its weight, then reduced to one number, which goes to the collection
// "losses". InvalidArgument, in the scope's status, where shapes are known not to fit.

enum class Reduction {
  kNone,  // an element for each value
  kSum,
  kMean,                 // the sum over the sum of weights
  kSumOverBatchSize,     // the sum over the number of elements
  kSumByNonzeroWeights,  // the sum over the number of elements whose weight is not 0
};

struct Options {
  Output weights = {};  // none: 1. A scalar, or of the rank of the values with sizes that are 1 or theirs
  Reduction reduction = Reduction::kSumByNonzeroWeights;
  std::string collection = "losses";  // "": none
  std::string name = {};              // of the name scope; none: the loss's own
};

Output AbsoluteDifference(const Scope& scope, Output labels, Output predictions, const Options& options = {});
Output MeanSquaredError(const Scope& scope, Output labels, Output predictions, const Options& options = {});
// 1 minus the product along `axis` of vectors that are normalized already.
Output CosineDistance(const Scope& scope, Output labels, Output predictions, int axis, const Options& options = {});
// Labels are 0 or 1.
Output HingeLoss(const Scope& scope, Output labels, Output logits, const Options& options = {});
// Square of errors up to `delta`, linear beyond.
Output HuberLoss(const Scope& scope, Output labels, Output predictions, const Options& options = {}, double delta = 1);
Output LogLoss(const Scope& scope, Output labels, Output predictions, const Options& options = {},
               double epsilon = 1e-7);
// Between the differences of all pairs of elements in a row. Has no reduction.
Output MeanPairwiseSquaredError(const Scope& scope, Output labels, Output predictions, const Options& options = {});
// Labels of the shape of the logits, from 0 to 1. Smoothing moves them towards 0.5, or towards equal classes.
Output SigmoidCrossEntropy(const Scope& scope, Output labels, Output logits, const Options& options = {},
                           double label_smoothing = 0);
Output SoftmaxCrossEntropy(const Scope& scope, Output onehot_labels, Output logits, const Options& options = {},
                           double label_smoothing = 0);
// Labels are numbers of classes.
Output SparseSoftmaxCrossEntropy(const Scope& scope, Output labels, Output logits, const Options& options = {});
// Any values.
Output ComputeWeightedLoss(const Scope& scope, Output losses, const Options& options = {});

void AddLoss(const Scope& scope, Output loss, const std::string& collection = "losses");
// Those whose names begin with `prefix`.
std::vector<Output> GetLosses(const Scope& scope, absl::string_view prefix = "",
                              const std::string& collection = "losses");
// What regularizers of variables gave (VariableOptions::regularizer).
std::vector<Output> GetRegularizationLosses(const Scope& scope, absl::string_view prefix = "");
// Their sum; 0 if there are none.
Output GetRegularizationLoss(const Scope& scope, absl::string_view prefix = "",
                             absl::string_view name = "total_regularization_loss");
// The sum of all losses. InvalidArgument if there are none.
Output GetTotalLoss(const Scope& scope, bool add_regularization_losses = true, absl::string_view name = "total_loss",
                    absl::string_view prefix = "");

}  // namespace millstream::losses

#endif  // MILLSTREAM_TRAIN_LOSSES_LOSSES_H_
