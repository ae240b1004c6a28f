# SPDX-License-Identifier: Apache-2.0
"""Streaming metrics of the k best predictions. Labels are [..., number of labels], or [...] where there is one."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import dtypes, ops, sparse_tensor
from millstream.ops.array import array_ops
from millstream.ops.math import math_ops, reduce_ops
from millstream.ops.sparse import sparse_ops
from millstream.ops.variables import variable_scope as vs
from millstream.ops.metrics.base import publish, safe_ratio, total
from millstream.ops.losses.weights import broadcast_weights

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.tensor import Tensor
    from millstream.framework.type_aliases import TensorLike


def _best(predictions, k):
    return math_ops.cast(gen_ops.top_kv2(predictions, k)[1], dtypes.int64)


def _dense(labels, top):
    """The labels with a last axis for those of one row; -1 where a row has fewer than others."""
    if isinstance(labels, sparse_tensor.SparseTensor):
        labels = sparse_ops.sparse_tensor_to_dense(labels, default_value=-1)
    labels = math_ops.cast(labels, dtypes.int64)
    return labels if labels.shape.rank == top.shape.rank else array_ops.expand_dims(labels, -1)


def _among(values, others):
    """Which of `values` [..., n] are in the row of `others` [..., m]."""
    return reduce_ops.reduce_any(gen_ops.equal(array_ops.expand_dims(values, -1), array_ops.expand_dims(others, -2)), -1)


def _count(condition):
    return reduce_ops.reduce_sum(math_ops.cast(condition, dtypes.float64), -1)


def _name(what, k=None, class_id=None):
    return f"{what}_at_{'k' if k is None else k}" + ("" if class_id is None else f"_class{class_id}")


def _ratio(hits, misses, weights, k, class_id, other, metrics_collections, updates_collections):
    if weights is not None:
        weights = broadcast_weights(math_ops.cast(weights, dtypes.float64), hits)
        hits, misses = hits * weights, misses * weights
    tp, tp_update = total(reduce_ops.reduce_sum(hits), _name("true_positive", k, class_id), dtype=dtypes.float64)
    rest, rest_update = total(reduce_ops.reduce_sum(misses), _name(other, k, class_id), dtype=dtypes.float64)
    value = safe_ratio(tp, tp + rest, "value")
    return publish(value, safe_ratio(tp_update, tp_update + rest_update, "update_op"), metrics_collections,
                   updates_collections)


def _recall(labels, top, k, class_id, weights, metrics_collections, updates_collections):
    labels = _dense(labels, top)
    counted = gen_ops.equal(labels, class_id) if class_id is not None else gen_ops.greater_equal(labels, 0)
    hits = _count(gen_ops.logical_and(_among(labels, top), counted))
    return _ratio(hits, _count(counted) - hits, weights, k, class_id, "false_negative", metrics_collections,
                  updates_collections)


def recall_at_top_k(labels: TensorLike, predictions_idx: Any, k: Any = None, class_id: Any = None, weights: Any = None,
                    metrics_collections: Any = None, updates_collections: Any = None, name: Optional[str] = None) -> Any:
    """How many of the labels are among the classes `predictions_idx`."""
    with vs.variable_scope(name, _name("recall", k, class_id), (predictions_idx, labels, weights)):
        top = math_ops.cast(predictions_idx, dtypes.int64)
        return _recall(labels, top, k, class_id, weights, metrics_collections, updates_collections)


def recall_at_k(labels: TensorLike, predictions: TensorLike, k: Any, class_id: Any = None, weights: Any = None,
                metrics_collections: Any = None, updates_collections: Any = None,
                name: Optional[str] = None) -> tuple[Tensor, Tensor]:
    """How many of the labels are among the k best predictions."""
    with vs.variable_scope(name, _name("recall", k, class_id), (predictions, labels, weights)):
        return _recall(labels, _best(predictions, k), k, class_id, weights, metrics_collections, updates_collections)


def _precision(labels, top, k, class_id, weights, metrics_collections, updates_collections):
    same = _among(top, _dense(labels, top))
    chosen = gen_ops.greater_equal(top, 0) if class_id is None else gen_ops.equal(top, class_id)
    hits = _count(gen_ops.logical_and(same, chosen))
    return _ratio(hits, _count(chosen) - hits, weights, k, class_id, "false_positive", metrics_collections,
                  updates_collections)


def precision_at_top_k(labels: TensorLike, predictions_idx: Any, k: Any = None, class_id: Any = None, weights: Any = None,
                       metrics_collections: Any = None, updates_collections: Any = None, name: Optional[str] = None) -> Any:
    """How many of the classes `predictions_idx` are among the labels."""
    with vs.variable_scope(name, _name("precision", k, class_id), (predictions_idx, labels, weights)):
        top = math_ops.cast(predictions_idx, dtypes.int64)
        return _precision(labels, top, k, class_id, weights, metrics_collections, updates_collections)


def precision_at_k(labels: TensorLike, predictions: TensorLike, k: Any, class_id: Any = None, weights: Any = None,
                   metrics_collections: Any = None, updates_collections: Any = None,
                   name: Optional[str] = None) -> tuple[Tensor, Tensor]:
    """How many of the k best predictions are among the labels."""
    with vs.variable_scope(name, _name("precision", k, class_id), (predictions, labels, weights)):
        return _precision(labels, _best(predictions, k), k, class_id, weights, metrics_collections, updates_collections)


def _average_precision(labels, top, k):
    """For each row: the precisions down to every hit, over the number of labels (at most k)."""
    hit = math_ops.cast(_among(top, labels), dtypes.float64)
    rank = math_ops.cast(math_ops.range(1, k + 1), dtypes.float64)
    precisions = math_ops.cumsum(hit, axis=-1) / rank
    relevant = gen_ops.minimum(_count(gen_ops.greater_equal(labels, 0)), ops.convert_to_tensor(float(k), dtypes.float64))
    return reduce_ops.reduce_sum(precisions * hit, -1) / relevant


def average_precision_at_k(labels: TensorLike, predictions: TensorLike, k: Any, weights: Any = None,
                           metrics_collections: Any = None, updates_collections: Any = None, name: Optional[str] = None) -> Any:
    """The mean over all rows of their average precision among the k best predictions."""
    if k < 1:
        raise ValueError(f"Invalid k={k}.")
    with vs.variable_scope(name, f"average_precision_at_{k}", (predictions, labels, weights)):
        top = _best(predictions, k)
        value = _average_precision(_dense(labels, top), top, k)
        if weights is None:
            number = math_ops.cast(array_ops.size(value), dtypes.float64)
        else:
            weights = broadcast_weights(math_ops.cast(weights, dtypes.float64), value)
            value, number = value * weights, reduce_ops.reduce_sum(weights)
        most, most_update = total(number, "max", dtype=dtypes.float64)
        summed, summed_update = total(reduce_ops.reduce_sum(value), dtype=dtypes.float64)
        return publish(safe_ratio(summed, most, "mean"), safe_ratio(summed_update, most_update, "update_op"),
                       metrics_collections, updates_collections)
