# SPDX-License-Identifier: Apache-2.0
"""The interface of all strategies. What a kind of strategy does differently is in its StrategyExtended."""
from __future__ import annotations

import contextlib

from millstream.framework import ops
from millstream.ops.flow import control_flow_ops
from millstream.strategies import context, input_lib, replica_threads, values
from millstream.strategies.values import PerReplica, ReduceOp

CPU = "/device:CPU:0"


class StrategyExtended:
    """What libraries ask a strategy for: where replicas and variables are, and how values are reduced. This one has one replica."""

    experimental_require_static_shapes = False
    should_checkpoint = should_save_summary = experimental_should_init = True
    num_workers, worker_index = 1, 0

    def __init__(self, strategy, devices, parameter_devices=None):
        self._strategy, self._devices = strategy, tuple(devices)
        self._parameter_devices = tuple(parameter_devices or devices)

    worker_devices = property(lambda self: self._devices)
    parameter_devices = property(lambda self: self._parameter_devices)
    num_replicas = property(lambda self: self.num_workers * len(self._devices))
    first_replica = property(lambda self: self.worker_index * len(self._devices))

    def create_variable(self, next_creator, **kwargs):
        return next_creator(**kwargs)

    def call_for_each_replica(self, fn, args=(), kwargs=None):
        with ops.device(self._devices[0]), context.entered(
                self._strategy, replica_threads.ReplicaContext(self._strategy, self.first_replica), 0):
            return fn(*args, **(kwargs or {}))

    def across_workers(self, value):
        """The sum of a value over all workers."""
        return value

    def many_across_workers(self, many):
        """The sums over all workers of several values."""
        return [self.across_workers(value) for value in many]

    def local_sum(self, value):
        if isinstance(value, PerReplica):
            return values.add(value.values)
        if len(self._devices) > 1:
            raise ValueError(f"A non-DistributedValues value {value} cannot be reduced with the given reduce op {ReduceOp.SUM}.")
        return value

    def reduce_to(self, reduce_op, value, destinations, options=None):
        """One value from those of all replicas, at the first device of variables."""
        del destinations, options
        mean = ReduceOp.of(reduce_op) == ReduceOp.MEAN
        if mean and not isinstance(value, PerReplica) and len(self._devices) > 1:
            return value  # the same at all replicas
        with ops.device(self._parameter_devices[0]):
            total = self.across_workers(self.local_sum(value))
            return values.divided(total, self.num_replicas) if mean else total

    def batch_reduce_to(self, reduce_op, value_destination_pairs, options=None):
        """As reduce_to() of each; workers exchange small values together."""
        del options
        with ops.device(self._parameter_devices[0]):
            sums = self.many_across_workers([self.local_sum(value) for value, _ in value_destination_pairs])
            mean = ReduceOp.of(reduce_op) == ReduceOp.MEAN
            return [values.divided(s, self.num_replicas) if mean else s for s in sums]

    def copies_of(self, var):
        """How many copies of it this process has."""
        return len(var.values) if isinstance(var, values.MirroredVariable) else 1

    def update(self, var, fn, args=(), kwargs=None, group=True):
        """fn(var, ...) for every copy of a variable, on its device."""
        results = []
        for index in range(self.copies_of(var)):
            device = var.values[index].device if isinstance(var, values.MirroredVariable) else var.device
            with context.entered(self._strategy, None, index), ops.device(device):
                results.append(fn(var, *values.select(index, tuple(args)), **values.select(index, dict(kwargs or {}))))
        if not group:
            return values.regroup(results)
        return results[0] if len(results) == 1 else control_flow_ops.group(*results)

    def colocate_vars_with(self, colocate_with_variable):
        return ops.colocate_with(colocate_with_variable.op)

    def broadcast_to(self, tensor, destinations):
        del destinations
        return tensor

    def read_var(self, var):
        return var.value()

    def variable_created_in_scope(self, var):
        return getattr(var, "_strategy", None) is self._strategy

    def value_container(self, value):
        return value


class _CreatedByReplicas:
    """Variables that the first replica makes; the others get them in the same order."""

    def __init__(self):
        self._made, self._taken = {}, {}

    def variable(self, replica, name, make):
        name = values.canonical_name(name)
        made = self._made.setdefault(name, [])
        if replica == 0:
            made.append(make())
            return made[-1]
        index = self._taken.get((replica, name), 0)
        self._taken[replica, name] = index + 1
        if index >= len(made):
            raise RuntimeError(f"Tried to create variable {name} with mismatching name on device {replica}: replicas make different variables")
        return made[index]


