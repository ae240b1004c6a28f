# SPDX-License-Identifier: Apache-2.0
"""tf.image: colors."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import constant_op, dtypes, ops
from millstream.ops.array import array_ops
from millstream.ops.linalg import linalg_ops
from millstream.ops.math import math_ops, reduce_ops
from millstream.ops.random import random_ops

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.tensor import Tensor
    from millstream.framework.type_aliases import DTypeLike, TensorLike


def convert_image_dtype(image: Any, dtype: DTypeLike, saturate: bool = False, name: Optional[str] = None) -> Tensor:
    """Floats are in [0, 1], integers in the positive range of their type."""
    image = ops.convert_to_tensor(image, name="image")
    dtype = dtypes.as_dtype(dtype)
    if dtype == image.dtype.base_dtype:
        return array_ops.identity(image, name=name)
    with ops.name_scope(name, "convert_image", [image]) as name:
        own = image.dtype.base_dtype
        if own.is_integer and dtype.is_integer:
            scale_in, scale_out = own.max, dtype.max
            if scale_in > scale_out:
                scaled = gen_ops.floor_div(image, (scale_in + 1) // (scale_out + 1))
                return math_ops.saturate_cast(scaled, dtype,
                                              name=name) if saturate else math_ops.cast(scaled, dtype, name=name)
            cast = math_ops.saturate_cast(image, dtype) if saturate else math_ops.cast(image, dtype)
            return gen_ops.mul(cast, (scale_out + 1) // (scale_in + 1), name=name)
        if own.is_floating and dtype.is_floating:
            return math_ops.cast(image, dtype, name=name)
        if own.is_integer:
            return gen_ops.mul(math_ops.cast(image, dtype), 1.0 / own.max, name=name)
        scaled = gen_ops.mul(image, dtype.max + 0.5)
        return math_ops.saturate_cast(scaled, dtype, name=name) if saturate else math_ops.cast(scaled, dtype, name=name)


def per_image_standardization(image: Any) -> Tensor:
    """(x - mean) / max(stddev, 1 / sqrt(number of values)), for each image."""
    with ops.name_scope(None, "per_image_standardization", [image]):
        image = ops.convert_to_tensor(image, name="image")
        dtype = image.dtype.base_dtype if image.dtype.base_dtype in (dtypes.float16, dtypes.float32) else dtypes.float32
        image = convert_image_dtype(image, dtype) if image.dtype.is_floating else math_ops.cast(image, dtype)
        pixels = math_ops.cast(reduce_ops.reduce_prod(array_ops.shape(image)[-3:]), dtype)
        mean = reduce_ops.reduce_mean(image, axis=[-1, -2, -3], keepdims=True)
        stddev = reduce_ops.reduce_std(image, axis=[-1, -2, -3], keepdims=True)
        least = gen_ops.rsqrt(pixels)
        return math_ops.div(image - mean, gen_ops.maximum(stddev, least))


def _as_float(image, function, scope):
    """Applies a function of float images to an image of any type."""
    with ops.name_scope(None, scope, [image]) as name:
        image = ops.convert_to_tensor(image, name="image")
        own = image.dtype.base_dtype
        image = image if own in (dtypes.float16, dtypes.float32) else convert_image_dtype(image, dtypes.float32)
        return convert_image_dtype(function(image), own, saturate=True, name=name)


def adjust_brightness(image: Any, delta: Any) -> Tensor:
    return _as_float(image, lambda x: math_ops.add(x, math_ops.cast(delta, x.dtype.base_dtype)), "adjust_brightness")


def adjust_contrast(images: Any, contrast_factor: Any) -> Tensor:
    def apply(x):
        if hasattr(gen_ops, "adjust_contrastv2"):
            return gen_ops.adjust_contrastv2(x, contrast_factor)
        mean = reduce_ops.reduce_mean(x, axis=[-3, -2], keepdims=True)
        return (x - mean) * contrast_factor + mean
    return _as_float(images, apply, "adjust_contrast")


def adjust_hue(image: Any, delta: Any, name: Optional[str] = None) -> Tensor:
    return _as_float(image, lambda x: gen_ops.adjust_hue(x, delta), name or "adjust_hue")


def adjust_saturation(image: Any, saturation_factor: Any, name: Optional[str] = None) -> Tensor:
    return _as_float(image, lambda x: gen_ops.adjust_saturation(x, saturation_factor), name or "adjust_saturation")


def adjust_gamma(image: Any, gamma: Any = 1, gain: Any = 1) -> Tensor:
    return _as_float(image, lambda x: gain * x ** math_ops.cast(gamma, x.dtype.base_dtype), "adjust_gamma")


def random_brightness(image: Any, max_delta: Any, seed: Optional[int] = None) -> Tensor:
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_brightness(image, random_ops.random_uniform([], -max_delta, max_delta, seed=seed))


def random_contrast(image: Any, lower: Any, upper: Any, seed: Optional[int] = None) -> Tensor:
    if upper <= lower:
        raise ValueError("upper must be > lower.")
    if lower < 0:
        raise ValueError("lower must be non-negative.")
    return adjust_contrast(image, random_ops.random_uniform([], lower, upper, seed=seed))


def random_hue(image: Any, max_delta: Any, seed: Optional[int] = None) -> Any:
    if max_delta > 0.5:
        raise ValueError("max_delta must be <= 0.5.")
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_hue(image, random_ops.random_uniform([], -max_delta, max_delta, seed=seed))


def random_saturation(image: Any, lower: Any, upper: Any, seed: Optional[int] = None) -> Any:
    if upper <= lower:
        raise ValueError("upper must be > lower.")
    if lower < 0:
        raise ValueError("lower must be non-negative.")
    return adjust_saturation(image, random_ops.random_uniform([], lower, upper, seed=seed))


def rgb_to_grayscale(images: Any, name: Optional[str] = None) -> Tensor:
    with ops.name_scope(name, "rgb_to_grayscale", [images]) as name:
        images = ops.convert_to_tensor(images, name="images")
        own = images.dtype.base_dtype
        floats = convert_image_dtype(images, dtypes.float32)
        gray = array_ops.expand_dims(linalg_ops.tensordot(floats, [0.2989, 0.587, 0.114], [-1, -1]), -1)
        return convert_image_dtype(gray, own, name=name)


def grayscale_to_rgb(images: Any, name: Optional[str] = None) -> Tensor:
    with ops.name_scope(name, "grayscale_to_rgb", [images]) as name:
        images = ops.convert_to_tensor(images, name="images")
        rank = images.shape.rank
        return gen_ops.tile(images, [1] * (rank - 1) + [3], name=name)


def rgb_to_hsv(images: Any, name: Optional[str] = None) -> Tensor:
    return gen_ops.rgb_to_hsv(images, name=name)


def hsv_to_rgb(images: Any, name: Optional[str] = None) -> Tensor:
    return gen_ops.hsv_to_rgb(images, name=name)


def total_variation(images: Any, name: Optional[str] = None) -> Tensor:
    """Sum of the differences of neighbouring pixels."""
    with ops.name_scope(name, "total_variation"):
        images = ops.convert_to_tensor(images)
        if images.shape.rank == 3:
            down, right = images[1:] - images[:-1], images[:, 1:] - images[:, :-1]
            axes = None
        else:
            down, right = images[:, 1:] - images[:, :-1], images[:, :, 1:] - images[:, :, :-1]
            axes = [1, 2, 3]
        return reduce_ops.reduce_sum(math_ops.abs(down), axes) + reduce_ops.reduce_sum(math_ops.abs(right), axes)


def psnr(a: TensorLike, b: TensorLike, max_val: Any, name: Optional[str] = None) -> Tensor:
    """Peak signal-to-noise ratio in decibels."""
    with ops.name_scope(name, "PSNR", [a, b]):
        a, b = ops.convert_to_tensor(a), ops.convert_to_tensor(b)
        limit = convert_image_dtype(math_ops.cast(max_val, a.dtype.base_dtype), dtypes.float32)
        a, b = convert_image_dtype(a, dtypes.float32), convert_image_dtype(b, dtypes.float32)
        mse = reduce_ops.reduce_mean(gen_ops.squared_difference(a, b), [-3, -2, -1])
        ten = constant_op.constant(10.0)
        return 20 * gen_ops.log(limit) / gen_ops.log(ten) - 10 / gen_ops.log(ten) * gen_ops.log(mse)


def _linear(matrix):
    """Colors times a matrix of 3 by 3."""
    def apply(images):
        images = ops.convert_to_tensor(images, name="images")
        kernel = ops.convert_to_tensor(matrix, dtype=images.dtype.base_dtype, name="kernel")
        return linalg_ops.tensordot(images, kernel, axes=[[images.shape.rank - 1], [0]])
    return apply


rgb_to_yiq = _linear([[0.299, 0.59590059, 0.2115], [0.587, -0.27455667, -0.52273617], [0.114, -0.32134392, 0.31119955]])
yiq_to_rgb = _linear([[1, 1, 1], [0.95598634, -0.27201283, -1.10674021], [0.6208248, -0.64720424, 1.70423049]])
rgb_to_yuv = _linear([[0.299, -0.14714119, 0.61497538], [0.587, -0.28886916, -0.51496512], [0.114, 0.43601035, -0.10001026]])
yuv_to_rgb = _linear([[1, 1, 1], [0, -0.394642334, 2.03206185], [1.13988303, -0.58062185, 0]])


def image_gradients(image: Any) -> tuple[Tensor, Tensor]:
    """(dy, dx): differences to the next row and column, 0 at the end."""
    image = ops.convert_to_tensor(image)
    if image.shape.rank != 4:
        raise ValueError(f"image_gradients expects a 4D tensor [batch_size, h, w, d], not {image.shape}.")
    dy = array_ops.pad(image[:, 1:] - image[:, :-1], [[0, 0], [0, 1], [0, 0], [0, 0]])
    dx = array_ops.pad(image[:, :, 1:] - image[:, :, :-1], [[0, 0], [0, 0], [0, 1], [0, 0]])
    return dy, dx
