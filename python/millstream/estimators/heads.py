# SPDX-License-Identifier: Apache-2.0
"""From logits to a model: predictions, loss, metrics, signatures. The part that ready-made estimators share."""
from __future__ import annotations

import collections
from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.columns import base as columns
from millstream.columns import dense
from millstream.estimators import export
from millstream.estimators.model_fn import EstimatorSpec, ModeKeys
from millstream.events import summary_ops
from millstream.framework import dtypes, ops
from millstream.framework.sparse_tensor import SparseTensor, convert_to_tensor_or_sparse_tensor
from millstream.ops.array import array_ops
from millstream.ops.debugging import check_ops
from millstream.ops.flow import control_flow_ops
from millstream.ops.lookup import lookup_ops
from millstream.ops.losses import losses
from millstream.ops.math import math_ops, reduce_ops
from millstream.ops.metrics import metrics, thresholds as metrics_thresholds
from millstream.ops.nn import nn_ops
from millstream.ops.strings import string_ops
from millstream.ops.losses.weights import broadcast_weights
from millstream.savedmodel import constants
from millstream.training import training_util

if TYPE_CHECKING:
    from typing import Any, Optional

LossSpec = collections.namedtuple("LossSpec", "training_loss unreduced_loss weights processed_labels")


def check_labels(labels, logits, dimension):
    """Labels of the shape [batch, dimension]; [batch] will do if the dimension is 1."""
    if labels is None:
        raise ValueError("You must provide a labels Tensor. Given: None. Suggested troubleshooting steps: Check that your data contain "
                         "your label feature. Check that your input_fn properly parses and returns labels.")
    with ops.name_scope(None, "labels", [labels, logits]) as scope:
        labels = convert_to_tensor_or_sparse_tensor(labels)
        if isinstance(labels, SparseTensor):
            raise ValueError(f"SparseTensor labels are not supported. labels must be a Tensor of shape [D0, D1, ..., DN, {dimension}], "
                             f"e.g. [batch_size, {dimension}].")
        if labels.shape.rank is not None and logits.shape.rank is not None and labels.shape.rank == logits.shape.rank - 1:
            labels = array_ops.expand_dims(labels, -1)
        if labels.shape.rank is not None and labels.shape.as_list()[-1] not in (None, dimension):
            raise ValueError(f"Mismatched label shape. Expected labels dimension={dimension}.  Received {labels.shape.as_list()[-1]}. "
                             "Suggested Fix:If your classifier expects one-hot encoding label,check your n_classes argument to the "
                             "estimator and/or the shape of your label. Otherwise, check the shape of your label.")
        message = (f"labels shape must be [D0, D1, ... DN, {dimension}]. Suggested Fix: check your n_classes argument to the estimator "
                   "and/or the shape of your label.")
        expected = array_ops.concat([array_ops.shape(logits)[:-1], [dimension]], axis=0)
        with ops.control_dependencies([check_ops.assert_rank_at_least(labels, 2, message=message)]):
            same = check_ops.assert_equal(expected, array_ops.shape(labels), message=message)
        with ops.control_dependencies([same]):
            return array_ops.identity(labels, name=scope)


def example_weights(features, weight_column, logits, per_logit=False):
    """The weights of a feature or dense column as [batch, 1], or 1 without a column."""
    if weight_column is None:
        return 1.0
    with ops.name_scope(None, "weights", [logits]) as scope:
        if isinstance(weight_column, str):
            weight_column = dense.numeric_column(weight_column, shape=(1,))
        if not isinstance(weight_column, columns.DenseColumn):
            raise TypeError(f"Weight column must be either a string or _DenseColumn. Given type: {type(weight_column)}.")
        weights = math_ops.cast(weight_column.get_dense_tensor(columns.Inputs(features)), dtypes.float32)
        message = "weights shape must be [D0, D1, ... DN] or [D0, D1, ... DN, 1]"
        shape, logits_shape = array_ops.shape(weights), array_ops.shape(logits)
        good = reduce_ops.reduce_all(gen_ops.equal(array_ops.concat([logits_shape[:-1], [1]], 0), shape))
        if per_logit:
            message += " or [D0, D1, ... DN, logits_dimension]"
            good = gen_ops.logical_or(good, reduce_ops.reduce_all(gen_ops.equal(logits_shape, shape)))
        with ops.control_dependencies([control_flow_ops.Assert(good, [message, "logits_shape: ", logits_shape, "weights_shape: ",
                                                                      shape])]):
            return array_ops.identity(weights, name=scope)


