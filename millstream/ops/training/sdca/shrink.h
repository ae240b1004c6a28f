// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_TRAINING_SDCA_SHRINK_H_
#define MILLSTREAM_OPS_TRAINING_SDCA_SHRINK_H_

#include <cmath>

#include "millstream/framework/kernel.h"
#include "millstream/math/simd.h"

namespace millstream::sdca {

// The l1 penalty as a proximal step: weights come nearer to zero by l1 / l2, and stay there.
class Shrinkage {
 public:
  explicit Shrinkage(KernelInit& init) : l2_(init.Attr<float>("l2")), by_(init.Attr<float>("l1") / l2_) {}

  float l2() const { return l2_; }
  MILLSTREAM_ALWAYS_INLINE float operator()(float weight) const {
    const float left = std::abs(weight) - by_;
    return left > 0 ? std::copysign(left, weight) : 0.0f;
  }

 private:
  float l2_;
  float by_;
};

}  // namespace millstream::sdca

#endif  // MILLSTREAM_OPS_TRAINING_SDCA_SHRINK_H_
