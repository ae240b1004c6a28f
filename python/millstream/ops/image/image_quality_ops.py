# SPDX-License-Identifier: Apache-2.0
"""tf.image: likeness of images, edges, decoding of any format."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from millstream import gen_ops
from millstream.framework import dtypes, ops
from millstream.ops.array import array_ops
from millstream.ops.image import image_color_ops
from millstream.ops.math import math_ops, reduce_ops
from millstream.ops.nn import nn_conv, nn_ops
from millstream.ops.strings import string_ops

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.type_aliases import DTypeLike


def decode_image(contents: Any, channels: Any = None, dtype: DTypeLike = dtypes.uint8, name: Optional[str] = None,
                 expand_animations: bool = True) -> Any:
    """A PNG, JPEG, GIF or BMP image; shape [h, w, c], or [frames, h, w, c] of a GIF."""
    return gen_ops.decode_image(contents, channels=channels or 0, dtype=dtype, expand_animations=expand_animations, name=name)


def decode_bmp(contents: Any, channels: Any = 0, name: Optional[str] = None) -> Any:
    return gen_ops.decode_bmp(contents, channels=channels, name=name)


def decode_gif(contents: Any, name: Optional[str] = None) -> Any:
    return gen_ops.decode_gif(contents, name=name)


def is_jpeg(contents: Any, name: Optional[str] = None) -> Any:
    with ops.name_scope(name, "is_jpeg"):
        return gen_ops.equal(string_ops.substr(contents, 0, 3), b"\xff\xd8\xff", name=name)


def sobel_edges(image: Any) -> Any:
    """Changes along height and width: [batch, h, w, channels, 2]."""
    image = ops.convert_to_tensor(image)
    channels = image.shape.as_list()[-1]
    kernels = np.array([[[-1, -2, -1], [0, 0, 0], [1, 2, 1]], [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]]], np.float32)
    filters = np.tile(np.transpose(kernels, (1, 2, 0))[:, :, None, :], [1, 1, channels, 1])
    padded = array_ops.pad(image, [[0, 0], [1, 1], [1, 1], [0, 0]], mode="REFLECT")
    edges = nn_conv.depthwise_conv2d(padded, math_ops.cast(filters, image.dtype), [1, 1, 1, 1], "VALID")
    return array_ops.reshape(edges, array_ops.concat([array_ops.shape(image), [2]], 0))


def _gaussian(size, sigma, dtype):
    at = math_ops.cast(math_ops.range(size), dtype) - math_ops.cast(size - 1, dtype) / 2.0
    g = math_ops.square(at) * (-0.5 / sigma**2)
    flat = array_ops.reshape(array_ops.reshape(g, [1, -1]) + array_ops.reshape(g, [-1, 1]), [1, -1])
    return array_ops.reshape(nn_ops.softmax(flat), [size, size, 1, 1])


def _as_float(image):
    image = ops.convert_to_tensor(image)
    return image if image.dtype.is_floating else image_color_ops.convert_image_dtype(image, dtypes.float32)


def _per_channel(a, b, max_val, size, sigma, k1, k2):
    """(ssim, contrast-structure) of each channel."""
    channels = a.shape.as_list()[-1]
    kernel = gen_ops.tile(_gaussian(size, sigma, a.dtype), [1, 1, channels, 1])

    def blur(x):
        shape = array_ops.shape(x)
        images = array_ops.reshape(x, array_ops.concat([[-1], shape[-3:]], 0))
        y = nn_conv.depthwise_conv2d(images, kernel, [1, 1, 1, 1], "VALID")
        return array_ops.reshape(y, array_ops.concat([shape[:-3], array_ops.shape(y)[1:]], 0))
    c1, c2 = (k1 * max_val)**2, (k2 * max_val)**2
    mean_a, mean_b = blur(a), blur(b)
    products, squares = mean_a * mean_b * 2.0, math_ops.square(mean_a) + math_ops.square(mean_b)
    luminance = (products + c1) / (squares + c1)
    contrast = (blur(a * b) * 2.0 - products + c2) / (blur(math_ops.square(a) + math_ops.square(b)) - squares + c2)
    return reduce_ops.reduce_mean(luminance * contrast, [-3, -2]), reduce_ops.reduce_mean(contrast, [-3, -2])


def ssim(img1: Any, img2: Any, max_val: Any, filter_size: Any = 11, filter_sigma: Any = 1.5, k1: Any = 0.01,
         k2: Any = 0.03) -> Any:
    """Structural similarity of images, averaged over their channels."""
    with ops.name_scope(None, "SSIM", [img1, img2]):
        scale = image_color_ops.convert_image_dtype(ops.convert_to_tensor(max_val, dtype=ops.convert_to_tensor(img1).dtype),
                                                    dtypes.float32) if not ops.convert_to_tensor(img1).dtype.is_floating else max_val
        values, _ = _per_channel(_as_float(img1), _as_float(img2), scale, filter_size, filter_sigma, k1, k2)
        return reduce_ops.reduce_mean(values, [-1])


def ssim_multiscale(img1, img2, max_val, power_factors=(0.0448, 0.2856, 0.3001, 0.2363, 0.1333), filter_size=11, filter_sigma=1.5, k1=0.01,
                    k2=0.03):
    """Structural similarity at several sizes, each half of the one before; images are [batch, height, width, channels]."""
    with ops.name_scope(None, "MS-SSIM", [img1, img2]):
        one = ops.convert_to_tensor(img1)
        scale = max_val if one.dtype.is_floating else image_color_ops.convert_image_dtype(ops.convert_to_tensor(
            max_val, dtype=one.dtype), dtypes.float32)
        pair, parts = [_as_float(img1), _as_float(img2)], []
        for level in range(len(power_factors)):
            if level:
                pair = [_halved(x) for x in pair]
            values, structure = _per_channel(*pair, scale, filter_size, filter_sigma, k1, k2)
            parts.append(gen_ops.relu(structure if level + 1 < len(power_factors) else values))
        powers = ops.convert_to_tensor(list(power_factors), dtype=parts[0].dtype)
        return reduce_ops.reduce_mean(reduce_ops.reduce_prod(gen_ops.pow(array_ops.stack(parts, axis=-1), powers), [-1]), [-1])


def _halved(images):
    """Averages of squares of 2 x 2 pixels; an odd last row or column counts twice."""
    odd = gen_ops.floor_mod(array_ops.shape(images)[1:3], 2)
    pads = array_ops.pad(array_ops.reshape(odd, [2, 1]), [[1, 1], [1, 0]])
    padded = array_ops.pad(images, pads, mode="SYMMETRIC")
    padded.set_shape([images.shape.as_list()[0], None, None, images.shape.as_list()[-1]])
    return gen_ops.avg_pool(padded, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID")