def _in_range(labels, n_classes):
    with ops.name_scope(None, "assert_range", [labels]):
        checks = [check_ops.assert_less(labels, ops.convert_to_tensor(n_classes, dtype=labels.dtype),
                                        message=f"Labels must be <= {n_classes} - 1"),
                  check_ops.assert_non_negative(labels, message="Labels must be >= 0")]
        with ops.control_dependencies(checks):
            return array_ops.identity(labels)


class Head:
    """What a model is asked for and how it is judged. Kinds define logits_dimension, _predictions, _unweighted_loss, _metrics and
    _outputs."""

    def __init__(self, weight_column: Any = None, loss_reduction: Any = losses.Reduction.SUM, loss_fn: Any = None,
                 name: Optional[str] = None) -> None:
        if loss_reduction not in losses.Reduction.all() or loss_reduction == losses.Reduction.NONE:
            raise ValueError(f"Invalid loss_reduction: {loss_reduction}")
        self._weight_column, self._reduction, self._loss_fn, self._name = weight_column, loss_reduction, loss_fn, name

    name = property(lambda self: self._name)

    def key(self, text: Any) -> Any:
        return f"{text}/{self._name}" if self._name else text

    def create_loss(self, features, mode, logits, labels):
        logits = ops.convert_to_tensor(logits)
        labels = self._labels(labels, logits)
        if self._loss_fn is None:
            unreduced = self._unweighted_loss(labels, logits)
        else:
            given = {"features": features} if "features" in self._loss_fn.__code__.co_varnames else {}
            unreduced = self._loss_fn(labels=labels, logits=logits, **given)
        weights = example_weights(features, self._weight_column, logits, self.per_logit_weights)
        loss = losses.compute_weighted_loss(unreduced, weights=weights, reduction=self._reduction)
        return LossSpec(loss, unreduced, weights, labels)

    per_logit_weights = False

    def create_estimator_spec(self, features, mode, logits, labels=None, optimizer=None, train_op_fn=None, regularization_losses=None):
        with ops.name_scope(self._name, "head"):
            logits = math_ops.cast(logits, dtypes.float32)
            if logits.shape.rank is not None and logits.shape.as_list()[-1] not in (None, self.logits_dimension):
                raise ValueError(f"logits shape must be [D0, D1, ... DN, logits_dimension={self.logits_dimension}], got {logits.shape}.")
            predictions = self._predictions(logits)
            if mode == ModeKeys.PREDICT:
                return EstimatorSpec(mode, predictions=predictions, export_outputs=self._outputs(predictions))
            spec = self.create_loss(features, mode, logits, labels)
            loss, regularization = spec.training_loss, None
            if regularization_losses:
                regularization = math_ops.add_n(regularization_losses)
                loss = math_ops.add_n([loss, regularization])
            if mode == ModeKeys.EVAL:
                found = self._metrics(predictions, spec)
                if regularization is not None:
                    found["regularization_loss"] = metrics.mean(regularization)
                return EstimatorSpec(mode, predictions=predictions, loss=loss,
                                     eval_metric_ops={self.key(k): v for k, v in found.items()})
            train_op = _train_op(loss, optimizer, train_op_fn)
            mean = None
            if self._reduction == losses.Reduction.SUM:
                mean = loss / reduce_ops.reduce_sum(spec.weights * array_ops.ones_like(spec.unreduced_loss))
        with ops.name_scope(""):
            summary_ops.scalar(self.key("loss"), loss)
            if mean is not None:
                summary_ops.scalar(self.key("average_loss"), mean)
            if regularization is not None:
                summary_ops.scalar(self.key("regularization_loss"), regularization)
        return EstimatorSpec(mode, predictions=predictions, loss=loss, train_op=train_op)


def _train_op(loss, optimizer, train_op_fn):
    if (optimizer is None) == (train_op_fn is None):
        raise ValueError("train_op_fn and optimizer cannot both be " + ("None." if optimizer is None else "set."))
    train_op = train_op_fn(loss) if optimizer is None else optimizer.minimize(loss, global_step=training_util.get_global_step())
    updates = ops.get_collection(ops.GraphKeys.UPDATE_OPS)
    return control_flow_ops.group(train_op, *updates) if updates else train_op


