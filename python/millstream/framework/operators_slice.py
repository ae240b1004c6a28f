# SPDX-License-Identifier: Apache-2.0
"""Indexing of tensors: t[1:, ..., tf.newaxis, i]."""
import numpy as np

from millstream import gen_ops
from millstream.framework import constant_op, conversion, dtypes, scopes

newaxis = None


def _is_index(value):
    if conversion.is_dense_tensor_like(value):
        return True
    if isinstance(value, (bool, np.bool_)) or isinstance(value, float):
        return False
    return hasattr(value, "__index__")


def _check(value):
    if not _is_index(value):
        raise TypeError("Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar tf.int32/tf.int64 "
                        f"tensors are valid indices, got {value!r}")


def _packed(values, name):
    if any(conversion.is_dense_tensor_like(v) for v in values):
        dtype = next(v.dtype.base_dtype for v in values if conversion.is_dense_tensor_like(v))
        values = [v if conversion.is_dense_tensor_like(v) else int(v) for v in values]
        return constant_op.auto_pack(values, dtype, name)
    values = [int(v) for v in values]
    big = any(not -2**31 <= v < 2**31 for v in values)
    return constant_op.constant(values, dtypes.int64 if big else dtypes.int32, shape=[len(values)], name=name)


class _Spec:
    """Begin, end and stride of each axis of an index, with the masks of StridedSlice."""

    def __init__(self, index):
        self.begin, self.end, self.strides = [], [], []
        self.begin_mask = self.end_mask = self.ellipsis_mask = self.new_axis_mask = self.shrink_axis_mask = 0
        for i, item in enumerate(index):
            bit = 1 << i
            if isinstance(item, slice):
                self._add_slice(item, bit)
            elif item is Ellipsis:
                if self.ellipsis_mask:
                    raise ValueError("Multiple ellipses in slice specification")
                self.ellipsis_mask |= bit
                self._add(0, 0, 1)
            elif item is newaxis:
                self.new_axis_mask |= bit
                self._add(0, 0, 1)
            else:
                _check(item)
                self.shrink_axis_mask |= bit
                self._add(item, item + 1 if conversion.is_dense_tensor_like(item) else int(item) + 1, 1)

    def _add(self, begin, end, stride):
        self.begin.append(begin)
        self.end.append(end)
        self.strides.append(stride)

    def _add_slice(self, item, bit):
        for part in (item.start, item.stop, item.step):
            if part is not None:
                _check(part)
        if item.start is None:
            self.begin_mask |= bit
        if item.stop is None:
            self.end_mask |= bit
        self._add(0 if item.start is None else item.start, 0 if item.stop is None else item.stop,
                  1 if item.step is None else item.step)


def getitem(tensor, index, var=None):
    from millstream.framework.tensor import Tensor
    if isinstance(index, Tensor) and index.dtype.base_dtype == dtypes.bool or (
            isinstance(index, np.ndarray) and index.dtype == bool):
        import millstream
        return millstream.boolean_mask(tensor, index)
    index = index if isinstance(index, (list, tuple)) else (index,)
    values = [tensor] + [i for i in index if conversion.is_dense_tensor_like(i)]
    with scopes.name_scope(None, "strided_slice", values) as name:
        spec = _Spec(index)
        begin, end, strides = (_packed(part, "stack") for part in (spec.begin, spec.end, spec.strides))
        begin, end, strides = _same_type(begin, end, strides)
        masks = {f"{m}_mask": getattr(spec, f"{m}_mask") for m in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")}
        result = gen_ops.strided_slice(tensor, begin, end, strides, name=name, **masks)
    return assignable(result, tensor if var is None else var, begin, end, strides, name + "assign", masks)


def assignable(result, variable, begin, end, strides, default_name, masks):
    """`result`, a slice; that of a variable gets a method assign(value, name=None), which changes the variable there."""
    if hasattr(variable, "_strided_slice_assign"):
        def assign(value, name=None):
            return variable._strided_slice_assign(begin=begin, end=end, strides=strides, value=value,
                                                  name=default_name if name is None else name, **masks)
        result.assign = assign
    return result


def _same_type(*parts):
    if len({p.dtype.base_dtype for p in parts}) == 1:
        return parts
    return [p if p.dtype.base_dtype == dtypes.int64 else gen_ops.cast(p, DstT=dtypes.int64) for p in parts]
