# SPDX-License-Identifier: Apache-2.0
"""tf.ragged and what other functions do with ragged tensors (ragged_dispatch.py)."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from millstream import gen_ops
from millstream.framework import constant_op, dtypes, ops, tensor_shape
from millstream.ops.arguments import unsupported
from millstream.ops.array import array_ops, index_ops
from millstream.ops.math import math_ops, reduce_ops
from millstream.ops.ragged.ragged_tensor import RaggedTensor, RaggedTensorValue, _splits

if TYPE_CHECKING:
    from typing import Any, Optional, Union

    from millstream.framework.type_aliases import DTypeLike
    from millstream.framework.tensor import Tensor


# Constants and placeholders.


def _depth(value):
    """(lists around the innermost values, or None if there are only empty lists; depth of lists, counting empty ones)."""
    if isinstance(value, np.ndarray):
        return value.ndim, value.ndim
    if not isinstance(value, (list, tuple)):
        return 0, 0
    inner = [_depth(v) for v in value]
    scalars = {d for d, _ in inner if d is not None}
    if len(scalars) > 1:
        raise ValueError(f"Invalid pylist={value}: all scalar values must have the same nesting depth")
    return 1 + scalars.pop() if scalars else None, 1 + max((lists for _, lists in inner), default=0)


def constant_value(pylist: Any, dtype: Optional[DTypeLike] = None, ragged_rank: Any = None, inner_shape: Any = None,
                   row_splits_dtype: str = "int64") -> Any:
    """A RaggedTensorValue of nested lists."""
    split_type = dtypes.as_dtype(row_splits_dtype).as_numpy_dtype
    scalars, depth = _depth(pylist)
    if scalars is not None and scalars < depth:
        raise ValueError(f"Invalid pylist={pylist}: empty list nesting is greater than scalar value nesting")
    if ragged_rank is None:
        ragged_rank = max(depth - 1 - len(inner_shape or ()), 0)
    elif ragged_rank >= max(depth, 1) and depth > 0:
        raise ValueError(f"Invalid pylist: {pylist}: ragged_rank={ragged_rank} must be less than the depth {depth}")
    splits, level = [], pylist
    for _ in range(ragged_rank):
        splits.append(np.cumsum([0] + [len(row) for row in level]).astype(split_type))
        level = [item for row in level for item in row]
    kind = None if dtype is None else (object if dtypes.as_dtype(dtype) == dtypes.string else dtypes.as_dtype(dtype).as_numpy_dtype)
    values = np.array(level, dtype=kind)
    if kind is None:
        if values.dtype.kind in "SU":
            values = np.array(level, dtype=object)
        elif values.dtype == np.int64:
            values = values.astype(np.int32)
        elif values.dtype == np.float64:
            values = values.astype(np.float32)
    if inner_shape is not None:
        values = values.reshape([-1] + list(inner_shape))
    for row_splits in reversed(splits):
        values = RaggedTensorValue(values, row_splits)
    return values


def constant(pylist: Any, dtype: Optional[DTypeLike] = None, ragged_rank: Any = None, inner_shape: Any = None,
             name: Optional[str] = None, row_splits_dtype: Any = dtypes.int64) -> Union[RaggedTensor, Tensor]:
    """A constant RaggedTensor of nested lists; a tensor if they are not nested."""
    with ops.name_scope(name, "RaggedConstant"):
        value = constant_value(pylist, dtype, ragged_rank, inner_shape, row_splits_dtype)
        return _constant(value, dtype)


def _constant(value, dtype=None):
    if isinstance(value, RaggedTensorValue):
        return RaggedTensor(_constant(value.values, dtype), constant_op.constant(value.row_splits))
    return constant_op.constant(value, dtype=dtype)


def placeholder(dtype, ragged_rank, value_shape=None, name=None):
    with ops.name_scope(name, "RaggedPlaceholder"):
        flat = tensor_shape.TensorShape([None]).concatenate(value_shape if value_shape is not None else None)
        result = constant_op.placeholder(dtype, flat if ragged_rank else value_shape, name="flat_values")
        for i in reversed(range(ragged_rank)):
            result = RaggedTensor(result, constant_op.placeholder(dtypes.int64, [None], name=f"row_splits_{i}"))
        return result


def convert(value):
    """A RaggedTensor or a tensor, of what a program gives."""
    if isinstance(value, RaggedTensorValue):
        return _constant(value)
    return value if isinstance(value, RaggedTensor) else ops.convert_to_tensor(value)


def from_tensor(tensor, lengths, padding, ragged_rank, split_type):
    if lengths is not None and padding is not None:
        raise ValueError("Specify lengths or padding, but not both.")
    shape = array_ops.shape(tensor, out_type=split_type)
    if isinstance(lengths, (list, tuple)) and lengths and not isinstance(lengths[0], (int, float)):
        return RaggedTensor.from_nested_row_lengths(array_ops.reshape(tensor, array_ops.concat([[-1], shape[len(lengths) + 1:]], 0)), lengths)
    if ragged_rank > 1:
        inner = from_tensor(array_ops.reshape(tensor, array_ops.concat([[shape[0] * shape[1]], shape[2:]], 0)), lengths, padding,
                            ragged_rank - 1, split_type)
        return RaggedTensor(inner, math_ops.range(shape[0] + 1) * shape[1])
    if padding is not None:
        padding = ops.convert_to_tensor(padding, dtype=tensor.dtype)
        differs = gen_ops.not_equal(tensor, padding)
        for _ in range(tensor.shape.rank - 2):
            differs = reduce_ops.reduce_any(differs, axis=-1)
        lengths = reduce_ops.reduce_max(math_ops.cast(differs, split_type) * math_ops.range(1, shape[1] + 1), axis=1)
    if lengths is None:
        flat = array_ops.reshape(tensor, array_ops.concat([[shape[0] * shape[1]], shape[2:]], 0))
        return RaggedTensor(flat, math_ops.range(shape[0] + 1) * shape[1])
    lengths = gen_ops.minimum(math_ops.cast(ops.convert_to_tensor(lengths), split_type), shape[1])
    return RaggedTensor.from_row_lengths(index_ops.boolean_mask(tensor, index_ops.sequence_mask(lengths, shape[1])), lengths)


def ragged_range(starts, limits=None, deltas=1, dtype=None, name=None, row_splits_dtype=dtypes.int64):
    """A RaggedTensor of ranges."""
    with ops.name_scope(name, "RaggedRange"):
        if limits is None:
            starts, limits = 0, starts
        tensors = [ops.convert_to_tensor(t, dtype=dtype) for t in (starts, limits, deltas)]
        kind = next((t.dtype for t in tensors if t.dtype.is_floating), tensors[1].dtype)
        tensors = [math_ops.cast(t, kind) for t in tensors]
        splits, values = gen_ops.ragged_range(*tensors, Tsplits=row_splits_dtype)
        return RaggedTensor(values, splits)


def row_splits_to_segment_ids(splits: Any, name: Optional[str] = None, out_type: Optional[DTypeLike] = None) -> Any:
    with ops.name_scope(name, "RaggedSplitsToSegmentIds"):
        splits = _splits(splits)
        ids = RaggedTensor(array_ops.zeros([splits[-1]]), splits).value_rowids()
        return math_ops.cast(ids, out_type or splits.dtype)


def segment_ids_to_row_splits(segment_ids: Any, num_segments: Any = None, out_type: Optional[DTypeLike] = None,
                              name: Optional[str] = None) -> Any:
    with ops.name_scope(name, "SegmentIdsToRaggedSplits"):
        ids = _splits(segment_ids)
        splits = RaggedTensor.from_value_rowids(ids, ids, num_segments).row_splits
        return math_ops.cast(splits, out_type or splits.dtype)


# Functions of values.


def map_flat_values(op: Any, *args: Any, **kwargs: Any) -> Any:
    """op, called with the flat values of ragged arguments, which must have the same rows."""
    ragged = [a for a in list(args) + list(kwargs.values()) if isinstance(a, RaggedTensor)]
    if not ragged:
        return op(*args, **kwargs)
    flat = lambda a: a.flat_values if isinstance(a, RaggedTensor) else a
    result = op(*map(flat, args), **{k: flat(v) for k, v in kwargs.items()})
    return ragged[0].with_flat_values(result)


def broadcast_flat(value, like):
    """A tensor in the rows of a ragged one: flat values for its flat values. A scalar stays; [rows, 1] is repeated along rows."""
    value = ops.convert_to_tensor(value, dtype=like.dtype) if not isinstance(value, ops.Tensor) else value
    rank, static = value.shape.rank, value.shape.as_list() if value.shape.rank is not None else None
    if rank == 0 or rank is not None and rank < like.shape.rank - like.ragged_rank:
        return value
    if rank == like.shape.rank and static[1] == 1:
        outer = index_ops.gather(array_ops.squeeze(value, [1]), like.value_rowids()) if static[0] != 1 else array_ops.squeeze(value, [1])
        return outer if like.ragged_rank == 1 else broadcast_flat(array_ops.expand_dims(outer, 1), like.values)
    return from_tensor(value, like.row_lengths(), None, 1, like.row_splits.dtype).flat_values


def concat(values, axis, name=None):
    with ops.name_scope(name, "RaggedConcat"):
        values = [convert(v) for v in values]
        rank = next(v.shape.rank for v in values if v.shape.rank is not None)
        axis = axis + rank if axis < 0 else axis
        values = [v if isinstance(v, RaggedTensor) or v.shape.rank == 1 and axis == 0 else
                  from_tensor(v, None, None, 1, dtypes.int64) for v in values]
        deepest = max(v.ragged_rank for v in values)
        if axis == 0:
            flat = [v.values for v in values]
            joined = concat(flat, 0) if deepest > 1 else array_ops.concat(flat, 0)
            return RaggedTensor.from_row_lengths(joined, array_ops.concat([v.row_lengths() for v in values], 0))
        if axis == 1:
            stacked = concat(values, 0)
            rows = values[0].nrows()
            order = array_ops.reshape(array_ops.transpose(array_ops.reshape(
                math_ops.range(rows * len(values)), [len(values), -1])), [-1])
            lengths = math_ops.add_n([v.row_lengths() for v in values])
            return RaggedTensor.from_row_lengths(gather(stacked, order).values, lengths)
        return values[0].with_values(concat([v.values for v in values], axis - 1))


def stack(values: Any, axis: Any = 0, name: Optional[str] = None) -> Any:
    with ops.name_scope(name, "RaggedStack"):
        values = [convert(v) for v in values]
        if values[0].shape.rank == 0:
            return array_ops.stack(values)
        if values[0].shape.rank == 1:
            return RaggedTensor.from_row_lengths(array_ops.concat(values, 0), array_ops.stack(
                [array_ops.shape(v, out_type=dtypes.int64)[0] for v in values])) if axis == 0 else array_ops.stack(values, axis)
        return concat([expand_dims(v, axis) for v in values], axis)


def expand_dims(input, axis, name=None):  # pylint: disable=redefined-builtin
    with ops.name_scope(name, "RaggedExpandDims"):
        if not isinstance(input, RaggedTensor):
            return from_tensor(array_ops.expand_dims(input, axis), None, None, 1, dtypes.int64) if input.shape.rank else \
                array_ops.expand_dims(input, axis)
        axis = axis + input.shape.rank + 1 if axis < 0 else axis
        if axis == 0:
            return RaggedTensor(input, array_ops.stack([ops.convert_to_tensor(0, dtype=input.row_splits.dtype), input.nrows()]))
        if axis == 1:
            return RaggedTensor(input, math_ops.range(input.nrows() + 1))
        if isinstance(input.values, RaggedTensor):
            return input.with_values(expand_dims(input.values, axis - 1))
        return input.with_values(array_ops.expand_dims(input.values, axis - 1))


def gather(params, indices, validate_indices=None, axis=None, batch_dims=0, name=None):
    """Rows of a ragged tensor, by indices (which may be ragged)."""
    if not batch_dims:
        unsupported("tf.gather of ragged tensors", axis=axis or None)
    with ops.name_scope(name, "RaggedGather"):
        indices = convert(indices)
        if batch_dims:
            return _batch_gather(params, indices)
        if isinstance(indices, RaggedTensor):
            return indices.with_values(gather(params, indices.values))
        if not isinstance(params, RaggedTensor):
            return index_ops.gather(params, indices)
        rank = indices.shape.rank
        result = gen_ops.ragged_gather(list(params.nested_row_splits), params.flat_values, indices,
                                       OUTPUT_RAGGED_RANK=rank + params.ragged_rank - 1)
        splits, values = (result.output_nested_splits, result.output_dense_values) if hasattr(result, "output_dense_values") else result
        splits = list(splits) if isinstance(splits, (list, tuple)) else [splits]
        if rank == 0:
            return RaggedTensor.from_nested_row_splits(values, splits) if splits else values
        return RaggedTensor.from_nested_row_splits(values, splits)


def _batch_gather(params, indices):
    params = params if isinstance(params, RaggedTensor) else from_tensor(params, None, None, 1, dtypes.int64)
    indices = indices if isinstance(indices, RaggedTensor) else from_tensor(indices, None, None, 1, dtypes.int64)
    starts = index_ops.gather(params.row_starts(), indices.value_rowids())
    return indices.with_values(gather(params.values, math_ops.cast(indices.values, starts.dtype) + starts))


def boolean_mask(data: Any, mask: Any, name: Optional[str] = None) -> Any:
    """The values where the mask is true, in the rows where they were."""
    with ops.name_scope(name, "RaggedMask"):
        data, mask = convert(data), convert(mask)
        if mask.shape.rank == 1 and not isinstance(mask, RaggedTensor):
            kept = array_ops.reshape(index_ops.where(mask), [-1])
            return gather(data, kept)
        if not isinstance(mask, RaggedTensor):
            mask = from_tensor(mask, None, None, 1, dtypes.int64)
        if not isinstance(data, RaggedTensor):
            data = from_tensor(data, None, None, 1, dtypes.int64)
        inner = mask.values
        if isinstance(inner, RaggedTensor) or inner.shape.rank and inner.shape.rank > 1:
            return data.with_values(boolean_mask(data.values, inner))
        kept = gen_ops.unsorted_segment_sum(math_ops.cast(inner, dtypes.int64), mask.value_rowids(), mask.nrows())
        return RaggedTensor.from_row_lengths(boolean_mask(data.values, inner) if isinstance(data.values, RaggedTensor) else
                                             index_ops.boolean_mask(data.values, inner), kept)


def where(condition, x=None, y=None, name=None):
    with ops.name_scope(name, "RaggedWhere"):
        condition = convert(condition)
        if x is None:
            return _coordinates(condition)
        like = next(v for v in (condition, x, y) if isinstance(v, RaggedTensor))
        flat = lambda v: v.flat_values if isinstance(v, RaggedTensor) else broadcast_flat(v, like)
        picked, one, other = condition.flat_values if isinstance(condition, RaggedTensor) else condition, flat(x), flat(y)
        return like.with_flat_values(gen_ops.select_v2(picked, one, other))


def _coordinates(condition):
    sparse = condition.with_flat_values(math_ops.cast(condition.flat_values, dtypes.int32)).to_sparse()
    return index_ops.boolean_mask(sparse.indices, gen_ops.not_equal(sparse.values, 0))


def tile(input, multiples, name=None):  # pylint: disable=redefined-builtin
    """Repeats along each dimension, for `multiples` that are known."""
    with ops.name_scope(name, "RaggedTile"):
        from millstream.framework import tensor_util
        known = tensor_util.constant_value(ops.convert_to_tensor(multiples))
        if known is None:
            raise NotImplementedError("tf.tile() of a ragged tensor needs `multiples` that are known when the graph is built")
        result = input
        for axis, times in enumerate(known):
            if times != 1:
                result = concat([result] * int(times), axis) if times else gather(result, array_ops.zeros([0], dtypes.int64))
        return result


def merge_dims(value, outer_axis, inner_axis):
    """Rows of rows become rows."""
    rank = value.shape.rank
    outer_axis, inner_axis = (a + rank if a < 0 else a for a in (outer_axis, inner_axis))
    if outer_axis == inner_axis:
        return value
    if outer_axis > 0:
        return value.with_values(merge_dims(value.values, outer_axis - 1, inner_axis - 1))
    if not isinstance(value, RaggedTensor):
        shape = array_ops.shape(value)
        return array_ops.reshape(value, array_ops.concat([[-1], shape[inner_axis + 1:]], 0))
    return value.values if inner_axis == 1 else merge_dims(value.values, 0, inner_axis - 1)


__all__ = ["boolean_mask", "constant", "constant_value", "map_flat_values", "placeholder", "ragged_range",
           "row_splits_to_segment_ids", "segment_ids_to_row_splits", "stack"]
