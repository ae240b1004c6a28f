# SPDX-License-Identifier: Apache-2.0
"""tf.keras.losses: functions of (y_true, y_pred) over the last axis, and classes that reduce them."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import dtypes, ops
from millstream.keras_v1 import state
from millstream.ops.array import array_ops
from millstream.ops.losses import losses as tf_losses
from millstream.ops.math import clip_ops, math_ops, reduce_ops
from millstream.ops.nn import nn_ops

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.tensor import Tensor


def _pair(y_true, y_pred):
    y_pred = ops.convert_to_tensor(y_pred)
    return math_ops.cast(y_true, y_pred.dtype.base_dtype), y_pred


def mean_squared_error(y_true: Any, y_pred: Any) -> Any:
    y_true, y_pred = _pair(y_true, y_pred)
    return reduce_ops.reduce_mean(gen_ops.squared_difference(y_pred, y_true), axis=-1)


def mean_absolute_error(y_true: Any, y_pred: Any) -> Any:
    y_true, y_pred = _pair(y_true, y_pred)
    return reduce_ops.reduce_mean(gen_ops.abs(y_pred - y_true), axis=-1)


def mean_absolute_percentage_error(y_true: Any, y_pred: Any) -> Any:
    y_true, y_pred = _pair(y_true, y_pred)
    part = gen_ops.abs((y_true - y_pred) / gen_ops.maximum(gen_ops.abs(y_true), state.epsilon()))
    return 100.0 * reduce_ops.reduce_mean(part, axis=-1)


def mean_squared_logarithmic_error(y_true: Any, y_pred: Any) -> Any:
    y_true, y_pred = _pair(y_true, y_pred)
    a, b = (gen_ops.log(gen_ops.maximum(x, state.epsilon()) + 1.0) for x in (y_pred, y_true))
    return reduce_ops.reduce_mean(gen_ops.squared_difference(a, b), axis=-1)


def _signs(y_true):
    """-1 and 1, also for labels that are 0 and 1."""
    binary = reduce_ops.reduce_all(gen_ops.logical_or(gen_ops.equal(y_true, 0.0), gen_ops.equal(y_true, 1.0)))
    return gen_ops.select(gen_ops.fill(array_ops.shape(y_true), binary), 2.0 * y_true - 1.0, y_true)


def hinge(y_true: Any, y_pred: Any) -> Any:
    y_true, y_pred = _pair(y_true, y_pred)
    return reduce_ops.reduce_mean(gen_ops.maximum(1.0 - _signs(y_true) * y_pred, 0.0), axis=-1)


def squared_hinge(y_true: Any, y_pred: Any) -> Any:
    y_true, y_pred = _pair(y_true, y_pred)
    return reduce_ops.reduce_mean(gen_ops.square(gen_ops.maximum(1.0 - _signs(y_true) * y_pred, 0.0)), axis=-1)


def categorical_hinge(y_true: Any, y_pred: Any) -> Any:
    y_true, y_pred = _pair(y_true, y_pred)
    right = reduce_ops.reduce_sum(y_true * y_pred, axis=-1)
    wrong = reduce_ops.reduce_max((1.0 - y_true) * y_pred, axis=-1)
    return gen_ops.maximum(0.0, wrong - right + 1.0)


def huber_loss(y_true: Any, y_pred: Any, delta: Any = 1.0) -> Any:
    y_true, y_pred = _pair(y_true, y_pred)
    error = gen_ops.abs(y_pred - y_true)
    near = gen_ops.minimum(error, delta)
    return 0.5 * near * near + delta * (error - near)


def logcosh(y_true: Any, y_pred: Any) -> Any:
    y_true, y_pred = _pair(y_true, y_pred)
    x = y_pred - y_true
    return reduce_ops.reduce_mean(x + gen_ops.softplus(-2.0 * x) - 0.6931471805599453, axis=-1)


def _limited(p):
    return clip_ops.clip_by_value(p, state.epsilon(), 1.0 - state.epsilon())


def categorical_crossentropy(y_true: Any, y_pred: Any, from_logits: bool = False, label_smoothing: Any = 0) -> Any:
    y_true, y_pred = _pair(y_true, y_pred)
    if label_smoothing:
        y_true = y_true * (1.0 - label_smoothing) + label_smoothing / y_pred.shape.as_list()[-1]
    if not from_logits and y_pred.op.type == "Softmax":
        y_pred, from_logits = y_pred.op.inputs[0], True
    if from_logits:
        return nn_ops.softmax_cross_entropy_with_logits_v2(labels=y_true, logits=y_pred)
    y_pred = _limited(y_pred / reduce_ops.reduce_sum(y_pred, axis=-1, keepdims=True))
    return -reduce_ops.reduce_sum(y_true * gen_ops.log(y_pred), axis=-1)


def check_class_axis(y_pred, axis):
    """Classes are the last axis of predictions."""
    if axis not in (-1, y_pred.shape.rank - 1 if y_pred.shape.rank is not None else -1):
        raise NotImplementedError(f"Cross entropies over axis {axis} are not supported: classes must be the last axis.")


def sparse_categorical_crossentropy(y_true: Any, y_pred: Any, from_logits: bool = False, axis: Any = -1) -> Tensor:
    y_pred = ops.convert_to_tensor(y_pred)
    check_class_axis(y_pred, axis)
    if not from_logits:
        y_pred = y_pred.op.inputs[0] if y_pred.op.type == "Softmax" else gen_ops.log(_limited(y_pred))
    labels = math_ops.cast(y_true, dtypes.int64)
    if labels.shape.rank is None or labels.shape.rank == y_pred.shape.rank:
        labels = array_ops.reshape(labels, array_ops.shape(y_pred)[:-1])
    return nn_ops.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=y_pred)


def binary_crossentropy(y_true: Any, y_pred: Any, from_logits: bool = False, label_smoothing: Any = 0) -> Any:
    y_true, y_pred = _pair(y_true, y_pred)
    if label_smoothing:
        y_true = y_true * (1.0 - label_smoothing) + 0.5 * label_smoothing
    if not from_logits and y_pred.op.type == "Sigmoid":
        y_pred, from_logits = y_pred.op.inputs[0], True
    if from_logits:
        each = nn_ops.sigmoid_cross_entropy_with_logits(labels=y_true, logits=y_pred)
    else:
        p, tiny = _limited(y_pred), state.epsilon()
        each = -(y_true * gen_ops.log(p + tiny) + (1 - y_true) * gen_ops.log(1 - p + tiny))
    return reduce_ops.reduce_mean(each, axis=-1)


def kullback_leibler_divergence(y_true: Any, y_pred: Any) -> Any:
    y_true, y_pred = (clip_ops.clip_by_value(x, state.epsilon(), 1) for x in _pair(y_true, y_pred))
    return reduce_ops.reduce_sum(y_true * gen_ops.log(y_true / y_pred), axis=-1)


def poisson(y_true: Any, y_pred: Any) -> Any:
    y_true, y_pred = _pair(y_true, y_pred)
    return reduce_ops.reduce_mean(y_pred - y_true * gen_ops.log(y_pred + state.epsilon()), axis=-1)


def cosine_similarity(y_true: Any, y_pred: Any, axis: Any = -1) -> Any:
    y_true, y_pred = _pair(y_true, y_pred)
    return -reduce_ops.reduce_sum(nn_ops.l2_normalize(y_true, axis=axis) * nn_ops.l2_normalize(y_pred, axis=axis), axis=axis)


mse = MSE = mean_squared_error
mae = MAE = mean_absolute_error
mape = MAPE = mean_absolute_percentage_error
msle = MSLE = mean_squared_logarithmic_error
kld = KLD = kullback_leibler_divergence
cosine = cosine_proximity = cosine_similarity


class Loss:
    """A function of losses per sample, reduced with weights."""

    def __init__(self, reduction: Any = "auto", name: Optional[str] = None) -> None:
        self.reduction, self.name = reduction, name

    def __call__(self, y_true, y_pred, sample_weight=None):
        values = self.call(y_true, y_pred)
        reduction = {"auto": "weighted_sum_over_batch_size", "sum_over_batch_size": "weighted_sum_over_batch_size", "sum": "weighted_sum",
                     "none": "none"}[self.reduction]
        weights = 1.0 if sample_weight is None else math_ops.cast(sample_weight, values.dtype)
        return tf_losses.compute_weighted_loss(values, weights, reduction=reduction, loss_collection=None)


class _FunctionLoss(Loss):
    function = None

    def __init__(self, reduction="auto", name=None, **kwargs):
        super().__init__(reduction, name or type(self).function.__name__)
        self._arguments = kwargs

    def call(self, y_true, y_pred):
        return type(self).function(y_true, y_pred, **self._arguments)


def _class(name, function, *positional):
    def __init__(self, *args, **kwargs):
        kwargs.update(zip(positional, args))
        _FunctionLoss.__init__(self, **kwargs)
    return type(name, (_FunctionLoss,), {"function": staticmethod(function), "__init__": __init__, "__module__": __name__})


MeanSquaredError = _class("MeanSquaredError", mean_squared_error)
MeanAbsoluteError = _class("MeanAbsoluteError", mean_absolute_error)
MeanAbsolutePercentageError = _class("MeanAbsolutePercentageError", mean_absolute_percentage_error)
MeanSquaredLogarithmicError = _class("MeanSquaredLogarithmicError", mean_squared_logarithmic_error)
BinaryCrossentropy = _class("BinaryCrossentropy", binary_crossentropy, "from_logits", "label_smoothing")
CategoricalCrossentropy = _class("CategoricalCrossentropy", categorical_crossentropy, "from_logits", "label_smoothing")
SparseCategoricalCrossentropy = _class("SparseCategoricalCrossentropy", sparse_categorical_crossentropy, "from_logits")
Hinge, SquaredHinge = _class("Hinge", hinge), _class("SquaredHinge", squared_hinge)
CategoricalHinge, Huber = _class("CategoricalHinge", categorical_hinge), _class("Huber", huber_loss, "delta")
KLDivergence, Poisson = _class("KLDivergence", kullback_leibler_divergence), _class("Poisson", poisson)
LogCosh, CosineSimilarity = _class("LogCosh", logcosh), _class("CosineSimilarity", cosine_similarity, "axis")


def get(identifier: Any) -> Any:
    if identifier is None or callable(identifier):
        return identifier
    found = globals().get(str(identifier))
    if not callable(found) or str(identifier).startswith("_"):
        raise ValueError(f"Unknown loss function:{identifier}")
    return found() if isinstance(found, type) else found


deserialize = get
