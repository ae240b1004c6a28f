# SPDX-License-Identifier: Apache-2.0
"""tf.RaggedTensor: rows of different lengths. Values of all rows, one after another, and where each row begins."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from millstream import gen_ops
from millstream.client import fetching
from millstream.framework import dtypes, ops, sparse_tensor, tensor_shape, type_specs
from millstream.ops.array import array_ops, index_ops
from millstream.ops.math import math_ops, reduce_ops

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.type_aliases import DTypeLike, TensorLike


class RaggedTensorValue:
    """What a session gives for a RaggedTensor, and takes for one: NumPy arrays."""

    def __init__(self, values: Any, row_splits: Any) -> None:
        self._values, self._row_splits = values, row_splits

    values = property(lambda self: self._values)
    row_splits = property(lambda self: self._row_splits)
    dtype = property(lambda self: self._values.dtype)

    @property
    def ragged_rank(self) -> Any:
        return 1 + (self._values.ragged_rank if isinstance(self._values, RaggedTensorValue) else 0)

    @property
    def flat_values(self) -> Any:
        return self._values.flat_values if isinstance(self._values, RaggedTensorValue) else self._values

    @property
    def nested_row_splits(self) -> Any:
        inner = self._values.nested_row_splits if isinstance(self._values, RaggedTensorValue) else ()
        return (self._row_splits,) + inner

    @property
    def shape(self) -> Any:
        rest = self._values.shape
        return (len(self._row_splits) - 1, None) + tuple(rest[1:])

    def to_list(self) -> Any:
        rows = self._values.to_list() if isinstance(self._values, RaggedTensorValue) else self._values.tolist()
        return [rows[a:b] for a, b in zip(self._row_splits[:-1], self._row_splits[1:])]

    def __repr__(self):
        return f"tf.RaggedTensorValue(values={self._values!r}, row_splits={self._row_splits!r})"

    def __str__(self):
        return f"<tf.RaggedTensorValue {self.to_list()}>"


def _splits(row_splits):
    row_splits = ops.convert_to_tensor(row_splits, dtype=None if isinstance(row_splits, (ops.Tensor, np.ndarray)) else dtypes.int64)
    if row_splits.dtype not in (dtypes.int32, dtypes.int64):
        raise ValueError(f"Row partitioning tensors must have dtype int32 or int64, not {row_splits.dtype.name}")
    return row_splits


def _values(values):
    return values if isinstance(values, RaggedTensor) else ops.convert_to_tensor(values, name="values")


class RaggedTensor:
    """A tensor with one or more dimensions of which rows differ in length. `values` is a tensor or a RaggedTensor."""

    __tf_wants_reflected__ = True  # Tensor + RaggedTensor is ours

    def __init__(self, values: Any, row_splits: Any) -> None:
        self._values, self._row_splits = values, row_splits

    # Making one.

    @classmethod
    def from_row_splits(cls, values: Any, row_splits: Any, name: Optional[str] = None, validate: bool = True) -> Any:
        with ops.name_scope(name, "RaggedFromRowSplits"):
            return cls(_values(values), _splits(row_splits))

    @classmethod
    def from_row_lengths(cls, values: Any, row_lengths: Any, name: Optional[str] = None, validate: bool = True) -> Any:
        with ops.name_scope(name, "RaggedFromRowLengths"):
            lengths = _splits(row_lengths)
            zero = array_ops.zeros([1], lengths.dtype)
            return cls(_values(values), array_ops.concat([zero, math_ops.cumsum(lengths)], 0))

    @classmethod
    def from_row_starts(cls, values: Any, row_starts: Any, name: Optional[str] = None, validate: bool = True) -> Any:
        with ops.name_scope(name, "RaggedFromRowStarts"):
            values, starts = _values(values), _splits(row_starts)
            return cls(values, array_ops.concat([starts, [_rows(values, starts.dtype)]], 0))

    @classmethod
    def from_row_limits(cls, values: Any, row_limits: Any, name: Optional[str] = None, validate: bool = True) -> Any:
        with ops.name_scope(name, "RaggedFromRowLimits"):
            limits = _splits(row_limits)
            return cls(_values(values), array_ops.concat([array_ops.zeros([1], limits.dtype), limits], 0))

    @classmethod
    def from_value_rowids(cls, values: Any, value_rowids: Any, nrows: Any = None, name: Optional[str] = None,
                          validate: bool = True) -> Any:
        with ops.name_scope(name, "RaggedFromValueRowIds"):
            rowids = _splits(value_rowids)
            if nrows is None:
                nrows = reduce_ops.reduce_max(array_ops.concat([rowids, ops.convert_to_tensor([-1], dtype=rowids.dtype)], 0)) + 1
            nrows = math_ops.cast(ops.convert_to_tensor(nrows), rowids.dtype)
            lengths = gen_ops.unsorted_segment_sum(array_ops.ones_like(rowids), rowids, nrows)
            return cls.from_row_lengths(values, lengths)

    @classmethod
    def from_uniform_row_length(cls, values: Any, uniform_row_length: Any, nrows: Any = None, validate: bool = True,
                                name: Optional[str] = None) -> Any:
        with ops.name_scope(name, "RaggedFromUniformRowLength"):
            values = _values(values)
            length = math_ops.cast(ops.convert_to_tensor(uniform_row_length), dtypes.int64)
            rows = gen_ops.floor_div(_rows(values, dtypes.int64), length) if nrows is None else math_ops.cast(nrows, dtypes.int64)
            return cls(values, math_ops.range(rows + 1) * length)

    @classmethod
    def from_nested_row_splits(cls, flat_values: Any, nested_row_splits: Any, name: Optional[str] = None,
                               validate: bool = True) -> Any:
        result = flat_values
        for row_splits in reversed(list(nested_row_splits)):
            result = cls.from_row_splits(result, row_splits, validate=validate)
        return result

    @classmethod
    def from_nested_row_lengths(cls, flat_values: Any, nested_row_lengths: Any, name: Optional[str] = None,
                                validate: bool = True) -> Any:
        result = flat_values
        for lengths in reversed(list(nested_row_lengths)):
            result = cls.from_row_lengths(result, lengths, validate=validate)
        return result

    @classmethod
    def from_tensor(cls, tensor: TensorLike, lengths: Any = None, padding: Any = None, ragged_rank: Any = 1,
                    name: Optional[str] = None, row_splits_dtype: Any = dtypes.int64) -> Any:
        """The rows of a tensor: whole, of given lengths, or without padding at their ends."""
        from millstream.ops.ragged import ragged_ops
        with ops.name_scope(name, "RaggedFromTensor"):
            return ragged_ops.from_tensor(ops.convert_to_tensor(tensor), lengths, padding, ragged_rank, dtypes.as_dtype(row_splits_dtype))

    @classmethod
    def from_sparse(cls, st_input: Any, name: Optional[str] = None, row_splits_dtype: Any = dtypes.int64) -> Any:
        """Of a sparse matrix whose rows begin at column 0 without gaps."""
        with ops.name_scope(name, "RaggedFromSparse"):
            return cls.from_value_rowids(st_input.values, math_ops.cast(st_input.indices[:, 0], row_splits_dtype),
                                         nrows=st_input.dense_shape[0])

    # What it is.

    values = property(lambda self: self._values)
    row_splits = property(lambda self: self._row_splits)
    dtype = property(lambda self: self._values.dtype)
    graph = property(lambda self: self._row_splits.graph)
    op = property(lambda self: self.flat_values.op)
    name = property(lambda self: self.flat_values.name)
    ragged_rank = property(lambda self: len(self.nested_row_splits))

    @property
    def flat_values(self) -> Any:
        return self._values.flat_values if isinstance(self._values, RaggedTensor) else self._values

    @property
    def nested_row_splits(self) -> Any:
        return (self._row_splits,) + (self._values.nested_row_splits if isinstance(self._values, RaggedTensor) else ())

    @property
    def shape(self) -> Any:
        rows = self._row_splits.shape.as_list()[0] if self._row_splits.shape.rank else None
        rest = self._values.shape
        if rest.rank is None:
            return tensor_shape.TensorShape(None)
        return tensor_shape.TensorShape([None if rows is None else rows - 1, None]).concatenate(rest[1:])

    def get_shape(self) -> Any:
        return self.shape

    @property
    def _type_spec(self):
        return type_specs.RaggedTensorSpec(self.shape, self.dtype, self.ragged_rank, self._row_splits.dtype)

    def nrows(self, out_type: Optional[DTypeLike] = None, name: Optional[str] = None) -> Any:
        return array_ops.shape(self._row_splits, out_type=out_type or self._row_splits.dtype)[0] - 1

    def row_starts(self, name: Optional[str] = None) -> Any:
        return self._row_splits[:-1]

    def row_limits(self, name: Optional[str] = None) -> Any:
        return self._row_splits[1:]

    def row_lengths(self, axis: Any = 1, name: Optional[str] = None) -> Any:
        """Lengths of rows; along an inner axis a RaggedTensor of them."""
        if axis == 0:
            return self.nrows()
        if axis == 1:
            return self._row_splits[1:] - self._row_splits[:-1]
        if isinstance(self._values, RaggedTensor):
            return self.with_values(self._values.row_lengths(axis - 1))
        shape = array_ops.shape(self._values, out_type=self._row_splits.dtype)
        return self.with_values(array_ops.ones(shape[:axis - 1], shape.dtype) * shape[axis - 1])

    def nested_row_lengths(self, name: Optional[str] = None) -> Any:
        inner = self._values.nested_row_lengths() if isinstance(self._values, RaggedTensor) else ()
        return (self.row_lengths(),) + tuple(inner)

    def value_rowids(self, name: Optional[str] = None) -> Any:
        """The row of each value."""
        return index_ops.repeat(math_ops.range(self.nrows()), self.row_lengths())

    def nested_value_rowids(self, name: Optional[str] = None) -> Any:
        inner = self._values.nested_value_rowids() if isinstance(self._values, RaggedTensor) else ()
        return (self.value_rowids(),) + tuple(inner)

    def bounding_shape(self, axis: Any = None, name: Optional[str] = None, out_type: Optional[DTypeLike] = None) -> Any:
        """The size of the smallest tensor that holds all."""
        out_type = out_type or self._row_splits.dtype
        zero = ops.convert_to_tensor([0], dtype=self._row_splits.dtype)
        longest = [reduce_ops.reduce_max(array_ops.concat([zero, s[1:] - s[:-1]], 0)) for s in self.nested_row_splits]
        inner = array_ops.shape(self.flat_values, out_type=self._row_splits.dtype)[1:]
        whole = math_ops.cast(array_ops.concat([array_ops.stack([self.nrows()] + longest), inner], 0), out_type)
        return whole if axis is None else index_ops.gather(whole, axis)

    def with_values(self, new_values: Any) -> Any:
        return RaggedTensor(_values(new_values), self._row_splits)

    def with_flat_values(self, new_values: Any) -> Any:
        if isinstance(self._values, RaggedTensor):
            return self.with_values(self._values.with_flat_values(new_values))
        return self.with_values(new_values)

    def with_row_splits_dtype(self, dtype: DTypeLike) -> Any:
        inner = self._values.with_row_splits_dtype(dtype) if isinstance(self._values, RaggedTensor) else self._values
        return RaggedTensor(inner, math_ops.cast(self._row_splits, dtype))

    def merge_dims(self, outer_axis: Any, inner_axis: Any) -> Any:
        from millstream.ops.ragged import ragged_ops
        return ragged_ops.merge_dims(self, outer_axis, inner_axis)

    def consumers(self) -> Any:
        return self.flat_values.consumers()

    # Other forms.

    def to_tensor(self, default_value=None, name=None, shape=None):
        """A tensor, filled with default_value (0, "" or False)."""
        with ops.name_scope(name, "RaggedToTensor"):
            flat = self.flat_values
            if default_value is None:
                default_value = array_ops.zeros([], flat.dtype)
            default_value = ops.convert_to_tensor(default_value, dtype=flat.dtype)
            wanted = -1
            if shape is not None:
                wanted = [-1 if d is None else d for d in tensor_shape.TensorShape(shape).as_list()]
            out = gen_ops.ragged_tensor_to_tensor(
                ops.convert_to_tensor(wanted, dtype=dtypes.int64), flat, default_value, list(self.nested_row_splits),
                row_partition_types=["ROW_SPLITS"] * self.ragged_rank)
            static = tensor_shape.TensorShape([self.shape.as_list()[0]] + [None] * self.ragged_rank).concatenate(flat.shape[1:]) \
                if flat.shape.rank is not None else tensor_shape.TensorShape(None)
            if shape is None:
                out.set_shape(static)
            return out

    def to_sparse(self, name: Optional[str] = None) -> Any:
        with ops.name_scope(name, "RaggedToSparse"):
            return sparse_tensor.SparseTensor(*gen_ops.ragged_tensor_to_sparse(list(self.nested_row_splits), self.flat_values))

    def eval(self, session=None):
        return (session or ops.get_default_session()).run(self)

    def __repr__(self):
        return f"tf.RaggedTensor(values={self._values}, row_splits={self._row_splits})"

    def __len__(self):
        raise TypeError("A RaggedTensor of a graph has no length: use nrows().")

    def __iter__(self):
        raise TypeError("A RaggedTensor of a graph cannot be iterated over: use tf.map_fn().")

    def __getitem__(self, key):
        from millstream.ops.ragged import ragged_index
        return ragged_index.getitem(self, key)


def _rows(values, dtype):
    return math_ops.cast(values.nrows() if isinstance(values, RaggedTensor) else array_ops.shape(values)[0], dtype)


def is_ragged(value: Any) -> Any:
    return isinstance(value, (RaggedTensor, RaggedTensorValue))


def _value_of(parts):
    flat, splits = parts[0], parts[1:]
    for row_splits in reversed(splits):
        flat = RaggedTensorValue(flat, row_splits)
    return flat


def _feed(key, value):
    tensors = [key.flat_values] + list(key.nested_row_splits)
    if value is None:
        return [(t, None) for t in tensors]
    if not isinstance(value, RaggedTensorValue):
        from millstream.ops.ragged import ragged_ops
        value = ragged_ops.constant_value(value, ragged_rank=key.ragged_rank)
    return list(zip(tensors, [value.flat_values] + list(value.nested_row_splits)))


fetching.register_session_run_conversion_functions(
    RaggedTensor, lambda r: ([r.flat_values] + list(r.nested_row_splits), _value_of), _feed)
