# SPDX-License-Identifier: Apache-2.0
"""Images: decoding, augmenting with seeds, resizing, crops, colours, boxes."""
import numpy as np
import tensorflow as tf

rs = np.random.RandomState(0)
pixels = rs.randint(0, 255, [8, 10, 3]).astype(np.uint8)
with tf.Session() as sess:
    encoded = sess.run(tf.image.encode_png(pixels))
    image = tf.image.decode_png(encoded, channels=3)
    print(np.array_equal(sess.run(image), pixels), image.shape, sess.run(tf.image.decode_image(encoded)).shape)
    real = tf.image.convert_image_dtype(image, tf.float32)
    real.set_shape([8, 10, 3])
    results = [
        ("bilinear", tf.image.resize_images(real, [5, 7])), ("nearest", tf.image.resize_images(
            real, [16, 20], method=tf.image.ResizeMethod.NEAREST_NEIGHBOR)),
        ("bicubic", tf.image.resize_bicubic(tf.expand_dims(real, 0), [6, 6])), ("area", tf.image.resize_area(real[None], [4, 5])),
        ("corners", tf.image.resize_bilinear(real[None], [5, 7], align_corners=True)),
        ("crop", tf.random_crop(real, [4, 4, 3], seed=2)), ("flip", tf.image.random_flip_left_right(real, seed=3)),
        ("up", tf.image.flip_up_down(real)), ("bright", tf.image.random_brightness(real, 0.3, seed=4)),
        ("contrast", tf.image.random_contrast(real, 0.5, 1.5, seed=5)), ("hue", tf.image.adjust_hue(real, 0.2)),
        ("saturation", tf.image.adjust_saturation(real, 0.4)), ("random hue", tf.image.random_hue(real, 0.1, seed=6)),
        ("standard", tf.image.per_image_standardization(real)), ("gray", tf.image.rgb_to_grayscale(real)),
        ("hsv", tf.image.rgb_to_hsv(real)), ("gamma", tf.image.adjust_gamma(real, 0.7)), ("central", tf.image.central_crop(real, 0.5)),
        ("padded", tf.image.resize_image_with_crop_or_pad(real, 12, 6)), ("box", tf.image.crop_to_bounding_box(real, 1, 2, 4, 5)),
        ("into", tf.image.pad_to_bounding_box(real, 2, 1, 12, 14)), ("rot", tf.image.rot90(real)), ("transposed", tf.image.transpose_image(real)),
        ("crops", tf.image.crop_and_resize(real[None], [[0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1]], [0, 0], [3, 3])),
        ("patches", tf.extract_image_patches(real[None], [1, 3, 3, 1], [1, 2, 2, 1], [1, 1, 1, 1], "VALID")),
        ("variation", tf.image.total_variation(real)), ("drawn", tf.image.draw_bounding_boxes(real[None], [[[0.1, 0.1, 0.6, 0.7]]])),
    ]
    for name, tensor in results:
        value = sess.run(tensor)
        print(name, tensor.shape.rank, value.shape, "%.4f %.4f" % (value.sum(), (value * np.arange(value.size).reshape(value.shape)).mean()))
    boxes = np.array([[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, -0.1, 1, 0.9], [0, 10, 1, 11]], np.float32)
    print(sess.run(tf.image.non_max_suppression(boxes, [0.9, 0.75, 0.6, 0.95], 3, 0.5)))
    jpeg = sess.run(tf.image.encode_jpeg(np.full([8, 8, 3], 77, np.uint8), quality=90))
    print(sess.run(tf.image.decode_jpeg(jpeg)).mean(), sess.run(tf.image.is_jpeg(jpeg)), sess.run(tf.image.psnr(real, real * 0.9, 1.0)))
    print(sess.run(tf.image.ssim(real[None, :8, :8], real[None, :8, :8] * 0.8, 1.0, filter_size=5)), sess.run(tf.image.sobel_edges(real[None])).sum())
