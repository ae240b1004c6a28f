# SPDX-License-Identifier: Apache-2.0
"""tf.contrib.losses and slim.losses: tf.losses with what the model gives before the labels, as contrib had them."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import dtypes, ops
from millstream.ops.array import array_ops
from millstream.ops.math import math_ops
from millstream.ops.losses import losses as core

if TYPE_CHECKING:
    from typing import Any

    from millstream.framework.type_aliases import TensorLike


def _weights(weights, rank):
    """Weights of the first axes of losses, as tf.losses wants them: of the rank of the losses."""
    weights = math_ops.cast(weights, dtypes.float32)
    own = weights.shape.rank
    if not own or rank is None or own >= rank:
        return weights
    return array_ops.reshape(weights, array_ops.concat([array_ops.shape(weights), [1] * (rank - own)], 0))


def _rank(values):
    return ops.convert_to_tensor(values).shape.rank


def compute_weighted_loss(losses: TensorLike, weights: Any = 1.0, scope: Any = None) -> Any:
    return core.compute_weighted_loss(losses, _weights(weights, _rank(losses)), scope=scope)


def absolute_difference(predictions: TensorLike, labels: Any = None, weights: Any = 1.0, scope: Any = None) -> Any:
    return core.absolute_difference(labels, predictions, _weights(weights, _rank(predictions)), scope=scope)


def mean_squared_error(predictions: TensorLike, labels: Any = None, weights: Any = 1.0, scope: Any = None) -> Any:
    return core.mean_squared_error(labels, predictions, _weights(weights, _rank(predictions)), scope=scope)


def mean_pairwise_squared_error(predictions: TensorLike, labels: Any = None, weights: Any = 1.0, scope: Any = None) -> Any:
    """As that of tf.losses, but each element counts as a pair with itself, too."""
    return core.pairwise_loss(labels, predictions, weights, scope, ops.GraphKeys.LOSSES, lambda present: present)


def log_loss(predictions: TensorLike, labels: Any = None, weights: Any = 1.0, epsilon: Any = 1e-7, scope: Any = None) -> Any:
    return core.log_loss(labels, predictions, _weights(weights, _rank(predictions)), epsilon, scope=scope)


def cosine_distance(predictions: TensorLike, labels: Any = None, axis: Any = None, weights: Any = 1.0, scope: Any = None,
                    dim: Any = None) -> Any:
    rank = _rank(predictions)
    axis = dim if axis is None else axis
    return core.cosine_distance(labels, predictions, axis, _weights(weights, rank), scope=scope)


def sigmoid_cross_entropy(logits: TensorLike, multi_class_labels: Any, weights: Any = 1.0, label_smoothing: Any = 0,
                          scope: Any = None) -> Any:
    return core.sigmoid_cross_entropy(multi_class_labels, logits, _weights(weights, _rank(logits)), label_smoothing,
                                        scope=scope)


def softmax_cross_entropy(logits: TensorLike, onehot_labels: Any, weights: Any = 1.0, label_smoothing: Any = 0,
                          scope: Any = None) -> Any:
    return core.softmax_cross_entropy(onehot_labels, logits, weights, label_smoothing, scope=scope)


def sparse_softmax_cross_entropy(logits: TensorLike, labels: TensorLike, weights: Any = 1.0, scope: Any = None) -> Any:
    return core.sparse_softmax_cross_entropy(labels, logits, weights, scope=scope)


def hinge_loss(logits: TensorLike, labels: Any = None, scope: Any = None) -> Any:
    """The loss of each element: unlike the others neither averaged nor added to the losses."""
    with ops.name_scope(scope, "hinge_loss", [logits, labels]):
        logits = ops.convert_to_tensor(logits)
        labels = math_ops.cast(labels, dtypes.float32)
        logits.shape.assert_is_compatible_with(labels.shape)
        return gen_ops.relu(1.0 - (2.0 * labels - 1.0) * logits)
