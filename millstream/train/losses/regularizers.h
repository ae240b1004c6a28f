// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_LOSSES_REGULARIZERS_H_
#define MILLSTREAM_TRAIN_LOSSES_REGULARIZERS_H_

#include "millstream/graph/variables/variable_scope.h"

namespace millstream {

// For VariableOptions::regularizer and VariableScope::WithRegularizer(), as tf.contrib.layers has them. A scale of 0
// costs nothing; below 0, InvalidArgument where a variable is made.

Regularizer L1Regularizer(double scale);  // scale times the sum of absolute values
Regularizer L2Regularizer(double scale);  // scale times half the sum of squares
Regularizer L1L2Regularizer(double scale_l1 = 1, double scale_l2 = 1);

// For VariableOptions::constraint and VariableScope::WithConstraint(), as tf.keras.constraints has them.

Constraint NonNegConstraint();
// Vectors along `axis` no longer than `max_value`.
Constraint MaxNormConstraint(double max_value = 2, int axis = 0);
Constraint UnitNormConstraint(int axis = 0);

// The value of a variable after an update, moved to where its constraint allows it: a node that assigns it once
// `update` has run, in the scope. `update` itself for a variable without constraint.
Node* ApplyConstraint(const Scope& scope, const GraphVariable& v, Node* update);
bool HasConstraint(const GraphVariable& v);

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_LOSSES_REGULARIZERS_H_
