// SPDX-License-Identifier: Apache-2.0
#include "tests/golden_gradients.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "millstream/graph/gradients/gradient.h"
#include "millstream/tensor/tensor_proto.h"
#include "tests/golden_compare.h"

namespace millstream {
namespace {

using Feeds = std::map<std::string, Tensor>;
constexpr int kSampledElements = 12;

StatusOr<Feeds> FeedsOf(const GoldenCase::Step& step) {
  Feeds feeds;
  for (const auto& feed : step.request.feed()) {
    ASSIGN_OR_RETURN(feeds[feed.name()], TensorFromProto(feed.tensor()));
  }
  return feeds;
}

// sum(y * dy) over all outputs, in double.
StatusOr<double> Loss(const proto::SignatureDef& signature, const Feeds& feeds, const GoldenRun& run) {
  std::vector<std::string> ys;
  for (const auto& [dy, y] : signature.outputs()) ys.push_back(y.name());
  std::vector<Tensor> values;
  RETURN_IF_ERROR(run(feeds, ys, &values));
  double loss = 0;
  size_t i = 0;
  for (const auto& [dy, y] : signature.outputs()) {
    const std::vector<double> a = ToDoubles(values[i++]), b = ToDoubles(feeds.at(dy + ":0"));
    for (size_t k = 0; k < a.size(); ++k) loss += a[k] * b[k];
  }
  return loss;
}

// A copy of `x` with element i moved by `by`.
StatusOr<Tensor> Moved(const Tensor& x, int64_t i, double by) {
  ASSIGN_OR_RETURN(Tensor moved, x.Clone());
  if (x.dtype() == DType::kDouble) {
    moved.data<double>()[i] += by;
  } else {
    moved.data<float>()[i] += static_cast<float>(by);
  }
  return moved;
}

StatusOr<double> Difference(const proto::SignatureDef& signature, Feeds feeds, const std::string& x, int64_t i,
                            const GoldenRun& run) {
  const Tensor at = feeds[x];
  const double h = at.dtype() == DType::kDouble ? 1e-5 : 1e-2;
  ASSIGN_OR_RETURN(feeds[x], Moved(at, i, h));
  ASSIGN_OR_RETURN(const double above, Loss(signature, feeds, run));
  ASSIGN_OR_RETURN(feeds[x], Moved(at, i, -h));
  ASSIGN_OR_RETURN(const double below, Loss(signature, feeds, run));
  return (above - below) / (2 * h);
}

Status CheckInput(const proto::SignatureDef& signature, const Feeds& feeds, const std::string& x,
                  const Tensor& gradient, const GoldenRun& run) {
  const bool exact = feeds.at(x).dtype() == DType::kDouble;
  const std::vector<double> want = ToDoubles(gradient);
  const int64_t n = feeds.at(x).num_elements();
  for (int64_t i = 0; i < n; i += std::max<int64_t>(1, n / kSampledElements)) {
    ASSIGN_OR_RETURN(const double got, Difference(signature, feeds, x, i, run));
    const double recorded = want[static_cast<size_t>(i)];
    if (std::abs(got - recorded) > (exact ? 1e-5 : 2e-2) * (1 + std::abs(recorded))) {
      return errors::Internal("d/d", x, "[", i, "]: by differences ", got, ", by gradient ", recorded);
    }
  }
  return OkStatus();
}

}  // namespace

Status AddGoldenGradients(const Scope& scope, const proto::SignatureDef& signature) {
  std::vector<Output> ys, dys, xs;
  for (const auto& [dy, y] : signature.outputs()) {
    ASSIGN_OR_RETURN(ys.emplace_back(), scope.graph()->FindOutput(y.name()));
    ASSIGN_OR_RETURN(dys.emplace_back(), scope.graph()->FindOutput(dy));
  }
  for (const auto& [name, x] : signature.inputs()) {
    ASSIGN_OR_RETURN(xs.emplace_back(), scope.graph()->FindOutput(x.name()));
  }
  std::vector<Grad> grads;
  RETURN_IF_ERROR(AddSymbolicGradients(scope, ys, xs, dys, &grads));
  size_t i = 0;
  for (const auto& [name, x] : signature.inputs()) {
    const Grad& grad = grads[i++];
    if (absl::StartsWith(name, "none_")) {
      if (!grad.IsNone()) return errors::Internal("a gradient of ", x.name(), ", where TensorFlow has none");
      continue;
    }
    if (grad.IsNone()) return errors::Internal("no gradient of ", x.name());
    scope.WithOpName(name).Op("Identity", {DenseGrad(scope, grad)});
  }
  return scope.status();
}

::testing::AssertionResult SameAsDifferences(const GoldenCase& c, const GoldenCase::Step& step, const GoldenRun& run) {
  const proto::SignatureDef& signature = c.meta.signature_def().at("gradient");
  const auto feeds = FeedsOf(step);
  if (!feeds.ok()) return ::testing::AssertionFailure() << feeds.status();
  for (const auto& named : step.expected.tensor()) {
    const std::string& x = signature.inputs().at(std::string(absl::StripSuffix(named.name(), ":0"))).name();
    const auto gradient = TensorFromProto(named.tensor());
    if (!gradient.ok()) return ::testing::AssertionFailure() << gradient.status();
    if (gradient->dtype() != DType::kDouble && gradient->dtype() != DType::kFloat) continue;
    if (Status s = CheckInput(signature, *feeds, x, *gradient, run); !s.ok()) return ::testing::AssertionFailure() << s;
  }
  return ::testing::AssertionSuccess();
}

}  // namespace millstream
