// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_GRAPH_TESTING_GRADIENT_CHECK_H_
#define MILLSTREAM_GRAPH_TESTING_GRADIENT_CHECK_H_

#include <utility>
#include <vector>

#include "millstream/graph/gradients/gradient.h"

namespace millstream {

using FedValues = std::vector<std::pair<Output, Tensor>>;

// Runs one step of a new session with the graph of `scope`.
StatusOr<std::vector<Tensor>> Evaluate(const Scope& scope, const FedValues& feeds, const std::vector<Output>& fetches);

// Expects (as a gtest) that AddSymbolicGradients(sum of y) agrees with central differences at every element of the fed
// values, which must be double. Returns the gradients.
std::vector<Grad> CheckGradients(const Scope& scope, Output y, const FedValues& xs, double tolerance = 1e-6);

// The same with the gradient taken at at[i], the handle of a variable that holds the value fed as xs[i].
std::vector<Grad> CheckGradientsAt(const Scope& scope, Output y, const std::vector<Output>& at, const FedValues& xs,
                                   double tolerance = 1e-6);

}  // namespace millstream

#endif  // MILLSTREAM_GRAPH_TESTING_GRADIENT_CHECK_H_
