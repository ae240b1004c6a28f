// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/testing/gradient_check.h"

#include <cmath>
#include <numeric>

#include "gtest/gtest.h"
#include "millstream/graph/import/export.h"
#include "millstream/proto/graph.pb.h"
#include "millstream/runtime/session.h"

namespace millstream {
namespace {

class Runner {
 public:
  explicit Runner(const Scope& scope) {
    StatusOr<std::unique_ptr<Session>> session = NewSession();
    made_ = session.status();
    if (made_.ok()) session_ = *std::move(session);
    proto::GraphDef def;
    if (made_.ok()) made_ = ExportGraph(*scope.graph(), &def);
    if (made_.ok()) made_ = session_->Create(def);
  }

  StatusOr<std::vector<Tensor>> Run(const FedValues& feeds, const std::vector<Output>& fetches) {
    RETURN_IF_ERROR(made_);
    Session::Feeds named;
    std::vector<std::string> names;
    for (const auto& [output, value] : feeds) named.emplace_back(output.name(), value);
    for (const Output& o : fetches) names.push_back(o.name());
    std::vector<Tensor> results;
    RETURN_IF_ERROR(session_->Run(named, names, {}, &results));
    return results;
  }

 private:
  Status made_;
  std::unique_ptr<Session> session_;
};

double SumOf(const Tensor& t) {
  const auto flat = t.flat<double>();
  return std::accumulate(flat.begin(), flat.end(), 0.0);
}

}  // namespace

StatusOr<std::vector<Tensor>> Evaluate(const Scope& scope, const FedValues& feeds, const std::vector<Output>& fetches) {
  RETURN_IF_ERROR(scope.status());
  return Runner(scope).Run(feeds, fetches);
}

std::vector<Grad> CheckGradients(const Scope& scope, Output y, const FedValues& xs, double tolerance) {
  std::vector<Output> wrt;
  for (const auto& x : xs) wrt.push_back(x.first);
  return CheckGradientsAt(scope, y, wrt, xs, tolerance);
}

std::vector<Grad> CheckGradientsAt(const Scope& scope, Output y, const std::vector<Output>& wrt, const FedValues& xs,
                                   double tolerance) {
  std::vector<Grad> grads;
  if (!scope.ok()) {
    ADD_FAILURE() << scope.status();
    return grads;
  }
  if (Status s = AddSymbolicGradients(scope, {y}, wrt, {}, &grads); !s.ok()) {
    ADD_FAILURE() << s;
    return grads;
  }
  std::vector<Output> dense;
  for (const Grad& g : grads) dense.push_back(DenseGrad(scope, g));
  if (!scope.ok()) {
    ADD_FAILURE() << scope.status();
    return grads;
  }
  Runner runner(scope);
  // Gradients may look at variables that computing y fills.
  if (const auto forward = runner.Run(xs, {y}); !forward.ok()) {
    ADD_FAILURE() << forward.status();
    return grads;
  }
  for (size_t i = 0; i < xs.size(); ++i) {
    if (grads[i].IsNone()) {
      ADD_FAILURE() << "no gradient for " << wrt[i].name();
      continue;
    }
    StatusOr<std::vector<Tensor>> symbolic = runner.Run(xs, {dense[i]});
    if (!symbolic.ok()) {
      ADD_FAILURE() << symbolic.status();
      continue;
    }
    EXPECT_EQ((*symbolic)[0].shape().ToString(), xs[i].second.shape().ToString());
    if ((*symbolic)[0].num_elements() != xs[i].second.num_elements()) continue;
    for (int64_t k = 0; k < xs[i].second.num_elements(); ++k) {
      constexpr double kStep = 1e-5;
      double sums[2];
      for (int side = 0; side < 2; ++side) {
        FedValues feeds = xs;
        feeds[i].second = *xs[i].second.Clone();
        feeds[i].second.flat<double>()[k] += side == 0 ? -kStep : kStep;
        StatusOr<std::vector<Tensor>> value = runner.Run(feeds, {y});
        if (!value.ok()) {
          ADD_FAILURE() << value.status();
          return grads;
        }
        sums[side] = SumOf((*value)[0]);
      }
      const double numeric = (sums[1] - sums[0]) / (2 * kStep);
      EXPECT_NEAR((*symbolic)[0].flat<double>()[k], numeric, tolerance * std::max(1.0, std::abs(numeric)))
          << wrt[i].name() << " element " << k;
    }
  }
  return grads;
}

}  // namespace millstream
