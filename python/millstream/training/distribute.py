# SPDX-License-Identifier: Apache-2.0
"""tf.distribute and tf.contrib.distribute with one replica: a program written for strategies runs on this process's processor.

Programs of several processes use servers, MonitoredTrainingSession or Estimators, which need no strategy.
"""
import contextlib
import enum

from millstream.framework import ops
from millstream.framework.stacks import DefaultStack


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

    def __init__(self, device="/device:CPU:0"):
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
    pass


class MirroredStrategy(Strategy):
    def __init__(self, devices=None, cross_device_ops=None, num_gpus=None, num_gpus_per_worker=None, cross_tower_ops=None,
                 auto_shard_dataset=False):
        devices = list(devices or ["/device:CPU:0"])
        if len(devices) > 1:
            raise ValueError(f"There is one device, the processor of this process; MirroredStrategy cannot use {devices}. Use servers "
                             "and replicas of the graph for several.")
        super().__init__(devices[0])


class ParameterServerStrategy(Strategy):
    """Variables of programs with servers go to ps tasks by tf.train.replica_device_setter; Estimators do it by themselves."""

    def __init__(self, num_gpus_per_worker=0, cluster_resolver=None):
        super().__init__()


class CollectiveAllReduceStrategy(Strategy):
    def __init__(self, num_gpus_per_worker=0, cluster_resolver=None):
        super().__init__()


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
