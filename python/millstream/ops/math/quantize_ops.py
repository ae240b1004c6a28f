# SPDX-License-Identifier: Apache-2.0
"""tf.quantization: numbers rounded to few bits, and training with them."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import dtypes, ops

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.type_aliases import DTypeLike, TensorLike


def fake_quant_with_min_max_args(inputs: Any, min: Any = -6, max: Any = 6, num_bits: Any = 8, narrow_range: bool = False,
                                 name: Optional[str] = None) -> Any:  # pylint: disable=redefined-builtin
    return gen_ops.fake_quant_with_min_max_args(inputs, min=min, max=max, num_bits=num_bits, narrow_range=narrow_range, name=name)


def fake_quant_with_min_max_args_gradient(gradients: Any, inputs: Any, min: Any = -6, max: Any = 6, num_bits: Any = 8,
                                          narrow_range: bool = False, name: Optional[str] = None) -> Any:  # pylint: disable=redefined-builtin
    return gen_ops.fake_quant_with_min_max_args_gradient(gradients, inputs, min=min, max=max, num_bits=num_bits,
                                                         narrow_range=narrow_range, name=name)


def fake_quant_with_min_max_vars(inputs: Any, min: Any, max: Any, num_bits: Any = 8, narrow_range: bool = False,
                                 name: Optional[str] = None) -> Any:  # pylint: disable=redefined-builtin
    return gen_ops.fake_quant_with_min_max_vars(inputs, min, max, num_bits=num_bits, narrow_range=narrow_range, name=name)


def fake_quant_with_min_max_vars_gradient(gradients: Any, inputs: Any, min: Any, max: Any, num_bits: Any = 8,
                                          narrow_range: bool = False, name: Optional[str] = None) -> Any:  # pylint: disable=redefined-builtin
    return gen_ops.fake_quant_with_min_max_vars_gradient(gradients, inputs, min, max, num_bits=num_bits, narrow_range=narrow_range,
                                                         name=name)


def fake_quant_with_min_max_vars_per_channel(inputs: Any, min: Any, max: Any, num_bits: Any = 8, narrow_range: bool = False,
                                             name: Optional[str] = None) -> Any:  # pylint: disable=redefined-builtin
    return gen_ops.fake_quant_with_min_max_vars_per_channel(inputs, min, max, num_bits=num_bits, narrow_range=narrow_range, name=name)


def fake_quant_with_min_max_vars_per_channel_gradient(gradients: Any, inputs: Any, min: Any, max: Any, num_bits: Any = 8,
                                                      narrow_range: bool = False, name: Optional[str] = None) -> Any:  # pylint: disable=redefined-builtin
    return gen_ops.fake_quant_with_min_max_vars_per_channel_gradient(gradients, inputs, min, max, num_bits=num_bits,
                                                                     narrow_range=narrow_range, name=name)


def quantize(input, min_range, max_range, T, mode="MIN_COMBINED", round_mode="HALF_AWAY_FROM_ZERO", name=None, narrow_range=False,  # pylint: disable=redefined-builtin
             axis=None, ensure_minimum_range=0.01):
    return gen_ops.quantize_v2(input, min_range, max_range, T=T, mode=mode, round_mode=round_mode, name=name, narrow_range=narrow_range,
                               axis=-1 if axis is None else axis, ensure_minimum_range=ensure_minimum_range)


def quantize_v2(input, min_range, max_range, T, mode="MIN_COMBINED", name=None, round_mode="HALF_AWAY_FROM_ZERO", narrow_range=False,  # pylint: disable=redefined-builtin
                axis=None, ensure_minimum_range=0.01):
    return quantize(input, min_range, max_range, T, mode, round_mode, name, narrow_range, axis, ensure_minimum_range)


def dequantize(input: Any, min_range: Any, max_range: Any, mode: str = "MIN_COMBINED", name: Optional[str] = None,
               axis: Any = None, narrow_range: bool = False, dtype: DTypeLike = dtypes.float32) -> Any:  # pylint: disable=redefined-builtin
    return gen_ops.dequantize(input, min_range, max_range, mode=mode, name=name, narrow_range=narrow_range,
                              axis=-1 if axis is None else axis, dtype=dtype)


def quantize_and_dequantize(input, input_min, input_max, signed_input=True, num_bits=8, range_given=False, round_mode="HALF_TO_EVEN",  # pylint: disable=redefined-builtin
                            name=None, narrow_range=False, axis=None):
    input = ops.convert_to_tensor(input)
    return gen_ops.quantize_and_dequantize_v2(input, input_min, input_max, signed_input=signed_input, num_bits=num_bits,
                                              range_given=range_given, round_mode=round_mode, narrow_range=narrow_range,
                                              axis=-1 if axis is None else axis, name=name)


def quantized_concat(concat_dim: Any, values: Any, input_mins: Any, input_maxes: Any, name: Optional[str] = None) -> Any:
    return gen_ops.quantized_concat(concat_dim, values, input_mins, input_maxes, name=name)


def quantized_avg_pool(input: Any, min_input: Any, max_input: Any, ksize: Any, strides: Any, padding: Any,
                       name: Optional[str] = None) -> Any:  # pylint: disable=redefined-builtin
    return gen_ops.quantized_avg_pool(input, min_input, max_input, ksize=ksize, strides=strides, padding=padding, name=name)


def quantized_max_pool(input: Any, min_input: Any, max_input: Any, ksize: Any, strides: Any, padding: Any,
                       name: Optional[str] = None) -> Any:  # pylint: disable=redefined-builtin
    return gen_ops.quantized_max_pool(input, min_input, max_input, ksize=ksize, strides=strides, padding=padding, name=name)


def quantized_conv2d(input, filter, min_input, max_input, min_filter, max_filter, strides, padding, out_type=dtypes.qint32,  # pylint: disable=redefined-builtin
                     dilations=(1, 1, 1, 1), name=None):
    return gen_ops.quantized_conv2d(input, filter, min_input, max_input, min_filter, max_filter, strides=strides, padding=padding,
                                    out_type=out_type, dilations=list(dilations), name=name)


def quantized_relu_x(features: TensorLike, max_value: Any, min_features: Any, max_features: Any,
                     out_type: DTypeLike = dtypes.quint8, name: Optional[str] = None) -> Any:
    return gen_ops.quantized_relu_x(features, max_value, min_features, max_features, out_type=out_type, name=name)
