# SPDX-License-Identifier: Apache-2.0
"""Variables in parts: PartitionedVariable, and the functions that say how many parts."""
from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import dtypes, ops, tensor_shape

if TYPE_CHECKING:
    from typing import Any, Callable, Optional

    from millstream.framework.dtypes import DType
    from millstream.framework.graph import Graph
    from millstream.framework.tensor import Tensor
    from millstream.framework.type_aliases import DTypeLike, ShapeLike


def call_partitioner(partitioner, shape, dtype):
    """The number of parts along each axis, checked."""
    if not shape.is_fully_defined():
        raise ValueError(f"Shape of a new partitioned variable must be fully defined, but instead was {shape}.")
    if shape.rank < 1:
        raise ValueError(f"A partitioned Variable must have rank at least 1, shape: {shape}")
    partitions = partitioner(shape=shape, dtype=dtype)
    if not isinstance(partitions, (list, tuple)):
        raise ValueError(f"Partitioner must return a sequence, but saw: {partitions}")
    if len(partitions) != shape.rank:
        raise ValueError(f"Partitioner returned a partition list that does not match the Variable's rank: {partitions} vs. "
                         f"{shape}")
    if any(p < 1 for p in partitions):
        raise ValueError(f"Partitioner returned zero partitions for some axes: {partitions}")
    return list(partitions)


