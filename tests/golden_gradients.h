// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TESTS_GOLDEN_GRADIENTS_H_
#define MILLSTREAM_TESTS_GOLDEN_GRADIENTS_H_

#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "millstream/graph/scope.h"
#include "tests/golden_case.h"

namespace millstream {

// Adds the gradients that `signature` asks for, as nodes gradient_0, ...; an error if there is one where TensorFlow has
// none.
Status AddGoldenGradients(const Scope& scope, const proto::SignatureDef& signature);

// Computes `fetches` for given feeds (by name).
using GoldenRun = std::function<Status(const std::map<std::string, Tensor>& feeds,
                                       const std::vector<std::string>& fetches, std::vector<Tensor>* outputs)>;

// Compares recorded gradients of real inputs with differences of sum(y * dy), for a sample of the elements of each
// input.
::testing::AssertionResult SameAsDifferences(const GoldenCase& c, const GoldenCase::Step& step, const GoldenRun& run);

}  // namespace millstream

#endif  // MILLSTREAM_TESTS_GOLDEN_GRADIENTS_H_
