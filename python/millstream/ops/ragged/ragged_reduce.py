# SPDX-License-Identifier: Apache-2.0
"""tf.reduce_* of ragged tensors."""
from millstream import gen_ops
from millstream.framework import dtypes, ops
from millstream.ops.array import array_ops, index_ops
from millstream.ops.math import math_ops, reduce_ops
from millstream.ops.ragged.ragged_ops import map_flat_values, ragged_range
from millstream.ops.ragged.ragged_tensor import RaggedTensor

_SEGMENT = {
    "reduce_sum": "unsorted_segment_sum", "reduce_prod": "unsorted_segment_prod", "reduce_min": "unsorted_segment_min",
    "reduce_max": "unsorted_segment_max",
}


def reduce(kind, value, axis, keepdims):
    """One of tf.reduce_* of a RaggedTensor."""
    if axis is None:
        return getattr(reduce_ops, kind)(value.flat_values, keepdims=keepdims)
    if isinstance(axis, (list, tuple)):
        if len(axis) != 1:
            axes = sorted((a + value.shape.rank if a < 0 else a for a in axis), reverse=True)
            for a in axes:
                value = reduce(kind, value, a, keepdims) if isinstance(value, RaggedTensor) else getattr(reduce_ops, kind)(value, a)
            return value
        axis = axis[0]
    axis = axis + value.shape.rank if axis < 0 else axis
    if kind == "reduce_mean":
        total, number = reduce("reduce_sum", value, axis, keepdims), reduce(
            "reduce_sum", value.with_flat_values(array_ops.ones_like(value.flat_values)), axis, keepdims)
        return map_pair(math_ops.truediv if not value.dtype.is_integer else gen_ops.floor_div, total, number)
    if kind in ("reduce_all", "reduce_any"):
        counted = reduce("reduce_min" if kind == "reduce_all" else "reduce_max",
                         value.with_flat_values(math_ops.cast(value.flat_values, dtypes.int32)), axis, keepdims)
        return map_flat_values(lambda v: v > 0, counted) if isinstance(counted, RaggedTensor) else counted > 0
    return _reduce_axis(kind, value, axis, keepdims)


def _reduce_axis(kind, value, axis, keepdims):
    segment = getattr(gen_ops, _SEGMENT[kind])
    if axis == 0:
        columns = ragged_range(value.row_lengths()).values
        longest = reduce_ops.reduce_max(array_ops.concat([[ops.convert_to_tensor(0, dtype=dtypes.int64)], math_ops.cast(
            value.row_lengths(), dtypes.int64)], 0))
        if isinstance(value.values, RaggedTensor):
            raise NotImplementedError("reductions along the outermost axis of a RaggedTensor of ragged rank above 1")
        result = segment(value.values, columns, longest)
        return array_ops.expand_dims(result, 0) if keepdims else result
    if axis == 1:
        if isinstance(value.values, RaggedTensor):
            inner = value.values
            if isinstance(inner.values, RaggedTensor):
                raise NotImplementedError("reductions of an outer axis of a RaggedTensor of ragged rank above 2")
            columns = ragged_range(inner.row_lengths()).values
            rows = index_ops.gather(value.value_rowids(), inner.value_rowids())
            widths = gen_ops.unsorted_segment_max(inner.row_lengths(), value.value_rowids(), value.nrows())
            widths = gen_ops.maximum(widths, array_ops.zeros_like(widths))
            starts = math_ops.cumsum(widths, exclusive=True)
            flat = segment(inner.values, index_ops.gather(starts, rows) + columns, reduce_ops.reduce_sum(widths))
            return RaggedTensor.from_row_lengths(flat, widths)
        result = segment(value.values, value.value_rowids(), value.nrows())
        return array_ops.expand_dims(result, 1) if keepdims else result
    if isinstance(value.values, RaggedTensor):
        return value.with_values(_reduce_axis(kind, value.values, axis - 1, keepdims))
    return value.with_values(getattr(reduce_ops, kind)(value.values, axis - 1, keepdims=keepdims))


def map_pair(function, one, other):
    if isinstance(one, RaggedTensor):
        return one.with_flat_values(function(one.flat_values, other.flat_values))
    return function(one, other)
