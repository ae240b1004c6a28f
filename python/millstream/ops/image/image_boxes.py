# SPDX-License-Identifier: Apache-2.0
"""tf.image: boxes, glimpses, parts of JPEG files; tf.contrib.image: turned and moved images."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import dtypes, ops
from millstream.ops.array import array_ops
from millstream.ops.image import image_color_ops
from millstream.ops.math import math_ops
from millstream.ops.random import random_ops

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.type_aliases import ShapeLike

_LOWEST = float("-inf")


def sample_distorted_bounding_box(image_size: Any, bounding_boxes: Any, seed: Optional[int] = None, seed2: Any = None,
                                  min_object_covered: Any = 0.1, aspect_ratio_range: Any = None, area_range: Any = None,
                                  max_attempts: Any = None, use_image_if_no_bounding_boxes: Any = None,
                                  name: Optional[str] = None) -> Any:
    """A random part of an image that shows enough of one of the boxes: (begin, size, box), the first two for tf.slice()."""
    with ops.name_scope(name, "sample_distorted_bounding_box"):
        given = dict(aspect_ratio_range=aspect_ratio_range, area_range=area_range, max_attempts=max_attempts,
                     use_image_if_no_bounding_boxes=use_image_if_no_bounding_boxes)
        return gen_ops.sample_distorted_bounding_box_v2(
            image_size, bounding_boxes, min_object_covered, seed=seed or 0, seed2=seed2 or 0, name=name,
            **{key: value for key, value in given.items() if value is not None})


def extract_glimpse(input: Any, size: Any, offsets: Any, centered: bool = True, normalized: bool = True,
                    uniform_noise: bool = True, name: Optional[str] = None) -> Any:  # pylint: disable=redefined-builtin
    """Windows of `size` of images, around `offsets`; noise where they end."""
    return gen_ops.extract_glimpse(input, size, offsets, centered=centered, normalized=normalized, uniform_noise=uniform_noise,
                                   name=name)


def non_max_suppression_with_scores(boxes: Any, scores: Any, max_output_size: Any, iou_threshold: Any = 0.5,
                                    score_threshold: Any = _LOWEST, soft_nms_sigma: Any = 0.0,
                                    name: Optional[str] = None) -> Any:
    """(indices of chosen boxes, their scores, which overlaps have lowered)."""
    with ops.name_scope(name, "non_max_suppression_with_scores"):
        indices, chosen, _ = gen_ops.non_max_suppression_v5(boxes, scores, max_output_size, iou_threshold, score_threshold,
                                                            soft_nms_sigma, pad_to_max_output_size=False)
        return indices, chosen


def non_max_suppression_padded(boxes: Any, scores: Any, max_output_size: Any, iou_threshold: Any = 0.5,
                               score_threshold: Any = _LOWEST, pad_to_max_output_size: bool = False, name: Optional[str] = None,
                               sorted_input: bool = False, canonicalized_coordinates: bool = False,
                               tile_size: Any = 512) -> Any:
    """(indices of chosen boxes, padded with zeros if asked, how many there are)."""
    with ops.name_scope(name, "non_max_suppression_padded"):
        indices, count = gen_ops.non_max_suppression_v4(boxes, scores, max_output_size, iou_threshold, score_threshold,
                                                        pad_to_max_output_size=pad_to_max_output_size)
        return indices, count


def non_max_suppression_overlaps(overlaps: Any, scores: Any, max_output_size: Any, overlap_threshold: Any = 0.5,
                                 score_threshold: Any = _LOWEST, name: Optional[str] = None) -> Any:
    with ops.name_scope(name, "non_max_suppression_overlaps"):
        return gen_ops.non_max_suppression_with_overlaps(overlaps, scores, max_output_size, overlap_threshold, score_threshold)


def combined_non_max_suppression(boxes: Any, scores: Any, max_output_size_per_class: Any, max_total_size: Any,
                                 iou_threshold: Any = 0.5, score_threshold: Any = _LOWEST, pad_per_class: bool = False,
                                 clip_boxes: bool = True, name: Optional[str] = None) -> Any:
    """Boxes, scores, classes and numbers of detections of a batch of images, each class for itself."""
    with ops.name_scope(name, "combined_non_max_suppression"):
        return gen_ops.combined_non_max_suppression(boxes, scores, max_output_size_per_class, max_total_size, iou_threshold,
                                                    score_threshold, pad_per_class=pad_per_class, clip_boxes=clip_boxes)


def decode_and_crop_jpeg(contents: Any, crop_window: Any, channels: Any = 0, ratio: Any = 1, fancy_upscaling: bool = True,
                         try_recover_truncated: bool = False, acceptable_fraction: Any = 1, dct_method: str = "",
                         name: Optional[str] = None) -> Any:
    return gen_ops.decode_and_crop_jpeg(contents, crop_window, channels=channels, ratio=ratio, fancy_upscaling=fancy_upscaling,
                                        try_recover_truncated=try_recover_truncated, acceptable_fraction=acceptable_fraction,
                                        dct_method=dct_method, name=name)


def adjust_jpeg_quality(image: Any, jpeg_quality: Any, dct_method: str = "", name: Optional[str] = None) -> Any:
    """The image as a JPEG file of that quality shows it."""
    with ops.name_scope(name, "adjust_jpeg_quality"):
        image = ops.convert_to_tensor(image, name="image")
        channels, original = image.shape.as_list()[-1], image.dtype
        image = image_color_ops.convert_image_dtype(image, dtypes.uint8, saturate=True)
        quality = math_ops.cast(ops.convert_to_tensor(jpeg_quality), dtypes.int32)
        image = gen_ops.decode_jpeg(gen_ops.encode_jpeg_variable_quality(image, quality), channels=channels or 0, dct_method=dct_method)
        return image_color_ops.convert_image_dtype(image, original, saturate=True)


def random_jpeg_quality(image: Any, min_jpeg_quality: Any, max_jpeg_quality: Any, seed: Optional[int] = None) -> Any:
    if min_jpeg_quality < 0 or max_jpeg_quality < 0 or min_jpeg_quality > 100 or max_jpeg_quality > 100:
        raise ValueError("jpeg encoding range must be between 0 and 100.")
    if min_jpeg_quality >= max_jpeg_quality:
        raise ValueError("`min_jpeg_quality` must be less than `max_jpeg_quality`.")
    quality = random_ops.random_uniform([], min_jpeg_quality, max_jpeg_quality, seed=seed, dtype=dtypes.int32)
    return adjust_jpeg_quality(image, quality)


# tf.contrib.image: transforms are rows [a0, a1, a2, b0, b1, b2, c0, c1] that say where an output pixel comes from.


def transform(images: Any, transforms: Any, interpolation: str = "NEAREST", output_shape: ShapeLike = None,
              name: Optional[str] = None) -> Any:
    """Images of rank 2, 3 or 4, each seen through a projective transform."""
    with ops.name_scope(name, "transform"):
        images = ops.convert_to_tensor(images, name="images")
        transforms = ops.convert_to_tensor(transforms, dtype=dtypes.float32)
        rank = images.shape.rank
        if rank not in (2, 3, 4):
            raise TypeError("Images should have rank between 2 and 4.")
        batch = images[None, :, :, None] if rank == 2 else images[None] if rank == 3 else images
        if transforms.shape.rank == 1:
            transforms = transforms[None]
        size = array_ops.shape(batch)[1:3] if output_shape is None else output_shape
        out = gen_ops.image_projective_transform_v2(batch, transforms, size, interpolation=interpolation.upper())
        if output_shape is None:
            out.set_shape(batch.shape)
        return out[0, :, :, 0] if rank == 2 else out[0] if rank == 3 else out


def angles_to_projective_transforms(angles: Any, image_height: Any, image_width: Any, name: Optional[str] = None) -> Any:
    """Transforms that turn images by angles (radians, counterclockwise) around their centers."""
    with ops.name_scope(name, "angles_to_projective_transforms"):
        angles = ops.convert_to_tensor(angles, dtype=dtypes.float32)
        angles = angles[None] if angles.shape.rank == 0 else angles
        height, width = (math_ops.cast(ops.convert_to_tensor(s), dtypes.float32) for s in (image_height, image_width))
        cos, sin = gen_ops.cos(angles), gen_ops.sin(angles)
        right = ((width - 1) - (cos * (width - 1) - sin * (height - 1))) / 2.0
        down = ((height - 1) - (sin * (width - 1) + cos * (height - 1))) / 2.0
        zeros = gen_ops.zeros_like(angles)
        return array_ops.stack([cos, -sin, right, sin, cos, down, zeros, zeros], axis=1)


def _turning(images):
    images = ops.convert_to_tensor(images, name="images")
    shape = array_ops.shape(images)
    return (shape[0], shape[1]) if images.shape.rank in (2, 3) else (shape[1], shape[2])


def rotate(images: Any, angles: Any, interpolation: str = "NEAREST", name: Optional[str] = None) -> Any:
    with ops.name_scope(name, "rotate"):
        return transform(images, angles_to_projective_transforms(angles, *_turning(images)), interpolation)


def translations_to_projective_transforms(translations: Any, name: Optional[str] = None) -> Any:
    with ops.name_scope(name, "translations_to_projective_transforms"):
        translations = ops.convert_to_tensor(translations, dtype=dtypes.float32)
        translations = translations[None] if translations.shape.rank == 1 else translations
        ones, zeros = array_ops.ones_like(translations[:, 0]), array_ops.zeros_like(translations[:, 0])
        return array_ops.stack([ones, zeros, -translations[:, 0], zeros, ones, -translations[:, 1], zeros, zeros], axis=1)


def translate(images: Any, translations: Any, interpolation: str = "NEAREST", name: Optional[str] = None) -> Any:
    """Moves images by (dx, dy)."""
    with ops.name_scope(name, "translate"):
        return transform(images, translations_to_projective_transforms(translations), interpolation)


def compose_transforms(*transforms: Any) -> Any:
    """The transform that does the given ones, one after another."""
    with ops.name_scope("compose_transforms"):
        matrices = [_matrices(t) for t in transforms]
        product = matrices[0]
        for matrix in matrices[1:]:
            product = gen_ops.batch_mat_mul(product, matrix)
        flat = array_ops.reshape(product / product[:, 2:, 2:], [-1, 9])
        return flat[:, :8]


def _matrices(transforms):
    flat = array_ops.reshape(ops.convert_to_tensor(transforms, dtype=dtypes.float32), [-1, 8])
    return array_ops.reshape(array_ops.concat([flat, array_ops.ones([array_ops.shape(flat)[0], 1])], 1), [-1, 3, 3])
