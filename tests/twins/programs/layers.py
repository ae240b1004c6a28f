# SPDX-License-Identifier: Apache-2.0
"""Layers and regularizers."""
import millstream as tf


def _matrix(columns=4):
    return tf.placeholder(tf.float32, [None, columns], name="x")


def _images():
    return tf.placeholder(tf.float32, [None, 8, 8, 3], name="images")


def _dense():
    x = tf.layers.dense(_matrix(), 5, activation=tf.nn.relu)
    tf.layers.dense(x, 3, activation=tf.tanh, name="top", kernel_initializer=tf.truncated_normal_initializer(stddev=0.1))
    tf.layers.dense(x, 2, activation=tf.sigmoid, use_bias=False)


def _conv():
    x = tf.layers.conv2d(_images(), 4, 3, activation=tf.nn.relu)
    x = tf.layers.max_pooling2d(x, 2, 2)
    x = tf.layers.conv2d(x, 6, 3, strides=2, padding="same", use_bias=False)
    x = tf.layers.average_pooling2d(x, 2, 1, padding="same")
    tf.layers.dense(tf.layers.flatten(x), 10)


def _dropout():
    training = tf.placeholder_with_default(False, [], name="training")
    x = tf.layers.dense(_matrix(), 5)
    x = tf.layers.dropout(x, 0.4, training=training, seed=3)
    tf.layers.dropout(x, 0.25, training=True, seed=4)


def _regularized():
    x = tf.layers.dense(_matrix(), 5, kernel_regularizer=tf.contrib.layers.l2_regularizer(0.01),
                        bias_regularizer=tf.contrib.layers.l1_regularizer(0.02))
    with tf.variable_scope("other", regularizer=tf.contrib.layers.l1_l2_regularizer(0.1, 0.2)):
        x = tf.layers.dense(x, 3)
    tf.losses.get_regularization_loss()
    tf.losses.mean_squared_error(tf.zeros_like(x), x)
    tf.losses.get_total_loss()


def _reused():
    x = _matrix()
    with tf.variable_scope("model"):
        tf.layers.dense(x, 3, name="a")
    with tf.variable_scope("model", reuse=True):
        tf.layers.dense(x, 3, name="a")


def _on_devices():
    with tf.device(tf.train.replica_device_setter(ps_tasks=3)):
        x = tf.layers.dense(tf.layers.dense(_matrix(), 5, activation=tf.nn.relu), 3)
        loss = tf.nn.l2_loss(x)
        tf.train.AdamOptimizer().minimize(loss, tf.train.create_global_step())


def _partitioned():
    with tf.variable_scope("model", partitioner=tf.fixed_size_partitioner(2)):
        tf.layers.dense(_matrix(), 4)


PROGRAMS = {
    "dense": _dense,
    "conv": _conv,
    "dropout": _dropout,
    "regularized": _regularized,
    "reused": _reused,
    "on_devices": _on_devices,
    "partitioned": _partitioned,
}
