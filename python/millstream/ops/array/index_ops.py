# SPDX-License-Identifier: Apache-2.0
"""Choosing elements: tf.gather, tf.where, tf.boolean_mask, tf.one_hot, spaces and batches, ..."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from millstream import gen_ops
from millstream.framework import constant_op, dtypes, ops, tensor_util
from millstream.ops.array import array_ops
from millstream.ops.math import math_ops, reduce_ops
from millstream.ops.arguments import renamed

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.tensor import Tensor
    from millstream.framework.type_aliases import DTypeLike, ShapeLike, TensorLike


def gather(params: Any, indices: Any, validate_indices: Any = None, name: Optional[str] = None, axis: Any = None,
           batch_dims: Any = 0) -> Tensor:
    """Slices of `params` at `indices` along `axis`."""
    if axis is None:
        axis = batch_dims
    if batch_dims:
        params, indices = ops.convert_to_tensor(params), ops.convert_to_tensor(indices)
        return _batch_gather(params, indices, int(batch_dims), int(axis), name)
    if not isinstance(axis, ops.Tensor) and axis == 0 and hasattr(params, "sparse_read"):
        return params.sparse_read(indices, name=name)
    return gen_ops.gather_v2(params, indices, axis, name=name)


def _batch_gather(params, indices, batch_dims, axis, name):
    """Gathers from the flattened batches, with each index moved to its own batch."""
    with ops.name_scope(name, "GatherV2", [params, indices]):
        axis = axis % params.shape.rank if axis < 0 else axis
        batch_dims = batch_dims % indices.shape.rank if batch_dims < 0 else batch_dims
        rank = params.shape.rank
        if rank is None:
            raise ValueError("params must have a known rank for batch_dims")
        if axis != batch_dims:  # bring the axis right after the batches, and back afterwards
            perm = list(range(batch_dims)) + [axis] + list(range(batch_dims, axis)) + list(range(axis + 1, rank))
            moved = _batch_gather(array_ops.transpose(params, perm), indices, batch_dims, batch_dims, None)
            inner = indices.shape.rank - batch_dims
            between = axis - batch_dims
            back = (list(range(batch_dims)) + list(range(batch_dims + inner, batch_dims + inner + between))
                    + list(range(batch_dims, batch_dims + inner)) + list(range(batch_dims + inner + between,
                                                                               moved.shape.rank)))
            return array_ops.transpose(moved, back)
        shape = array_ops.shape(params, out_type=indices.dtype.base_dtype)
        batch = reduce_ops.reduce_prod(shape[:batch_dims])
        flat = array_ops.reshape(params, array_ops.concat([[-1], shape[batch_dims + 1:]], 0))
        starts = math_ops.range(batch) * shape[batch_dims]
        count = indices.shape.rank - batch_dims
        sizes = array_ops.concat([shape[:batch_dims], array_ops.ones([count], indices.dtype.base_dtype)], 0)
        return gen_ops.gather_v2(flat, indices + array_ops.reshape(starts, sizes), 0)


def batch_gather(params: Any, indices: Any, name: Optional[str] = None) -> Tensor:
    with ops.name_scope(name, "BatchGather", [params, indices]):
        indices = ops.convert_to_tensor(indices, name="indices")
        params = ops.convert_to_tensor(params, name="params")
        if indices.shape.rank is None:
            raise ValueError("batch_gather does not allow indices with unknown shape.")
        return gather(params, indices, batch_dims=indices.shape.rank - 1)


def gather_nd(params: Any, indices: Any, name: Optional[str] = None, batch_dims: Any = 0) -> Tensor:
    """Elements or slices of `params`; the last dimension of `indices` holds their coordinates."""
    if batch_dims:
        params, indices = ops.convert_to_tensor(params), ops.convert_to_tensor(indices)
        with ops.name_scope(name, "GatherNd", [params, indices]):
            sizes = array_ops.shape(indices)
            grid = array_ops.meshgrid(*[math_ops.range(sizes[i]) for i in range(batch_dims)], indexing="ij")
            extra = indices.shape.rank - 1 - batch_dims
            coordinates = []
            for g in grid:
                g = math_ops.cast(g, indices.dtype.base_dtype)
                for _ in range(extra + 1):
                    g = array_ops.expand_dims(g, -1)
                target = array_ops.concat([sizes[:-1], [1]], 0)
                coordinates.append(gen_ops.broadcast_to(g, target))
            return gen_ops.gather_nd(params, array_ops.concat(coordinates + [indices], -1))
    if hasattr(params, "gather_nd"):
        return params.gather_nd(indices, name=name)
    return gen_ops.gather_nd(params, indices, name=name)


def where(condition: Any, x: Any = None, y: Any = None, name: Optional[str] = None) -> Tensor:
    """Elements of `x` where `condition` holds, else of `y`; without both, the coordinates of true elements."""
    if x is None and y is None:
        with ops.name_scope(name, "Where", [condition]) as name:
            return gen_ops.where(ops.convert_to_tensor(condition, dtype=dtypes.bool, preferred_dtype=dtypes.bool,
                                                       name="condition")
                                 if not isinstance(condition, ops.Tensor) else condition, name=name)
    if x is not None and y is not None:
        return gen_ops.select(condition, x, y, name=name)
    raise ValueError("x and y must both be non-None or both be None.")


def where_v2(condition: Any, x: Any = None, y: Any = None, name: Optional[str] = None) -> Any:
    if x is None and y is None:
        return where(condition, name=name)
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    return gen_ops.select_v2(condition, x, y, name=name)


def boolean_mask(tensor: TensorLike, mask: Any, name: str = "boolean_mask", axis: Any = None) -> Tensor:
    """The elements of `tensor` for which `mask` is true."""
    with ops.name_scope(name, values=[tensor, mask]):
        tensor = ops.convert_to_tensor(tensor, name="tensor")
        mask = ops.convert_to_tensor(mask, name="mask")
        count = mask.shape.rank
        if count == 0:
            raise ValueError("mask cannot be scalar.")
        if count is None:
            raise ValueError("Number of mask dimensions must be specified, even if some dimensions are None.  E.g. "
                             "shape=[None] is ok, but shape=None is not.")
        axis = 0 if axis is None else int(tensor_util.constant_value(axis))
        if tensor.shape.rank is not None:
            tensor.shape[axis:axis + count].assert_is_compatible_with(mask.shape)
        leading = gen_ops.prod(array_ops.shape(tensor)[axis:axis + count], [0])
        tensor = array_ops.reshape(tensor, array_ops.concat(
            [array_ops.shape(tensor)[:axis], [leading], array_ops.shape(tensor)[axis + count:]], 0))
        flat = array_ops.reshape(mask, [-1])
        indices = array_ops.squeeze(where(flat), axis=[1])
        return gather(tensor, indices, axis=axis)


def sparse_mask(a: Any, mask_indices: Any, name: Optional[str] = None) -> Any:
    with ops.name_scope(name, "sparse_mask", [a, mask_indices]):
        kept, positions = gen_ops.list_diff(a.indices, mask_indices)
        return ops.IndexedSlices(gather(a.values, positions, name=name), kept, a.dense_shape)


def one_hot(indices: Any, depth: Any, on_value: Any = None, off_value: Any = None, axis: Any = None, dtype: Any = None,
            name: Optional[str] = None) -> Tensor:
    """Vectors with `on_value` at the given indices and `off_value` elsewhere."""
    with ops.name_scope(name, "one_hot", [indices, depth, on_value, off_value, axis, dtype]) as name:
        on_value = None if on_value is None else ops.convert_to_tensor(on_value, preferred_dtype=dtype)
        off_value = None if off_value is None else ops.convert_to_tensor(off_value, preferred_dtype=dtype)
        given = [v.dtype.base_dtype for v in (on_value, off_value) if v is not None]
        dtype = dtypes.as_dtype(dtype if dtype is not None else given[0] if given else dtypes.float32)
        for what, value in (("on_value", on_value), ("off_value", off_value)):
            if value is not None and value.dtype.base_dtype != dtype.base_dtype:
                raise TypeError(f"dtype {value.dtype.base_dtype} of {what} does not match dtype parameter {dtype}")
        on_value = ops.convert_to_tensor(1, dtype, name="on_value") if on_value is None else on_value
        off_value = ops.convert_to_tensor(0, dtype, name="off_value") if off_value is None else off_value
        return gen_ops.one_hot(indices, depth, on_value, off_value, axis=-1 if axis is None else axis, name=name)


def sequence_mask(lengths: Any, maxlen: Any = None, dtype: DTypeLike = dtypes.bool, name: Optional[str] = None) -> Tensor:
    """Returns a mask of the given lengths: mask[..., j] is j < lengths[...], for j up to `maxlen` (the greatest length by default)."""
    with ops.name_scope(name, "SequenceMask", [lengths, maxlen]):
        lengths = ops.convert_to_tensor(lengths)
        if maxlen is None:
            maxlen = reduce_ops.reduce_max(lengths)
            maxlen = gen_ops.maximum(constant_op.constant(0, maxlen.dtype.base_dtype), maxlen)
        else:
            maxlen = ops.convert_to_tensor(maxlen)
        if maxlen.shape.rank not in (None, 0):
            raise ValueError("Argument `maxlen` must be scalar for sequence_mask")
        row = gen_ops.range(constant_op.constant(0, maxlen.dtype.base_dtype), maxlen,
                            constant_op.constant(1, maxlen.dtype.base_dtype))
        matrix = gen_ops.cast(array_ops.expand_dims(lengths, -1), DstT=maxlen.dtype.base_dtype)
        result = gen_ops.less(row, matrix)
        return result if dtypes.as_dtype(dtype) == dtypes.bool else math_ops.cast(result, dtype)


def reverse_sequence(input: Any, seq_lengths: Any, seq_axis: Any = None, batch_axis: Any = None, name: Optional[str] = None,
                     seq_dim: Any = None, batch_dim: Any = None) -> Tensor:
    # pylint: disable=redefined-builtin
    seq_axis = renamed("seq_axis", seq_axis, "seq_dim", seq_dim)
    batch_axis = renamed("batch_axis", batch_axis, "batch_dim", batch_dim)
    batch_axis = 0 if batch_axis is None else batch_axis
    if hasattr(gen_ops, "reverse_sequence"):
        return gen_ops.reverse_sequence(input, seq_lengths, seq_dim=seq_axis, batch_dim=batch_axis, name=name)
    with ops.name_scope(name, "ReverseSequence", [input, seq_lengths]):  # by indices of the elements that come first
        input = ops.convert_to_tensor(input, name="input")
        rank = input.shape.rank
        lengths = math_ops.cast(seq_lengths, dtypes.int32)
        first = [batch_axis % rank, seq_axis % rank]
        order = first + [i for i in range(rank) if i not in first]
        moved = array_ops.transpose(input, order)
        steps = math_ops.range(array_ops.shape(moved)[1])[None, :]
        lengths = lengths[:, None]
        source = where_v2(gen_ops.less(steps, lengths), lengths - 1 - steps, steps + gen_ops.zeros_like(lengths))
        return array_ops.transpose(gather(moved, source, batch_dims=1), [int(i) for i in np.argsort(order)])


def space_to_depth(input: Any, block_size: Any, name: Optional[str] = None, data_format: str = "NHWC") -> Tensor:  # pylint: disable=redefined-builtin
    """Moves blocks of pixels into the channels of an image."""
    return gen_ops.space_to_depth(input, block_size=block_size, data_format=data_format, name=name)


def depth_to_space(input: Any, block_size: Any, name: Optional[str] = None, data_format: str = "NHWC") -> Tensor:  # pylint: disable=redefined-builtin
    """Moves values from the channels of an image into blocks of pixels."""
    return gen_ops.depth_to_space(input, block_size=block_size, data_format=data_format, name=name)


def space_to_batch(input: Any, paddings: Any, block_size: Any = None, name: Optional[str] = None,
                   block_shape: Any = None) -> Tensor:  # pylint: disable=redefined-builtin
    """Moves blocks of pixels into the batch, after padding with zeros."""
    block_size = renamed("block_shape", block_shape, "block_size", block_size)
    shape = np.array([block_size, block_size], np.int64) if np.ndim(block_size) == 0 else block_size
    return gen_ops.space_to_batch_nd(input, shape, paddings, name=name)


def batch_to_space(input: Any, crops: Any, block_size: Any = None, name: Optional[str] = None, block_shape: Any = None) -> Any:  # pylint: disable=redefined-builtin
    block_size = renamed("block_shape", block_shape, "block_size", block_size)
    shape = np.array([block_size, block_size], np.int64) if np.ndim(block_size) == 0 else block_size
    return gen_ops.batch_to_space_nd(input, shape, crops, name=name)


def required_space_to_batch_paddings(input_shape: ShapeLike, block_shape: Any, base_paddings: Any = None,
                                     name: Optional[str] = None) -> Any:
    """(paddings, crops) that make each size a multiple of the block's."""
    with ops.name_scope(name, "required_space_to_batch_paddings", [input_shape, block_shape]):
        from millstream.ops.arguments import static
        sizes, blocks = static(input_shape), static(block_shape)
        base = np.zeros([len(blocks), 2], np.int64) if base_paddings is None else static(base_paddings)
        if sizes is None or blocks is None or base is None:
            raise ValueError("The shapes must be known while the graph is built")
        total = np.asarray(sizes) + base.sum(axis=1)
        extra = -total % np.asarray(blocks)
        paddings = np.stack([base[:, 0], base[:, 1] + extra], axis=1).astype(np.int32)
        crops = np.stack([np.zeros_like(extra), extra], axis=1).astype(np.int32)
        return constant_op.constant(paddings, name="paddings"), constant_op.constant(crops, name="crops")