class Strategy:
    """scope(), run(), reduce() and input of one replica; subclasses have more."""

    _scale_loss_for_estimator = False

    def __init__(self, device=CPU, extended=None):
        self.extended = extended or StrategyExtended(self, [device])
        self._shared = _CreatedByReplicas()

    num_replicas_in_sync = property(lambda self: self.extended.num_replicas)

    def _creator(self, next_creator, **kwargs):
        strategy, replica, copy = context.current()
        if strategy is not self:
            return next_creator(**kwargs)

        def make():
            return self.extended.create_variable(next_creator, **kwargs)
        return make() if replica is None else self._shared.variable(copy, kwargs.get("name"), make)

    @contextlib.contextmanager
    def _in_scope(self):
        from millstream.ops.variables import variables
        before = context.current()[0]
        if before is not None and before is not self:
            raise RuntimeError("Mixing different tf.distribute.Strategy objects: inside of the scope of another one")
        with contextlib.nullcontext() if before is self else variables.variable_creator_scope(self._creator), context.entered(self):
            yield self

    def scope(self):
        """A context in which variables are made as the strategy wants them."""
        return self._in_scope()

    def run(self, fn, args=(), kwargs=None, options=None):
        """fn(...) for each replica of this process; results that differ are PerReplica."""
        del options
        with self.scope():
            self._shared = _CreatedByReplicas()
            return self.extended.call_for_each_replica(fn, args, kwargs or {})

    experimental_run_v2 = run

    def experimental_run(self, fn, input_iterator=None):
        return self.run(fn, () if input_iterator is None else (input_iterator.get_next(),))

    def reduce(self, reduce_op, value, axis=None):
        """One value from those of all replicas. With an axis, also that dimension of each is reduced; a mean counts all its entries."""
        reduce_op = ReduceOp.of(reduce_op)
        if axis is None:
            return self.extended.reduce_to(reduce_op, value, None)
        from millstream import gen_ops
        from millstream.ops.math import reduce_ops
        parts = value.values if isinstance(value, PerReplica) else (value,)
        sums = [reduce_ops.reduce_sum(v, axis=axis) for v in parts]
        total = self.extended.across_workers(values.add(sums))
        if reduce_op == ReduceOp.SUM:
            return total
        counts = [gen_ops.cast(gen_ops.shape(v)[axis], DstT=sums[0].dtype) for v in parts]
        return total / self.extended.across_workers(values.add(counts))

    def experimental_local_results(self, value):
        """The values of this process's replicas, as a tuple."""
        if isinstance(value, (PerReplica, values.MirroredVariable)):
            return value.values
        return (value,)

    def unwrap(self, value):
        return list(self.experimental_local_results(value))

    def group(self, value, name=None):
        parts = self.experimental_local_results(value)
        return parts[0] if len(parts) == 1 and name is None else control_flow_ops.group(*parts, name=name)

    def make_dataset_iterator(self, dataset):
        """Of a dataset whose batches are for all replicas together: each gets its part."""
        return input_lib.GlobalBatchIterator(dataset, self.extended)

    def make_input_fn_iterator(self, input_fn, replication_mode=None):
        """Of a dataset whose batches are for one replica each."""
        del replication_mode
        context_ = input_lib.InputContext(self.extended.num_workers, self.extended.worker_index, self.num_replicas_in_sync)
        return input_lib.ReplicaBatchIterator(input_fn(context_), self.extended)

    def experimental_distribute_dataset(self, dataset, options=None):
        del options
        return input_lib.DistributedDataset(dataset, self.extended)

    def experimental_make_numpy_dataset(self, numpy_input, session=None):
        del session
        from millstream.datasets import dataset_ops
        return dataset_ops.Dataset.from_tensor_slices(numpy_input)

    def update_config_proto(self, config_proto):
        return config_proto


class OneDeviceStrategy(Strategy):
    """One replica, on the given device."""

    def __init__(self, device):
        super().__init__(device)


_default = Strategy()


def get_strategy():
    return context.current()[0] or _default


def has_strategy():
    return context.current()[0] is not None


def in_cross_replica_context():
    strategy, replica, _ = context.current()
    return strategy is not None and replica is None


def get_replica_context():
    """None where code runs for all replicas at once."""
    strategy, replica, _ = context.current()
    return replica_threads.ReplicaContext(_default) if strategy is None else replica


def get_loss_reduction():
    """How a loss of replicas is put together: with Estimators it is an average, and optimizers divide it by the number of replicas."""
    return ReduceOp.MEAN if get_strategy()._scale_loss_for_estimator else ReduceOp.SUM


def scaled_loss(loss):
    """What an optimizer differentiates at one replica."""
    strategy = context.several_replicas()
    if strategy is None or not strategy._scale_loss_for_estimator:
        return loss
    return loss * ops.convert_to_tensor(1.0 / strategy.num_replicas_in_sync, dtype=loss.dtype)
