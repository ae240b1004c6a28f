# SPDX-License-Identifier: Apache-2.0
"""tf.image: shapes. Images are [height, width, channels] or batches of them."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from millstream import gen_ops
from millstream.framework import dtypes, ops, tensor_util
from millstream.ops.array import array_ops
from millstream.ops.flow import control_flow_ops
from millstream.ops.math import math_ops
from millstream.ops.random import random_ops
from millstream.ops.arguments import renamed

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.tensor import Tensor
    from millstream.framework.type_aliases import DTypeLike


class ResizeMethod:
    BILINEAR = 0
    NEAREST_NEIGHBOR = 1
    BICUBIC = 2
    AREA = 3


def _as_batch(image):
    """(the image as a batch, whether it was one image)."""
    image = ops.convert_to_tensor(image, name="images")
    if image.shape.rank is None:
        raise ValueError("'images' contains no shape.")
    if image.shape.rank == 3:
        return array_ops.expand_dims(image, 0), True
    if image.shape.rank != 4:
        raise ValueError(f"'images' must have either 3 or 4 dimensions, not shape {image.shape}")
    return image, False


def _back(batch, single):
    return array_ops.squeeze(batch, axis=[0]) if single else batch


def _sizes(image):
    """Height, width and channels: numbers where they are known."""
    known = image.shape.as_list()[-3:]
    if None in known:
        dynamic = array_ops.shape(image)[-3:]
        return [dynamic[i] if k is None else k for i, k in enumerate(known)]
    return known


def _map_single(image, one, many):
    image = ops.convert_to_tensor(image, name="image")
    rank = image.shape.rank
    if rank in (3, None):
        return one(image)
    if rank != 4:
        raise ValueError(f"'image' (shape {image.shape}) must have either 3 or 4 dimensions.")
    return many(image)


def resize_images(images: Any, size: Any, method: Any = ResizeMethod.BILINEAR, align_corners: bool = False,
                  preserve_aspect_ratio: bool = False, name: Optional[str] = None) -> Tensor:
    """Resizes one image or a batch of images to `size` (height, width) by bilinear, bicubic, area or nearest-neighbour interpolation."""
    with ops.name_scope(name, "resize", [images, size]):
        images, single = _as_batch(images)
        size = ops.convert_to_tensor(size, dtypes.int32, name="size")
        if not size.shape.is_compatible_with([2]):
            raise ValueError("'size' must be a 1-D Tensor of 2 elements: new_height, new_width")
        height, width = _sizes(images)[:2]
        if preserve_aspect_ratio:
            h, w = math_ops.cast(height, dtypes.float32), math_ops.cast(width, dtypes.float32)
            scale = gen_ops.minimum(math_ops.cast(size[0], dtypes.float32) / h, math_ops.cast(size[1], dtypes.float32) / w)
            size = math_ops.cast(array_ops.stack([math_ops.round(scale * h), math_ops.round(scale * w)]), dtypes.int32)
        known = tensor_util.constant_value(size)
        if known is not None and [height, width] == known.tolist():
            return _back(images, single)
        method = _METHODS.get(method, method)
        if method == ResizeMethod.BILINEAR:
            images = gen_ops.resize_bilinear(images, size, align_corners=align_corners)
        elif method == ResizeMethod.NEAREST_NEIGHBOR:
            images = gen_ops.resize_nearest_neighbor(images, size, align_corners=align_corners)
        elif method == ResizeMethod.BICUBIC:
            images = gen_ops.resize_bicubic(images, size, align_corners=align_corners)
        elif method == ResizeMethod.AREA:
            images = gen_ops.resize_area(images, size, align_corners=align_corners)
        else:
            raise ValueError(f"Resize method is not implemented: {method}")
        if known is not None:
            images.set_shape([None, int(known[0]), int(known[1]), None])
        return _back(images, single)


_METHODS = {"bilinear": 0, "nearest": 1, "bicubic": 2, "area": 3}


def _resizer(gen_name):
    def resize(images, size, align_corners=False, name=None, half_pixel_centers=False):
        return getattr(gen_ops, gen_name)(images, size, align_corners=align_corners, half_pixel_centers=half_pixel_centers,
                                          name=name)
    return resize


resize_bilinear = _resizer("resize_bilinear")
resize_nearest_neighbor = _resizer("resize_nearest_neighbor")
resize_bicubic = _resizer("resize_bicubic")


def resize_area(images: Any, size: Any, align_corners: bool = False, name: Optional[str] = None) -> Any:
    return gen_ops.resize_area(images, size, align_corners=align_corners, name=name)


def flip_left_right(image: Any) -> Tensor:
    with ops.name_scope(None, "flip_left_right", [image]):
        return _map_single(image, lambda x: array_ops.reverse(x, [1]), lambda x: array_ops.reverse(x, [2]))


def flip_up_down(image: Any) -> Tensor:
    with ops.name_scope(None, "flip_up_down", [image]):
        return _map_single(image, lambda x: array_ops.reverse(x, [0]), lambda x: array_ops.reverse(x, [1]))


def _random_flip(image, axis, seed, scope):
    with ops.name_scope(None, scope, [image]):
        def one(x):
            drawn = random_ops.random_uniform([], 0, 1.0, seed=seed)
            return control_flow_ops.cond(drawn < 0.5, lambda: array_ops.reverse(x, [axis]), lambda: array_ops.identity(x))

        def many(x):
            batch = array_ops.shape(x)[0]
            drawn = random_ops.random_uniform(array_ops.stack([batch]), 0, 1.0, seed=seed)
            flips = math_ops.cast(array_ops.reshape(math_ops.round(drawn), array_ops.stack([batch, 1, 1, 1])),
                                  x.dtype.base_dtype)
            return flips * array_ops.reverse(x, [axis + 1]) + (1 - flips) * x
        result = _map_single(image, one, many)
        result.set_shape(ops.convert_to_tensor(image).shape)
        return result


def random_flip_left_right(image: Any, seed: Optional[int] = None) -> Tensor:
    return _random_flip(image, 1, seed, "random_flip_left_right")


def random_flip_up_down(image: Any, seed: Optional[int] = None) -> Tensor:
    return _random_flip(image, 0, seed, "random_flip_up_down")


def transpose_image(image: Any) -> Tensor:
    with ops.name_scope(None, "transpose", [image]):
        return _map_single(image, lambda x: array_ops.transpose(x, [1, 0, 2]),
                           lambda x: array_ops.transpose(x, [0, 2, 1, 3]))


def rot90(image: Any, k: Any = 1, name: Optional[str] = None) -> Tensor:
    """Turned counter-clockwise k times by 90 degrees."""
    with ops.name_scope(name, "rot90", [image, k]):
        k = int(k) % 4

        def turned(x, h, w):
            perm = list(range(x.shape.rank))
            perm[h], perm[w] = perm[w], perm[h]
            if k == 1:
                return array_ops.transpose(array_ops.reverse(x, [w]), perm)
            if k == 2:
                return array_ops.reverse(x, [h, w])
            return array_ops.reverse(array_ops.transpose(x, perm), [w]) if k == 3 else x
        return _map_single(image, lambda x: turned(x, 0, 1), lambda x: turned(x, 1, 2))


def pad_to_bounding_box(image, offset_height, offset_width, target_height, target_width):
    with ops.name_scope(None, "pad_to_bounding_box", [image]):
        batch, single = _as_batch(image)
        height, width, _ = _sizes(batch)
        after_h, after_w = target_height - offset_height - height, target_width - offset_width - width
        for value, text in ((offset_height, "offset_height must be >= 0"), (offset_width, "offset_width must be >= 0"),
                            (after_h, "height must be <= target - offset"), (after_w, "width must be <= target - offset")):
            _require(value, text)
        pads = [0, 0, offset_height, after_h, offset_width, after_w, 0, 0]
        pads = array_ops.reshape(array_ops.stack(pads), [4, 2])
        padded = array_ops.pad(batch, pads)
        sizes = [d if isinstance(d, (int, np.integer)) else None for d in (target_height, target_width)]
        padded.set_shape([batch.shape.as_list()[0]] + sizes + [batch.shape.as_list()[3]])
        return _back(padded, single)


def _require(value, text):
    if isinstance(value, (int, np.integer)) and value < 0:
        raise ValueError(text)


def crop_to_bounding_box(image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any) -> Tensor:
    with ops.name_scope(None, "crop_to_bounding_box", [image]):
        batch, single = _as_batch(image)
        height, width, _ = _sizes(batch)
        for value, text in ((offset_height, "offset_height must be >= 0."), (offset_width, "offset_width must be >= 0."),
                            (target_height - 1, "target_height must be > 0."),
                            (target_width - 1, "target_width must be > 0."),
                            (height - (target_height + offset_height), "height must be >= target + offset."),
                            (width - (target_width + offset_width), "width must be >= target + offset.")):
            _require(value, text)
        cropped = array_ops.slice(batch, array_ops.stack([0, offset_height, offset_width, 0]),
                                  array_ops.stack([-1, target_height, target_width, -1]))
        sizes = [d if isinstance(d, (int, np.integer)) else None for d in (target_height, target_width)]
        cropped.set_shape([batch.shape.as_list()[0]] + sizes + [batch.shape.as_list()[3]])
        return _back(cropped, single)


def central_crop(image: Any, central_fraction: Any) -> Tensor:
    with ops.name_scope(None, "central_crop", [image]):
        image = ops.convert_to_tensor(image, name="image")
        if not 0.0 < central_fraction <= 1.0:
            raise ValueError("central_fraction must be within (0, 1]")
        if central_fraction == 1.0:
            return image
        height, width, _ = _sizes(image)

        def start(size):
            if isinstance(size, int):
                return int((size - size * central_fraction) / 2)
            size = math_ops.cast(size, dtypes.float64)
            return math_ops.cast((size - size * central_fraction) / 2, dtypes.int32)
        top, left = start(height), start(width)
        return crop_to_bounding_box(image, top, left, height - top * 2, width - left * 2)


def resize_image_with_crop_or_pad(image: Any, target_height: Any, target_width: Any) -> Tensor:
    """Cuts or fills with zeros, around the middle."""
    with ops.name_scope(None, "resize_image_with_crop_or_pad", [image]):
        batch, single = _as_batch(image)
        height, width, _ = _sizes(batch)

        def at_most(a, b):
            return min(a, b) if not any(isinstance(v, ops.Tensor) for v in (a, b)) else gen_ops.minimum(a, b)

        def at_least_zero(a):
            return max(a, 0) if not isinstance(a, ops.Tensor) else gen_ops.maximum(a, 0)

        extra_w, extra_h = target_width - width, target_height - height
        left, top = at_least_zero(-extra_w // 2), at_least_zero(-extra_h // 2)
        cropped = crop_to_bounding_box(batch, top, left, at_most(target_height, height), at_most(target_width, width))
        result = pad_to_bounding_box(cropped, at_least_zero(extra_h // 2), at_least_zero(extra_w // 2), target_height,
                                     target_width)
        return _back(result, single)


def resize_image_with_pad(image: Any, target_height: Any, target_width: Any, method: Any = ResizeMethod.BILINEAR,
                          align_corners: bool = False) -> Any:
    with ops.name_scope(None, "resize_image_with_pad", [image]):
        batch, single = _as_batch(image)
        resized = resize_images(batch, [target_height, target_width], method, align_corners, preserve_aspect_ratio=True)
        height, width = array_ops.shape(resized)[1], array_ops.shape(resized)[2]
        top, left = (target_height - height) // 2, (target_width - width) // 2
        return _back(pad_to_bounding_box(resized, top, left, target_height, target_width), single)


def crop_and_resize(image: Any, boxes: Any, box_ind: Any = None, crop_size: Any = None, method: str = "bilinear",
                    extrapolation_value: Any = 0, name: Optional[str] = None, box_indices: Any = None) -> Tensor:
    box_ind = renamed("box_indices", box_indices, "box_ind", box_ind)
    return gen_ops.crop_and_resize(image, boxes, box_ind, crop_size, method=method, extrapolation_value=extrapolation_value,
                                   name=name)


def extract_patches(images: Any, sizes: Any, strides: Any, rates: Any, padding: Any, name: Optional[str] = None) -> Any:
    return extract_image_patches(images, sizes, strides, rates, padding, name)


def extract_image_patches(images: Any, ksizes: Any = None, strides: Any = None, rates: Any = None, padding: Any = None,
                          name: Optional[str] = None, sizes: Any = None) -> Tensor:
    ksizes = renamed("sizes", sizes, "ksizes", ksizes)
    return gen_ops.extract_image_patches(images, ksizes=list(ksizes), strides=list(strides), rates=list(rates),
                                         padding=padding,
                                         name=name)


def non_max_suppression(boxes: Any, scores: Any, max_output_size: Any, iou_threshold: Any = 0.5,
                        score_threshold: Any = float("-inf"), name: Optional[str] = None) -> Tensor:
    with ops.name_scope(name, "non_max_suppression"):
        return gen_ops.non_max_suppression_v3(boxes, scores, max_output_size,
                                              ops.convert_to_tensor(iou_threshold, dtypes.float32, name="iou_threshold"),
                                              ops.convert_to_tensor(score_threshold, dtypes.float32, name="score_threshold"))


def draw_bounding_boxes(images: Any, boxes: Any, name: Optional[str] = None, colors: Any = None) -> Any:
    if colors is None:
        return gen_ops.draw_bounding_boxes(images, boxes, name=name)
    return gen_ops.draw_bounding_boxes_v2(images, boxes, colors, name=name)


def decode_png(contents: Any, channels: int = 0, dtype: DTypeLike = dtypes.uint8, name: Optional[str] = None) -> Tensor:
    """Decodes a PNG image into a tensor [height, width, channels]. With 0 channels it has as many as the file."""
    return gen_ops.decode_png(contents, channels=channels, dtype=dtype, name=name)


def decode_jpeg(contents: Any, channels: Any = 0, ratio: Any = 1, fancy_upscaling: bool = True,
                try_recover_truncated: bool = False, acceptable_fraction: Any = 1, dct_method: str = "",
                name: Optional[str] = None) -> Any:
    return gen_ops.decode_jpeg(contents, channels=channels, ratio=ratio, fancy_upscaling=fancy_upscaling,
                               try_recover_truncated=try_recover_truncated, acceptable_fraction=acceptable_fraction,
                               dct_method=dct_method, name=name)


def encode_png(image: Any, compression: Any = -1, name: Optional[str] = None) -> Any:
    return gen_ops.encode_png(image, compression=compression, name=name)


def encode_jpeg(image: Any, format: str = "", quality: Any = 95, name: Optional[str] = None, **kwargs: Any) -> Any:  # pylint: disable=redefined-builtin
    return gen_ops.encode_jpeg(image, format=format, quality=quality, name=name, **kwargs)
