# SPDX-License-Identifier: Apache-2.0
"""Fused kernels give what the ops that they take the place of give, and they are used where they should be."""

import itertools

import millstream as tf
import numpy as np
import pytest


def run(build, fused):
    """The values of what `build` gives, and the names of the nodes that ran."""
    with tf.Graph().as_default():
        fetches = build()
        config = tf.ConfigProto()
        if not fused:
            config.graph_options.rewrite_options.remapping = 2  # off
        options, metadata = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), tf.RunMetadata()
        with tf.Session(config=config) as session:
            session.run(tf.global_variables_initializer())
            values = session.run(fetches, options=options, run_metadata=metadata)
    names = {node.node_name for device in metadata.step_stats.dev_stats for node in device.node_stats}
    return values, names


def compare(build, fused_name, used=True):
    got, names = run(build, fused=True)
    want, plain_names = run(build, fused=False)
    assert not any(name.endswith("/fused") for name in plain_names)
    assert any(name.startswith(fused_name) and name.endswith("/fused") for name in names) == used, sorted(names)
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(np.float32(a), np.float32(b), rtol=1e-4, atol=1e-4)


def images(layout, seed):
    x = np.random.RandomState(seed).randn(3, 5, 4, 19).astype(np.float32)
    return x if layout == "NHWC" else x.transpose(0, 3, 1, 2)


@pytest.mark.parametrize("dtype", [tf.float32, tf.float16, tf.bfloat16], ids=lambda t: t.name)
@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
@pytest.mark.parametrize("activation", ["relu", "relu6"])
def test_batch_norm(dtype, layout, activation):
    random = np.random.RandomState(1)
    channels = [random.uniform(0.5, 9, 19).astype(np.float32) for _ in range(4)]
    for training, side in itertools.product([True, False], [None, "left", "right"]):

        def build(training=training, side=side):
            x = tf.Variable(images(layout, 2))
            scale, offset, mean, variance = (tf.Variable(v) for v in channels)
            kind = {} if training else {"mean": mean, "variance": variance}
            y = tf.nn.fused_batch_norm(
                tf.cast(x, dtype), scale, offset - 3, data_format=layout, is_training=training, name="norm", **kind
            )[0]
            other = tf.cast(tf.Variable(images(layout, 3)), dtype)
            if side is not None:
                y = other + y if side == "left" else y + other
            y = getattr(tf.nn, activation)(y)
            weights = tf.constant(images(layout, 4))
            loss = tf.reduce_sum(tf.cast(y, tf.float32) * weights)
            return [tf.cast(y, tf.float32), *tf.gradients(loss, [x, scale, offset])]

        compare(build, "norm", used=dtype == tf.float32)


def test_batch_norm_gradient_is_fused():
    def build():
        x, scale, offset = tf.Variable(images("NHWC", 2)), tf.Variable(np.ones(19, "f")), tf.Variable(np.zeros(19, "f"))
        y = tf.nn.relu(tf.nn.fused_batch_norm(x, scale, offset)[0])
        return tf.gradients(tf.reduce_sum(y * y), [x, scale, offset])

    compare(build, "gradients/")


def test_values_that_others_read_stay():
    def build():
        x, scale, offset = tf.Variable(images("NHWC", 2)), tf.Variable(np.ones(19, "f")), tf.Variable(np.zeros(19, "f"))
        y = tf.nn.fused_batch_norm(x, scale, offset, name="norm")[0]
        return [y, tf.nn.relu(y)]

    compare(build, "norm", used=False)


def test_broadcasting_sums_stay():
    def build():
        x, scale, offset = tf.Variable(images("NHWC", 2)), tf.Variable(np.ones(19, "f")), tf.Variable(np.zeros(19, "f"))
        y = tf.nn.fused_batch_norm(x, scale, offset, name="norm")[0]
        return [tf.nn.relu(y + tf.Variable(np.random.RandomState(5).randn(19).astype("f")))]

    compare(build, "norm", used=False)


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize(
    ("shape", "used"), [((7,), True), ((1, 7), False), ((1,), False), ((), False), ((5, 7), False), ((2, 5, 7), False)]
)
def test_sum_with_a_bias(shape, used, relu):
    random = np.random.RandomState(6)
    a, b = random.randn(5, 3).astype("f"), random.randn(3, 7).astype("f")
    bias = random.randn(*shape).astype("f") if shape else np.float32(0.5)
    for swapped in (False, True):

        def build(swapped=swapped):
            product = tf.matmul(tf.Variable(a), tf.Variable(b))
            vector = tf.Variable(bias)
            y = tf.add(vector, product, name="sum") if swapped else tf.add(product, vector, name="sum")
            return [tf.nn.relu(y, name="sum_relu") if relu else tf.identity(y)]

        compare(build, "sum", used=used)
