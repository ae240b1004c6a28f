# SPDX-License-Identifier: Apache-2.0
"""tf.contrib.layers, slim and framework."""
import numpy as np
import pytest

import millstream as tf

slim = tf.contrib.slim
layers = tf.contrib.layers


def _run(fetches, feeds=None):
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        return sess.run(fetches, feeds)


def test_fully_connected():
    x = np.random.rand(4, 3).astype(np.float32)
    y = layers.fully_connected(x, 2, weights_regularizer=layers.l2_regularizer(0.1), scope="fc")
    z = layers.fully_connected(x, 2, scope="fc", reuse=True, activation_fn=None)
    assert [v.op.name for v in tf.global_variables()] == ["fc/weights", "fc/biases"]
    assert slim.get_model_variables() == tf.global_variables()
    got, other, w, loss = _run([y, z, tf.global_variables()[0], tf.losses.get_regularization_loss()])
    np.testing.assert_allclose(other, x @ w, rtol=1e-5)
    np.testing.assert_allclose(got, np.maximum(x @ w, 0), rtol=1e-5)
    np.testing.assert_allclose(loss, 0.05 * (w**2).sum(), rtol=1e-5)


def test_slim_network():
    images = tf.placeholder(tf.float32, [None, 8, 8, 3])
    with slim.arg_scope([slim.conv2d, slim.fully_connected], weights_regularizer=slim.l2_regularizer(0.01),
                        normalizer_fn=slim.batch_norm, normalizer_params={"is_training": True}):
        with slim.arg_scope([slim.conv2d], padding="SAME", stride=1) as scope:
            net = slim.conv2d(images, 4, [3, 3], scope="conv1")
            net = slim.repeat(net, 2, slim.conv2d, 4, [3, 3], scope="conv2")
        with slim.arg_scope(scope):
            net = slim.conv2d(net, 4, 3, stride=2, scope="conv3")
        net = slim.max_pool2d(net, [2, 2], scope="pool")
        net = slim.avg_pool2d(net, 2, stride=1)
        net = slim.flatten(net)
        net = slim.dropout(net, 0.5, is_training=True)
        logits = slim.fully_connected(net, 5, activation_fn=None, normalizer_fn=None, scope="logits")
    assert logits.shape.as_list() == [None, 5]
    names = [v.op.name for v in tf.trainable_variables()]
    assert names[:2] == ["conv1/weights", "conv1/BatchNorm/beta"] and "conv2/conv2_2/weights" in names
    assert len(tf.get_collection(tf.GraphKeys.UPDATE_OPS)) == 8 and len(tf.losses.get_regularization_losses()) == 5
    loss = tf.losses.softmax_cross_entropy(tf.one_hot([1, 2], 5), logits) + tf.losses.get_regularization_loss()
    train = layers.optimize_loss(loss, tf.train.get_or_create_global_step(), 0.1, "SGD", clip_gradients=1.0)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        values = [sess.run(train, {images: np.ones((2, 8, 8, 3))}) for _ in range(3)]
        assert np.isfinite(values).all() and sess.run(tf.train.get_global_step()) == 3


def test_more_layers():
    x = tf.constant(np.random.rand(2, 6, 6, 2).astype(np.float32))
    up = layers.conv2d_transpose(x, 3, 3, 2)
    sep = layers.separable_conv2d(x, 4, 3, 1)
    norm = layers.layer_norm(x)
    out = layers.maxout(tf.ones([2, 6]), 3)
    unit = layers.unit_norm(tf.ones([2, 4]), 1)
    rows = layers.embed_sequence([[1, 2]], 5, 3)
    hot = layers.one_hot_encoding([1, 2], 3)
    piled = layers.stack(tf.ones([2, 4]), layers.fully_connected, [3, 2], scope="s")
    assert "s/s_2/weights" in [v.op.name for v in tf.global_variables()]
    soft = layers.softmax(hot)
    linear = layers.linear(tf.ones([2, 2]), 3), layers.relu(tf.ones([2, 2]), 3)
    values = _run([up, sep, norm, out, unit, rows, hot, piled, soft, linear])
    assert [v.shape for v in values[:8]] == [(2, 12, 12, 3), (2, 6, 6, 4), (2, 6, 6, 2), (2, 3), (2, 4), (1, 2, 3), (2, 3),
                                             (2, 2)]
    np.testing.assert_allclose(values[2].mean(axis=(1, 2, 3)), 0, atol=1e-5)


def test_batch_norm_in_place():
    x = tf.constant(np.random.rand(6, 3).astype(np.float32))
    y = layers.batch_norm(x, decay=0.5, updates_collections=None, scale=True)
    assert not tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    moving = [v for v in tf.global_variables() if v.op.name.endswith("moving_mean")][0]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(y)
        np.testing.assert_allclose(sess.run(moving), sess.run(tf.reduce_mean(x, 0)) * 0.5, rtol=1e-5)


def test_arg_scope_wants_decorated_functions():
    with pytest.raises(ValueError):
        with tf.contrib.framework.arg_scope([len], a=1):
            pass

    @tf.contrib.framework.add_arg_scope
    def f(a, b=2, c=3):
        return a, b, c

    with tf.contrib.framework.arg_scope([f], b=5):
        assert f(1) == (1, 5, 3) and f(1, 7) == (1, 7, 3) and f(1, c=9) == (1, 5, 9)
    assert f(1) == (1, 2, 3) and tf.contrib.framework.has_arg_scope(f)


def test_framework_variables():
    with tf.variable_scope("a"):
        v = tf.contrib.framework.model_variable("v", [2], initializer=tf.zeros_initializer())
    w = tf.contrib.framework.variable("w", [2], initializer=tf.ones_initializer(), device="/cpu:0")
    framework = tf.contrib.framework
    assert framework.get_variables("a") == [v] and framework.get_model_variables() == [v]
    assert framework.get_variables_by_name("v") == [v] and framework.get_variables_to_restore(exclude=["a"]) == [w]
    local = framework.local_variable(tf.zeros([1]))
    assert framework.get_local_variables() == [local]
    loss = layers.apply_regularization(layers.l1_l2_regularizer(0.5, 0.25), [w])
    assert _run(loss) == pytest.approx(0.5 * 2 + 0.25)
    with pytest.raises(ValueError):
        layers.l2_regularizer(-1.0)
