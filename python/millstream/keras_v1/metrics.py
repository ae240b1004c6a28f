# SPDX-License-Identifier: Apache-2.0
"""tf.keras.metrics: functions of (y_true, y_pred), one value per sample."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import dtypes
from millstream.keras_v1 import losses, state
from millstream.keras_v1.losses import (binary_crossentropy, categorical_crossentropy, hinge, kullback_leibler_divergence,  # noqa: F401
                                        mean_absolute_error, mean_absolute_percentage_error, mean_squared_error,
                                        mean_squared_logarithmic_error, poisson, sparse_categorical_crossentropy, squared_hinge)
from millstream.ops.array import array_ops
from millstream.ops.math import math_ops, reduce_ops
from millstream.ops.nn import nn_ops

if TYPE_CHECKING:
    from typing import Any

    from millstream.framework.tensor import Tensor


def binary_accuracy(y_true: Any, y_pred: Any, threshold: Any = 0.5) -> Any:
    above = math_ops.cast(gen_ops.greater(y_pred, threshold), y_pred.dtype)
    return reduce_ops.reduce_mean(math_ops.cast(gen_ops.equal(math_ops.cast(y_true, y_pred.dtype), above), state.floatx()), axis=-1)


def categorical_accuracy(y_true: Any, y_pred: Any) -> Any:
    same = gen_ops.equal(math_ops.argmax(y_true, axis=-1), math_ops.argmax(y_pred, axis=-1))
    return math_ops.cast(same, state.floatx())


def sparse_categorical_accuracy(y_true: Any, y_pred: Any) -> Tensor:
    if y_true.shape.rank is None or y_true.shape.rank == y_pred.shape.rank:
        y_true = array_ops.reshape(y_true, array_ops.shape(y_pred)[:-1])
    same = gen_ops.equal(math_ops.cast(y_true, dtypes.int64), math_ops.argmax(y_pred, axis=-1))
    return math_ops.cast(same, state.floatx())


def top_k_categorical_accuracy(y_true: Any, y_pred: Any, k: Any = 5) -> Any:
    return math_ops.cast(nn_ops.in_top_k(y_pred, math_ops.argmax(y_true, axis=-1), k), state.floatx())


def sparse_top_k_categorical_accuracy(y_true: Any, y_pred: Any, k: Any = 5) -> Any:
    labels = math_ops.cast(array_ops.reshape(y_true, [-1]), dtypes.int32)
    return math_ops.cast(nn_ops.in_top_k(y_pred, labels, k), state.floatx())


mse = MSE = mean_squared_error
mae = MAE = mean_absolute_error
mape = MAPE = mean_absolute_percentage_error
msle = MSLE = mean_squared_logarithmic_error
cosine_proximity = cosine = losses.cosine_similarity


class _FunctionMetric:
    """A function with a name, as compile(metrics=[...]) takes it."""

    def __init__(self, function, name, **kwargs):
        self._function, self.name, self._arguments = function, name, kwargs

    def __call__(self, y_true, y_pred):
        return self._function(y_true, y_pred, **self._arguments)


def _class(name, function, default, *positional):
    def __init__(self, *args, **kwargs):
        kwargs.update(zip(positional, args))
        kwargs.pop("dtype", None)
        _FunctionMetric.__init__(self, function, kwargs.pop("name", None) or default, **kwargs)
    return type(name, (_FunctionMetric,), {"__init__": __init__, "__module__": __name__})


BinaryAccuracy = _class("BinaryAccuracy", binary_accuracy, "binary_accuracy")
CategoricalAccuracy = _class("CategoricalAccuracy", categorical_accuracy, "categorical_accuracy")
SparseCategoricalAccuracy = _class("SparseCategoricalAccuracy", sparse_categorical_accuracy, "sparse_categorical_accuracy")
TopKCategoricalAccuracy = _class("TopKCategoricalAccuracy", top_k_categorical_accuracy, "top_k_categorical_accuracy", "k")
SparseTopKCategoricalAccuracy = _class("SparseTopKCategoricalAccuracy", sparse_top_k_categorical_accuracy,
                                       "sparse_top_k_categorical_accuracy", "k")
MeanSquaredError = _class("MeanSquaredError", mean_squared_error, "mean_squared_error")
MeanAbsoluteError = _class("MeanAbsoluteError", mean_absolute_error, "mean_absolute_error")
BinaryCrossentropy = _class("BinaryCrossentropy", binary_crossentropy, "binary_crossentropy")
CategoricalCrossentropy = _class("CategoricalCrossentropy", categorical_crossentropy, "categorical_crossentropy")
SparseCategoricalCrossentropy = _class("SparseCategoricalCrossentropy", sparse_categorical_crossentropy, "sparse_categorical_crossentropy")


def get(identifier: Any) -> Any:
    if callable(identifier):
        return identifier
    found = globals().get(str(identifier))
    if not callable(found) or str(identifier).startswith("_"):
        raise ValueError(f"Unknown metric function:{identifier}")
    return found() if isinstance(found, type) else found


def named(identifier, output, loss):
    """(name, function) of an entry of compile(metrics=...): "accuracy" is chosen by the loss and the output."""
    if identifier in ("accuracy", "acc"):
        sparse = getattr(loss, "function", loss) is losses.sparse_categorical_crossentropy
        if output.shape.as_list()[-1] == 1:
            return "acc", binary_accuracy
        return "acc", sparse_categorical_accuracy if sparse else categorical_accuracy
    function = get(identifier)
    name = identifier if isinstance(identifier, str) else getattr(function, "name", None) or function.__name__
    return {"mse": "mean_squared_error", "mae": "mean_absolute_error"}.get(name, name) if not isinstance(identifier, str) else name, function


deserialize = get
