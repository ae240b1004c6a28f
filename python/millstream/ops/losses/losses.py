# SPDX-License-Identifier: Apache-2.0
"""tf.losses: losses with weights that go to a collection."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import constant_op, dtypes, ops, tensor_util
from millstream.ops.array import array_ops, index_ops
from millstream.ops.math import math_ops, reduce_ops
from millstream.ops.nn import nn_ops
from millstream.ops.arguments import renamed
from millstream.ops.losses.confusion import remove_squeezable_dimensions
from millstream.ops.losses.weights import assert_broadcastable

if TYPE_CHECKING:
    from typing import Any

    from millstream.framework.tensor import Tensor
    from millstream.framework.type_aliases import TensorLike


class Reduction:
    """Says how the losses of single elements are combined: not at all, by their sum, or by one of several means."""
    NONE = "none"
    SUM = "weighted_sum"
    SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"
    MEAN = "weighted_mean"
    SUM_BY_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"
    SUM_OVER_NONZERO_WEIGHTS = SUM_BY_NONZERO_WEIGHTS

    @classmethod
    def all(cls) -> Any:
        return (cls.NONE, cls.SUM, cls.MEAN, cls.SUM_OVER_BATCH_SIZE, cls.SUM_OVER_NONZERO_WEIGHTS,
                cls.SUM_BY_NONZERO_WEIGHTS)

    @classmethod
    def validate(cls, key: Any) -> None:
        if key not in cls.all():
            raise ValueError(f"Invalid Reduction Key {key}. Key should be one of {cls.all()}.")


_DEFAULT = Reduction.SUM_BY_NONZERO_WEIGHTS


def _safe_mean(total, count):
    return math_ops.div_no_nan(reduce_ops.reduce_sum(total), count, name="value")


def num_present(losses, weights, per_batch=False):
    """How many elements have a weight that is not zero."""
    known = tensor_util.constant_value(weights) if isinstance(weights, ops.Tensor) else weights
    if known is not None and getattr(known, "ndim", 0) == 0 and not per_batch:
        with ops.name_scope("num_present", values=[losses]):
            count = math_ops.cast(array_ops.size(losses), losses.dtype.base_dtype)
            return count if known != 0 else array_ops.zeros_like(count)
    with ops.name_scope("num_present", values=[losses, weights]) as scope:
        weights = math_ops.cast(weights, losses.dtype.base_dtype)
        present = index_ops.where(gen_ops.equal(weights, 0.0), array_ops.zeros_like(weights), array_ops.ones_like(weights))
        present = present * array_ops.ones_like(losses)
        if per_batch:
            axes = math_ops.range(1, array_ops.rank(present))
            return reduce_ops.reduce_sum(present, axes, keepdims=True, name=scope)
        return reduce_ops.reduce_sum(present, name=scope)


def compute_weighted_loss(losses: TensorLike, weights: Any = 1.0, scope: Any = None,
                          loss_collection: Any = ops.GraphKeys.LOSSES, reduction: Any = _DEFAULT) -> Tensor:
    """Weighs `losses`, reduces them, and adds the result to the collection of losses."""
    Reduction.validate(reduction)
    with ops.name_scope(scope, "weighted_loss", (losses, weights)):
        ops.get_default_graph()._last_loss_reduction = reduction
        losses = ops.convert_to_tensor(losses)
        with ops.control_dependencies(assert_broadcastable(weights, losses)):
            dtype = losses.dtype.base_dtype
            losses, weights = math_ops.cast(losses, dtypes.float32), math_ops.cast(weights, dtypes.float32)
            losses = gen_ops.mul(losses, weights)
            if reduction == Reduction.NONE:
                loss = losses
            else:
                loss = reduce_ops.reduce_sum(losses)
                if reduction == Reduction.MEAN:
                    loss = _safe_mean(loss, reduce_ops.reduce_sum(array_ops.ones_like(losses) * weights))
                elif reduction == Reduction.SUM_BY_NONZERO_WEIGHTS:
                    loss = _safe_mean(loss, num_present(losses, weights))
                elif reduction == Reduction.SUM_OVER_BATCH_SIZE:
                    loss = _safe_mean(loss, math_ops.cast(array_ops.size(losses, name="num_elements"),
                                                          losses.dtype.base_dtype))
            loss = math_ops.cast(loss, dtype)
            add_loss(loss, loss_collection)
            return loss


def _checked(labels, predictions, what="predictions"):
    if labels is None:
        raise ValueError("Argument `labels` must not be None.")
    if predictions is None:
        raise ValueError(f"Argument `{what}` must not be None.")


def _pair(labels, predictions):
    predictions = math_ops.cast(predictions, dtypes.float32)
    labels = math_ops.cast(labels, dtypes.float32)
    predictions.shape.assert_is_compatible_with(labels.shape)
    return labels, predictions


def absolute_difference(labels: TensorLike, predictions: TensorLike, weights: Any = 1.0, scope: Any = None,
                        loss_collection: Any = ops.GraphKeys.LOSSES, reduction: Any = _DEFAULT) -> Tensor:
    """The weighted mean (or other reduction) of |labels - predictions|, added to the collection of losses."""
    _checked(labels, predictions)
    with ops.name_scope(scope, "absolute_difference", (predictions, labels, weights)) as scope:
        labels, predictions = _pair(labels, predictions)
        return compute_weighted_loss(math_ops.abs(gen_ops.sub(predictions, labels)), weights, scope, loss_collection,
                                     reduction)


def cosine_distance(labels: TensorLike, predictions: TensorLike, axis: Any = None, weights: Any = 1.0, scope: Any = None,
                    loss_collection: Any = ops.GraphKeys.LOSSES, reduction: Any = _DEFAULT, dim: Any = None) -> Tensor:
    axis = renamed("axis", axis, "dim", dim)
    if axis is None:
        raise ValueError("You must specify argument `axis`.")
    _checked(labels, predictions)
    with ops.name_scope(scope, "cosine_distance_loss", (predictions, labels, weights)) as scope:
        labels, predictions = _pair(labels, predictions)
        losses = 1 - reduce_ops.reduce_sum(gen_ops.mul(predictions, labels), axis=(axis,), keepdims=True)
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def hinge_loss(labels: TensorLike, logits: TensorLike, weights: Any = 1.0, scope: Any = None,
               loss_collection: Any = ops.GraphKeys.LOSSES, reduction: Any = _DEFAULT) -> Tensor:
    """Hinge loss for labels 0 and 1."""
    _checked(labels, logits, "logits")
    with ops.name_scope(scope, "hinge_loss", (logits, labels, weights)) as scope:
        labels, logits = _pair(labels, logits)
        all_ones = array_ops.ones_like(labels)
        labels = gen_ops.sub(2 * labels, all_ones)
        losses = gen_ops.relu(gen_ops.sub(all_ones, gen_ops.mul(labels, logits)))
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def huber_loss(labels: TensorLike, predictions: TensorLike, weights: Any = 1.0, delta: Any = 1.0, scope: Any = None,
               loss_collection: Any = ops.GraphKeys.LOSSES, reduction: Any = _DEFAULT) -> Tensor:
    """Squared for errors up to `delta`, linear beyond."""
    _checked(labels, predictions)
    with ops.name_scope(scope, "huber_loss", (predictions, labels, weights)) as scope:
        labels, predictions = _pair(labels, predictions)
        abs_error = math_ops.abs(gen_ops.sub(predictions, labels))
        delta = ops.convert_to_tensor(delta, dtype=abs_error.dtype.base_dtype)
        quadratic = gen_ops.minimum(abs_error, delta)
        linear = gen_ops.sub(abs_error, quadratic)
        half = ops.convert_to_tensor(0.5, dtype=quadratic.dtype.base_dtype)
        losses = math_ops.add(gen_ops.mul(half, gen_ops.mul(quadratic, quadratic)), gen_ops.mul(delta, linear))
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def log_loss(labels: TensorLike, predictions: TensorLike, weights: Any = 1.0, epsilon: Any = 1e-7, scope: Any = None,
             loss_collection: Any = ops.GraphKeys.LOSSES, reduction: Any = _DEFAULT) -> Tensor:
    """Cross entropy of probabilities between 0 and 1."""
    _checked(labels, predictions)
    with ops.name_scope(scope, "log_loss", (predictions, labels, weights)) as scope:
        labels, predictions = _pair(labels, predictions)
        losses = -gen_ops.mul(labels, gen_ops.log(predictions + epsilon)) - gen_ops.mul(
            1 - labels, gen_ops.log(1 - predictions + epsilon))
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def mean_pairwise_squared_error(labels: TensorLike, predictions: TensorLike, weights: Any = 1.0, scope: Any = None,
                                loss_collection: Any = ops.GraphKeys.LOSSES) -> Tensor:
    return pairwise_loss(labels, predictions, weights, scope, loss_collection, lambda present: present - 1)


def pairwise_loss(labels, predictions, weights, scope, loss_collection, others):
    """Squared differences between the errors of all pairs in a row; `others` says over how many they are averaged."""
    _checked(labels, predictions)
    with ops.name_scope(scope, "mean_pairwise_squared_error", (predictions, labels, weights)) as scope:
        weights = math_ops.cast(weights, dtypes.float32)
        labels, predictions = _pair(labels, predictions)
        with ops.control_dependencies(assert_broadcastable(weights, labels)):
            diffs = gen_ops.sub(predictions, labels)
            axes = math_ops.range(1, array_ops.rank(diffs))
            squares = reduce_ops.reduce_sum(gen_ops.square(diffs), axis=axes, keepdims=True)
            present = num_present(diffs, weights, per_batch=True)
            term1 = 2.0 * math_ops.div_no_nan(squares, gen_ops.maximum(others(present), 0), name="value")
            total = reduce_ops.reduce_sum(diffs, axis=axes, keepdims=True)
            term2 = 2.0 * math_ops.div_no_nan(gen_ops.square(total), gen_ops.maximum(gen_ops.mul(present, others(present)), 0),
                                              name="value")
            weighted = gen_ops.mul(term1 - term2, weights)
            loss = reduce_ops.reduce_sum(weighted)
            mean = index_ops.where(reduce_ops.reduce_sum(present) > 0, loss, array_ops.zeros_like(loss), name="value")
            add_loss(mean, loss_collection)
            return mean


def mean_squared_error(labels: TensorLike, predictions: TensorLike, weights: Any = 1.0, scope: Any = None,
                       loss_collection: Any = ops.GraphKeys.LOSSES, reduction: Any = _DEFAULT) -> Tensor:
    """The weighted mean of squared errors, added to the collection of losses."""
    _checked(labels, predictions)
    with ops.name_scope(scope, "mean_squared_error", (predictions, labels, weights)) as scope:
        labels, predictions = _pair(labels, predictions)
        losses = gen_ops.squared_difference(predictions, labels)
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def sigmoid_cross_entropy(multi_class_labels: Any, logits: TensorLike, weights: Any = 1.0, label_smoothing: Any = 0,
                          scope: Any = None, loss_collection: Any = ops.GraphKeys.LOSSES, reduction: Any = _DEFAULT) -> Tensor:
    """Cross entropy of independent labels with the sigmoid of logits."""
    _checked(multi_class_labels, logits, "logits")
    with ops.name_scope(scope, "sigmoid_cross_entropy_loss", (logits, multi_class_labels, weights)) as scope:
        logits = ops.convert_to_tensor(logits)
        labels = math_ops.cast(multi_class_labels, logits.dtype.base_dtype)
        logits.shape.assert_is_compatible_with(labels.shape)
        if label_smoothing > 0:
            labels = labels * (1 - label_smoothing) + 0.5 * label_smoothing
        losses = nn_ops.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits, name="xentropy")
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def softmax_cross_entropy(onehot_labels: Any, logits: TensorLike, weights: Any = 1.0, label_smoothing: Any = 0,
                          scope: Any = None, loss_collection: Any = ops.GraphKeys.LOSSES, reduction: Any = _DEFAULT) -> Tensor:
    """Cross entropy of one-hot labels with the softmax of logits."""
    _checked(onehot_labels, logits, "logits")
    with ops.name_scope(scope, "softmax_cross_entropy_loss", (logits, onehot_labels, weights)) as scope:
        logits = ops.convert_to_tensor(logits)
        labels = math_ops.cast(onehot_labels, logits.dtype.base_dtype)
        logits.shape.assert_is_compatible_with(labels.shape)
        if label_smoothing > 0:
            classes = math_ops.cast(array_ops.shape(labels)[-1], logits.dtype.base_dtype)
            labels = labels * (1.0 - label_smoothing) + label_smoothing / classes
        labels = gen_ops.stop_gradient(labels, name="labels_stop_gradient")
        losses = nn_ops.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits, name="xentropy")
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def sparse_softmax_cross_entropy(labels: TensorLike, logits: TensorLike, weights: Any = 1.0, scope: Any = None,
                                 loss_collection: Any = ops.GraphKeys.LOSSES, reduction: Any = _DEFAULT) -> Tensor:
    """Cross entropy of class numbers with the softmax of logits."""
    _checked(labels, logits, "logits")
    with ops.name_scope(scope, "sparse_softmax_cross_entropy_loss", (logits, labels, weights)) as scope:
        labels, logits = remove_squeezable_dimensions(labels, logits, expected_rank_diff=1)
        if isinstance(weights, ops.Tensor) and weights.shape.rank is not None and labels.shape.rank is not None and (
                weights.shape.rank == labels.shape.rank + 1):
            weights = array_ops.squeeze(weights, [-1])
        losses = nn_ops.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits, name="xentropy")
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


# The collection.


def add_loss(loss: Any, loss_collection: Any = ops.GraphKeys.LOSSES) -> None:
    """Adds a loss to the collection that get_total_loss sums."""
    if loss_collection:
        ops.add_to_collection(loss_collection, loss)


def get_losses(scope: Any = None, loss_collection: Any = ops.GraphKeys.LOSSES) -> list[Tensor]:
    """The losses of the collection, by `scope`."""
    return ops.get_collection(loss_collection, scope)


def get_regularization_losses(scope: Any = None) -> list[Tensor]:
    """The regularization losses of the graph."""
    return ops.get_collection(ops.GraphKeys.REGULARIZATION_LOSSES, scope)


def get_regularization_loss(scope: Any = None, name: str = "total_regularization_loss") -> Tensor:
    """The sum of the regularization losses, zero if there are none."""
    losses = get_regularization_losses(scope)
    return math_ops.add_n(losses, name=name) if losses else constant_op.constant(0.0)


def get_total_loss(add_regularization_losses: bool = True, name: str = "total_loss", scope: Any = None) -> Tensor:
    """The sum of all losses of the collection, with regularization losses unless told otherwise."""
    losses = get_losses(scope=scope)
    if add_regularization_losses:
        losses = losses + get_regularization_losses(scope=scope)
    return math_ops.add_n(losses, name=name)
