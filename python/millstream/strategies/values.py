# SPDX-License-Identifier: Apache-2.0
"""Values that differ from replica to replica, and variables with a copy on every device."""
from __future__ import annotations

import enum

from millstream import gen_ops
from millstream.framework import ops
from millstream.framework.indexed_slices import IndexedSlices
from millstream.ops.flow import control_flow_ops
from millstream.ops.math import math_ops
from millstream.ops.variables import resource_variable_ops, variables
from millstream.strategies import context


class ReduceOp(enum.Enum):
    """Says how a strategy combines the values of its replicas: by their sum or by their mean."""
    SUM = "SUM"
    MEAN = "MEAN"

    @staticmethod
    def from_variable_aggregation(aggregation):
        return ReduceOp.MEAN if getattr(aggregation, "name", aggregation) == "MEAN" else ReduceOp.SUM

    @staticmethod
    def of(value):
        """Also from its name."""
        return value if isinstance(value, ReduceOp) else ReduceOp(str(value).upper())


class PerReplica:
    """One value for each local replica."""

    def __init__(self, values):
        self.values = tuple(values)

    def __repr__(self):
        return f"PerReplica{self.values}"


def is_namedtuple(value):
    return isinstance(value, tuple) and hasattr(value, "_fields")


def _same(values):
    return all(v is values[0] for v in values[1:])


def regroup(values):
    """One structure from those of all replicas; its leaves are PerReplica where they differ."""
    first = values[0]
    if len(values) == 1 or _same(values):
        return first
    if any(type(v) is not type(first) for v in values) and any(v is None or isinstance(v, (dict, list, tuple)) for v in values):
        raise ValueError(f"Replicas return different structures: {values}")
    if is_namedtuple(first):
        return type(first)(*[regroup(parts) for parts in zip(*values)])
    if isinstance(first, (list, tuple)):
        if any(len(v) != len(first) for v in values):
            raise ValueError(f"Replicas return lists of different lengths: {values}")
        return type(first)(regroup(parts) for parts in zip(*values))
    if isinstance(first, dict):
        if any(set(v) != set(first) for v in values):
            raise ValueError(f"Replicas return dicts with different keys: {values}")
        return type(first)((key, regroup([v[key] for v in values])) for key in first)
    return PerReplica(values)


def select(index, value):
    """The part of a structure that is for one replica."""
    if isinstance(value, PerReplica):
        return value.values[index]
    if is_namedtuple(value):
        return type(value)(*[select(index, v) for v in value])
    if isinstance(value, (list, tuple)):
        return type(value)(select(index, v) for v in value)
    if isinstance(value, dict):
        return type(value)((k, select(index, v)) for k, v in value.items())
    return value


def add(values):
    """The sum of tensors or IndexedSlices."""
    if len(values) == 1:
        return values[0]
    if all(isinstance(v, IndexedSlices) for v in values):
        from millstream.ops.array import array_ops
        return IndexedSlices(array_ops.concat([v.values for v in values], 0), array_ops.concat([v.indices for v in values], 0),
                             values[0].dense_shape)
    return math_ops.add_n([ops.convert_to_tensor(v) for v in values])


def divided(value, count):
    if count == 1:
        return value
    if isinstance(value, IndexedSlices):
        return IndexedSlices(divided(value.values, count), value.indices, value.dense_shape)
    value = ops.convert_to_tensor(value)
    return value / ops.convert_to_tensor(count, dtype=value.dtype)


