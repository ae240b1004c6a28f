# SPDX-License-Identifier: Apache-2.0
"""Ready-made estimators: linear, deep, both, and the baseline that sees no features."""
from __future__ import annotations

import inspect
import math
from typing import TYPE_CHECKING

from millstream.columns import layers as column_layers
from millstream.columns.base import Inputs
from millstream.estimators import heads
from millstream.estimators.estimator import Estimator
from millstream.estimators.model_fn import ModeKeys
from millstream.events import summary_ops
from millstream.framework import ops
from millstream.ops.array import array_ops
from millstream.ops.flow import control_flow_ops
from millstream.ops.layers import core as layers_core, norm as layers_norm
from millstream.ops.losses import losses
from millstream.ops.math import reduce_ops
from millstream.ops.nn import nn_ops
from millstream.ops.variables import init_ops, state_ops
from millstream.ops.variables import partitioned_variables as parts
from millstream.ops.variables import variable_scope as vs
from millstream.training import adagrad, adam, ftrl, gradient_descent, optimizer as optimizer_lib, rmsprop, training_util
from millstream import gen_ops

if TYPE_CHECKING:
    from typing import Any

_OPTIMIZERS = {"Adagrad": adagrad.AdagradOptimizer, "Adam": adam.AdamOptimizer, "Ftrl": ftrl.FtrlOptimizer,
               "RMSProp": rmsprop.RMSPropOptimizer, "SGD": gradient_descent.GradientDescentOptimizer}
_SUM = losses.Reduction.SUM
_LARGE = 64 << 20  # bytes: tables below this stay in one part


def make_optimizer(given, learning_rate):
    """An optimizer from its name, from a function without arguments, or as it is."""
    if isinstance(given, str):
        if given not in _OPTIMIZERS:
            raise ValueError(f"Unsupported optimizer name: {given}. Supported names are: {tuple(sorted(_OPTIMIZERS))}")
        return _OPTIMIZERS[given](learning_rate=learning_rate)
    made = given() if callable(given) else given
    if not isinstance(made, optimizer_lib.Optimizer):
        raise ValueError(f"The given object is not an Optimizer instance. Given: {made}")
    return made


def _check_features(features):
    if not isinstance(features, dict):
        raise ValueError(f"features should be a dictionary of `Tensor`s. Given type: {type(features)}")


def _partitioner(config, min_slice_size=256 << 10):
    return parts.min_max_variable_partitioner(max_partitions=config.num_ps_replicas if config else 0, min_slice_size=min_slice_size)


def _summarize(value, tag):
    summary_ops.scalar(f"{tag}/fraction_of_zero_values", nn_ops.zero_fraction(value))
    summary_ops.histogram(f"{tag}/activation", value)


def linear_logits(features, columns, units, sparse_combiner="sum"):
    found = {}
    logits = column_layers.linear_model(features, columns, units, sparse_combiner, cols_to_vars=found)
    bias = found.pop("bias")
    if units > 1:
        summary_ops.histogram("bias", array_ops.concat([ops.convert_to_tensor(b) for b in bias], 0))
    else:
        summary_ops.scalar("bias", ops.convert_to_tensor(bias[0])[0])
    weights = [v for variables in found.values() for v in variables]
    flat = array_ops.concat([array_ops.reshape(ops.convert_to_tensor(v), [-1]) for v in weights], 0)
    summary_ops.scalar("fraction_of_zero_weights", nn_ops.zero_fraction(flat))
    return logits


