# SPDX-License-Identifier: Apache-2.0
"""tf.metrics: streaming metrics (value, update_op) over local variables."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import dtypes, ops
from millstream.ops.array import array_ops
from millstream.ops.math import math_ops, reduce_ops
from millstream.ops.variables import state_ops
from millstream.ops.variables import variable_scope as vs
from millstream.ops.metrics.base import (count_condition, matched, metric_variable, publish, safe_ratio, total)
from millstream.ops.losses.weights import broadcast_weights

if TYPE_CHECKING:
    from typing import Callable

    from millstream.framework.tensor import Tensor
    from typing import Any, Optional
    from millstream.framework.type_aliases import TensorLike


def mean(values: Any, weights: Any = None, metrics_collections: Any = None, updates_collections: Any = None,
         name: Optional[str] = None) -> tuple[Tensor, Tensor]:
    """Returns (value, update_op) of the weighted mean of all values so far."""
    with vs.variable_scope(name, "mean", (values, weights)):
        values = math_ops.cast(values, dtypes.float32)
        sum_variable = metric_variable([], dtypes.float32, name="total")
        count = metric_variable([], dtypes.float32, name="count")
        if weights is None:
            number = math_ops.cast(array_ops.size(values), dtypes.float32)
        else:
            values, _, weights = matched(values, None, weights)
            weights = broadcast_weights(math_ops.cast(weights, dtypes.float32), values)
            values = values * weights
            number = reduce_ops.reduce_sum(weights)
        update_total = state_ops.assign_add(sum_variable, reduce_ops.reduce_sum(values))
        with ops.control_dependencies([values]):
            update_count = state_ops.assign_add(count, number)
        value = safe_ratio(sum_variable, count, "value")
        update = safe_ratio(update_total, gen_ops.maximum(update_count, 0), "update_op")
        return publish(value, update, metrics_collections, updates_collections)


def accuracy(labels: TensorLike, predictions: TensorLike, weights: Any = None, metrics_collections: Any = None,
             updates_collections: Any = None, name: Optional[str] = None) -> tuple[Tensor, Tensor]:
    """Returns (value, update_op) of the share of predictions that equal their labels."""
    predictions, labels, weights = matched(predictions, labels, weights)
    if labels.dtype.base_dtype != predictions.dtype.base_dtype:
        predictions = math_ops.cast(predictions, labels.dtype.base_dtype)
    is_correct = math_ops.cast(gen_ops.equal(predictions, labels), dtypes.float32)
    return mean(is_correct, weights, metrics_collections, updates_collections, name or "accuracy")


def mean_tensor(values: Any, weights: Any = None, metrics_collections: Any = None, updates_collections: Any = None,
                name: Optional[str] = None) -> tuple[Tensor, Tensor]:
    with vs.variable_scope(name, "mean", (values, weights)):
        values = math_ops.cast(values, dtypes.float32)
        sums = metric_variable(values.shape, dtypes.float32, name="total_tensor")
        counts = metric_variable(values.shape, dtypes.float32, name="count_tensor")
        number = array_ops.ones_like(values)
        if weights is not None:
            values, _, weights = matched(values, None, weights)
            weights = broadcast_weights(math_ops.cast(weights, dtypes.float32), values)
            values, number = values * weights, number * weights
        update_total = state_ops.assign_add(sums, values)
        with ops.control_dependencies([values]):
            update_count = state_ops.assign_add(counts, number)
        value = safe_ratio(sums, counts, "value")
        return publish(value, safe_ratio(update_total, update_count, "update_op"), metrics_collections, updates_collections)


def mean_absolute_error(labels: TensorLike, predictions: TensorLike, weights: Any = None, metrics_collections: Any = None,
                        updates_collections: Any = None, name: Optional[str] = None) -> tuple[Tensor, Tensor]:
    """(value, update_op): the mean of |labels - predictions|."""
    predictions, labels, weights = matched(math_ops.cast(predictions, dtypes.float32), math_ops.cast(labels, dtypes.float32),
                                           weights)
    return mean(math_ops.abs(predictions - labels), weights, metrics_collections, updates_collections,
                name or "mean_absolute_error")


def mean_squared_error(labels: TensorLike, predictions: TensorLike, weights: Any = None, metrics_collections: Any = None,
                       updates_collections: Any = None, name: Optional[str] = None) -> tuple[Tensor, Tensor]:
    """(value, update_op): the mean of squared errors."""
    predictions, labels, weights = matched(math_ops.cast(predictions, dtypes.float32), math_ops.cast(labels, dtypes.float32),
                                           weights)
    return mean(gen_ops.squared_difference(labels, predictions), weights, metrics_collections, updates_collections,
                name or "mean_squared_error")


def root_mean_squared_error(labels: TensorLike, predictions: TensorLike, weights: Any = None, metrics_collections: Any = None,
                            updates_collections: Any = None, name: Optional[str] = None) -> tuple[Tensor, Tensor]:
    """(value, update_op): the root of the mean of squared errors."""
    value, update = mean_squared_error(labels, predictions, weights, None, None, name or "root_mean_squared_error")
    return publish(gen_ops.sqrt(value), gen_ops.sqrt(update), metrics_collections, updates_collections)


def mean_relative_error(labels: TensorLike, predictions: TensorLike, normalizer: Any, weights: Any = None,
                        metrics_collections: Any = None, updates_collections: Any = None,
                        name: Optional[str] = None) -> tuple[Tensor, Tensor]:
    predictions, labels, weights = matched(math_ops.cast(predictions, dtypes.float32), math_ops.cast(labels, dtypes.float32),
                                           weights)
    predictions, normalizer = ops.convert_to_tensor(predictions), math_ops.cast(normalizer, dtypes.float32)
    errors = math_ops.div_no_nan(math_ops.abs(labels - predictions), normalizer)
    return mean(errors, weights, metrics_collections, updates_collections, name or "mean_relative_error")


def mean_cosine_distance(labels: TensorLike, predictions: TensorLike, dim: Any, weights: Any = None,
                         metrics_collections: Any = None, updates_collections: Any = None,
                         name: Optional[str] = None) -> tuple[Tensor, Tensor]:
    predictions, labels, weights = matched(math_ops.cast(predictions, dtypes.float32), math_ops.cast(labels, dtypes.float32),
                                           weights)
    products = reduce_ops.reduce_sum(predictions * labels, axis=[dim], keepdims=True)
    value, update = mean(products, weights, None, None, name or "mean_cosine_distance")
    return publish(gen_ops.sub(1.0, value), gen_ops.sub(1.0, update), metrics_collections, updates_collections)


def percentage_below(values: Any, threshold: Any, weights: Any = None, metrics_collections: Any = None,
                     updates_collections: Any = None, name: Optional[str] = None) -> tuple[Tensor, Tensor]:
    below = math_ops.cast(gen_ops.less(values, threshold), dtypes.float32)
    return mean(below, weights, metrics_collections, updates_collections, name or "percentage_below_threshold")


def _count(default, condition):
    def metric(labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None):
        """(value, update_op): the number of such elements so far, weighted."""
        with vs.variable_scope(name, default, (predictions, labels, weights)):
            predictions, labels, weights = matched(math_ops.cast(predictions, dtypes.bool),
                                                   math_ops.cast(labels, dtypes.bool),
                                                   weights)
            value, update = count_condition(condition(labels, predictions), weights, "count")
            return publish(ops.convert_to_tensor(value), update, metrics_collections, updates_collections)
    metric.__name__ = metric.__qualname__ = default
    return metric


def _not(x):
    return gen_ops.logical_not(x)


true_positives: Callable[..., tuple[Tensor, Tensor]] = _count("true_positives", lambda labels, p: gen_ops.logical_and(labels, p))
false_positives: Callable[..., tuple[Tensor, Tensor]] = _count("false_positives", lambda labels, p: gen_ops.logical_and(_not(labels), p))
true_negatives: Callable[..., tuple[Tensor, Tensor]] = _count("true_negatives", lambda labels, p: gen_ops.logical_and(_not(labels), _not(p)))
false_negatives: Callable[..., tuple[Tensor, Tensor]] = _count("false_negatives", lambda labels, p: gen_ops.logical_and(labels, _not(p)))


def _ratio_of_counts(default, other):
    def metric(labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None):
        """(value, update_op): true positives divided by their sum with the other count."""
        with vs.variable_scope(name, default, (predictions, labels, weights)):
            predictions, labels, weights = matched(math_ops.cast(predictions, dtypes.bool),
                                                   math_ops.cast(labels, dtypes.bool),
                                                   weights)
            tp, tp_update = true_positives(labels, predictions, weights)
            rest, rest_update = other(labels, predictions, weights)
            return publish(safe_ratio(tp, tp + rest, "value"), safe_ratio(tp_update, tp_update + rest_update, "update_op"),
                           metrics_collections, updates_collections)
    metric.__name__ = metric.__qualname__ = default
    return metric


precision: Callable[..., tuple[Tensor, Tensor]] = _ratio_of_counts("precision", false_positives)
recall: Callable[..., tuple[Tensor, Tensor]] = _ratio_of_counts("recall", false_negatives)


def mean_iou(labels: TensorLike, predictions: TensorLike, num_classes: Any, weights: Any = None,
             metrics_collections: Any = None, updates_collections: Any = None,
             name: Optional[str] = None) -> tuple[Tensor, Tensor]:
    """Intersection over union, averaged over the classes that occur."""
    with vs.variable_scope(name, "mean_iou", (predictions, labels, weights)):
        matrix, update_matrix = _streaming_confusion(labels, predictions, num_classes, weights)

        rows = math_ops.cast(reduce_ops.reduce_sum(matrix, 0), dtypes.float32)
        columns = math_ops.cast(reduce_ops.reduce_sum(matrix, 1), dtypes.float32)
        diagonal = math_ops.cast(gen_ops.diag_part(matrix), dtypes.float32)
        union = rows + columns - diagonal
        valid = reduce_ops.reduce_sum(math_ops.cast(gen_ops.not_equal(union, 0), dtypes.float32))
        union = gen_ops.select(gen_ops.greater(union, 0), union, array_ops.ones_like(union))
        ious = math_ops.div(diagonal, union)
        mean = reduce_ops.reduce_sum(ious, name="mean_iou") / valid
        value = gen_ops.select(gen_ops.greater(valid, 0), mean, 0.0)
        return publish(value, update_matrix, metrics_collections, updates_collections)


def mean_per_class_accuracy(labels: TensorLike, predictions: TensorLike, num_classes: Any, weights: Any = None,
                            metrics_collections: Any = None, updates_collections: Any = None,
                            name: Optional[str] = None) -> tuple[Tensor, Tensor]:
    with vs.variable_scope(name, "mean_accuracy", (predictions, labels, weights)):
        labels = array_ops.reshape(math_ops.cast(labels, dtypes.int64), [-1])
        predictions = array_ops.reshape(ops.convert_to_tensor(predictions), [-1])
        predictions.shape.assert_is_compatible_with(labels.shape)
        hits = math_ops.cast(gen_ops.equal(labels, math_ops.cast(predictions, dtypes.int64)), dtypes.float32)
        ones = array_ops.ones_like(hits)
        if weights is not None:
            weights = math_ops.cast(array_ops.reshape(weights, [-1]), dtypes.float32)
            hits, ones = hits * weights, ones * weights
        count, count_update = total(gen_ops.unsorted_segment_sum(ones, labels, num_classes), "total", [num_classes])
        right, right_update = total(gen_ops.unsorted_segment_sum(hits, labels, num_classes), "count", [num_classes])
        value = reduce_ops.reduce_mean(safe_ratio(right, count, None), name="mean_accuracy")
        update = safe_ratio(right_update, count_update, "update_op")
        return publish(value, update, metrics_collections, updates_collections)


def _streaming_confusion(labels, predictions, num_classes, weights=None):
    matrix = metric_variable([num_classes, num_classes], dtypes.float64, name="total_confusion_matrix")
    predictions, labels = math_ops.cast(predictions, dtypes.int64), math_ops.cast(labels, dtypes.int64)
    num_classes = math_ops.cast(num_classes, dtypes.int64)

    def flat(x):
        return x if x is None or x.shape.rank in (0, 1) else array_ops.reshape(x, [-1])

    predictions, labels = flat(predictions), flat(labels)
    weights = None if weights is None else flat(ops.convert_to_tensor(weights))
    current = reduce_ops.confusion_matrix(labels, predictions, num_classes, weights=weights, dtype=dtypes.float64)
    return matrix, state_ops.assign_add(matrix, current)
