# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from typing import Any, Optional

from millstream.framework.ops import Tensor

def acos(
    x: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def acosh(
    x: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def asin(
    x: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def asinh(
    x: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def atan(
    x: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def atan2(
    y: Any,
    x: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def atanh(
    x: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def batch_to_space_nd(
    input: Any,
    block_shape: Any,
    crops: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def bitcast(
    input: Any,
    type: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def bitwise_and(
    x: Any,
    y: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def bitwise_or(
    x: Any,
    y: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def bitwise_xor(
    x: Any,
    y: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def broadcast_to(
    input: Any,
    shape: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def ceil(
    x: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def check_numerics(
    tensor: Any,
    message: str,
    name: Optional[str] = ...,
) -> Tensor: ...
def cos(
    x: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def cosh(
    x: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def depthwise_conv2d_native_backprop_filter(
    input: Any,
    filter_sizes: Any,
    out_backprop: Any,
    strides: Any,
    padding: str,
    explicit_paddings: Any = ...,
    data_format: str = ...,
    dilations: Any = ...,
    name: Optional[str] = ...,
) -> Tensor: ...
def depthwise_conv2d_native_backprop_input(
    input_sizes: Any,
    filter: Any,
    out_backprop: Any,
    strides: Any,
    padding: str,
    explicit_paddings: Any = ...,
    data_format: str = ...,
    dilations: Any = ...,
    name: Optional[str] = ...,
) -> Tensor: ...
def diag_part(
    input: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def digamma(
    x: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def dynamic_partition(
    data: Any,
    partitions: Any,
    num_partitions: int,
    name: Optional[str] = ...,
) -> Any: ...
def dynamic_stitch(
    indices: Any,
    data: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def elu(
    features: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def equal(
    x: Any,
    y: Any,
    incompatible_shape_error: bool = ...,
    name: Optional[str] = ...,
) -> Tensor: ...
def erfc(
    x: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def exp(
    x: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def expm1(
    x: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def extract_jpeg_shape(
    contents: Any,
    output_type: Any = ...,
    name: Optional[str] = ...,
) -> Tensor: ...
def floor(
    x: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def floor_div(
    x: Any,
    y: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def greater(
    x: Any,
    y: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def greater_equal(
    x: Any,
    y: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def identity(
    input: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def identity_n(
    input: Any,
    name: Optional[str] = ...,
) -> Any: ...
def inv(
    x: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def invert(
    x: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def invert_permutation(
    x: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def is_finite(
    x: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def is_inf(
    x: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def is_nan(
    x: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def l2_loss(
    t: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def left_shift(
    x: Any,
    y: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def less(
    x: Any,
    y: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def less_equal(
    x: Any,
    y: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def lgamma(
    x: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def log(
    x: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def log1p(
    x: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def logical_and(
    x: Any,
    y: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def logical_not(
    x: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def logical_or(
    x: Any,
    y: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def matrix_band_part(
    input: Any,
    num_lower: Any,
    num_upper: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def maximum(
    x: Any,
    y: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def minimum(
    x: Any,
    y: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def not_equal(
    x: Any,
    y: Any,
    incompatible_shape_error: bool = ...,
    name: Optional[str] = ...,
) -> Tensor: ...
def polygamma(
    a: Any,
    x: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def reciprocal(
    x: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def relu(
    features: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def right_shift(
    x: Any,
    y: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def rint(
    x: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def rsqrt(
    x: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def scatter_nd(
    indices: Any,
    updates: Any,
    shape: Any,
    bad_indices_policy: str = ...,
    name: Optional[str] = ...,
) -> Tensor: ...
def segment_max(
    data: Any,
    segment_ids: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def segment_mean(
    data: Any,
    segment_ids: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def segment_min(
    data: Any,
    segment_ids: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def segment_prod(
    data: Any,
    segment_ids: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def segment_sum(
    data: Any,
    segment_ids: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def selu(
    features: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def sin(
    x: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def sinh(
    x: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def softplus(
    features: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def softsign(
    features: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def space_to_batch_nd(
    input: Any,
    block_shape: Any,
    paddings: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def squared_difference(
    x: Any,
    y: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def stop_gradient(
    input: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def tan(
    x: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def tile(
    input: Any,
    multiples: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def unsorted_segment_max(
    data: Any,
    segment_ids: Any,
    num_segments: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def unsorted_segment_min(
    data: Any,
    segment_ids: Any,
    num_segments: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def unsorted_segment_prod(
    data: Any,
    segment_ids: Any,
    num_segments: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def unsorted_segment_sum(
    data: Any,
    segment_ids: Any,
    num_segments: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def xdivy(
    x: Any,
    y: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def xlog1py(
    x: Any,
    y: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def xlogy(
    x: Any,
    y: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def zeta(
    x: Any,
    q: Any,
    name: Optional[str] = ...,
) -> Tensor: ...
def __getattr__(name: str) -> Any: ...  # the ops that only the package itself uses