def repeat(input: Any, repeats: Any, axis: Any = None, name: Optional[str] = None) -> Tensor:  # pylint: disable=redefined-builtin
    """Each element along the axis, as often as `repeats` says."""
    with ops.name_scope(name, "Repeat", [input, repeats]):
        data = ops.convert_to_tensor(input)
        if axis is None:
            data, axis = array_ops.reshape(data, [-1]), 0
        axis = axis % data.shape.rank
        repeats = math_ops.cast(ops.convert_to_tensor(repeats), dtypes.int32)
        count = array_ops.shape(data)[axis]
        if repeats.shape.rank == 0:
            repeats = array_ops.fill([count], repeats)
        elif repeats.shape.as_list() == [1]:
            repeats = array_ops.fill([count], repeats[0])
        mask = sequence_mask(repeats, reduce_ops.reduce_max(repeats))
        rows = gen_ops.where(mask)[:, 0]
        return gather(data, rows, axis=axis)


def roll(input: Any, shift: Any, axis: Any, name: Optional[str] = None) -> Tensor:  # pylint: disable=redefined-builtin
    if hasattr(gen_ops, "roll"):
        return gen_ops.roll(input, shift, axis, name=name)
    with ops.name_scope(name, "Roll", [input]):
        data = ops.convert_to_tensor(input)
        pairs = [(shift, axis)] if np.ndim(axis) == 0 else list(zip(shift, axis))
        for s, a in pairs:
            count = array_ops.shape(data)[a]
            data = gather(data, gen_ops.floor_mod(math_ops.range(count) - s, count), axis=a % data.shape.rank)
        return data


