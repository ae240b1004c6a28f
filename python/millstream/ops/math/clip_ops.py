# SPDX-License-Identifier: Apache-2.0
"""tf.clip_by_value, tf.clip_by_norm, tf.clip_by_global_norm."""
from __future__ import annotations

from typing import TYPE_CHECKING, overload

from millstream import gen_ops
from millstream.framework import constant_op, ops
from millstream.ops.array import array_ops
from millstream.ops.math import math_ops, reduce_ops

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.tensor import Tensor
    from millstream.framework.indexed_slices import IndexedSlices
    from millstream.framework.type_aliases import TensorLike


@overload
def clip_by_value(t: IndexedSlices, clip_value_min: Any, clip_value_max: Any, name: Optional[str] = None) -> IndexedSlices: ...
@overload
def clip_by_value(t: TensorLike, clip_value_min: Any, clip_value_max: Any, name: Optional[str] = None) -> Tensor: ...
def clip_by_value(t, clip_value_min, clip_value_max, name=None):
    """Limits elements to the range from `clip_value_min` to `clip_value_max`."""
    with ops.name_scope(name, "clip_by_value", [t, clip_value_min, clip_value_max]) as name:
        values = ops.convert_to_tensor(t.values if isinstance(t, ops.IndexedSlices) else t, name="t")
        low = gen_ops.minimum(values, clip_value_max)
        values.shape.merge_with(low.shape) if low.shape.is_fully_defined() and values.shape.is_fully_defined() else None
        high = gen_ops.maximum(low, clip_value_min, name=name)
        return ops.IndexedSlices(high, t.indices, t.dense_shape) if isinstance(t, ops.IndexedSlices) else high


@overload
def clip_by_norm(t: IndexedSlices, clip_norm: Any, axes: Any = None, name: Optional[str] = None) -> IndexedSlices: ...
@overload
def clip_by_norm(t: TensorLike, clip_norm: Any, axes: Any = None, name: Optional[str] = None) -> Tensor: ...
def clip_by_norm(t, clip_norm, axes=None, name=None):
    """Scales a tensor down so that its L2 norm is at most `clip_norm`."""
    with ops.name_scope(name, "clip_by_norm", [t, clip_norm]) as name:
        values = ops.convert_to_tensor(t.values if isinstance(t, ops.IndexedSlices) else t, name="t")
        l2sum = reduce_ops.reduce_sum(values * values, axes, keepdims=True)
        positive = l2sum > 0
        safe = gen_ops.select(positive, l2sum, array_ops.ones_like(l2sum))
        norm = gen_ops.select(positive, gen_ops.sqrt(safe), l2sum)
        scaled = values * clip_norm
        clipped = gen_ops.identity(scaled / gen_ops.maximum(norm, clip_norm), name=name)
        return ops.IndexedSlices(clipped, t.indices, t.dense_shape) if isinstance(t, ops.IndexedSlices) else clipped


def clip_by_average_norm(t: Any, clip_norm: Any, name: Optional[str] = None) -> Tensor:
    with ops.name_scope(name, "clip_by_average_norm", [t, clip_norm]) as name:
        t = ops.convert_to_tensor(t, name="t")
        count = math_ops.cast(array_ops.size(t), "float32")
        inverse = gen_ops.rsqrt(reduce_ops.reduce_sum(t * t, math_ops.range(array_ops.rank(t))))
        return gen_ops.identity(t * clip_norm * gen_ops.minimum(inverse * count, constant_op.constant(1.0) / clip_norm),
                                name=name)


def _check_list(t_list, what):
    if not isinstance(t_list, (list, tuple)) or isinstance(t_list, str):
        raise TypeError(f"`{what}` should be a sequence of tensors. Received {type(t_list)}.")
    return list(t_list)


def global_norm(t_list: Any, name: Optional[str] = None) -> Tensor:
    """The L2 norm of all elements of all tensors together."""
    t_list = _check_list(t_list, "t_list")
    with ops.name_scope(name, "global_norm", [t for t in t_list if t is not None]) as name:
        values = [ops.convert_to_tensor(t.values if isinstance(t, ops.IndexedSlices) else t, name=f"t_{i}") if t is not None
                  else None for i, t in enumerate(t_list)]
        halves = []
        for v in values:
            if v is not None:
                with ops.colocate_with(v):
                    halves.append(gen_ops.l2_loss(v))
        half = reduce_ops.reduce_sum(array_ops.stack(halves))
        return gen_ops.sqrt(half * constant_op.constant(2.0, dtype=half.dtype.base_dtype), name="global_norm")


def clip_by_global_norm(t_list, clip_norm, use_norm=None, name=None) -> tuple[list[Any], Tensor]:
    """Scales all tensors by one factor so that their common norm is at most `clip_norm`; returns them and the norm."""
    t_list = _check_list(t_list, "t_list")
    if use_norm is None:
        use_norm = global_norm(t_list, name)
    with ops.name_scope(name, "clip_by_global_norm", [t for t in t_list if t is not None] + [clip_norm]) as name:
        dtype = use_norm.dtype.base_dtype
        scale = clip_norm * gen_ops.minimum(1.0 / use_norm, constant_op.constant(1.0, dtype) / clip_norm)
        # A norm that is not finite makes everything NaN.
        scale = scale + (use_norm - use_norm)
        clipped: list[Any] = []
        for i, t in enumerate(t_list):
            if t is None:
                clipped.append(None)
                continue
            value = ops.convert_to_tensor(t.values if isinstance(t, ops.IndexedSlices) else t)
            with ops.colocate_with(value):
                value = gen_ops.identity(value * scale, name=f"{name}_{i}")
            clipped.append(ops.IndexedSlices(value, t.indices, t.dense_shape) if isinstance(t, ops.IndexedSlices) else value)
        return clipped, use_norm
