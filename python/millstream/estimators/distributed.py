# SPDX-License-Identifier: Apache-2.0
"""How an Estimator trains with a strategy of several replicas: RunConfig(train_distribute=...)."""
from __future__ import annotations

import contextlib

from millstream.estimators.model_fn import EstimatorSpec, ModeKeys
from millstream.framework import ops, random_seed
from millstream.ops.flow import control_flow_ops
from millstream.strategies import input_lib, start_values, values
from millstream.training import training_util


class _Box:
    """Keeps a replica's EstimatorSpec in one piece."""

    def __init__(self, spec):
        self.spec = spec


@contextlib.contextmanager
def _averaged_loss(strategy):
    """Optimizers divide the loss of each replica by their number."""
    before, strategy._scale_loss_for_estimator = strategy._scale_loss_for_estimator, True
    try:
        yield
    finally:
        strategy._scale_loss_for_estimator = before


def _inputs(estimator, strategy, input_fn):
    """A batch of its own for every replica of this process."""
    from millstream.datasets import dataset_ops
    extended = strategy.extended
    context = input_lib.InputContext(extended.num_workers, extended.worker_index, strategy.num_replicas_in_sync)
    result = estimator._input(input_fn, ModeKeys.TRAIN, context)
    if isinstance(result, dataset_ops.Dataset):
        iterator = input_lib.ReplicaBatchIterator(result, extended)
        ops.add_to_collection(ops.GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
        result = iterator.get_next()
    else:
        more = [estimator._input(input_fn, ModeKeys.TRAIN, context) for _ in extended.worker_devices[1:]]
        result = values.regroup([result, *more])
    return estimator._features_and_labels(result, ModeKeys.TRAIN)


def build(estimator, strategy, graph, input_fn):
    """(global step, EstimatorSpec) of all replicas together."""
    random_seed.set_random_seed(estimator.config.tf_random_seed)
    with strategy.scope(), _averaged_loss(strategy):
        step = training_util.create_global_step(graph)
        features, labels = _inputs(estimator, strategy, input_fn)

        def model(features, labels):
            return _Box(estimator._call_model_fn(features, labels, ModeKeys.TRAIN, estimator.config, in_replica=True))
        boxes = strategy.run(model, (features, labels))
        specs = [box.spec for box in strategy.experimental_local_results(boxes)]
        losses = values.PerReplica([spec.loss for spec in specs])
        loss = strategy.reduce(values.ReduceOp.MEAN, losses)
        with ops.control_dependencies(None):
            train_op = control_flow_ops.group(*dict.fromkeys(_op(spec.train_op) for spec in specs))
    first = specs[0]
    return step, EstimatorSpec(ModeKeys.TRAIN, predictions=first.predictions, loss=loss, train_op=train_op, training_hooks=first.training_hooks,
                               training_chief_hooks=first.training_chief_hooks, scaffold=first.scaffold)


def _op(train_op):
    return train_op.op if isinstance(train_op, ops.Tensor) else train_op


def adapt_session(strategy, settings):
    """Changes the arguments of MonitoredTrainingSession. Every worker initializes its own variables; the first one alone writes files."""
    from millstream.proto import config_pb2
    config = config_pb2.ConfigProto.FromString(settings["config"].SerializeToString())
    settings["config"] = strategy.update_config_proto(config)
    extended = strategy.extended
    if extended.num_workers == 1:
        return
    settings.update(master=strategy.start_server(), is_chief=True, hooks=[start_values.TakeVariablesOfFirstWorker(strategy)] + settings["hooks"])
    if not extended.should_checkpoint:
        settings.update(chief_only_hooks=[], save_summaries_steps=None, log_step_count_steps=None)
