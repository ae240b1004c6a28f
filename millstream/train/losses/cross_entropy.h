// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_LOSSES_CROSS_ENTROPY_H_
#define MILLSTREAM_TRAIN_LOSSES_CROSS_ENTROPY_H_

#include "millstream/graph/scope.h"

namespace millstream {

// The functions of the same names in tf.nn. Logits have classes along their last axis and any rank.

// Of each element: labels have the shape of the logits.
Output SigmoidCrossEntropyWithLogits(const Scope& scope, Output labels, Output logits);
// Of each row: labels are rows of probabilities. Gradients flow into labels too (tf.nn's "_v2").
Output SoftmaxCrossEntropyWithLogits(const Scope& scope, Output labels, Output logits);
// The same for labels that are numbers of classes. InvalidArgument if their rank is not one less than that of the
// logits.
Output SparseSoftmaxCrossEntropyWithLogits(const Scope& scope, Output labels, Output logits);

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_LOSSES_CROSS_ENTROPY_H_
