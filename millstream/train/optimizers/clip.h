// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_OPTIMIZERS_CLIP_H_
#define MILLSTREAM_TRAIN_OPTIMIZERS_CLIP_H_

#include <vector>

#include "millstream/train/optimizers/optimizer.h"

namespace millstream {

// Gradients of bounded size. Sparse ones stay sparse: what is bounded is their rows; those that are none stay none.
// Errors go to the scope's status.

// Every element into [low, high].
Grad ClipByValue(const Scope& scope, const Grad& t, const Hyperparameter& low, const Hyperparameter& high);
// t * clip_norm / max(norm, clip_norm), with the Euclidean norm of all elements.
Grad ClipByNorm(const Scope& scope, const Grad& t, const Hyperparameter& clip_norm);
// The same with the norm along some axes (null: all), as for each row of an embedding.
Output ClipByNormAlong(const Scope& scope, Output values, const Hyperparameter& clip_norm,
                       const std::vector<int32_t>* axes);
// The Euclidean norm of all elements of all of them.
Output GlobalNorm(const Scope& scope, const std::vector<Grad>& ts);
// All of them by the same factor, so that the norm of all is at most `clip_norm`. `use_norm` (optional) is that norm,
// if it was computed before; `norm` (optional) receives it. A norm that is not finite makes everything NaN.
std::vector<Grad> ClipByGlobalNorm(const Scope& scope, const std::vector<Grad>& ts, const Hyperparameter& clip_norm,
                                   Output use_norm = {}, Output* norm = nullptr);
// The same between ComputeGradients() and ApplyGradients().
std::vector<GradientAndVariable> ClipByGlobalNorm(const Scope& scope, std::vector<GradientAndVariable> gradients,
                                                  const Hyperparameter& clip_norm, Output* norm = nullptr);

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_OPTIMIZERS_CLIP_H_
