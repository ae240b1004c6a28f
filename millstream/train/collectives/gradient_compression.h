// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_COLLECTIVES_GRADIENT_COMPRESSION_H_
#define MILLSTREAM_TRAIN_COLLECTIVES_GRADIENT_COMPRESSION_H_

#include <string>

#include "millstream/train/collectives/collective_group.h"

namespace millstream {

// How dense gradients are made smaller while they travel. Sparse ones travel as they are.
struct GradientCompression {
  enum class Kind {
    kNone,
    kHalf,      // travel, and are summed, as half: 5 bits of exponent, so sums beyond 65504 become infinite
    kBfloat16,  // the same as bfloat16: the range of float, 8 bits of precision
    kTopK,      // only the entries with the largest absolute values; the others are added to the next gradient
  };
  Kind kind = Kind::kNone;
  double ratio = 0.01;  // of the entries that kTopK sends, above 0 and at most 1
};

// The mean of a worker's dense gradient of `variable` over the group. What kTopK holds back is in a local variable of
// the worker, "<variable>/<name>/residual". Gradients whose entries with their indices would be larger than all numbers
// are reduced as they are.
Output CompressedMean(const Scope& scope, CollectiveGroup& group, const GradientCompression& compression,
                      const GraphVariable& variable, Output gradient, const std::string& name);

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_COLLECTIVES_GRADIENT_COMPRESSION_H_