def deep_logits(features, mode, columns, units, hidden_units, activation_fn, dropout, input_partitioner, batch_norm):
    training = mode == ModeKeys.TRAIN
    with vs.variable_scope("input_from_feature_columns", partitioner=input_partitioner):
        net = column_layers.input_layer(features, columns)
    for i, size in enumerate(hidden_units):
        with vs.variable_scope(f"hiddenlayer_{i}", values=(net,)) as scope:
            net = layers_core.dense(net, size, activation=activation_fn, kernel_initializer=init_ops.GlorotUniform(), name=scope)
            if dropout is not None and training:
                net = layers_core.dropout(net, rate=dropout, training=True)
            if batch_norm:
                net = layers_norm.batch_normalization(net, momentum=0.999, training=training, name=f"batchnorm_{i}")
        _summarize(net, scope.name)
    with vs.variable_scope("logits", values=(net,)) as scope:
        logits = layers_core.dense(net, units, activation=None, kernel_initializer=init_ops.GlorotUniform(), name=scope)
    _summarize(logits, scope.name)
    return logits


class _Canned(Estimator):
    """An Estimator whose model function is its own method `_model`."""

    def __init__(self, head: Any, model_dir: Any, config: Any, warm_start_from: Any = None) -> None:
        self._head = head

        def model_fn(features, labels, mode, config):
            return self._model(features, labels, mode, config)
        super().__init__(model_fn, model_dir, config, warm_start_from=warm_start_from)


class _Linear(_Canned):
    def __init__(self, head: Any, feature_columns: Any, model_dir: Any, optimizer: Any, config: Any, partitioner: Any,
                 warm_start_from: Any, sparse_combiner: Any) -> None:
        self._columns, self._optimizer = tuple(feature_columns or ()), optimizer
        self._given_partitioner, self._combiner = partitioner, sparse_combiner
        super().__init__(head, model_dir, config, warm_start_from)

    def _model(self, features, labels, mode, config):
        _check_features(features)
        given, rate = self._optimizer, 0.2
        if not given:
            given, rate = "Ftrl", min(rate, 1.0 / math.sqrt(len(self._columns)))
        with vs.variable_scope("linear", partitioner=self._given_partitioner or _partitioner(config, _LARGE)):
            logits = linear_logits(features, self._columns, self._head.logits_dimension, self._combiner)
            return self._head.create_estimator_spec(features, mode, logits, labels, make_optimizer(given, rate))


class LinearClassifier(_Linear):
    """Classes from weighted sums of feature columns."""

    def __init__(self, feature_columns: Any, model_dir: Any = None, n_classes: Any = 2, weight_column: Any = None,
                 label_vocabulary: Any = None, optimizer: str = "Ftrl", config: Any = None, partitioner: Any = None,
                 warm_start_from: Any = None, loss_reduction: Any = _SUM, sparse_combiner: str = "sum") -> None:
        head = heads.classification_head(n_classes, weight_column, label_vocabulary, loss_reduction)
        super().__init__(head, feature_columns, model_dir, optimizer, config, partitioner, warm_start_from, sparse_combiner)


class LinearRegressor(_Linear):
    """Values from weighted sums of feature columns."""

    def __init__(self, feature_columns: Any, model_dir: Any = None, label_dimension: Any = 1, weight_column: Any = None,
                 optimizer: str = "Ftrl", config: Any = None, partitioner: Any = None, warm_start_from: Any = None,
                 loss_reduction: Any = _SUM, sparse_combiner: str = "sum") -> None:
        head = heads.RegressionHead(label_dimension, weight_column, loss_reduction)
        super().__init__(head, feature_columns, model_dir, optimizer, config, partitioner, warm_start_from, sparse_combiner)


class LinearEstimator(_Linear):
    """Weighted sums of feature columns, with a head."""

    def __init__(self, head: Any, feature_columns: Any, model_dir: Any = None, optimizer: str = "Ftrl", config: Any = None,
                 partitioner: Any = None, sparse_combiner: str = "sum", warm_start_from: Any = None) -> None:
        super().__init__(head, feature_columns, model_dir, optimizer, config, partitioner, warm_start_from, sparse_combiner)