class _Classification(Head):
    """What two classes and more have in common."""

    def __init__(self, n_classes: Any, weight_column: Any = None, label_vocabulary: Any = None,
                 loss_reduction: Any = losses.Reduction.SUM, loss_fn: Any = None, name: Optional[str] = None) -> None:
        super().__init__(weight_column, loss_reduction, loss_fn, name)
        if label_vocabulary is not None and not isinstance(label_vocabulary, (list, tuple)):
            raise ValueError(f"label_vocabulary should be a list or a tuple. Given type: {type(label_vocabulary)}")
        self._classes, self._vocabulary = n_classes, label_vocabulary

    def _class_names(self, logits, values):
        return gen_ops.tile(array_ops.expand_dims(values, 0), [array_ops.shape(logits)[0], 1])

    def _texts(self):
        return list(self._vocabulary) if self._vocabulary else string_ops.as_string(math_ops.range(self._classes))

    def _about_classes(self, logits):
        """Predictions from logits of all classes."""
        with ops.name_scope(None, "predictions", [logits]):
            class_ids = array_ops.expand_dims(math_ops.argmax(logits, axis=-1, name="class_ids"), axis=-1)
            if self._vocabulary:
                table = lookup_ops.index_to_string_table_from_tensor(list(self._vocabulary), name="class_string_lookup")
                classes = table.lookup(class_ids)
            else:
                classes = string_ops.as_string(class_ids, name="str_classes")
            return {"probabilities": nn_ops.softmax(logits, name="probabilities"), "class_ids": class_ids, "classes": classes,
                    "all_class_ids": self._class_names(logits, math_ops.range(self._classes)),
                    "all_classes": self._class_names(logits, self._texts())}

    def _label_ids(self, labels):
        if self._vocabulary is None:
            return labels
        if labels.dtype != dtypes.string:
            raise ValueError(f"Labels dtype should be string if there is a vocabulary. Instead got {labels.dtype}")
        return lookup_ops.index_table_from_tensor(list(self._vocabulary), name="class_id_lookup").lookup(labels)

    def _outputs(self, predictions):
        classified = export.ClassificationOutput(scores=predictions["probabilities"],
                                                 classes=self._class_names(predictions["logits"], self._texts()))
        return {constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY: classified, "classification": classified,
                "predict": export.PredictOutput(predictions)}


class MultiClassHead(_Classification):
    """Loss, predictions and metrics for three classes or more."""
    logits_dimension = property(lambda self: self._classes)

    def __init__(self, n_classes: Any, weight_column: Any = None, label_vocabulary: Any = None,
                 loss_reduction: Any = losses.Reduction.SUM, loss_fn: Any = None, name: Optional[str] = None) -> None:
        if n_classes is None:
            raise ValueError("n_classes cannot be None")
        if n_classes <= 2:
            raise ValueError(f"n_classes must be > 2: {n_classes}.")
        super().__init__(n_classes, weight_column, label_vocabulary, loss_reduction, loss_fn, name)

    def _predictions(self, logits):
        return {"logits": logits, **self._about_classes(logits)}

    def _labels(self, labels, logits):
        labels = check_labels(labels, logits, 1)
        if self._vocabulary is None and not labels.dtype.is_integer:
            raise ValueError(f"Labels dtype should be integer. Instead got {labels.dtype}.")
        return _in_range(self._label_ids(labels), self._classes)

    def _unweighted_loss(self, labels, logits):
        loss = losses.sparse_softmax_cross_entropy(labels, logits, reduction=losses.Reduction.NONE)
        return array_ops.expand_dims(loss, -1)

    def _metrics(self, predictions, spec):
        with ops.name_scope(None, "metrics"):
            return {"average_loss": metrics.mean(spec.unreduced_loss, weights=spec.weights, name="average_loss"),
                    "accuracy": metrics.accuracy(spec.processed_labels, predictions["class_ids"], weights=spec.weights, name="accuracy")}


