// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_LOSSES_WEIGHTS_H_
#define MILLSTREAM_TRAIN_LOSSES_WEIGHTS_H_

#include <vector>

#include "millstream/graph/scope.h"

namespace millstream {

// What losses and metrics do with weights, and with labels whose shape differs by an axis of size 1. Errors go to the
// scope's status.

// Weights fit values if they are a scalar, or of the same rank with sizes that are 1 or equal. InvalidArgument if it is
// known that they do not; nodes that check what is not known while the graph is built, and fail the step.
std::vector<Node*> AssertBroadcastable(const Scope& scope, Output weights, Output values);
// Weights of the shape of the values and of their type.
Output BroadcastWeights(const Scope& scope, Output weights, Output values);

// Removes the last axis, of size 1, of that one of the two which has an axis more than expected: rank(predictions) -
// rank(labels) should be `expected_rank_diff`.
void RemoveSqueezableDimensions(const Scope& scope, Output* labels, Output* predictions, int expected_rank_diff = 0);
Output SqueezeLast(const Scope& scope, Output x);

// The sum, or the mean, of all elements.
Output SumAll(const Scope& scope, Output x);
Output MeanAll(const Scope& scope, Output x);

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_LOSSES_WEIGHTS_H_
