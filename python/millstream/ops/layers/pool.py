# SPDX-License-Identifier: Apache-2.0
"""tf.layers: pooling."""
from __future__ import annotations

from typing import Any
from typing import TYPE_CHECKING

from millstream.framework.tensor_shape import TensorShape
from millstream.ops.nn import nn_conv
from millstream.ops.layers.base import InputSpec, Layer
from millstream.ops.layers.conv import normalize_data_format, normalize_padding, normalize_tuple, op_format, output_length

if TYPE_CHECKING:
    from typing import Callable
    from millstream.framework.type_aliases import ShapeLike
    from millstream.framework.tensor import Tensor


class _Pool(Layer):
    rank = 2
    function: Any = None

    def __init__(self, pool_size, strides, padding="valid", data_format="channels_last", name=None, **kwargs):
        super().__init__(name=name, **kwargs)
        self.pool_size = normalize_tuple(pool_size, self.rank, "pool_size")
        self.strides = normalize_tuple(pool_size if strides is None else strides, self.rank, "strides")
        self.padding, self.data_format = normalize_padding(padding), normalize_data_format(data_format)
        self.input_spec = InputSpec(ndim=self.rank + 2)

    def call(self, inputs: Any) -> Any:
        return type(self).function(inputs, list(self.pool_size), list(self.strides), self.padding.upper(),
                                   data_format=op_format(self.data_format, self.rank))

    def compute_output_shape(self, input_shape: ShapeLike) -> Any:
        sizes = TensorShape(input_shape).as_list()
        first = self.data_format == "channels_first"
        space = [output_length(s, k, self.padding, t)
                 for s, k, t in zip(sizes[2:] if first else sizes[1:-1], self.pool_size, self.strides)]
        return TensorShape(sizes[:2] + space if first else [sizes[0]] + space + [sizes[-1]])


class MaxPooling1D(_Pool):
    """Maxima of windows of a sequence."""
    rank, function = 1, staticmethod(nn_conv.max_pool1d)


class MaxPooling2D(_Pool):
    """Maxima of windows of an image."""
    rank, function = 2, staticmethod(nn_conv.max_pool)


class MaxPooling3D(_Pool):
    """Maxima of windows of a volume."""
    rank, function = 3, staticmethod(nn_conv.max_pool3d)


class AveragePooling1D(_Pool):
    """Means of windows of a sequence."""
    rank, function = 1, staticmethod(nn_conv.avg_pool1d)


class AveragePooling2D(_Pool):
    """Means of windows of an image."""
    rank, function = 2, staticmethod(nn_conv.avg_pool)


class AveragePooling3D(_Pool):
    """Means of windows of a volume."""
    rank, function = 3, staticmethod(nn_conv.avg_pool3d)


def _function(cls) -> Callable[..., Tensor]:
    def apply(inputs, pool_size, strides, padding="valid", data_format="channels_last", name=None):
        return cls(pool_size=pool_size, strides=strides, padding=padding, data_format=data_format, name=name).apply(inputs)
    return apply


max_pooling1d = _function(MaxPooling1D)
max_pooling2d = _function(MaxPooling2D)
max_pooling3d = _function(MaxPooling3D)
average_pooling1d = _function(AveragePooling1D)
average_pooling2d = _function(AveragePooling2D)
average_pooling3d = _function(AveragePooling3D)
