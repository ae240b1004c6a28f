# SPDX-License-Identifier: Apache-2.0
"""tf.contrib.learn: the estimators that came before tf.estimator, with fit() on arrays."""
from __future__ import annotations

import collections
import inspect
from typing import Optional
from typing import TYPE_CHECKING

import numpy as np

from millstream.columns import contrib as columns
from millstream.estimators import canned, inputs, run_config
from millstream.estimators.estimator import Estimator as CoreEstimator
from millstream.estimators.model_fn import EstimatorSpec, ModeKeys as CoreModeKeys
from millstream.ops.arguments import unsupported
from millstream.ops.metrics import metrics as metrics_lib

if TYPE_CHECKING:
    from typing import Any

    from millstream.framework.type_aliases import TensorLike

RunConfig = run_config.RunConfig


class ModeKeys:
    TRAIN, EVAL, INFER = "train", "eval", "infer"


class ModelFnOps(collections.namedtuple("ModelFnOps", "mode predictions loss train_op eval_metric_ops output_alternatives "
                                        "training_chief_hooks training_hooks scaffold")):
    def __new__(cls, mode, predictions=None, loss=None, train_op=None, eval_metric_ops=None, output_alternatives=None,
                training_chief_hooks=None, training_hooks=None, scaffold=None):
        return super().__new__(cls, mode, predictions, loss, train_op, eval_metric_ops, output_alternatives, training_chief_hooks,
                               training_hooks, scaffold)


class MetricSpec:
    """A metric of tf.metrics (or contrib.metrics) for evaluate(metrics={name: MetricSpec(...)})."""

    def __init__(self, metric_fn: Any, prediction_key: Any = None, label_key: Any = None, weight_key: Any = None) -> None:
        self.metric_fn, self.prediction_key, self.label_key, self.weight_key = metric_fn, prediction_key, label_key, weight_key

    def create_metric_ops(self, features: Any, labels: Any, predictions: Any) -> Any:
        prediction = predictions[self.prediction_key] if self.prediction_key is not None else predictions
        label = labels[self.label_key] if self.label_key is not None else labels
        names = list(inspect.signature(self.metric_fn).parameters)
        given = {"weights": features[self.weight_key]} if self.weight_key is not None else {}
        if names[:1] == ["labels"]:
            return self.metric_fn(labels=label, predictions=prediction, **given)
        return self.metric_fn(prediction, label, **given)


def infer_real_valued_columns_from_input(x: TensorLike) -> Any:
    """One column over all numbers of an array (or of a dict's arrays)."""
    if isinstance(x, dict):
        return [columns.real_valued_column(k, int(np.prod(np.shape(v)[1:])) or 1) for k, v in sorted(x.items())]
    return [columns.real_valued_column("", int(np.prod(np.shape(x)[1:])) or 1)]


def _named(x):
    return x if isinstance(x, dict) else {columns.WHOLE: np.asarray(x)}


def _input_fn(x, y, input_fn, batch_size, epochs, shuffle):
    if input_fn is not None:
        return lambda: _named_tensors(input_fn())
    if x is None:
        raise ValueError("Either x or input_fn must be provided.")
    count = len(next(iter(_named(x).values())))
    return inputs.numpy_input_fn(_named(x), None if y is None else np.asarray(y), batch_size or max(count, 1), epochs, shuffle)


def _named_tensors(result):
    features, labels = result if isinstance(result, tuple) else (result, None)
    features = features if isinstance(features, dict) else {columns.WHOLE: features}
    return features if labels is None else (features, labels)


# Arguments of contrib's estimators that change nothing about what is learned.
_WITHOUT_EFFECT = ("fix_global_step_increment_bug", "input_layer_min_slice_size", "input_layer_partitioner")


def _check_arguments(estimator, arguments):
    unsupported(type(estimator).__name__, **{k: v for k, v in arguments.items() if k not in _WITHOUT_EFFECT})


def _hooks(monitors):
    for monitor in monitors or ():
        if not hasattr(monitor, "after_run"):
            raise NotImplementedError(f"{monitor}: monitors are tf.train.SessionRunHook objects; others are not supported.")
    return list(monitors or ())