def slices(partitions, shape):
    """[offset, size] of each part; the first parts along an axis are larger by one where it does not divide."""
    axes = []
    for parts, dim in zip(partitions, shape.as_list()):
        sizes = [dim // parts + (1 if i < dim % parts else 0) for i in range(parts)]
        axes.append([(sum(sizes[:i]), s) for i, s in enumerate(sizes)])
    if sum(1 for p in partitions if p > 1) > 1:
        raise NotImplementedError("Cannot partition along more than one dimension: " + str(list(partitions)))
    return [([o for o, _ in point], [s for _, s in point]) for point in itertools.product(*axes)]


class PartitionedVariable:
    """Several variables that are slices of one along an axis. Converts to their concatenation."""

    def __init__(self, name: str, shape: ShapeLike, dtype: DTypeLike, variable_list: Any, partitions: Any) -> None:
        if not isinstance(variable_list, (list, tuple)):
            raise TypeError(f"variable_list is not a list or tuple: {variable_list}")
        if not isinstance(partitions, (list, tuple)):
            raise TypeError(f"partitions is not a list or tuple: {partitions}")
        self._name, self._shape, self._dtype = name, tensor_shape.TensorShape(shape), dtypes.as_dtype(dtype)
        self._variable_list, self._partitions = sorted(variable_list, key=lambda v: v._get_save_slice_info().var_offset), \
            list(partitions)
        self._as_tensor = None

    def __iter__(self):
        return iter(self._variable_list)

    def __len__(self):
        return max(len(self._partition_axes()) and self._partitions[self._partition_axes()[0]], 1)

    def _partition_axes(self):
        axes = [i for i, p in enumerate(self._partitions) if p > 1]
        return axes or [0]

    def _get_partitions(self):
        return self._partitions

    @property
    def name(self) -> Any:
        return self._name

    @property
    def dtype(self) -> DType:
        return self._dtype

    @property
    def shape(self) -> Any:
        return self._shape

    def get_shape(self) -> Any:
        return self._shape

    @property
    def op(self) -> Any:
        return self.as_tensor().op

    @property
    def graph(self) -> Graph:
        return self._variable_list[0].graph

    @property
    def _distribute_strategy(self):
        return None

    def _get_variable_list(self):
        return self._variable_list

    def _concat(self):
        values = self._variable_list
        if len(values) == 1:
            with ops.name_scope(None):
                return gen_ops.identity(values[0], name=self._name)
        with ops.name_scope(self._name + "/ConcatPartitions/"):
            whole = gen_ops.concat_v2([v.value() if hasattr(v, "value") else v for v in values], self._partition_axes()[0],
                                      name="concat")
        with ops.name_scope(None):
            return gen_ops.identity(whole, name=self._name)

    def as_tensor(self) -> Tensor:
        with ops.control_dependencies(None):
            return self._concat()

    def _as_graph_element(self):
        if self._as_tensor is None:
            self._as_tensor = self.as_tensor()
        return self._as_tensor

    def _apply(self, value, name, function):
        if isinstance(value, (list, tuple)):
            values = value
        else:
            sizes = [v.shape.as_list()[self._partition_axes()[0]] for v in self._variable_list]
            values = gen_ops.split_v(ops.convert_to_tensor(value, self._dtype), sizes, self._partition_axes()[0],
                                     num_split=len(sizes)) if len(sizes) > 1 else [value]
        return [function(v, x, name) for v, x in zip(self._variable_list, values)]

    def assign(self, value: Any, use_locking: bool = False, name: Optional[str] = None, read_value: bool = True) -> Any:
        results = self._apply(value, name, lambda v, x, n: v.assign(x, use_locking=use_locking, name=n, read_value=read_value))
        return results if not read_value else [r for r in results]

    def assign_add(self, value: Any, use_locking: bool = False, name: Optional[str] = None, read_value: bool = True) -> Any:
        return self._apply(value, name,
                           lambda v, x, n: v.assign_add(x, use_locking=use_locking, name=n, read_value=read_value))

    def assign_sub(self, value: Any, use_locking: bool = False, name: Optional[str] = None, read_value: bool = True) -> Any:
        return self._apply(value, name,
                           lambda v, x, n: v.assign_sub(x, use_locking=use_locking, name=n, read_value=read_value))


def _add_operators():
    from millstream.framework import operators
    for name, method in operators.operator_methods().items():
        setattr(PartitionedVariable, name, method)


_add_operators()


def _to_tensor(value, dtype=None, name=None, as_ref=False):
    del name, as_ref
    if dtype is not None and not dtypes.as_dtype(dtype).is_compatible_with(value.dtype):
        raise ValueError(f"Incompatible type conversion requested to type '{dtypes.as_dtype(dtype).name}' for variable of type "
                         f"'{value.dtype.name}'")
    return value.as_tensor()


ops.register_tensor_conversion_function(PartitionedVariable, _to_tensor)


def fixed_size_partitioner(num_shards: Any, axis: Any = 0) -> Callable[..., list[int]]:
    """Always `num_shards` parts along `axis`."""
    def partitioner(shape, **unused):
        parts = [1] * len(shape)
        dim = shape.as_list()[axis] if hasattr(shape, "as_list") else shape[axis]
        parts[axis] = min(num_shards, dim)
        return parts
    return partitioner


def variable_axis_size_partitioner(max_shard_bytes: Any, axis: Any = 0, bytes_per_string_element: Any = 16,
                                   max_shards: Any = None) -> Any:
    """As many parts along `axis` as keep each below `max_shard_bytes`."""
    if max_shard_bytes < 1 or bytes_per_string_element < 1:
        raise ValueError("Both max_shard_bytes and bytes_per_string_element must be positive.")
    if max_shards and max_shards < 1:
        raise ValueError("max_shards must be positive.")

    def partitioner(shape, dtype):
        sizes = shape.as_list()
        element = bytes_per_string_element if dtype.base_dtype == dtypes.string else dtype.size
        parts = [1] * len(sizes)
        row = element * math.prod(sizes) // max(sizes[axis], 1)
        row_count = max(1, max_shard_bytes // max(row, 1))
        count = math.ceil(sizes[axis] / row_count)
        if max_shards:
            count = min(max_shards, count)
        parts[axis] = max(1, count)
        return parts
    return partitioner


def min_max_variable_partitioner(max_partitions: Any = 1, axis: Any = 0, min_slice_size: Any = 256 << 10,
                                 bytes_per_string_element: Any = 16) -> Any:
    """At most `max_partitions`, none smaller than `min_slice_size` bytes."""
    def partitioner(shape, dtype):
        if axis >= len(shape):
            raise ValueError(f"Cannot partition variable along axis {axis} when shape is only {shape}")
        sizes = shape.as_list()
        element = bytes_per_string_element if dtype.base_dtype == dtypes.string else dtype.size
        total = element * math.prod(sizes)
        parts = [1] * len(sizes)
        parts[axis] = max(1, min(sizes[axis], max_partitions, math.ceil(total / min_slice_size)))
        return parts
    return partitioner


def create_partitioned_variables(shape: ShapeLike, slicing: Any, initializer: Any, dtype: DTypeLike = dtypes.float32,
                                 trainable: Any = True, collections: Any = None, name: Optional[str] = None,
                                 reuse: Any = None) -> Any:
    """The older way: a list of variables."""
    from millstream.ops.variables import variable_scope
    with variable_scope.variable_scope(name, "PartitionedVariable", reuse=reuse):
        whole: Any = variable_scope.get_variable(name="partitioned", shape=shape, dtype=dtype, initializer=initializer,
                                            trainable=trainable, collections=collections,
                                            partitioner=lambda **unused: slicing)
        return whole._get_variable_list()