class _Deep(_Canned):
    def __init__(self, head: Any, hidden_units: Any, feature_columns: Any, model_dir: Any, optimizer: Any, activation_fn: Any,
                 dropout: Any, input_layer_partitioner: Any, config: Any, warm_start_from: Any, batch_norm: Any) -> None:
        self._columns, self._hidden, self._optimizer = tuple(feature_columns or ()), hidden_units, optimizer
        self._activation, self._dropout, self._batch_norm = activation_fn, dropout, batch_norm
        self._input_partitioner = input_layer_partitioner
        super().__init__(head, model_dir, config, warm_start_from)

    def _model(self, features, labels, mode, config):
        optimizer = make_optimizer(self._optimizer, 0.05)
        _check_features(features)
        with vs.variable_scope("dnn", partitioner=_partitioner(config)):
            logits = deep_logits(features, mode, self._columns, self._head.logits_dimension, self._hidden, self._activation, self._dropout,
                                 self._input_partitioner or _partitioner(config, _LARGE), self._batch_norm)
            return self._head.create_estimator_spec(features, mode, logits, labels, optimizer)


class DNNClassifier(_Deep):
    """Classes from fully connected hidden layers over dense feature columns."""

    def __init__(self, hidden_units: Any, feature_columns: Any, model_dir: Any = None, n_classes: Any = 2,
                 weight_column: Any = None, label_vocabulary: Any = None, optimizer: str = "Adagrad",
                 activation_fn: Any = gen_ops.relu, dropout: Any = None, input_layer_partitioner: Any = None,
                 config: Any = None, warm_start_from: Any = None, loss_reduction: Any = _SUM, batch_norm: bool = False) -> None:
        head = heads.classification_head(n_classes, weight_column, label_vocabulary, loss_reduction)
        super().__init__(head, hidden_units, feature_columns, model_dir, optimizer, activation_fn, dropout, input_layer_partitioner,
                         config, warm_start_from, batch_norm)


class DNNRegressor(_Deep):
    """Values from fully connected hidden layers over dense feature columns."""

    def __init__(self, hidden_units: Any, feature_columns: Any, model_dir: Any = None, label_dimension: Any = 1,
                 weight_column: Any = None, optimizer: str = "Adagrad", activation_fn: Any = gen_ops.relu, dropout: Any = None,
                 input_layer_partitioner: Any = None, config: Any = None, warm_start_from: Any = None,
                 loss_reduction: Any = _SUM, batch_norm: bool = False) -> None:
        head = heads.RegressionHead(label_dimension, weight_column, loss_reduction)
        super().__init__(head, hidden_units, feature_columns, model_dir, optimizer, activation_fn, dropout, input_layer_partitioner,
                         config, warm_start_from, batch_norm)


class DNNEstimator(_Deep):
    """Fully connected hidden layers with the loss, predictions and metrics of a head."""

    def __init__(self, head: Any, hidden_units: Any, feature_columns: Any, model_dir: Any = None, optimizer: str = "Adagrad",
                 activation_fn: Any = gen_ops.relu, dropout: Any = None, input_layer_partitioner: Any = None,
                 config: Any = None, warm_start_from: Any = None, batch_norm: bool = False) -> None:
        super().__init__(head, hidden_units, feature_columns, model_dir, optimizer, activation_fn, dropout, input_layer_partitioner,
                         config, warm_start_from, batch_norm)


