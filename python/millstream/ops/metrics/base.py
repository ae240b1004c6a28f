# SPDX-License-Identifier: Apache-2.0
"""What the streaming metrics share: local variables, weights, and the four counts at thresholds."""
from millstream import gen_ops
from millstream.framework import constant_op, dtypes, ops
from millstream.ops.array import array_ops
from millstream.ops.math import math_ops, reduce_ops
from millstream.ops.variables import state_ops, variables
from millstream.ops.losses.confusion import remove_squeezable_dimensions
from millstream.ops.losses.weights import broadcast_weights

EPSILON = 1e-7


def metric_variable(shape, dtype, validate_shape=True, name=None):
    """A local variable that begins with zeros."""
    return variables.Variable(lambda: array_ops.zeros(shape, dtype), trainable=False,
                              collections=[ops.GraphKeys.LOCAL_VARIABLES, ops.GraphKeys.METRIC_VARIABLES],
                              validate_shape=validate_shape, name=name)


def total(value, name="total", shape=(), dtype=dtypes.float32):
    """(the variable, the op that adds `value`)."""
    variable = metric_variable(list(shape), dtype, name=name)
    return variable, state_ops.assign_add(variable, value)


def matched(predictions, labels, weights):
    """Predictions, labels and weights without last axes of size 1 that only some of them have."""
    predictions = ops.convert_to_tensor(predictions)
    if labels is not None:
        labels, predictions = remove_squeezable_dimensions(ops.convert_to_tensor(labels), predictions)
        predictions.shape.assert_is_compatible_with(labels.shape)
    if weights is None:
        return predictions, labels, None
    weights = ops.convert_to_tensor(weights)
    w, p = weights.shape.rank, predictions.shape.rank
    if w == 0 or w is None or p is None:
        return predictions, labels, weights
    if w - p == 1:
        weights = array_ops.squeeze(weights, [-1])
    elif p - w == 1:
        weights = array_ops.expand_dims(weights, [-1])
    return predictions, labels, weights


def publish(value, update, metrics_collections, updates_collections):
    if metrics_collections:
        ops.add_to_collections(metrics_collections, value)
    if updates_collections:
        ops.add_to_collections(updates_collections, update)
    return value, update


def weighted_sum(values, weights):
    if weights is None:
        return reduce_ops.reduce_sum(values)
    return reduce_ops.reduce_sum(values * broadcast_weights(weights, values))


def safe_ratio(numerator, denominator, name):
    return math_ops.div_no_nan(numerator, denominator, name=name)


def count_condition(condition, weights, name):
    """(value, update) of how often a condition held."""
    values = math_ops.cast(condition, dtypes.float32)
    return total(weighted_sum(values, None if weights is None else math_ops.cast(weights, dtypes.float32)), name)


def counts_at_thresholds(labels, predictions, thresholds, weights, include=("tp", "fn", "tn", "fp")):
    """Dicts of values and updates: how many are true or false positives or negatives at each threshold."""
    predictions, labels, weights = matched(math_ops.cast(predictions, dtypes.float32), math_ops.cast(labels, dtypes.bool),
                                           weights)
    count = len(thresholds)
    limits = constant_op.constant([[t] for t in thresholds], dtypes.float32)
    positive = gen_ops.greater(array_ops.reshape(predictions, [1, -1]), limits)  # thresholds by predictions
    is_label = gen_ops.tile(array_ops.reshape(labels, [1, -1]), [count, 1])
    if weights is not None:
        weights = array_ops.reshape(broadcast_weights(math_ops.cast(weights, dtypes.float32), predictions), [1, -1])
    conditions = {"tp": lambda: gen_ops.logical_and(is_label, positive),
                  "fn": lambda: gen_ops.logical_and(is_label, gen_ops.logical_not(positive)),
                  "tn": lambda: gen_ops.logical_and(gen_ops.logical_not(is_label), gen_ops.logical_not(positive)),
                  "fp": lambda: gen_ops.logical_and(gen_ops.logical_not(is_label), positive)}
    names = {"tp": "true_positives", "fn": "false_negatives", "tn": "true_negatives", "fp": "false_positives"}
    values, updates = {}, {}
    for key in include:
        found = math_ops.cast(conditions[key](), dtypes.float32)
        if weights is not None:
            found = found * weights
        values[key], updates[key] = total(reduce_ops.reduce_sum(found, 1), names[key], [count])
    return values, updates
