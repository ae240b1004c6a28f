# SPDX-License-Identifier: Apache-2.0
"""Convolutions and pooling: tf.nn.conv2d, tf.nn.max_pool, ..."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from millstream import gen_ops
from millstream.framework import ops, tensor_util
from millstream.ops.array import array_ops
from millstream.ops.arguments import renamed

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.tensor import Tensor
    from millstream.framework.type_aliases import ShapeLike


def _sequence(value, n, channel_index, what):
    """A number, or n numbers, or n + 2 numbers, as n + 2 numbers."""
    if value is None:
        return [1] * (n + 2)
    if isinstance(value, (int, np.integer)):
        value = [int(value)]
    value = [int(v) for v in value]
    if len(value) == n + 2:
        return value
    if len(value) not in (1, n):
        raise ValueError(f"{what} should be of length 1, {n} or {n + 2}. Received: {value}")
    if len(value) == 1:
        value = value * n
    return [1] + value + [1] if channel_index == n + 1 else [1, 1] + value


def _padding(padding):
    """(padding, explicit_paddings) of an op, from a name or pairs for each axis."""
    if isinstance(padding, (list, tuple)):
        flat = [int(p) for pair in padding for p in pair]
        if len(flat) != 8:
            raise ValueError(f"The padding for each dimension must be a pair of numbers. Received: {padding}")
        return "EXPLICIT", flat
    return padding, []


def conv2d(input: Any, filter: Any = None, strides: Any = None, padding: Any = None, use_cudnn_on_gpu: bool = True,
           data_format: str = "NHWC", dilations: Any = (1, 1, 1, 1), name: Optional[str] = None, filters: Any = None) -> Tensor:  # pylint: disable=redefined-builtin
    """Convolves a batch of images with a `filter` of shape [height, width, input channels, output channels]."""
    filter = renamed("filter", filter, "filters", filters)
    padding, explicit = _padding(padding)
    data_format = data_format or "NHWC"
    channel_index = 1 if data_format.startswith("NC") else 3
    return gen_ops.conv2d(input, filter, strides=_sequence(strides, 2, channel_index, "strides"), padding=padding,
                          use_cudnn_on_gpu=use_cudnn_on_gpu, explicit_paddings=explicit, data_format=data_format,
                          dilations=_sequence(dilations, 2, channel_index, "dilations"), name=name)


def conv2d_backprop_input(input_sizes: Any, filter: Any = None, out_backprop: Any = None, strides: Any = None,
                          padding: Any = None, use_cudnn_on_gpu: bool = True, data_format: str = "NHWC",
                          dilations: Any = (1, 1, 1, 1), name: Optional[str] = None, filters: Any = None) -> Any:
    """The gradient of conv2d() by its input."""
    # pylint: disable=redefined-builtin
    filter = renamed("filter", filter, "filters", filters)
    padding, explicit = _padding(padding)
    return gen_ops.conv2d_backprop_input(input_sizes, filter, out_backprop, strides=list(strides), padding=padding,
                                         explicit_paddings=explicit, data_format=data_format, dilations=list(dilations),
                                         name=name)


def conv2d_backprop_filter(input: Any, filter_sizes: Any, out_backprop: Any, strides: Any, padding: Any,
                           use_cudnn_on_gpu: bool = True, data_format: str = "NHWC", dilations: Any = (1, 1, 1, 1),
                           name: Optional[str] = None) -> Any:  # pylint: disable=redefined-builtin
    """The gradient of conv2d() by its filter."""
    padding, explicit = _padding(padding)
    return gen_ops.conv2d_backprop_filter(input, filter_sizes, out_backprop, strides=list(strides), padding=padding,
                                          explicit_paddings=explicit, data_format=data_format, dilations=list(dilations),
                                          name=name)


def conv2d_transpose(value: Any = None, filter: Any = None, output_shape: ShapeLike = None, strides: Any = None,
                     padding: Any = "SAME", data_format: str = "NHWC", name: Optional[str] = None, input: Any = None,
                     filters: Any = None, dilations: Any = None) -> Tensor:  # pylint: disable=redefined-builtin
    """The transpose (gradient) of conv2d, as layers that enlarge images use it."""
    value, filter = renamed("input", input, "value", value), renamed("filters", filters, "filter", filter)
    data_format = data_format or "NHWC"
    channel_index = 1 if data_format.startswith("NC") else 3
    padding, explicit = _padding(padding)
    with ops.name_scope(name, "conv2d_transpose", [value, filter, output_shape]) as name:
        result = gen_ops.conv2d_backprop_input(output_shape, filter, value,
                                               strides=_sequence(strides, 2, channel_index, "strides"), padding=padding,
                                               explicit_paddings=explicit, data_format=data_format,
                                               dilations=_sequence(dilations, 2, channel_index, "dilations"), name=name)
        known = result.op.inputs[0]
        result.set_shape(tensor_util.constant_value_as_shape(known))
        return result


def conv1d(value: Any = None, filters: Any = None, stride: Any = None, padding: Any = None, use_cudnn_on_gpu: Any = None,
           data_format: Any = None, name: Optional[str] = None, input: Any = None, dilations: Any = None) -> Tensor:  # pylint: disable=redefined-builtin
    """A convolution along one axis: conv2d of images of height 1."""
    value = renamed("input", input, "value", value)
    with ops.name_scope(name, "conv1d", [value, filters]) as name:
        if data_format in (None, "NHWC", "NWC"):
            data_format, axis, channel_index = "NHWC", 1, 2
        elif data_format in ("NCHW", "NCW"):
            data_format, axis, channel_index = "NCHW", 2, 1
        else:
            raise ValueError("`data_format` must be \"NWC\" or \"NCW\". Received: data_format={}".format(data_format))
        strides = _sequence(stride, 1, channel_index, "stride")
        dilations = _sequence(dilations, 1, channel_index, "dilations")
        strides.insert(axis, 1)
        dilations.insert(axis, 1)
        value = array_ops.expand_dims(value, axis)
        filters = array_ops.expand_dims(filters, 0)
        result = gen_ops.conv2d(value, filters, strides=strides, padding=padding, data_format=data_format,
                                dilations=dilations,
                                name=name)
        return array_ops.squeeze(result, [axis])


def conv1d_transpose(input: Any, filters: Any, output_shape: ShapeLike, strides: Any, padding: Any = "SAME",
                     data_format: str = "NWC", dilations: Any = None, name: Optional[str] = None) -> Any:
    """The transpose of conv1d(): maps its outputs' shape to its inputs' shape."""
    # pylint: disable=redefined-builtin
    with ops.name_scope(name, "conv1d_transpose", [input, filters, output_shape]) as name:
        axis = 2 if data_format.startswith("NC") else 1
        strides = _sequence(strides, 1, 1 if axis == 2 else 2, "strides")
        dilations = _sequence(dilations, 1, 1 if axis == 2 else 2, "dilations")
        strides.insert(axis, 1)
        dilations.insert(axis, 1)
        shape = ops.convert_to_tensor(output_shape)
        shape = array_ops.concat([shape[:axis], [1], shape[axis:]], 0)
        result = gen_ops.conv2d_backprop_input(shape, array_ops.expand_dims(filters, 0), array_ops.expand_dims(input, axis),
                                               strides=strides, padding=padding, dilations=dilations,
                                               data_format="NCHW" if axis == 2 else "NHWC", name=name)
        return array_ops.squeeze(result, [axis])


def conv3d(input: Any, filter: Any = None, strides: Any = None, padding: Any = None, data_format: str = "NDHWC",
           dilations: Any = (1, 1, 1, 1, 1), name: Optional[str] = None, filters: Any = None) -> Any:  # pylint: disable=redefined-builtin
    """Convolution of volumes with a filter of shape [depth, height, width, in, out]."""
    filter = renamed("filter", filter, "filters", filters)
    return gen_ops.conv3d(input, filter, strides=list(strides), padding=padding, data_format=data_format,
                          dilations=list(dilations), name=name)


def conv3d_transpose(value: Any = None, filter: Any = None, output_shape: ShapeLike = None, strides: Any = None,
                     padding: Any = "SAME", data_format: str = "NDHWC", name: Optional[str] = None, input: Any = None,
                     filters: Any = None, dilations: Any = None) -> Any:  # pylint: disable=redefined-builtin
    """The transpose of conv3d(): maps its outputs' shape to its inputs' shape."""
    value, filter = renamed("input", input, "value", value), renamed("filters", filters, "filter", filter)
    with ops.name_scope(name, "conv3d_transpose", [value, filter, output_shape]) as name:
        dilations = _sequence(dilations, 3, 1 if data_format.startswith("NC") else 4, "dilations")
        return gen_ops.conv3d_backprop_input_v2(output_shape, filter, value, strides=list(strides), padding=padding,
                                                data_format=data_format, dilations=dilations, name=name)


def atrous_conv2d(value: Any, filters: Any, rate: Any, padding: Any, name: Optional[str] = None) -> Tensor:
    """Convolution with `rate - 1` zeros between the elements of the filter."""
    return conv2d(value, filters, [1, 1, 1, 1], padding, dilations=[1, rate, rate, 1], name=name or "convolution")


def depthwise_conv2d(input: Any, filter: Any, strides: Any, padding: Any, rate: Any = None, name: Optional[str] = None,
                     data_format: Any = None, dilations: Any = None) -> Tensor:
    """Convolves each channel with filters of its own."""
    # pylint: disable=redefined-builtin
    rate = renamed("dilations", dilations, "rate", rate)
    with ops.name_scope(name, "depthwise", [input, filter]) as name:
        input, filter = ops.convert_to_tensor(input, name="tensor_in"), ops.convert_to_tensor(filter, name="filter_in")
        rate = [1, 1] if rate is None else list(rate)
        data_format = data_format or "NHWC"
        dilation = [1, rate[0], rate[1], 1] if data_format == "NHWC" else [1, 1, rate[0], rate[1]]
        return gen_ops.depthwise_conv2d_native(input, filter, strides=list(strides), padding=padding,
                                               data_format=data_format,
                                               dilations=dilation, name=name)


def depthwise_conv2d_native(input: Any, filter: Any, strides: Any, padding: Any, data_format: str = "NHWC",
                            dilations: Any = (1, 1, 1, 1), name: Optional[str] = None) -> Any:
    """Convolution of each channel with filters of its own."""
    # pylint: disable=redefined-builtin
    return gen_ops.depthwise_conv2d_native(input, filter, strides=list(strides), padding=padding, data_format=data_format,
                                           dilations=list(dilations), name=name)


def separable_conv2d(input: Any, depthwise_filter: Any, pointwise_filter: Any, strides: Any, padding: Any, rate: Any = None,
                     name: Optional[str] = None, data_format: Any = None, dilations: Any = None) -> Tensor:  # pylint: disable=redefined-builtin
    """A depthwise convolution, then one over channels."""
    rate = renamed("dilations", dilations, "rate", rate)
    with ops.name_scope(name, "separable_conv2d", [input, depthwise_filter, pointwise_filter]) as name:
        input = ops.convert_to_tensor(input, name="tensor_in")
        depthwise_filter = ops.convert_to_tensor(depthwise_filter, name="depthwise_filter")
        pointwise_filter = ops.convert_to_tensor(pointwise_filter, name="pointwise_filter")
        rate = [1, 1] if rate is None else list(rate)
        depthwise = depthwise_conv2d(input, depthwise_filter, strides, padding, rate=rate, data_format=data_format)
        return conv2d(depthwise, pointwise_filter, [1, 1, 1, 1], "VALID", data_format=data_format or "NHWC", name=name)


def convolution(input: Any, filter: Any, padding: Any, strides: Any = None, dilation_rate: Any = None,
                name: Optional[str] = None, data_format: Any = None, filters: Any = None, dilations: Any = None) -> Tensor:  # pylint: disable=redefined-builtin
    """Convolution over one to three dimensions, with strides or dilation."""
    filter = renamed("filters", filters, "filter", filter)
    dilation_rate = renamed("dilations", dilations, "dilation_rate", dilation_rate)
    with ops.name_scope(name, "convolution", [input, filter]) as name:
        input, filter = ops.convert_to_tensor(input, name="input"), ops.convert_to_tensor(filter, name="filter")
        n = (filter.shape.rank or input.shape.rank) - 2
        first = data_format is not None and data_format.startswith("NC")
        if n == 1:
            return conv1d(input, filter, strides or 1, padding, data_format="NCW" if first else "NWC",
                          dilations=dilation_rate, name=name)
        channel_index = 1 if first else n + 1
        strides = _sequence(strides, n, channel_index, "strides")
        dilation_rate = _sequence(dilation_rate, n, channel_index, "dilations")
        if n == 2:
            return conv2d(input, filter, strides, padding, data_format="NCHW" if first else "NHWC", dilations=dilation_rate,
                          name=name)
        if n == 3:
            return conv3d(input, filter, strides, padding, data_format="NCDHW" if first else "NDHWC",
                          dilations=dilation_rate, name=name)
        raise ValueError(f"`num_spatial_dims` must be 1, 2, or 3. Received: {n}.")


def max_pool(value: Any = None, ksize: Any = None, strides: Any = None, padding: Any = None, data_format: str = "NHWC",
             name: Optional[str] = None, input: Any = None) -> Tensor:
    """The largest element of each window."""
    # pylint: disable=redefined-builtin
    value = renamed("input", input, "value", value)
    with ops.name_scope(name, "MaxPool", [value]) as name:
        data_format = data_format or "NHWC"
        channel_index = 1 if data_format.startswith("NC") else 3
        padding, explicit = _padding(padding)
        ksize, strides = _sequence(ksize, 2, channel_index, "ksize"), _sequence(strides, 2, channel_index, "strides")
        if any(k == 0 for k in ksize):
            raise ValueError("`ksize` cannot be zero.")
        extra = {"explicit_paddings": explicit} if explicit else {}
        return gen_ops.max_pool(value, ksize=ksize, strides=strides, padding=padding, data_format=data_format, name=name,
                                **extra)


def max_pool2d(input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NHWC",
               name: Optional[str] = None) -> Any:  # pylint: disable=redefined-builtin
    """Maxima of windows of images."""
    return max_pool(input, ksize, strides, padding, data_format, name)


def avg_pool(value: Any = None, ksize: Any = None, strides: Any = None, padding: Any = None, data_format: str = "NHWC",
             name: Optional[str] = None, input: Any = None) -> Tensor:
    """The mean of each window."""
    # pylint: disable=redefined-builtin
    value = renamed("input", input, "value", value)
    with ops.name_scope(name, "AvgPool", [value]) as name:
        data_format = data_format or "NHWC"
        channel_index = 1 if data_format.startswith("NC") else 3
        return gen_ops.avg_pool(value, ksize=_sequence(ksize, 2, channel_index, "ksize"),
                                strides=_sequence(strides, 2, channel_index, "strides"), padding=padding,
                                data_format=data_format, name=name)


def max_pool_with_argmax(input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NHWC", Targmax: Any = None,
                         name: Optional[str] = None, output_dtype: Any = None, include_batch_in_index: bool = False) -> Any:  # pylint: disable=redefined-builtin,invalid-name
    """Maxima of windows of images, and the flat index of each."""
    if data_format != "NHWC":
        raise ValueError(f"`data_format` values other than \"NHWC\" are not supported. Received: data_format={data_format}")
    targmax = renamed("output_dtype", output_dtype, "Targmax", Targmax)
    return gen_ops.max_pool_with_argmax(input, ksize=list(ksize), strides=list(strides), padding=padding,
                                        Targmax=targmax or "int64", include_batch_in_index=include_batch_in_index, name=name)


def _pool3d(gen_name, scope):
    def apply(input, ksize, strides, padding, data_format="NDHWC", name=None):  # pylint: disable=redefined-builtin
        with ops.name_scope(name, scope, [input]) as name:
            channel_index = 1 if data_format.startswith("NC") else 4
            return getattr(gen_ops, gen_name)(input, ksize=_sequence(ksize, 3, channel_index, "ksize"),
                                              strides=_sequence(strides, 3, channel_index, "strides"), padding=padding,
                                              data_format=data_format, name=name)
    return apply


max_pool3d = _pool3d("max_pool3d", "MaxPool3D")
avg_pool3d = _pool3d("avg_pool3d", "AvgPool3D")


def _pool1d(pool2d, scope):
    def apply(input, ksize, strides, padding, data_format="NWC", name=None):  # pylint: disable=redefined-builtin
        with ops.name_scope(name, scope, [input]) as name:
            axis = 2 if data_format.startswith("NC") else 1
            ksize, strides = (_sequence(v, 1, 1 if axis == 2 else 2, "ksize") for v in (ksize, strides))
            ksize.insert(axis, 1)
            strides.insert(axis, 1)
            expanded = array_ops.expand_dims(input, axis)
            result = pool2d(expanded, ksize, strides, padding, data_format="NCHW" if axis == 2 else "NHWC")
            return array_ops.squeeze(result, [axis], name=name)
    return apply


max_pool1d = _pool1d(max_pool, "MaxPool1d")
avg_pool1d = _pool1d(avg_pool, "AvgPool1D")


def pool(input: Any, window_shape: Any, pooling_type: Any, padding: Any, dilation_rate: Any = None, strides: Any = None,
         name: Optional[str] = None, data_format: Any = None, dilations: Any = None) -> Tensor:  # pylint: disable=redefined-builtin
    """Means or maxima of windows over one to three dimensions."""
    dilation_rate = renamed("dilations", dilations, "dilation_rate", dilation_rate)
    if dilation_rate is not None and any(d != 1 for d in dilation_rate):
        raise NotImplementedError("Pooling with dilation_rate")
    with ops.name_scope(name, f"{pooling_type.lower()}_pool", [input]):
        input = ops.convert_to_tensor(input, name="input")
        n = input.shape.rank - 2
        functions = {("MAX", 1): max_pool1d, ("MAX", 2): max_pool, ("MAX", 3): max_pool3d, ("AVG", 1): avg_pool1d,
                     ("AVG", 2): avg_pool, ("AVG", 3): avg_pool3d}
        function = functions[(pooling_type, n)]
        formats = {1: ("NWC", "NCW"), 2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}[n]
        first = data_format is not None and data_format.startswith("NC")
        return function(input, list(window_shape), list(strides or [1] * n), padding, data_format=formats[bool(first)])


def dilation2d(input, filter=None, strides=None, rates=None, padding=None, name=None,  # pylint: disable=redefined-builtin
               filters=None, dilations=None):
    """The greatest sum of a pixel of the window and its weight (a dilation in shades of grey)."""
    return gen_ops.dilation2d(input, renamed("filters", filters, "filter", filter), strides=strides,
                              rates=renamed("dilations", dilations, "rates", rates), padding=padding, name=name)


def erosion2d(value: Any, kernel: Any, strides: Any, rates: Any, padding: Any, name: Optional[str] = None) -> Any:
    """The smallest difference of a pixel of the window and its weight."""
    with ops.name_scope(name, "erosion2d", [value, kernel]) as name:
        mirrored = gen_ops.reverse_v2(kernel, [0, 1])
        return gen_ops.neg(gen_ops.dilation2d(gen_ops.neg(value), mirrored, strides=strides, rates=rates, padding=padding),
                           name=name)


def atrous_conv2d_transpose(value: Any, filters: Any, output_shape: ShapeLike, rate: Any, padding: Any,
                            name: Optional[str] = None) -> Tensor:
    """The transpose of atrous_conv2d()."""
    return conv2d_transpose(value, filters, output_shape, 1, padding, dilations=rate, name=name or "atrous_conv2d_transpose")
