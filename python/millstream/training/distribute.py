# SPDX-License-Identifier: Apache-2.0
"""tf.distribute and tf.contrib.distribute with one replica on one device. What would need several replicas is refused.

Programs of several processes use servers with MonitoredTrainingSession or Estimators, which need no strategy.
"""
from __future__ import annotations

import contextlib
import enum
from typing import TYPE_CHECKING

from millstream.framework import ops
from millstream.framework.stacks import DefaultStack
from millstream.training import cluster_resolvers

if TYPE_CHECKING:
    from typing import Any

    from millstream.framework.type_aliases import TensorLike

_CPU = "/device:CPU:0"
_INSTEAD = ("To train with several processes, use parameter servers: tf.train.replica_device_setter() with "
            "tf.train.MonitoredTrainingSession, and tf.train.SyncReplicasOptimizer for synchronous steps; or a tf.estimator.Estimator "
            "with TF_CONFIG and no strategy. With one device, use tf.distribute.OneDeviceStrategy.")


def _refuse(what):
    raise NotImplementedError(f"{what} is not supported: there is one replica, on one device. {_INSTEAD}")


def _training_tasks(cluster_spec):
    return sum(len(tasks) for job, tasks in cluster_spec.as_dict().items() if job in ("chief", "master", "worker"))


def check_run_config(argument, strategy, cluster_spec):
    """Refuses a strategy of a RunConfig that would train less than it says."""
    if strategy is None:
        return
    if not isinstance(strategy, Strategy):
        raise TypeError(f"`{argument}` must be a tf.distribute.Strategy, given: {strategy}")
    alone = argument == "eval_distribute" or isinstance(strategy, ParameterServerStrategy)  # Estimators use parameter servers anyway
    if not alone and (_training_tasks(cluster_spec) > 1 or cluster_spec.as_dict().get("ps")):
        _refuse(f"RunConfig({argument}={type(strategy).__name__}) in a cluster (TF_CONFIG)")


class ReduceOp(enum.Enum):
    SUM = "SUM"
    MEAN = "MEAN"

    @staticmethod
    def from_variable_aggregation(aggregation: Any) -> Any:
        return ReduceOp.MEAN if getattr(aggregation, "name", aggregation) == "MEAN" else ReduceOp.SUM


class InputContext:
    """Which part of the input a pipeline is for."""

    def __init__(self, num_input_pipelines: Any = 1, input_pipeline_id: Any = 0, num_replicas_in_sync: Any = 1) -> None:
        self.num_input_pipelines, self.input_pipeline_id = num_input_pipelines, input_pipeline_id
        self.num_replicas_in_sync = num_replicas_in_sync

    def get_per_replica_batch_size(self, global_batch_size: Any) -> Any:
        if global_batch_size % self.num_replicas_in_sync:
            raise ValueError(f"The `global_batch_size` {global_batch_size!r} is not divisible by `num_replicas_in_sync` "
                             f"{self.num_replicas_in_sync!r}")
        return global_batch_size // self.num_replicas_in_sync


class _Iterator:
    """Of make_dataset_iterator(): elements as they are."""

    def __init__(self, dataset):
        self._iterator = dataset.make_initializable_iterator()

    def initialize(self):
        return [self._iterator.initializer]

    initializer = property(lambda self: self.initialize())

    def get_next(self):
        return self._iterator.get_next()


class ReplicaContext:
    """Inside of a replica: the only one."""

    def __init__(self, strategy: Any, replica_id_in_sync_group: Any = 0) -> None:
        self.strategy = strategy
        self._id = replica_id_in_sync_group

    num_replicas_in_sync = property(lambda self: 1)
    replica_id_in_sync_group = property(lambda self: ops.convert_to_tensor(self._id))
    devices = property(lambda self: self.strategy.extended.worker_devices)

    def merge_call(self, merge_fn: Any, args: Any = (), kwargs: Any = None) -> Any:
        return merge_fn(self.strategy, *args, **(kwargs or {}))

    def all_reduce(self, reduce_op: Any, value: Any, options: Any = None) -> Any:
        del reduce_op, options
        return value


