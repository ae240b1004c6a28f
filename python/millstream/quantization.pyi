# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.ops.math.quantize_ops import dequantize as dequantize
from millstream.ops.math.quantize_ops import fake_quant_with_min_max_args as fake_quant_with_min_max_args
from millstream.ops.math.quantize_ops import fake_quant_with_min_max_args_gradient as fake_quant_with_min_max_args_gradient
from millstream.ops.math.quantize_ops import fake_quant_with_min_max_vars as fake_quant_with_min_max_vars
from millstream.ops.math.quantize_ops import fake_quant_with_min_max_vars_gradient as fake_quant_with_min_max_vars_gradient
from millstream.ops.math.quantize_ops import fake_quant_with_min_max_vars_per_channel as fake_quant_with_min_max_vars_per_channel
from millstream.ops.math.quantize_ops import fake_quant_with_min_max_vars_per_channel_gradient as fake_quant_with_min_max_vars_per_channel_gradient
from millstream.ops.math.quantize_ops import quantize as quantize
from millstream.ops.math.quantize_ops import quantize_and_dequantize as quantize_and_dequantize
from millstream.ops.math.quantize_ops import quantize_and_dequantize as quantize_and_dequantize_v2
from millstream.ops.math.quantize_ops import quantized_concat as quantized_concat

__all__ = [
    "dequantize",
    "fake_quant_with_min_max_args",
    "fake_quant_with_min_max_args_gradient",
    "fake_quant_with_min_max_vars",
    "fake_quant_with_min_max_vars_gradient",
    "fake_quant_with_min_max_vars_per_channel",
    "fake_quant_with_min_max_vars_per_channel_gradient",
    "quantize",
    "quantize_and_dequantize",
    "quantize_and_dequantize_v2",
    "quantized_concat",
]
