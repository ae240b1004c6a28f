# SPDX-License-Identifier: Apache-2.0
"""Parts of ragged tensors: value[1:], value[:, :2], value[0]."""
from millstream import gen_ops
from millstream.framework import ops
from millstream.ops.array import array_ops, index_ops
from millstream.ops.math import math_ops
from millstream.ops.ragged.ragged_ops import expand_dims, gather, ragged_range
from millstream.ops.ragged.ragged_tensor import RaggedTensor


def getitem(value, key):
    """value[i], value[a:b], value[i, j], value[:, a:b], value[..., 0:1] and the like."""
    keys = list(key) if isinstance(key, tuple) else [key]
    if Ellipsis in keys:
        at = keys.index(Ellipsis)
        missing = value.shape.rank - (len(keys) - 1)
        keys[at:at + 1] = [slice(None)] * missing
    if not keys:
        return value
    first, rest = keys[0], keys[1:]
    if first is None:
        return getitem(expand_dims(value, 0), tuple([slice(None)] + rest))
    if not isinstance(first, slice):
        row = _row(value, first)
        return row[tuple(rest)] if rest else row
    rows = value if first == slice(None) else _row_range(value, first)
    return _inside_rows(rows, rest) if rest else rows


def _row(value, at):
    at = ops.convert_to_tensor(at, dtype=value.row_splits.dtype) if isinstance(at, int) else math_ops.cast(at, value.row_splits.dtype)
    at = gen_ops.select_v2(at < 0, at + value.nrows(), at)
    begin, end = value.row_splits[at], value.row_splits[at + 1]
    return value.values[begin:end]


def _row_range(value, part):
    if part.step in (None, 1):
        n = value.nrows()
        bound = lambda v, default: default if v is None else gen_ops.minimum(gen_ops.maximum(
            math_ops.cast(ops.convert_to_tensor(v), n.dtype) + (n if isinstance(v, int) and v < 0 else 0), 0 * n), n)
        begin, end = bound(part.start, 0 * n), bound(part.stop, n)
        end = gen_ops.maximum(begin, end)
        splits = value.row_splits[begin:end + 1]
        return RaggedTensor(value.values[splits[0]:splits[-1]], splits - splits[0])
    order = math_ops.range(value.nrows())[part]
    return gather(value, order)


def _inside_rows(value, keys):
    first, rest = keys[0], keys[1:]
    if first is None:
        return _inside_rows(expand_dims(value, 1), [slice(None)] + rest)
    if isinstance(first, slice) and first == slice(None):
        if not rest:
            return value
        inner = value.values
        return value.with_values(_inside_rows(inner, rest) if isinstance(inner, RaggedTensor) else inner[tuple([slice(None)] + rest)])
    if not isinstance(first, slice):
        raise ValueError("Cannot index into an inner ragged dimension: rows may have no such element.")
    lengths = value.row_lengths()
    if first.step not in (None, 1):
        raise NotImplementedError("slices with steps along an inner dimension of a RaggedTensor")

    def bound(v, default):
        if v is None:
            return default
        return gen_ops.minimum(gen_ops.maximum(lengths + v if v < 0 else array_ops.zeros_like(lengths) + v, array_ops.zeros_like(lengths)), lengths)
    begin, end = bound(first.start, array_ops.zeros_like(lengths)), bound(first.stop, lengths)
    chosen = ragged_range(begin, gen_ops.maximum(begin, end))
    at = chosen.with_values(chosen.values + index_ops.gather(value.row_starts(), chosen.value_rowids()))
    rows = RaggedTensor(gather(value.values, at.values) if isinstance(value.values, RaggedTensor) else
                        index_ops.gather(value.values, at.values), at.row_splits)
    return _inside_rows(rows, [slice(None)] + rest) if rest else rows
