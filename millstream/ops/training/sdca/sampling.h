// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_TRAINING_SDCA_SAMPLING_H_
#define MILLSTREAM_OPS_TRAINING_SDCA_SAMPLING_H_

#include <cstdint>
#include <vector>

#include "millstream/math/random/philox.h"

namespace millstream::sdca {

// As many numbers of examples as there are, drawn with probabilities that are proportional to `importance`; each time
// that an example is drawn its own is divided by ten (Csiba, Qu and Richtarik, "Stochastic Dual Coordinate Ascent with
// Adaptive Probabilities", 2015, AdaSDCA+). No importance counts as less than a thousandth of the largest: examples
// that fit are looked at now and then, since the others change the model.
std::vector<int64_t> AdaptiveOrder(const std::vector<double>& importance, const math::Philox& random);

// How many blocks of random numbers that takes.
inline int64_t AdaptiveOrderBlocks(int64_t n) { return n; }

}  // namespace millstream::sdca

#endif  // MILLSTREAM_OPS_TRAINING_SDCA_SAMPLING_H_
