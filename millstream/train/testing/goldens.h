// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_TESTING_GOLDENS_H_
#define MILLSTREAM_TRAIN_TESTING_GOLDENS_H_

#include <nlohmann/json.hpp>

namespace millstream {

// What TensorFlow 2.21 computed: trajectories of optimizers, learning rates, averages. The Python package is tested
// with the same.
const nlohmann::json& OptimizerGoldens();

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_TESTING_GOLDENS_H_