class BinaryClassHead(_Classification):
    """Loss, predictions and metrics for two classes, from one logit."""
    logits_dimension = 1

    def __init__(self, weight_column: Any = None, thresholds: Any = None, label_vocabulary: Any = None,
                 loss_reduction: Any = losses.Reduction.SUM, loss_fn: Any = None, name: Optional[str] = None) -> None:
        super().__init__(2, weight_column, label_vocabulary, loss_reduction, loss_fn, name)
        self._thresholds = tuple(thresholds or ())
        for threshold in self._thresholds:
            if not 0.0 < threshold < 1.0:
                raise ValueError(f"thresholds not in (0, 1): {self._thresholds}.")

    def _predictions(self, logits):
        both = array_ops.concat([array_ops.zeros_like(logits), logits], -1, name="two_class_logits")
        return {"logits": logits, "logistic": gen_ops.sigmoid(logits, name="logistic"), **self._about_classes(both)}

    def _labels(self, labels, logits):
        labels = self._label_ids(check_labels(labels, logits, 1))
        return _in_range(math_ops.cast(labels, dtypes.float32), 2)

    def _unweighted_loss(self, labels, logits):
        return nn_ops.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)

    def _outputs(self, predictions):
        return {**super()._outputs(predictions), "regression": export.RegressionOutput(predictions["logistic"])}

    def _metrics(self, predictions, spec):
        labels, weights, logistic, ids = spec.processed_labels, spec.weights, predictions["logistic"], predictions["class_ids"]
        each = broadcast_weights(weights, logistic)
        with ops.name_scope(None, "metrics"):
            label_mean = metrics.mean(labels, weights=each, name="label/mean")
            found = {
                "average_loss": metrics.mean(spec.unreduced_loss, weights=weights, name="average_loss"),
                "accuracy": metrics.accuracy(labels, ids, weights=weights, name="accuracy"),
                "precision": metrics.precision(labels, ids, weights=weights, name="precision"),
                "recall": metrics.recall(labels, ids, weights=weights, name="recall"),
                "prediction/mean": metrics.mean(logistic, weights=each, name="prediction/mean"),
                "label/mean": label_mean,
                "accuracy_baseline": tuple(gen_ops.maximum(m, 1.0 - m) for m in label_mean),
                "auc": metrics_thresholds.auc(labels, logistic, weights=each, name="auc"),
                "auc_precision_recall": metrics_thresholds.auc(labels, logistic, weights=each, curve="PR", name="auc_precision_recall"),
            }
            for t in self._thresholds:
                above = math_ops.cast(logistic >= t, dtypes.float32)
                found[f"accuracy/positive_threshold_{t:g}"] = metrics.accuracy(labels, above, weights=weights)
                for what, function in (("precision", metrics_thresholds.precision_at_thresholds),
                                       ("recall", metrics_thresholds.recall_at_thresholds)):
                    found[f"{what}/positive_threshold_{t:g}"] = tuple(
                        array_ops.squeeze(m) for m in function(labels, logistic, (t,), weights=weights))
        return found


class RegressionHead(Head):
    """Loss, predictions and metrics for values; the loss is the mean squared error."""
    logits_dimension = property(lambda self: self._dimension)
    per_logit_weights = True

    def __init__(self, label_dimension: Any = 1, weight_column: Any = None, loss_reduction: Any = losses.Reduction.SUM,
                 loss_fn: Any = None, inverse_link_fn: Any = None, name: Optional[str] = None) -> None:
        super().__init__(weight_column, loss_reduction, loss_fn, name)
        if label_dimension < 1:
            raise ValueError(f"Invalid label_dimension {label_dimension}.")
        self._dimension, self._inverse_link = label_dimension, inverse_link_fn

    def _predictions(self, logits):
        if self._inverse_link is None:
            return {"predictions": logits}
        return {"predictions": self._inverse_link(logits), "logits": logits}

    def _labels(self, labels, logits):
        return math_ops.cast(check_labels(labels, logits, self._dimension), dtypes.float32)

    def _unweighted_loss(self, labels, logits):
        return losses.mean_squared_error(labels, logits, reduction=losses.Reduction.NONE)

    def _outputs(self, predictions):
        value = export.RegressionOutput(predictions["predictions"])
        return {constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY: value, "regression": value, "predict": export.PredictOutput(predictions)}

    def _metrics(self, predictions, spec):
        value = predictions["predictions"]
        return {"average_loss": metrics.mean(spec.unreduced_loss, weights=spec.weights),
                "prediction/mean": metrics.mean(value, weights=broadcast_weights(spec.weights, value), name="prediction/mean"),
                "label/mean": metrics.mean(spec.processed_labels, weights=spec.weights)}


def regression_head(weight_column: Any = None, label_dimension: Any = 1, loss_reduction: Any = losses.Reduction.SUM,
                    loss_fn: Any = None, inverse_link_fn: Any = None, name: Optional[str] = None) -> Any:
    return RegressionHead(label_dimension, weight_column, loss_reduction, loss_fn, inverse_link_fn, name)


def classification_head(n_classes, weight_column, label_vocabulary, loss_reduction):
    if n_classes == 2:
        return BinaryClassHead(weight_column, label_vocabulary=label_vocabulary, loss_reduction=loss_reduction)
    return MultiClassHead(n_classes, weight_column, label_vocabulary, loss_reduction)
