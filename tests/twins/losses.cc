// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/losses/losses.h"

#include "tests/twins/program.h"

namespace millstream::twins {
namespace {

using losses::Options;
using losses::Reduction;
using Loss = std::function<void(const Scope& s, Output labels, Output predictions, const Options& options)>;

Output Labels(const Scope& s) { return Placeholder(s, "labels", PartialShape({-1, 3})); }
Output Predictions(const Scope& s) { return Placeholder(s, "predictions", PartialShape({-1, 3})); }
Output Weights(const Scope& s) { return Placeholder(s, "weights", PartialShape({-1, 1})); }

void Plain(const Scope& s, const Loss& loss) {
  const Output labels = Labels(s);
  loss(s, labels, Predictions(s), {});
}

void Weighted(const Scope& s, const Loss& loss) {
  const Output labels = Labels(s), predictions = Predictions(s);
  loss(s, labels, predictions, {.weights = Weights(s)});
}

void SparseSoftmax(const Scope& s) {
  const Output labels = Placeholder(s, "labels", PartialShape({-1}), DType::kInt64);
  const Output logits = Placeholder(s, "logits", PartialShape({-1, 5}));
  losses::SparseSoftmaxCrossEntropy(s, labels, logits);
  losses::SparseSoftmaxCrossEntropy(s, labels, logits, {.weights = Placeholder(s, "weights", PartialShape({-1}))});
}

void Reductions(const Scope& s) {
  for (Reduction reduction : {Reduction::kNone, Reduction::kSum, Reduction::kMean, Reduction::kSumOverBatchSize}) {
    const Output labels = Labels(s), predictions = Predictions(s);
    losses::MeanSquaredError(s, labels, predictions, {.weights = Weights(s), .reduction = reduction});
  }
}

void Total(const Scope& s) {
  const Output labels = Labels(s), predictions = Predictions(s);
  losses::AbsoluteDifference(s, labels, predictions);
  losses::HuberLoss(s, labels, predictions, {}, 2.0);
  losses::GetTotalLoss(s);
}

std::vector<std::pair<std::string, Loss>> Losses() {
  return {
      {"absolute_difference", losses::AbsoluteDifference},
      {"mean_squared_error", losses::MeanSquaredError},
      {"cosine_distance",
       [](const Scope& s, Output y, Output p, const Options& o) { losses::CosineDistance(s, y, p, 1, o); }},
      {"hinge_loss", losses::HingeLoss},
      {"huber_loss", [](const Scope& s, Output y, Output p, const Options& o) { losses::HuberLoss(s, y, p, o); }},
      {"log_loss", [](const Scope& s, Output y, Output p, const Options& o) { losses::LogLoss(s, y, p, o); }},
      {"mean_pairwise_squared_error", losses::MeanPairwiseSquaredError},
      {"sigmoid_cross_entropy",
       [](const Scope& s, Output y, Output p, const Options& o) { losses::SigmoidCrossEntropy(s, y, p, o); }},
      {"sigmoid_cross_entropy.smooth",
       [](const Scope& s, Output y, Output p, const Options& o) { losses::SigmoidCrossEntropy(s, y, p, o, 0.1); }},
  };
}

}  // namespace

Programs LossPrograms() {
  const auto softmax = [](double smoothing) {
    return [smoothing](const Scope& s) {
      Plain(s, [smoothing](const Scope& in, Output y, Output p, const Options& o) {
        losses::SoftmaxCrossEntropy(in, y, p, o, smoothing);
      });
    };
  };
  Programs programs = {
      {"softmax_cross_entropy", softmax(0)},
      {"softmax_cross_entropy.smooth", softmax(0.1)},
      {"sparse_softmax_cross_entropy", SparseSoftmax},
      {"reductions", Reductions},
      {"total", Total},
  };
  for (const auto& [name, loss] : Losses()) {
    programs.push_back({name, [loss = loss](const Scope& s) { Plain(s, loss); }});
    programs.push_back({name + ".weighted", [loss = loss](const Scope& s) { Weighted(s, loss); }});
  }
  return programs;
}

}  // namespace millstream::twins