class _Combined(_Canned):
    """A linear and a deep model whose logits are added; each has an optimizer for its own variables."""

    def __init__(self, head: Any, model_dir: Any, linear: Any, deep: Any, input_layer_partitioner: Any, config: Any,
                 warm_start_from: Any) -> None:
        self._linear_columns, self._linear_optimizer, self._combiner = linear
        self._deep_columns, self._deep_optimizer, self._hidden, self._activation, self._dropout, self._batch_norm = deep
        self._linear_columns, self._deep_columns = list(self._linear_columns or ()), list(self._deep_columns or ())
        if not self._linear_columns and not self._deep_columns:
            raise ValueError("Either linear_feature_columns or dnn_feature_columns must be defined.")
        self._input_partitioner = input_layer_partitioner
        super().__init__(head, model_dir, config, warm_start_from)

    def _model(self, features, labels, mode, config):
        _check_features(features)
        partitioner = self._input_partitioner or _partitioner(config, _LARGE)
        logits, trained = [], []
        if self._deep_columns:
            optimizer = make_optimizer(self._deep_optimizer, 0.001)
            if not self._hidden:
                raise ValueError("dnn_hidden_units must be defined when dnn_feature_columns is specified.")
            with vs.variable_scope("dnn", partitioner=_partitioner(config)) as scope:
                logits.append(deep_logits(features, mode, self._deep_columns, self._head.logits_dimension, self._hidden,
                                          self._activation, self._dropout, partitioner, self._batch_norm))
            trained.append((optimizer, scope.name))
        if self._linear_columns:
            optimizer = make_optimizer(self._linear_optimizer, min(0.005, 1.0 / math.sqrt(len(self._linear_columns))))
            with vs.variable_scope("linear", partitioner=partitioner) as scope:
                logits.append(linear_logits(features, self._linear_columns, self._head.logits_dimension, self._combiner))
                _summarize(logits[-1], scope.name)
            trained.append((optimizer, scope.name))

        def train_op(loss):
            steps = [o.minimize(loss, var_list=ops.get_collection(ops.GraphKeys.TRAINABLE_VARIABLES, scope=name)) for o, name in trained]
            with ops.control_dependencies([control_flow_ops.group(*steps)]):
                return state_ops.assign_add(training_util.get_global_step(), 1).op
        return self._head.create_estimator_spec(features, mode, logits[0] if len(logits) == 1 else logits[0] + logits[1], labels,
                                                train_op_fn=train_op)


class DNNLinearCombinedClassifier(_Combined):
    """Classes from a linear model and hidden layers that are trained together (wide and deep)."""

    def __init__(self, model_dir: Any = None, linear_feature_columns: Any = None, linear_optimizer: str = "Ftrl",
                 dnn_feature_columns: Any = None, dnn_optimizer: str = "Adagrad", dnn_hidden_units: Any = None,
                 dnn_activation_fn: Any = gen_ops.relu, dnn_dropout: Any = None, n_classes: Any = 2, weight_column: Any = None,
                 label_vocabulary: Any = None, input_layer_partitioner: Any = None, config: Any = None,
                 warm_start_from: Any = None, loss_reduction: Any = _SUM, batch_norm: bool = False,
                 linear_sparse_combiner: str = "sum") -> None:
        super().__init__(heads.classification_head(n_classes, weight_column, label_vocabulary, loss_reduction), model_dir,
                         (linear_feature_columns, linear_optimizer, linear_sparse_combiner),
                         (dnn_feature_columns, dnn_optimizer, dnn_hidden_units, dnn_activation_fn, dnn_dropout, batch_norm),
                         input_layer_partitioner, config, warm_start_from)


class DNNLinearCombinedRegressor(_Combined):
    """Values from a linear model and hidden layers that are trained together."""

    def __init__(self, model_dir: Any = None, linear_feature_columns: Any = None, linear_optimizer: str = "Ftrl",
                 dnn_feature_columns: Any = None, dnn_optimizer: str = "Adagrad", dnn_hidden_units: Any = None,
                 dnn_activation_fn: Any = gen_ops.relu, dnn_dropout: Any = None, label_dimension: Any = 1,
                 weight_column: Any = None, input_layer_partitioner: Any = None, config: Any = None,
                 warm_start_from: Any = None, loss_reduction: Any = _SUM, batch_norm: bool = False,
                 linear_sparse_combiner: str = "sum") -> None:
        super().__init__(heads.RegressionHead(label_dimension, weight_column, loss_reduction), model_dir,
                         (linear_feature_columns, linear_optimizer, linear_sparse_combiner),
                         (dnn_feature_columns, dnn_optimizer, dnn_hidden_units, dnn_activation_fn, dnn_dropout, batch_norm),
                         input_layer_partitioner, config, warm_start_from)