class StrategyExtended:
    """What libraries ask a strategy for."""

    def __init__(self, strategy: Any, device: Any) -> None:
        self._strategy, self._device = strategy, device

    worker_devices = property(lambda self: (self._device,))
    parameter_devices = property(lambda self: (self._device,))
    experimental_require_static_shapes = False

    def call_for_each_replica(self, fn: Any, args: Any = (), kwargs: Any = None) -> Any:
        with ops.device(self._device):
            return fn(*args, **(kwargs or {}))

    def reduce_to(self, reduce_op: Any, value: Any, destinations: Any, options: Any = None) -> Any:
        return value

    def batch_reduce_to(self, reduce_op: Any, value_destination_pairs: Any, options: Any = None) -> Any:
        return [value for value, _ in value_destination_pairs]

    def update(self, var: Any, fn: Any, args: Any = (), kwargs: Any = None, group: bool = True) -> Any:
        return fn(var, *args, **(kwargs or {}))

    def colocate_vars_with(self, colocate_with_variable: Any) -> Any:
        return ops.colocate_with(colocate_with_variable.op)

    def broadcast_to(self, tensor: TensorLike, destinations: Any) -> Any:
        return tensor


class Strategy:
    """scope(), run(), reduce() and input of one replica."""

    def __init__(self, device: Any = _CPU) -> None:
        self.extended = StrategyExtended(self, device)

    num_replicas_in_sync = property(lambda self: 1)

    @contextlib.contextmanager
    def _in_scope(self):
        with _strategies.get_controller(self):
            yield self

    def scope(self) -> Any:
        return self._in_scope()

    def run(self, fn: Any, args: Any = (), kwargs: Any = None, options: Any = None) -> Any:
        return self.extended.call_for_each_replica(fn, args, kwargs)

    experimental_run_v2 = run

    def experimental_run(self, fn: Any, input_iterator: Any = None) -> Any:
        return self.run(fn, () if input_iterator is None else (input_iterator.get_next(),))

    def reduce(self, reduce_op: Any, value: Any, axis: Any = None) -> Any:
        from millstream.ops.math import reduce_ops
        if axis is None:
            return value
        mean = reduce_op in (ReduceOp.MEAN, "MEAN", "mean")
        return (reduce_ops.reduce_mean if mean else reduce_ops.reduce_sum)(value, axis=axis)

    def experimental_local_results(self, value: Any) -> Any:
        return (value,)

    def unwrap(self, value: Any) -> Any:
        return [value]

    def make_dataset_iterator(self, dataset: Any) -> Any:
        return _Iterator(dataset)

    def make_input_fn_iterator(self, input_fn: Any, replication_mode: Any = None) -> Any:
        return _Iterator(input_fn(InputContext()))

    def experimental_distribute_dataset(self, dataset: Any, options: Any = None) -> Any:
        return dataset

    def experimental_make_numpy_dataset(self, numpy_input: Any, session: Any = None) -> Any:
        from millstream.datasets import dataset_ops
        return dataset_ops.Dataset.from_tensor_slices(numpy_input)

    def update_config_proto(self, config_proto: Any) -> Any:
        return config_proto


class OneDeviceStrategy(Strategy):
    def __init__(self, device: Any) -> None:
        super().__init__(device)


class MirroredStrategy(Strategy):
    """One device: the given one, or this process's CPU."""

    def __init__(self, devices: Any = None, cross_device_ops: Any = None) -> None:
        del cross_device_ops  # says how replicas exchange values
        if devices is None:
            tasks = _training_tasks(cluster_resolvers.TFConfigClusterResolver().cluster_spec())
            if tasks > 1:
                _refuse(f"{type(self).__name__} over the {tasks} training tasks of TF_CONFIG")
        devices = [devices] if isinstance(devices, str) else list(devices or [_CPU])
        if len(devices) > 1:
            _refuse(f"{type(self).__name__} over the devices {devices}")
        super().__init__(devices[0])


