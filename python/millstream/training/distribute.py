# SPDX-License-Identifier: Apache-2.0
"""tf.distribute and tf.contrib.distribute with one replica on one device. What would need several replicas is refused.

Programs of several processes use servers with MonitoredTrainingSession or Estimators, which need no strategy.
"""
import contextlib
import enum

from millstream.framework import ops
from millstream.framework.stacks import DefaultStack
from millstream.training import cluster_resolvers

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
    def from_variable_aggregation(aggregation):
        return ReduceOp.MEAN if getattr(aggregation, "name", aggregation) == "MEAN" else ReduceOp.SUM


class InputContext:
    """Which part of the input a pipeline is for."""

    def __init__(self, num_input_pipelines=1, input_pipeline_id=0, num_replicas_in_sync=1):
        self.num_input_pipelines, self.input_pipeline_id = num_input_pipelines, input_pipeline_id
        self.num_replicas_in_sync = num_replicas_in_sync

    def get_per_replica_batch_size(self, global_batch_size):
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

    def __init__(self, strategy, replica_id_in_sync_group=0):
        self.strategy = strategy
        self._id = replica_id_in_sync_group

    num_replicas_in_sync = property(lambda self: 1)
    replica_id_in_sync_group = property(lambda self: ops.convert_to_tensor(self._id))
    devices = property(lambda self: self.strategy.extended.worker_devices)

    def merge_call(self, merge_fn, args=(), kwargs=None):
        return merge_fn(self.strategy, *args, **(kwargs or {}))

    def all_reduce(self, reduce_op, value, options=None):
        del reduce_op, options
        return value


class StrategyExtended:
    """What libraries ask a strategy for."""

    def __init__(self, strategy, device):
        self._strategy, self._device = strategy, device

    worker_devices = property(lambda self: (self._device,))
    parameter_devices = property(lambda self: (self._device,))
    experimental_require_static_shapes = False

    def call_for_each_replica(self, fn, args=(), kwargs=None):
        with ops.device(self._device):
            return fn(*args, **(kwargs or {}))

    def reduce_to(self, reduce_op, value, destinations, options=None):
        return value

    def batch_reduce_to(self, reduce_op, value_destination_pairs, options=None):
        return [value for value, _ in value_destination_pairs]

    def update(self, var, fn, args=(), kwargs=None, group=True):
        return fn(var, *args, **(kwargs or {}))

    def colocate_vars_with(self, colocate_with_variable):
        return ops.colocate_with(colocate_with_variable.op)

    def broadcast_to(self, tensor, destinations):
        return tensor


class Strategy:
    """scope(), run(), reduce() and input of one replica."""

    def __init__(self, device=_CPU):
        self.extended = StrategyExtended(self, device)

    num_replicas_in_sync = property(lambda self: 1)

    @contextlib.contextmanager
    def _in_scope(self):
        with _strategies.get_controller(self):
            yield self

    def scope(self):
        return self._in_scope()

    def run(self, fn, args=(), kwargs=None, options=None):
        return self.extended.call_for_each_replica(fn, args, kwargs)

    experimental_run_v2 = run

    def experimental_run(self, fn, input_iterator=None):
        return self.run(fn, () if input_iterator is None else (input_iterator.get_next(),))

    def reduce(self, reduce_op, value, axis=None):
        from millstream.ops.math import reduce_ops
        if axis is None:
            return value
        mean = reduce_op in (ReduceOp.MEAN, "MEAN", "mean")
        return (reduce_ops.reduce_mean if mean else reduce_ops.reduce_sum)(value, axis=axis)

    def experimental_local_results(self, value):
        return (value,)

    def unwrap(self, value):
        return [value]

    def make_dataset_iterator(self, dataset):
        return _Iterator(dataset)

    def make_input_fn_iterator(self, input_fn, replication_mode=None):
        return _Iterator(input_fn(InputContext()))

    def experimental_distribute_dataset(self, dataset, options=None):
        return dataset

    def experimental_make_numpy_dataset(self, numpy_input, session=None):
        from millstream.datasets import dataset_ops
        return dataset_ops.Dataset.from_tensor_slices(numpy_input)

    def update_config_proto(self, config_proto):
        return config_proto


class OneDeviceStrategy(Strategy):
    def __init__(self, device):
        super().__init__(device)


class MirroredStrategy(Strategy):
    """One device: the given one, or this process's CPU."""

    def __init__(self, devices=None, cross_device_ops=None):
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

    def __init__(self, devices=None, num_gpus=None, num_gpus_per_worker=None, cross_device_ops=None, auto_shard_dataset=False,
                 cross_tower_ops=None):
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

    def __init__(self, cluster_resolver=None):
        super().__init__()
        resolver = cluster_resolver or cluster_resolvers.TFConfigClusterResolver()
        self._has_cluster = bool(resolver.cluster_spec().as_dict())

    def scope(self):
        if self._has_cluster:
            _refuse("ParameterServerStrategy.scope() in a cluster")
        return super().scope()

    def run(self, fn, args=(), kwargs=None, options=None):
        if self._has_cluster:
            _refuse("ParameterServerStrategy.run() in a cluster")
        return super().run(fn, args, kwargs, options)

    experimental_run_v2 = run


class ContribParameterServerStrategy(ParameterServerStrategy):
    """tf.contrib.distribute.ParameterServerStrategy."""

    def __init__(self, num_gpus_per_worker=0):
        if num_gpus_per_worker > 1:
            _refuse(f"ParameterServerStrategy with {num_gpus_per_worker} GPUs in each worker")
        super().__init__()


class CollectiveAllReduceStrategy(Strategy):
    """Refused: replicas that exchange gradients with each other."""

    def __init__(self, num_gpus_per_worker=0, communication=None, cluster_resolver=None):
        _refuse("CollectiveAllReduceStrategy")


class MultiWorkerMirroredStrategy(Strategy):
    """Refused: replicas that exchange gradients with each other."""

    def __init__(self, communication=None, cluster_resolver=None):
        _refuse("MultiWorkerMirroredStrategy")


class CentralStorageStrategy(Strategy):
    """Refused: replicas on several GPUs with variables on the CPU."""

    def __init__(self, compute_devices=None, parameter_device=None):
        _refuse("CentralStorageStrategy")


class TPUStrategy(Strategy):
    """Refused: there are no TPUs."""

    def __init__(self, tpu_cluster_resolver=None, steps_per_run=None, device_assignment=None, **kwargs):
        _refuse("TPUStrategy")


_strategies = DefaultStack()
_default = Strategy()


def get_strategy():
    return _strategies.get_default() or _default


def has_strategy():
    return _strategies.get_default() is not None


def in_cross_replica_context():
    return has_strategy()


def get_replica_context():
    return ReplicaContext(get_strategy())


def get_loss_reduction():
    return ReduceOp.MEAN
