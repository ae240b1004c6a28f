# SPDX-License-Identifier: Apache-2.0
"""tf.contrib.metrics and slim.metrics: tf.metrics with predictions before labels, under their older names."""
from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from millstream.framework import dtypes
from millstream.ops.math import math_ops, reduce_ops
from millstream.ops.metrics import metrics, at_k as metrics_at_k, thresholds as metrics_thresholds

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.type_aliases import TensorLike


def _streaming(function):
    """`function` of tf.metrics (labels, predictions, ...) as (predictions, labels, ...)."""
    def streaming(predictions, labels, *args, **kwargs):
        return function(labels, predictions, *args, **kwargs)
    streaming.__name__ = "streaming_" + function.__name__
    names = list(inspect.signature(function).parameters.values())
    if [p.name for p in names[:2]] == ["labels", "predictions"]:
        streaming.__signature__ = inspect.Signature([names[1], names[0]] + names[2:])
    return streaming


streaming_mean = metrics.mean
streaming_accuracy = _streaming(metrics.accuracy)
streaming_precision = _streaming(metrics.precision)
streaming_recall = _streaming(metrics.recall)
streaming_auc = _streaming(metrics_thresholds.auc)
streaming_mean_iou = _streaming(metrics.mean_iou)
streaming_mean_absolute_error = _streaming(metrics.mean_absolute_error)
streaming_mean_squared_error = _streaming(metrics.mean_squared_error)
streaming_root_mean_squared_error = _streaming(metrics.root_mean_squared_error)
streaming_mean_cosine_distance = _streaming(metrics.mean_cosine_distance)
streaming_true_positives = _streaming(metrics.true_positives)
streaming_true_negatives = _streaming(metrics.true_negatives)
streaming_false_positives = _streaming(metrics.false_positives)
streaming_false_negatives = _streaming(metrics.false_negatives)
streaming_recall_at_k = _streaming(metrics_at_k.recall_at_k)
streaming_percentage_less = metrics.percentage_below


def accuracy(predictions: TensorLike, labels: TensorLike, weights: Any = None, name: Optional[str] = None) -> Any:
    """The share of right predictions in one batch."""
    from millstream import gen_ops
    right = math_ops.cast(gen_ops.equal(predictions, labels), dtypes.float32)
    if weights is None:
        return reduce_ops.reduce_mean(right)
    weights = math_ops.cast(weights, dtypes.float32)
    return reduce_ops.reduce_sum(right * weights) / reduce_ops.reduce_sum(weights)


def aggregate_metrics(*value_update_tuples: Any) -> Any:
    """Lists of values and of updates."""
    if not value_update_tuples:
        raise ValueError("Expected at least one value_tensor/update_op pair")
    values, updates = zip(*value_update_tuples)
    return list(values), list(updates)


def aggregate_metric_map(names_to_tuples: Any) -> Any:
    """{name: (value, update)} as ({name: value}, {name: update})."""
    return ({name: value for name, (value, _) in names_to_tuples.items()},
            {name: update for name, (_, update) in names_to_tuples.items()})
