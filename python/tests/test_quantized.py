# SPDX-License-Identifier: Apache-2.0
"""tf.quantization and the quantized ops of tf.nn, as programs use them; numbers are compared with TensorFlow's by goldens."""
import numpy as np

import millstream as tf


def quantized(values):
    return tf.quantize_v2(tf.constant(values, tf.float32), 0.0, 1.0, tf.quint8)


def test_ties_round_in_float():
    with tf.Graph().as_default(), tf.Session() as session:
        codes = tf.cast(quantized([0.9, 0.1, 0.5]).output, tf.int32)
        assert session.run(codes).tolist() == [230, 26, 128]


def test_a_convolution_and_back():
    image, weights = np.random.RandomState(1).uniform(size=[1, 4, 4, 2]), np.random.RandomState(2).uniform(size=[2, 2, 2, 3])
    with tf.Graph().as_default(), tf.Session() as session:
        x, w = quantized(image), quantized(weights)
        y = tf.nn.quantized_conv2d(x.output, w.output, x.output_min, x.output_max, w.output_min, w.output_max, [1, 1, 1, 1], "VALID")
        small = tf.raw_ops.QuantizeDownAndShrinkRange(input=y.output, input_min=y.min_output, input_max=y.max_output, out_type=tf.quint8)
        back = tf.dequantize(small.output, small.output_min, small.output_max, mode="MIN_FIRST")
        exact = tf.nn.conv2d(tf.constant(image, tf.float32), tf.constant(weights, tf.float32), [1, 1, 1, 1], "VALID")
        got, want = session.run([back, exact])
        np.testing.assert_allclose(got, want, atol=0.05)


def test_pools_and_concat():
    with tf.Graph().as_default(), tf.Session() as session:
        x = quantized(np.linspace(0, 1, 16).reshape([1, 4, 4, 1]))
        pooled = tf.nn.quantized_max_pool(x.output, x.output_min, x.output_max, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
        assert session.run(tf.cast(pooled.output, tf.int32)).ravel().tolist() == [85, 119, 221, 255]
        both = tf.quantized_concat(0, [x.output, x.output], [x.output_min, x.output_min], [x.output_max, x.output_max])
        assert session.run(tf.cast(both.output, tf.int32)).shape == (2, 4, 4, 1)


def test_sobol_sample():
    with tf.Graph().as_default(), tf.Session() as session:
        points = session.run(tf.math.sobol_sample(2, 4))
        assert points.tolist() == [[0.5, 0.5], [0.75, 0.25], [0.25, 0.75], [0.375, 0.375]]