def searchsorted(sorted_sequence: Any, values: Any, side: str = "left", out_type: DTypeLike = dtypes.int32,
                 name: Optional[str] = None) -> Tensor:
    """Where each of `values` would go in its row of `sorted_sequence`: before equal elements, or after them ("right")."""
    if side not in ("left", "right"):
        raise ValueError(f"Argument `side` must be either 'right' or 'left'. Received: `side` = {side}.")
    sequence, values = ops.convert_to_tensor(sorted_sequence), ops.convert_to_tensor(values)
    sequence_size, count = array_ops.shape(sequence)[-1], array_ops.shape(values)[-1]
    rows = array_ops.reshape(sequence, [-1, sequence_size])
    wanted = array_ops.reshape(values, [-1, count])
    bound = gen_ops.lower_bound if side == "left" else gen_ops.upper_bound
    return array_ops.reshape(bound(rows, wanted, out_type=out_type, name=name), array_ops.shape(values))


def sort(values: Any, axis: Any = -1, direction: str = "ASCENDING", name: Optional[str] = None) -> Tensor:
    """Sorts along `axis`."""
    with ops.name_scope(name, "sort"):
        return _sorted(values, axis, direction)[0]


def argsort(values: Any, axis: Any = -1, direction: str = "ASCENDING", stable: bool = False,
            name: Optional[str] = None) -> Tensor:
    """The indices that would sort `values` along `axis`."""
    with ops.name_scope(name, "argsort"):
        return _sorted(values, axis, direction)[1]


def _sorted(values, axis, direction):
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(f"Argument `direction` should be one of 'ASCENDING' or 'DESCENDING'. Received: "
                         f"direction={direction}")
    values = ops.convert_to_tensor(values)
    rank = values.shape.rank
    axis = axis % rank
    perm = [i for i in range(rank) if i != axis] + [axis]
    back = [int(i) for i in np.argsort(perm)]
    moved = values if axis == rank - 1 else array_ops.transpose(values, perm)
    signed = moved if direction == "DESCENDING" else -moved
    top, indices = gen_ops.top_kv2(signed, array_ops.shape(moved)[-1])
    top = top if direction == "DESCENDING" else -top
    return (top, indices) if axis == rank - 1 else (array_ops.transpose(top, back), array_ops.transpose(indices, back))