class _Fitted:
    """fit(), evaluate() and predict() over an estimator of tf.estimator, which is `_core`."""

    model_dir = property(lambda self: self._core.model_dir)
    config = property(lambda self: self._core.config)
    params = property(lambda self: self._core.params)

    def fit(self, x=None, y=None, input_fn=None, steps=None, batch_size=None, monitors=None, max_steps=None):
        self._core.train(_input_fn(x, y, input_fn, batch_size, None, x is not None), hooks=_hooks(monitors), steps=steps,
                         max_steps=max_steps)
        return self

    partial_fit = fit

    def evaluate(self, x=None, y=None, input_fn=None, feed_fn=None, batch_size=None, steps=None, metrics=None, name=None,
                 checkpoint_path=None, hooks=None):
        unsupported("evaluate", feed_fn=feed_fn)
        core = self._core
        if metrics:
            def more(features, labels, predictions):
                return {k[0] if isinstance(k, tuple) else k: _metric(k, m, features, labels, predictions) for k, m in metrics.items()}
            core = canned.add_metrics(core, more)
        return core.evaluate(_input_fn(x, y, input_fn, batch_size, 1, False), steps=steps, hooks=hooks, checkpoint_path=checkpoint_path,
                             name=name)

    def _predictions(self, x, input_fn, batch_size, keys):
        return self._core.predict(_input_fn(x, None, input_fn, batch_size, 1, False), predict_keys=keys)

    def predict(self, x: Any = None, input_fn: Any = None, batch_size: Any = None, outputs: Any = None,
                as_iterable: bool = True) -> Any:
        rows = self._predictions(x, input_fn, batch_size, outputs)
        rows = (r[self._main] if self._main and isinstance(r, dict) and not outputs else r for r in rows)
        rows = (r[0] if self._main and isinstance(r, np.ndarray) and r.shape == (1,) else r for r in rows)
        return rows if as_iterable else np.array(list(rows))

    _main: Optional[str] = None

    def get_variable_names(self):
        return self._core.get_variable_names()

    def get_variable_value(self, name):
        return self._core.get_variable_value(name)

    def export_savedmodel(self, export_dir_base, serving_input_fn, **kwargs):
        return self._core.export_savedmodel(export_dir_base, serving_input_fn, **kwargs)


def _metric(key, metric, features, labels, predictions):
    if isinstance(metric, MetricSpec):
        return metric.create_metric_ops(features, labels, predictions)
    chosen = predictions[key[1]] if isinstance(key, tuple) else predictions
    return metric(chosen, labels) if metric is not metrics_lib.accuracy else metric(labels, chosen)


class _Classifier(_Fitted):
    _main = "class_ids"

    def predict_classes(self, x: Any = None, input_fn: Any = None, batch_size: Any = None, as_iterable: bool = True) -> Any:
        return self.predict(x, input_fn, batch_size, as_iterable=as_iterable)

    def predict_proba(self, x: Any = None, input_fn: Any = None, batch_size: Any = None, as_iterable: bool = True) -> Any:
        rows = (r["probabilities"] for r in self._predictions(x, input_fn, batch_size, None))
        return rows if as_iterable else np.array(list(rows))


class _Regressor(_Fitted):
    _main = "predictions"

    def predict_scores(self, x: Any = None, input_fn: Any = None, batch_size: Any = None, as_iterable: bool = True) -> Any:
        return self.predict(x, input_fn, batch_size, as_iterable=as_iterable)


class DNNClassifier(_Classifier):
    def __init__(self, hidden_units: Any, feature_columns: Any, model_dir: Any = None, n_classes: Any = 2,
                 weight_column_name: Any = None, optimizer: Any = None, activation_fn: Any = canned.gen_ops.relu,
                 dropout: Any = None, config: Any = None, label_keys: Any = None, **kwargs: Any) -> None:
        _check_arguments(self, kwargs)
        self._core = canned.DNNClassifier(hidden_units, feature_columns, model_dir, n_classes, weight_column_name, label_keys,
                                          optimizer or "Adagrad", activation_fn, dropout, config=config)


class DNNRegressor(_Regressor):
    def __init__(self, hidden_units: Any, feature_columns: Any, model_dir: Any = None, weight_column_name: Any = None,
                 optimizer: Any = None, activation_fn: Any = canned.gen_ops.relu, dropout: Any = None, config: Any = None,
                 label_dimension: Any = 1, **kwargs: Any) -> None:
        _check_arguments(self, kwargs)
        self._core = canned.DNNRegressor(hidden_units, feature_columns, model_dir, label_dimension, weight_column_name,
                                         optimizer or "Adagrad", activation_fn, dropout, config=config)


