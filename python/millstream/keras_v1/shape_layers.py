# SPDX-License-Identifier: Apache-2.0
"""tf.keras.layers that move values: reshape, pad, crop, repeat; functions as layers; several inputs as one output."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from millstream import gen_ops
from millstream.keras_v1.base_layer import InputSpec, Layer
from millstream.ops.array import array_ops
from millstream.ops.layers import conv as layers_conv
from millstream.ops.linalg import linalg_ops
from millstream.ops.math import math_ops, reduce_ops
from millstream.ops.nn import nn_ops

if TYPE_CHECKING:
    from typing import Any

    from millstream.framework.type_aliases import ShapeLike


class Reshape(Layer):
    def __init__(self, target_shape: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.target_shape = tuple(target_shape)

    def call(self, inputs: Any) -> Any:
        shape = list(self.target_shape)
        known = inputs.shape.as_list()[1:]
        if -1 in shape and None not in known:
            shape[shape.index(-1)] = int(np.prod(known)) // -int(np.prod(shape))
        out = array_ops.reshape(inputs, array_ops.stack([array_ops.shape(inputs)[0], *shape]))
        out.set_shape([inputs.shape.as_list()[0]] + [None if s == -1 else s for s in shape])
        return out


class Permute(Layer):
    def __init__(self, dims: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.dims = tuple(dims)
        if sorted(dims) != list(range(1, len(dims) + 1)):
            raise ValueError(f"Invalid permutation `dims` for Permute Layer: {dims}. The set of indices in `dims` must be consecutive "
                             "and start from 1.")

    def call(self, inputs: Any) -> Any:
        return array_ops.transpose(inputs, (0, *self.dims))


class RepeatVector(Layer):
    def __init__(self, n, **kwargs):
        super().__init__(**kwargs)
        self.n, self.input_spec = n, InputSpec(ndim=2)

    def call(self, inputs: Any) -> Any:
        return gen_ops.tile(array_ops.expand_dims(inputs, 1), [1, self.n, 1])


class Lambda(Layer):
    """A function as a layer; variables that it uses are the program's."""

    def __init__(self, function: Any, output_shape: ShapeLike = None, mask: Any = None, arguments: Any = None,
                 **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.function, self.arguments, self.mask = function, dict(arguments or {}), mask

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return self.mask(inputs, mask) if callable(self.mask) else self.mask

    def call(self, inputs, mask=None, training=None):
        import inspect
        given = dict(self.arguments)
        try:
            names = inspect.signature(self.function).parameters
        except (TypeError, ValueError):
            names = ()
        given.update({k: v for k, v in (("mask", mask), ("training", training)) if k in names})
        return self.function(inputs, **given)


class Masking(Layer):
    """Steps whose values are all `mask_value` are skipped by layers that know of masks."""

    def __init__(self, mask_value: Any = 0.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.mask_value, self.supports_masking = mask_value, True

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return reduce_ops.reduce_any(gen_ops.not_equal(inputs, self.mask_value), axis=-1)

    def call(self, inputs: Any) -> Any:
        there = reduce_ops.reduce_any(gen_ops.not_equal(inputs, self.mask_value), axis=-1, keepdims=True)
        return inputs * math_ops.cast(there, inputs.dtype)


class ActivityRegularization(Layer):
    def __init__(self, l1: Any = 0.0, l2: Any = 0.0, **kwargs: Any) -> None:
        from millstream.keras_v1 import regularizers
        super().__init__(activity_regularizer=regularizers.L1L2(l1=l1, l2=l2), **kwargs)


def _pairs(value, rank, name):
    if isinstance(value, int):
        return [(value, value)] * rank
    if len(value) == 2 and rank == 1 and all(isinstance(v, int) for v in value):
        return [tuple(value)]
    if len(value) != rank:
        raise ValueError(f"`{name}` should have {rank} elements. Found: {value}")
    return [(v, v) if isinstance(v, int) else tuple(v) for v in value]


class _Space(Layer):
    rank = 2

    def __init__(self, value, data_format=None, **kwargs):
        super().__init__(**kwargs)
        self.value, self.data_format = value, layers_conv.normalize_data_format(data_format)
        self.input_spec = InputSpec(ndim=self.rank + 2)

    def _around(self, middle, outer):
        return [outer, outer, *middle] if self.data_format == "channels_first" else [outer, *middle, outer]


class ZeroPadding2D(_Space):
    def __init__(self, padding: Any = (1, 1), data_format: Any = None, **kwargs: Any) -> None:
        super().__init__(_pairs(padding, self.rank, "padding"), data_format, **kwargs)

    def call(self, inputs: Any) -> Any:
        return array_ops.pad(inputs, self._around(self.value, (0, 0)))


class ZeroPadding1D(ZeroPadding2D):
    rank = 1

    def __init__(self, padding: Any = 1, **kwargs: Any) -> None:
        super().__init__(padding, **kwargs)


class Cropping2D(_Space):
    def __init__(self, cropping: Any = ((0, 0), (0, 0)), data_format: Any = None, **kwargs: Any) -> None:
        super().__init__(_pairs(cropping, self.rank, "cropping"), data_format, **kwargs)

    def call(self, inputs: Any) -> Any:
        return inputs[tuple(self._around([slice(a, -b if b else None) for a, b in self.value], slice(None)))]


class Cropping1D(Cropping2D):
    rank = 1

    def __init__(self, cropping: Any = (1, 1), **kwargs: Any) -> None:
        super().__init__(cropping, **kwargs)


class UpSampling2D(_Space):
    """Each value several times along each axis of space."""

    def __init__(self, size: Any = (2, 2), data_format: Any = None, interpolation: str = "nearest", **kwargs: Any) -> None:
        super().__init__(layers_conv.normalize_tuple(size, self.rank, "size"), data_format, **kwargs)
        self.interpolation = interpolation

    def call(self, inputs: Any) -> Any:
        if self.interpolation == "bilinear" and self.data_format == "channels_last":
            from millstream.ops.image import image_ops
            sizes = array_ops.shape(inputs)[1:3] * np.array(self.value, np.int32)
            out = image_ops.resize_bilinear(inputs, sizes)
            known = [None if s is None else s * n for s, n in zip(inputs.shape.as_list()[1:3], self.value)]
            out.set_shape([inputs.shape.as_list()[0], *known, inputs.shape.as_list()[3]])
            return out
        from millstream.ops.array import index_ops
        for i, times in enumerate(self.value):
            inputs = index_ops.repeat(inputs, times, axis=i + (2 if self.data_format == "channels_first" else 1))
        return inputs


class UpSampling1D(UpSampling2D):
    rank = 1

    def __init__(self, size: Any = 2, **kwargs: Any) -> None:
        super().__init__(size, **kwargs)


class _Merge(Layer):
    """Several tensors as one. Those with fewer axes get axes of 1 after the batch."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True

    def compute_mask(self, inputs: Any, mask: Any = None) -> None:
        return None

    def build(self, input_shape: ShapeLike) -> None:
        if not isinstance(input_shape, (list, tuple)) or len(input_shape) < 2:
            raise ValueError("A merge layer should be called on a list of at least 2 inputs. Got "
                             f"{len(input_shape) if isinstance(input_shape, (list, tuple)) else 1} inputs.")
        self.built = True

    def call(self, inputs):
        ranks = [x.shape.rank for x in inputs]
        if None not in ranks and len(set(ranks)) > 1:
            most = max(ranks)
            for i, x in enumerate(inputs):
                for _ in range(most - x.shape.rank):
                    x = array_ops.expand_dims(x, 1)
                inputs = list(inputs[:i]) + [x] + list(inputs[i + 1:])
        return self._merge(list(inputs))

    def _fold(self, inputs, function):
        out = inputs[0]
        for x in inputs[1:]:
            out = function(out, x)
        return out


class Add(_Merge):
    def _merge(self, inputs):
        return self._fold(inputs, lambda a, b: a + b)


class Subtract(_Merge):
    def _merge(self, inputs):
        if len(inputs) != 2:
            raise ValueError("A `Subtract` layer should be called on exactly 2 inputs")
        return inputs[0] - inputs[1]


class Multiply(_Merge):
    def _merge(self, inputs):
        return self._fold(inputs, lambda a, b: a * b)


class Average(_Merge):
    def _merge(self, inputs):
        return self._fold(inputs, lambda a, b: a + b) / len(inputs)


class Maximum(_Merge):
    def _merge(self, inputs):
        return self._fold(inputs, gen_ops.maximum)


class Minimum(_Merge):
    def _merge(self, inputs):
        return self._fold(inputs, gen_ops.minimum)


class Concatenate(_Merge):
    def __init__(self, axis: Any = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis = axis

    def call(self, inputs: Any) -> Any:
        return array_ops.concat(list(inputs), self.axis)


class Dot(_Merge):
    """Products along one axis of each of two inputs."""

    def __init__(self, axes: Any, normalize: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axes, self.normalize = axes, normalize

    def call(self, inputs: Any) -> Any:
        a, b = inputs
        axes = [self.axes % a.shape.rank, self.axes % b.shape.rank] if isinstance(self.axes, int) else [
            axis % x.shape.rank for axis, x in zip(self.axes, inputs)]
        if self.normalize:
            a, b = nn_ops.l2_normalize(a, axis=axes[0]), nn_ops.l2_normalize(b, axis=axes[1])
        if a.shape.rank == b.shape.rank == 2:
            return reduce_ops.reduce_sum(a * b, axis=axes[0], keepdims=True)
        return linalg_ops.matmul(a, b, transpose_a=axes[0] == a.shape.rank - 2, transpose_b=axes[1] == b.shape.rank - 1)


def _function(cls):
    def merge(inputs, **kwargs):
        return cls(**kwargs)(inputs)
    merge.__name__ = cls.__name__.lower()
    return merge


add, subtract, multiply, average, maximum, minimum = [_function(c) for c in (Add, Subtract, Multiply, Average, Maximum, Minimum)]


def concatenate(inputs: Any, axis: Any = -1, **kwargs: Any) -> Any:
    return Concatenate(axis=axis, **kwargs)(inputs)


def dot(inputs: Any, axes: Any, normalize: bool = False, **kwargs: Any) -> Any:
    return Dot(axes, normalize, **kwargs)(inputs)