class ContribMirroredStrategy(MirroredStrategy):
    """tf.contrib.distribute.MirroredStrategy, which can also be told a number of GPUs."""

    def __init__(self, devices: Any = None, num_gpus: Any = None, num_gpus_per_worker: Any = None, cross_device_ops: Any = None,
                 auto_shard_dataset: bool = False, cross_tower_ops: Any = None) -> None:
        del auto_shard_dataset  # of several workers
        if num_gpus is not None and num_gpus_per_worker is not None:
            raise ValueError("You cannot specify both `num_gpus` and `num_gpus_per_worker`.")
        gpus = num_gpus if num_gpus is not None else num_gpus_per_worker
        if gpus is not None and gpus > 1:
            _refuse(f"MirroredStrategy over {gpus} GPUs")
        if devices is None and gpus:
            devices = ["/device:GPU:0"]
        super().__init__(devices, cross_device_ops or cross_tower_ops)


class ParameterServerStrategy(Strategy):
    """For RunConfig(train_distribute=...): Estimators place variables on ps tasks by themselves. Without a cluster, one device."""

    def __init__(self, cluster_resolver: Any = None) -> None:
        super().__init__()
        resolver = cluster_resolver or cluster_resolvers.TFConfigClusterResolver()
        self._has_cluster = bool(resolver.cluster_spec().as_dict())

    def scope(self) -> Any:
        if self._has_cluster:
            _refuse("ParameterServerStrategy.scope() in a cluster")
        return super().scope()

    def run(self, fn: Any, args: Any = (), kwargs: Any = None, options: Any = None) -> Any:
        if self._has_cluster:
            _refuse("ParameterServerStrategy.run() in a cluster")
        return super().run(fn, args, kwargs, options)

    experimental_run_v2 = run


class ContribParameterServerStrategy(ParameterServerStrategy):
    """tf.contrib.distribute.ParameterServerStrategy."""

    def __init__(self, num_gpus_per_worker: Any = 0) -> None:
        if num_gpus_per_worker > 1:
            _refuse(f"ParameterServerStrategy with {num_gpus_per_worker} GPUs in each worker")
        super().__init__()


class CollectiveAllReduceStrategy(Strategy):
    """Refused: replicas that exchange gradients with each other."""

    def __init__(self, num_gpus_per_worker: Any = 0, communication: Any = None, cluster_resolver: Any = None) -> None:
        _refuse("CollectiveAllReduceStrategy")


class MultiWorkerMirroredStrategy(Strategy):
    """Refused: replicas that exchange gradients with each other."""

    def __init__(self, communication: Any = None, cluster_resolver: Any = None) -> None:
        _refuse("MultiWorkerMirroredStrategy")


class CentralStorageStrategy(Strategy):
    """Refused: replicas on several GPUs with variables on the CPU."""

    def __init__(self, compute_devices: Any = None, parameter_device: Any = None) -> None:
        _refuse("CentralStorageStrategy")


class TPUStrategy(Strategy):
    """Refused: there are no TPUs."""

    def __init__(self, tpu_cluster_resolver: Any = None, steps_per_run: Any = None, device_assignment: Any = None,
                 **kwargs: Any) -> None:
        _refuse("TPUStrategy")


_strategies = DefaultStack()
_default = Strategy()


def get_strategy() -> Any:
    return _strategies.get_default() or _default


def has_strategy() -> Any:
    return _strategies.get_default() is not None


def in_cross_replica_context() -> Any:
    return has_strategy()


def get_replica_context() -> Any:
    return ReplicaContext(get_strategy())


def get_loss_reduction() -> Any:
    return ReduceOp.MEAN
