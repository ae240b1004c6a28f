# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.ops.image.image_boxes import angles_to_projective_transforms as angles_to_projective_transforms
from millstream.ops.image.image_boxes import compose_transforms as compose_transforms
from millstream.ops.image.image_boxes import rotate as rotate
from millstream.ops.image.image_boxes import transform as transform
from millstream.ops.image.image_boxes import translate as translate
from millstream.ops.image.image_boxes import translations_to_projective_transforms as translations_to_projective_transforms

__all__ = [
    "angles_to_projective_transforms",
    "compose_transforms",
    "rotate",
    "transform",
    "translate",
    "translations_to_projective_transforms",
]