class MirroredVariable(resource_variable_ops.ResourceVariable):
    """Copies of one variable on several devices. Inside of a replica it is that replica's copy. Outside, what is read is the first copy, and
    changes are made to all."""

    def __init__(self, copies, strategy):  # pylint: disable=super-init-not-called
        own = dict(copies[0].__dict__)
        for name in ("_handle", "_graph_element", "_initializer_op"):
            own.pop(name, None)
        self.__dict__.update(own)
        self._copies, self._strategy, self._all_initialized, self._aggregated = tuple(copies), strategy, None, None

    values = property(lambda self: self._copies)
    _here = property(lambda self: self._copies[context.copy_index() or 0])
    _handle = property(lambda self: self._here._handle)
    _cached_value = property(lambda self: self._here._cached_value)
    op = property(lambda self: self._here.op)
    name = property(lambda self: self._copies[0].name)

    @property
    def _initializer_op(self):
        if self._all_initialized is None:
            with ops.device(None), ops.control_dependencies(None):
                self._all_initialized = control_flow_ops.group(*[c.initializer for c in self._copies])
        return self._all_initialized

    initializer = property(lambda self: self._initializer_op)

    def get(self, device=None):
        del device
        return self._here

    def _adds_up(self):
        """Whether it is read for all replicas at once, and their copies may differ."""
        return self._is_local() and context.copy_index() is None and self.aggregation in (
            variables.VariableAggregation.SUM, variables.VariableAggregation.MEAN)

    def _aggregate(self, parts):
        with ops.device(self._copies[0].device):
            total = add(parts)
            return divided(total, len(parts)) if self.aggregation == variables.VariableAggregation.MEAN else total

    @property
    def _graph_element(self):
        if not self._adds_up():
            return self._here._graph_element
        if self._aggregated is None:
            with ops.control_dependencies(None):
                self._aggregated = self._aggregate([c._graph_element for c in self._copies])
        return self._aggregated

    def value(self):
        return self._aggregate([c.value() for c in self._copies]) if self._adds_up() else super().value()

    def _change(self, gen, value, name, read_value):
        strategy, replica, copy = context.current()
        if copy is None or len(self._copies) == 1 and replica is None:
            return self._change_all(gen, value, name, read_value)
        if replica is None or self._is_local():
            return super()._change(gen, value, name, read_value)
        return self._change_from_replica(replica, gen, value, name, read_value)

    def _is_local(self):
        """Copies that may differ: what replicas add up is put together when it is read."""
        return self.__dict__.get("_synchronization") == variables.VariableSynchronization.ON_READ

    def _change_all(self, gen, value, name, read_value):
        done = []
        for index, copy in enumerate(self._copies):
            with context.entered(self._strategy, None, index), ops.device(copy.device):
                part = select(index, value)
                done.append(gen(copy.handle, ops.convert_to_tensor(part, dtype=self._dtype), name=name))
        op = control_flow_ops.group(*done)
        return self._copies[0]._lazy_read(op) if read_value else op

    def _change_from_replica(self, replica, gen, value, name, read_value):
        how = self.__dict__.get("_aggregation")
        if how in (None, variables.VariableAggregation.NONE):
            raise ValueError(f"You must specify an aggregation method to update a MirroredVariable in Replica Context: {self.name} has none")

        def merged(strategy, parts):
            if how == variables.VariableAggregation.ONLY_FIRST_REPLICA:
                total = select(0, parts)
            else:
                total = strategy.reduce(ReduceOp.from_variable_aggregation(how), parts, axis=None)
            return self._change_all(gen, total, name, read_value)
        return replica.merge_call(merged, args=(ops.convert_to_tensor(value, dtype=self._dtype),))

    def restore_all(self, value):
        """Gives every copy the value that a checkpoint has, or its share of a sum."""
        if self._is_local() and self.aggregation == variables.VariableAggregation.SUM:
            value = divided(value, len(self._copies))
        done = []
        for copy in self._copies:
            with ops.device(copy.device):
                done.append(gen_ops.assign_variable_op(copy.handle, gen_ops.identity(value)))
        return control_flow_ops.group(*done)


def canonical_name(name):
    """Without the numbers that make names of one graph different: what replicas call the same."""
    import re
    return re.sub(r"_\d+(?=/|$)", "", name or "Variable")
