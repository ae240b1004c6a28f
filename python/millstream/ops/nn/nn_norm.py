# SPDX-License-Identifier: Apache-2.0
"""Moments and batch normalization without variables."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import constant_op, dtypes, ops
from millstream.ops.array import array_ops
from millstream.ops.math import math_ops, reduce_ops
from millstream.ops.arguments import renamed

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.tensor import Tensor
    from millstream.framework.type_aliases import TensorLike


def moments(x: TensorLike, axes: Any, shift: Any = None, name: Optional[str] = None, keep_dims: Optional[bool] = None,
            keepdims: Optional[bool] = None) -> tuple[Tensor, Tensor]:
    """Returns the mean and the variance over the axes."""
    keep = bool(renamed("keepdims", keepdims, "keep_dims", keep_dims))
    with ops.name_scope(name, "moments", [x, axes]):
        x = ops.convert_to_tensor(x)
        half = x.dtype.base_dtype in (dtypes.float16, dtypes.bfloat16)
        y = math_ops.cast(x, dtypes.float32) if half else x
        mean = reduce_ops.reduce_mean(y, axes, keepdims=True, name="mean")
        variance = reduce_ops.reduce_mean(gen_ops.squared_difference(y, gen_ops.stop_gradient(mean)), axes, keepdims=True,
                                          name="variance")
        if not keep:
            dims = [axes] if isinstance(axes, int) else [int(a) for a in axes]
            mean, variance = array_ops.squeeze(mean, dims), array_ops.squeeze(variance, dims)
        if half:
            return math_ops.cast(mean, x.dtype.base_dtype), math_ops.cast(variance, x.dtype.base_dtype)
        return mean, variance


def weighted_moments(x: TensorLike, axes: Any, frequency_weights: Any, name: Optional[str] = None,
                     keep_dims: Optional[bool] = None, keepdims: Optional[bool] = None) -> tuple[Tensor, Tensor]:
    """(mean, variance) over the axes, where elements count with their weights."""
    keep = bool(renamed("keepdims", keepdims, "keep_dims", keep_dims))
    with ops.name_scope(name, "weighted_moments", [x, frequency_weights, axes]):
        x = ops.convert_to_tensor(x, name="x")
        weights = math_ops.cast(ops.convert_to_tensor(frequency_weights, name="frequency_weights"), x.dtype.base_dtype)
        weights = weights + array_ops.zeros_like(x)
        total = reduce_ops.reduce_sum(weights, axes, keepdims=True)
        mean = reduce_ops.reduce_sum(weights * x, axes, keepdims=True) / total
        variance = reduce_ops.reduce_sum(weights * gen_ops.squared_difference(x, mean), axes, keepdims=True) / total
        if not keep:
            dims = [axes] if isinstance(axes, int) else [int(a) for a in axes]
            mean, variance = array_ops.squeeze(mean, dims), array_ops.squeeze(variance, dims)
        return mean, variance


def sufficient_statistics(x, axes, shift=None, keep_dims=None, name=None, keepdims=None):
    """(count, sum, sum of squares, shift) over the axes."""
    keep = bool(renamed("keepdims", keepdims, "keep_dims", keep_dims))
    axes = list(set(axes))
    with ops.name_scope(name, "sufficient_statistics", [x, shift]):
        x = ops.convert_to_tensor(x, name="x")
        sizes = x.shape.as_list() if x.shape.rank is not None else None
        if sizes is not None and all(sizes[d] is not None for d in axes):
            count = 1
            for d in axes:
                count *= sizes[d]
            count = constant_op.constant(count, x.dtype.base_dtype)
        else:
            picked = array_ops.gather_sizes(array_ops.shape(x), axes)
            count = math_ops.cast(reduce_ops.reduce_prod(picked), x.dtype.base_dtype)
        if shift is not None:
            shift = ops.convert_to_tensor(shift, name="shift")
            m_ss, v_ss = x - shift, gen_ops.squared_difference(x, shift)
        else:
            m_ss, v_ss = x, gen_ops.square(x)
        m_ss = reduce_ops.reduce_sum(m_ss, axes, keepdims=keep, name="mean_ss")
        v_ss = reduce_ops.reduce_sum(v_ss, axes, keepdims=keep, name="var_ss")
        return count, m_ss, v_ss, shift


def normalize_moments(counts: Any, mean_ss: Any, variance_ss: Any, shift: Any,
                      name: Optional[str] = None) -> tuple[Tensor, Tensor]:
    """(mean, variance) from sufficient_statistics()."""
    with ops.name_scope(name, "normalize", [counts, mean_ss, variance_ss, shift]):
        divisor = gen_ops.reciprocal(counts, name="divisor")
        if shift is not None:
            shifted = gen_ops.mul(mean_ss, divisor, name="shifted_mean")
            mean = math_ops.add(shifted, shift, name="mean")
        else:
            shifted = mean = gen_ops.mul(mean_ss, divisor, name="mean")
        variance = gen_ops.sub(gen_ops.mul(variance_ss, divisor), gen_ops.square(shifted), name="variance")
        return mean, variance


def batch_normalization(x: TensorLike, mean: Any, variance: Any, offset: Any, scale: Any, variance_epsilon: Any,
                        name: Optional[str] = None) -> Tensor:
    """scale * (x - mean) / sqrt(variance + variance_epsilon) + offset."""
    with ops.name_scope(name, "batchnorm", [x, mean, variance, scale, offset]):
        x = ops.convert_to_tensor(x)
        inverse = gen_ops.rsqrt(variance + variance_epsilon)
        if scale is not None:
            inverse = inverse * scale
        scaled = x * math_ops.cast(inverse, x.dtype.base_dtype)
        shift = offset - mean * inverse if offset is not None else -mean * inverse
        return scaled + math_ops.cast(shift, x.dtype.base_dtype)


def batch_norm_with_global_normalization(t: Any = None, m: Any = None, v: Any = None, beta: Any = None, gamma: Any = None,
                                         variance_epsilon: Any = None, scale_after_normalization: Any = None,
                                         name: Optional[str] = None, input: Any = None, mean: Any = None,
                                         variance: Any = None) -> Any:  # pylint: disable=redefined-builtin
    """Batch normalization with given statistics; deprecated, use batch_normalization()."""
    t, m, v = renamed("input", input, "t", t), renamed("mean", mean, "m", m), renamed("variance", variance, "v", v)
    return batch_normalization(t, m, v, beta, gamma if scale_after_normalization else None, variance_epsilon, name)


def fused_batch_norm(x: TensorLike, scale: Any, offset: Any, mean: Any = None, variance: Any = None, epsilon: Any = 0.001,
                     data_format: str = "NHWC", is_training: Any = True, name: Optional[str] = None,
                     exponential_avg_factor: Any = 1.0) -> tuple[Tensor, Tensor, Tensor]:
    """(y, mean, variance); the statistics are those of the batch while training."""
    if is_training and exponential_avg_factor == 1.0 and (mean is not None or variance is not None):
        raise ValueError("Both `mean` and `variance` must be None when `is_training` is True and `exponential_avg_factor` "
                         "== "
                         "1.0.")
    if (not is_training or exponential_avg_factor != 1.0) and (mean is None or variance is None):
        raise ValueError("Both `mean` and `variance` must be a 1D tensor when `is_training` is False or "
                         "`exponential_avg_factor` != 1.0.")
    x = ops.convert_to_tensor(x, name="input")
    scale, offset = ops.convert_to_tensor(scale, name="scale"), ops.convert_to_tensor(offset, name="offset")
    mean = constant_op.constant([], dtypes.float32) if mean is None else mean
    variance = constant_op.constant([], dtypes.float32) if variance is None else variance
    epsilon = max(epsilon, 1.001e-5)  # what cuDNN can do
    result = gen_ops.fused_batch_norm_v3(x, scale, offset, mean, variance, epsilon=epsilon,
                                         exponential_avg_factor=exponential_avg_factor, data_format=data_format,
                                         is_training=is_training, name=name)
    return result[0], result[1], result[2]


def local_response_normalization(input: Any, depth_radius: Any = 5, bias: Any = 1, alpha: Any = 1, beta: Any = 0.5,
                                 name: Optional[str] = None) -> Tensor:
    """Divides each value by a weighted sum of squares over neighbouring channels."""
    # pylint: disable=redefined-builtin
    return gen_ops.lrn(input, depth_radius=depth_radius, bias=bias, alpha=alpha, beta=beta, name=name)
