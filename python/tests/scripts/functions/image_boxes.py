# SPDX-License-Identifier: Apache-2.0
"""Random boxes, glimpses, non-maximum suppression, parts of JPEG files."""

import tensorflow as tf, numpy as np

np.set_printoptions(precision=5, suppress=True)


def show(name, f):
    tf.reset_default_graph()
    tf.set_random_seed(7)
    try:
        fetched = f()
        with tf.Session() as s:
            s.run([tf.global_variables_initializer(), tf.local_variables_initializer(), tf.tables_initializer()])
            print(name, s.run(fetched))
    except Exception as e:
        print(name, type(e).__name__)


I = np.arange(48, dtype=np.uint8).reshape(4, 4, 3) * 5
F = (I / 255.0).astype(np.float32)
im = tf.image
show("distorted", lambda: im.sample_distorted_bounding_box([40, 60, 3], [[[0.1, 0.1, 0.9, 0.9]]], seed=1, seed2=2))
show("distorted2", lambda: im.sample_distorted_bounding_box(tf.shape(tf.zeros([299, 200, 3])), tf.zeros([1, 0, 4]), seed=5, min_object_covered=0.5, aspect_ratio_range=[0.5, 2.0], area_range=[0.1, 0.6], max_attempts=20, use_image_if_no_bounding_boxes=True))
show("distorted3", lambda: im.sample_distorted_bounding_box([40, 60, 3], tf.zeros([1, 0, 4]), seed=1))
show("distorted4", lambda: im.sample_distorted_bounding_box(np.array([7, 5, 3], np.int64), [[[0.0, 0.0, 0.3, 0.3]]], seed=3, seed2=9, min_object_covered=1.0))
show("glimpse", lambda: (im.extract_glimpse(F[None], [2, 2], [[0.0, 0.0]]), im.extract_glimpse(F[None], [2, 2], [[1.0, 1.0]], centered=False, normalized=False)))
B = [[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 0.9, 1.0], [2.0, 2.0, 3.0, 3.0]]
show("nms", lambda: (im.non_max_suppression(B, [0.5, 0.9, 0.3], 3), im.non_max_suppression_with_scores(B, [0.5, 0.9, 0.3], 3, soft_nms_sigma=0.5), im.non_max_suppression_padded(B, [0.5, 0.9, 0.3], 3, pad_to_max_output_size=True), im.non_max_suppression_overlaps(np.eye(3, dtype=np.float32) * 0.9, [0.5, 0.9, 0.3], 2)))
show("combined", lambda: im.combined_non_max_suppression(np.array([[[[0.0, 0.0, 1.0, 1.0]], [[0.0, 0.0, 0.9, 1.0]], [[0.0, 0.2, 2.0, 3.0]]]], np.float32), np.array([[[0.5, 0.1], [0.9, 0.2], [0.3, 0.8]]], np.float32), 2, 3))
show("jpeg", lambda: (tf.shape(im.decode_and_crop_jpeg(im.encode_jpeg(I), [1, 1, 2, 2])), tf.shape(im.adjust_jpeg_quality(I, 50)), tf.shape(im.random_jpeg_quality(F, 20, 60))))
w = tf.raw_ops.ImageProjectiveTransformV2
turned = [[0.0, -1.0, 3.0, 1.0, 0.0, 0.0, 0.0, 0.0]]
for mode in ("CONSTANT", "NEAREST", "REFLECT", "WRAP"):
    show(mode, lambda: [w(images=F[None, :, :, :1], transforms=[[0.9, 0.3, 1.2, -0.2, 1.1, -2.5, 0.01, 0.0]], output_shape=[3, 5], interpolation=i, fill_mode=mode) for i in ("NEAREST", "BILINEAR")])
show("turned", lambda: (w(images=I[None], transforms=turned, output_shape=[4, 4], interpolation="NEAREST"), tf.raw_ops.ImageProjectiveTransformV3(images=F[None, :, :, :1], transforms=turned, output_shape=[5, 5], fill_value=0.5, interpolation="BILINEAR")))