class DNNLinearCombinedEstimator(_Combined):
    """A linear model and hidden layers that are trained together, with a head."""

    def __init__(self, head: Any, model_dir: Any = None, linear_feature_columns: Any = None, linear_optimizer: str = "Ftrl",
                 dnn_feature_columns: Any = None, dnn_optimizer: str = "Adagrad", dnn_hidden_units: Any = None,
                 dnn_activation_fn: Any = gen_ops.relu, dnn_dropout: Any = None, input_layer_partitioner: Any = None,
                 config: Any = None, batch_norm: bool = False, linear_sparse_combiner: str = "sum") -> None:
        super().__init__(head, model_dir, (linear_feature_columns, linear_optimizer, linear_sparse_combiner),
                         (dnn_feature_columns, dnn_optimizer, dnn_hidden_units, dnn_activation_fn, dnn_dropout, batch_norm),
                         input_layer_partitioner, config, None)


class _Baseline(_Canned):
    """Learns one bias per output."""

    def __init__(self, head: Any, model_dir: Any, weight_column: Any, optimizer: Any, config: Any) -> None:
        self._weight_key = getattr(weight_column, "key", weight_column)
        self._optimizer = optimizer
        super().__init__(head, model_dir, config)

    def _model(self, features, labels, mode, config):
        batch = self._batch_size(features)
        units = self._head.logits_dimension
        with vs.variable_scope("baseline"):
            bias = vs.get_variable("bias", shape=[units], initializer=init_ops.Zeros())
            logits = bias * array_ops.ones(array_ops.stack([batch, units]))
        optimizer = make_optimizer(self._optimizer, 0.3)
        return self._head.create_estimator_spec(features, mode, logits, labels, optimizer)

    def _batch_size(self, features):
        if not isinstance(features, dict):
            return array_ops.shape(features)[0]
        if not features:
            raise ValueError("The features must not be empty.")
        inputs = Inputs(features)
        key = next((k for k in sorted(features) if k != self._weight_key), next(iter(features)))
        tensor = inputs.get(key)
        return reduce_ops.reduce_min(tensor.dense_shape[:1]) if hasattr(tensor, "dense_shape") else array_ops.shape(tensor)[0]


class BaselineClassifier(_Baseline):
    """Predicts the frequency of each class, whatever the features are: what other classifiers must beat."""

    def __init__(self, model_dir: Any = None, n_classes: Any = 2, weight_column: Any = None, label_vocabulary: Any = None,
                 optimizer: str = "Ftrl", config: Any = None, loss_reduction: Any = _SUM) -> None:
        super().__init__(heads.classification_head(n_classes, weight_column, label_vocabulary, loss_reduction), model_dir, weight_column,
                         optimizer, config)


class BaselineRegressor(_Baseline):
    """Predicts the mean label, whatever the features are: what other regressors must beat."""

    def __init__(self, model_dir: Any = None, label_dimension: Any = 1, weight_column: Any = None, optimizer: str = "Ftrl",
                 config: Any = None, loss_reduction: Any = _SUM) -> None:
        super().__init__(heads.RegressionHead(label_dimension, weight_column, loss_reduction), model_dir, weight_column, optimizer, config)


def add_metrics(estimator: Any, metric_fn: Any) -> Any:
    """The same estimator with more metrics: metric_fn of some of features, labels, predictions, config returns a dict."""
    wanted = set(inspect.signature(metric_fn).parameters)
    unknown = wanted - {"features", "labels", "predictions", "config"}
    if unknown:
        raise ValueError(f"metric_fn ({metric_fn}) has following not expected args: {sorted(unknown)}")

    def model_fn(features, labels, mode, config):
        spec = estimator.model_fn(features, labels, mode, config)
        if mode != ModeKeys.EVAL:
            return spec
        given = {"features": features, "labels": labels, "predictions": spec.predictions, "config": config}
        more = metric_fn(**{k: v for k, v in given.items() if k in wanted})
        return spec._replace(eval_metric_ops={**(spec.eval_metric_ops or {}), **more})
    return Estimator(model_fn, estimator.model_dir, estimator.config, warm_start_from=estimator._warm_start_from)