class LinearClassifier(_Classifier):
    def __init__(self, feature_columns: Any, model_dir: Any = None, n_classes: Any = 2, weight_column_name: Any = None,
                 optimizer: Any = None, config: Any = None, label_keys: Any = None, **kwargs: Any) -> None:
        _check_arguments(self, kwargs)
        self._core = canned.LinearClassifier(feature_columns, model_dir, n_classes, weight_column_name, label_keys, optimizer or "Ftrl",
                                             config)


class LinearRegressor(_Regressor):
    def __init__(self, feature_columns: Any, model_dir: Any = None, weight_column_name: Any = None, optimizer: Any = None,
                 label_dimension: Any = 1, config: Any = None, **kwargs: Any) -> None:
        _check_arguments(self, kwargs)
        self._core = canned.LinearRegressor(feature_columns, model_dir, label_dimension, weight_column_name, optimizer or "Ftrl", config)


class DNNLinearCombinedClassifier(_Classifier):
    def __init__(self, model_dir: Any = None, n_classes: Any = 2, weight_column_name: Any = None,
                 linear_feature_columns: Any = None, linear_optimizer: Any = None, dnn_feature_columns: Any = None,
                 dnn_optimizer: Any = None, dnn_hidden_units: Any = None, dnn_activation_fn: Any = canned.gen_ops.relu,
                 dnn_dropout: Any = None, config: Any = None, label_keys: Any = None, **kwargs: Any) -> None:
        _check_arguments(self, kwargs)
        self._core = canned.DNNLinearCombinedClassifier(
            model_dir, linear_feature_columns, linear_optimizer or "Ftrl", dnn_feature_columns, dnn_optimizer or "Adagrad",
            dnn_hidden_units, dnn_activation_fn, dnn_dropout, n_classes, weight_column_name, label_keys, config=config)


class Estimator(_Fitted):
    """model_fn(features, labels[, mode, params]) returns ModelFnOps or (predictions, loss, train_op)."""

    def __init__(self, model_fn: Any = None, model_dir: Any = None, config: Any = None, params: Any = None,
                 feature_engineering_fn: Any = None) -> None:
        names = list(inspect.signature(model_fn).parameters)

        def adapted(features, labels, mode):
            if isinstance(features, dict) and set(features) == {columns.WHOLE}:
                features = features[columns.WHOLE]
            if feature_engineering_fn is not None:
                features, labels = feature_engineering_fn(features, labels)
            given = {k: v for k, v in (("mode", mode), ("params", params), ("config", self.config), ("model_dir", self.model_dir))
                     if k in names}
            made = model_fn(features, labels, **given)
            if isinstance(made, EstimatorSpec):
                return made
            if not isinstance(made, ModelFnOps):
                made = ModelFnOps(mode, *made)
            if mode == CoreModeKeys.PREDICT:
                return EstimatorSpec(mode, predictions=made.predictions)
            return EstimatorSpec(mode, predictions=made.predictions, loss=made.loss, train_op=made.train_op,
                                 eval_metric_ops=made.eval_metric_ops, training_hooks=made.training_hooks,
                                 training_chief_hooks=made.training_chief_hooks, scaffold=made.scaffold)
        self._core = CoreEstimator(adapted, model_dir, config)


class SKCompat:
    """fit(x, y), predict(x) and score(x, y) as scikit-learn has them."""

    def __init__(self, estimator: Any) -> None:
        self._estimator = estimator

    def fit(self, x: TensorLike, y: TensorLike, batch_size: Any = 128, steps: Any = None, max_steps: Any = None,
            monitors: Any = None) -> Any:
        self._estimator.fit(x, y, batch_size=batch_size, steps=steps, max_steps=max_steps, monitors=monitors)
        return self

    def score(self, x: TensorLike, y: TensorLike, batch_size: Any = 128, steps: Any = None, metrics: Any = None,
              name: Optional[str] = None) -> Any:
        return self._estimator.evaluate(x, y, batch_size=batch_size, steps=steps, metrics=metrics, name=name or "score")

    def predict(self, x: TensorLike, batch_size: Any = 128, outputs: Any = None) -> Any:
        rows = list(self._estimator._predictions(x, None, batch_size, outputs))
        if rows and isinstance(rows[0], dict):
            return {k: np.array([r[k] for r in rows]) for k in rows[0]}
        return np.array(rows)
