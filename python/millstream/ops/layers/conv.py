# SPDX-License-Identifier: Apache-2.0
"""tf.layers: convolutions."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.framework.tensor_shape import TensorShape
from millstream.ops.array import array_ops
from millstream.ops.nn import nn_conv, nn_ops
from millstream.ops.variables import init_ops
from millstream.ops.layers.base import InputSpec, Layer

if TYPE_CHECKING:
    from typing import Any, Callable, Optional

    from millstream.framework.type_aliases import ShapeLike
    from millstream.framework.tensor import Tensor

_ZEROS = init_ops.Zeros


def normalize_tuple(value, n, name):
    if isinstance(value, int):
        return (value,) * n
    try:
        values = tuple(int(v) for v in value)
    except (TypeError, ValueError):
        raise ValueError(f"The `{name}` argument must be a tuple of {n} integers. Received: {value}") from None
    if len(values) != n:
        raise ValueError(f"The `{name}` argument must be a tuple of {n} integers. Received: {value}")
    return values


def normalize_padding(value):
    padding = value.lower()
    if padding not in ("valid", "same"):
        raise ValueError(f"The `padding` argument must be a list/tuple or one of \"valid\", \"same\". Received: {padding}")
    return padding


def normalize_data_format(value):
    data_format = "channels_last" if value is None else value.lower()
    if data_format not in ("channels_first", "channels_last"):
        raise ValueError(f"The `data_format` argument must be one of \"channels_first\", \"channels_last\". Received: "
                         f"{value}")
    return data_format


def op_format(data_format, n):
    space = "DHW"[3 - n:]
    return f"NC{space}" if data_format == "channels_first" else f"N{space}C"


def output_length(length, size, padding, stride, dilation=1):
    if length is None:
        return None
    size = (size - 1) * dilation + 1
    length = length if padding == "same" else length - size + 1
    return (length + stride - 1) // stride


def deconv_length(length, size, padding, stride):
    if length is None:
        return None
    length = length * stride
    return length + max(size - stride, 0) if padding == "valid" else length


class _Conv(Layer):
    rank = 2

    def __init__(self, filters, kernel_size, strides=1, padding="valid", data_format="channels_last", dilation_rate=1,
                 activation=None, use_bias=True, kernel_initializer=None, bias_initializer=_ZEROS(), kernel_regularizer=None,
                 bias_regularizer=None, activity_regularizer=None, kernel_constraint=None, bias_constraint=None,
                 trainable=True, name=None, **kwargs):
        super().__init__(trainable=trainable, name=name, activity_regularizer=activity_regularizer, **kwargs)
        self.filters = filters
        self.kernel_size = normalize_tuple(kernel_size, self.rank, "kernel_size")
        self.strides = normalize_tuple(strides, self.rank, "strides")
        self.padding = normalize_padding(padding)
        self.data_format = normalize_data_format(data_format)
        self.dilation_rate = normalize_tuple(dilation_rate, self.rank, "dilation_rate")
        self.activation, self.use_bias = activation, use_bias
        self.kernel_initializer, self.bias_initializer = kernel_initializer, bias_initializer
        self.kernel_regularizer, self.bias_regularizer = kernel_regularizer, bias_regularizer
        self.kernel_constraint, self.bias_constraint = kernel_constraint, bias_constraint
        self.input_spec = InputSpec(ndim=self.rank + 2)

    def _channels(self, input_shape):
        axis = 1 if self.data_format == "channels_first" else -1
        size = TensorShape(input_shape).as_list()[axis]
        if size is None:
            raise ValueError("The channel dimension of the inputs should be defined. Found `None`.")
        self.input_spec = InputSpec(ndim=self.rank + 2, axes={axis: size})
        return size

    def _add_kernel(self, shape, name="kernel"):
        return self.add_weight(name, shape=shape, initializer=self.kernel_initializer, regularizer=self.kernel_regularizer,
                               constraint=self.kernel_constraint, trainable=True)

    def _add_bias(self):
        self.bias = None
        if self.use_bias:
            self.bias = self.add_weight("bias", shape=(self.filters,), initializer=self.bias_initializer,
                                        regularizer=self.bias_regularizer, constraint=self.bias_constraint, trainable=True)

    def build(self, input_shape: ShapeLike) -> None:
        self.kernel = self._add_kernel(self.kernel_size + (self._channels(input_shape), self.filters))
        self._add_bias()
        self.built = True

    def _finish(self, outputs):
        if self.use_bias:
            outputs = nn_ops.bias_add(outputs, self.bias, data_format=op_format(self.data_format, self.rank))
        return outputs if self.activation is None else self.activation(outputs)

    def call(self, inputs: Any) -> Any:
        data_format = op_format(self.data_format, self.rank)
        padding = self.padding.upper()
        if self.rank == 1:
            outputs = nn_conv.conv1d(inputs, self.kernel, self.strides[0], padding, data_format=data_format,
                                     dilations=self.dilation_rate)
        elif self.rank == 2:
            outputs = nn_conv.conv2d(inputs, self.kernel, self.strides, padding, data_format=data_format,
                                     dilations=self.dilation_rate)
        else:
            outputs = nn_conv.convolution(inputs, self.kernel, padding, strides=self.strides,
                                          dilation_rate=self.dilation_rate, data_format=data_format)
        return self._finish(outputs)

    def compute_output_shape(self, input_shape: ShapeLike) -> Any:
        sizes = TensorShape(input_shape).as_list()
        space = sizes[2:] if self.data_format == "channels_first" else sizes[1:-1]
        space = [output_length(s, k, self.padding, t, d)
                 for s, k, t, d in zip(space, self.kernel_size, self.strides, self.dilation_rate)]
        return TensorShape([sizes[0], self.filters] + space if self.data_format == "channels_first"
                           else [sizes[0]] + space + [self.filters])


class Conv1D(_Conv):
    """Convolution of sequences [batch, steps, channels]."""
    rank = 1


class Conv2D(_Conv):
    """Convolution of images."""
    rank = 2

    def __init__(self, filters: Any, kernel_size: Any, strides: Any = (1, 1), padding: Any = "valid",
                 data_format: str = "channels_last", dilation_rate: Any = (1, 1), **kwargs: Any) -> None:
        super().__init__(filters, kernel_size, strides, padding, data_format, dilation_rate, **kwargs)


class Conv3D(_Conv):
    """Convolution of volumes."""
    rank = 3


class Conv2DTranspose(_Conv):
    """Transposed convolution of images, which enlarges them."""
    rank = 2
    _op = staticmethod(nn_conv.conv2d_transpose)

    def build(self, input_shape: ShapeLike) -> None:
        self.kernel = self._add_kernel(self.kernel_size + (self.filters, self._channels(input_shape)))
        self._add_bias()
        self.built = True

    def call(self, inputs: Any) -> Any:
        first = self.data_format == "channels_first"
        known = inputs.shape.as_list()
        dynamic = array_ops.shape(inputs) if None in known else known
        axes = range(2, 2 + self.rank) if first else range(1, 1 + self.rank)
        sizes = [deconv_length(dynamic[a], k, self.padding, s) for a, k, s in zip(axes, self.kernel_size, self.strides)]
        shape = [dynamic[0], self.filters] + sizes if first else [dynamic[0]] + sizes + [self.filters]
        strides = (1, 1) + self.strides if first else (1,) + self.strides + (1,)
        outputs = self._op(inputs, self.kernel, array_ops.stack(shape), strides, self.padding.upper(),
                           data_format=op_format(self.data_format, self.rank))
        outputs.set_shape(self.compute_output_shape(inputs.shape))
        return self._finish(outputs)

    def compute_output_shape(self, input_shape: ShapeLike) -> TensorShape:
        sizes = TensorShape(input_shape).as_list()
        first = self.data_format == "channels_first"
        space = sizes[2:] if first else sizes[1:-1]
        space = [deconv_length(s, k, self.padding, t) for s, k, t in zip(space, self.kernel_size, self.strides)]
        return TensorShape([sizes[0], self.filters] + space if first else [sizes[0]] + space + [self.filters])


Deconvolution2D = Deconv2D = Conv2DTranspose


class Conv3DTranspose(Conv2DTranspose):
    """Transposed convolution of volumes, which enlarges them."""
    rank = 3
    _op = staticmethod(nn_conv.conv3d_transpose)

    def __init__(self, filters: Any, kernel_size: Any, strides: Any = (1, 1, 1), padding: Any = "valid",
                 data_format: str = "channels_last", activation: Any = None, use_bias: bool = True, **kwargs: Any) -> None:
        super().__init__(filters, kernel_size, strides, padding, data_format, activation=activation, use_bias=use_bias, **kwargs)


Deconvolution3D = Deconv3D = Conv3DTranspose


class SeparableConv2D(_Conv):
    """A convolution of each channel alone, followed by one of single pixels that mixes the channels."""
    rank = 2

    def __init__(self, filters: Any, kernel_size: Any, strides: Any = (1, 1), padding: Any = "valid",
                 data_format: str = "channels_last", dilation_rate: Any = (1, 1), depth_multiplier: Any = 1,
                 activation: Any = None, use_bias: bool = True, depthwise_initializer: Any = None,
                 pointwise_initializer: Any = None, bias_initializer: Any = _ZEROS(), depthwise_regularizer: Any = None,
                 pointwise_regularizer: Any = None, bias_regularizer: Any = None, activity_regularizer: Any = None,
                 depthwise_constraint: Any = None, pointwise_constraint: Any = None, bias_constraint: Any = None,
                 trainable: Any = True, name: Optional[str] = None, **kwargs: Any) -> None:
        super().__init__(filters, kernel_size, strides, padding, data_format, dilation_rate, activation, use_bias,
                         bias_initializer=bias_initializer, bias_regularizer=bias_regularizer,
                         activity_regularizer=activity_regularizer, bias_constraint=bias_constraint, trainable=trainable,
                         name=name, **kwargs)
        self.depth_multiplier = depth_multiplier
        self._depthwise = (depthwise_initializer, depthwise_regularizer, depthwise_constraint)
        self._pointwise = (pointwise_initializer, pointwise_regularizer, pointwise_constraint)

    def build(self, input_shape: ShapeLike) -> None:
        channels = self._channels(input_shape)
        for name, shape, settings in (
                ("depthwise_kernel", self.kernel_size + (channels, self.depth_multiplier), self._depthwise),
                ("pointwise_kernel", (1,) * self.rank + (channels * self.depth_multiplier, self.filters), self._pointwise)):
            setattr(self, name, self.add_weight(name, shape=shape, initializer=settings[0], regularizer=settings[1],
                                                constraint=settings[2], trainable=True))
        self._add_bias()
        self.built = True

    def call(self, inputs):
        first = self.data_format == "channels_first"
        strides = (1, 1) + self.strides if first else (1,) + self.strides + (1,)
        return self._finish(nn_conv.separable_conv2d(inputs, self.depthwise_kernel, self.pointwise_kernel, strides,
                                                     self.padding.upper(), rate=self.dilation_rate,
                                                     data_format=op_format(self.data_format, 2)))


class SeparableConv1D(SeparableConv2D):
    """As the one of images, of height 1."""
    rank = 1

    def __init__(self, filters: Any, kernel_size: Any, strides: Any = 1, padding: Any = "valid",
                 data_format: str = "channels_last", dilation_rate: Any = 1, **kwargs: Any) -> None:
        super().__init__(filters, kernel_size, strides, padding, data_format, dilation_rate, **kwargs)

    def call(self, inputs):
        first = self.data_format == "channels_first"
        axis = 2 if first else 1
        strides = (1, 1) + self.strides * 2 if first else (1,) + self.strides * 2 + (1,)
        outputs = nn_conv.separable_conv2d(
            array_ops.expand_dims(inputs, axis), array_ops.expand_dims(self.depthwise_kernel, 0),
            array_ops.expand_dims(self.pointwise_kernel, 0), strides, self.padding.upper(), rate=(1,) + self.dilation_rate,
            data_format=op_format(self.data_format, 2))
        return self._finish(array_ops.squeeze(outputs, [axis]))


def _function(cls) -> Callable[..., Tensor]:
    """The function over a layer: its arguments after the inputs, `name` and `reuse`."""
    def apply(inputs, *args, **kwargs):
        name, reuse = kwargs.pop("name", None), kwargs.pop("reuse", None)
        return cls(*args, name=name, _scope=name, _reuse=reuse, **kwargs).apply(inputs)
    apply.__name__ = apply.__qualname__ = cls.__name__.lower()
    apply.__doc__ = f"Makes a layer of the class {cls.__name__} with these arguments and applies it to `inputs`."
    return apply


conv1d = _function(Conv1D)
conv2d = _function(Conv2D)
conv3d = _function(Conv3D)
conv2d_transpose = _function(Conv2DTranspose)
separable_conv2d = _function(SeparableConv2D)
conv3d_transpose = _function(Conv3DTranspose)
separable_conv1d = _function(SeparableConv1D)
