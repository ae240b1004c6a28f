# SPDX-License-Identifier: Apache-2.0
"""Batch normalization: while training, not, and as each step is told; fused and not; with its updates."""
from functools import partial

import millstream as tf

SHAPES = {"matrix": [None, 3], "images": [None, 4, 4, 3], "channels_first": [None, 3, 4, 4], "known": [2, 3]}


def _normalized(shape="matrix", training=True, **kwargs):
    x = tf.placeholder(tf.float32, SHAPES[shape], name="x")
    if training is None:
        training = tf.placeholder(tf.bool, [], name="training")
    return tf.layers.batch_normalization(x, training=training, **kwargs)


def _minimize(shape, training, optimizer=tf.train.GradientDescentOptimizer, **kwargs):
    loss = tf.nn.l2_loss(_normalized(shape, training, **kwargs))
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        optimizer(0.1).minimize(loss)


def _two_layers():
    x = tf.layers.dense(_normalized(), 4, activation=tf.nn.relu)
    tf.layers.batch_normalization(x, training=True, name="second")
    tf.layers.batch_normalization(x, training=True)


def _on_ps():
    with tf.device(tf.train.replica_device_setter(ps_tasks=2)):
        _minimize("images", True, tf.train.AdamOptimizer)


def _regularized():
    _normalized(gamma_regularizer=tf.contrib.layers.l2_regularizer(0.1), beta_initializer=tf.constant_initializer(0.5),
                moving_mean_initializer=tf.constant_initializer(0.25), momentum=0.5, epsilon=0.25)


_KINDS = {
    "matrix": ("matrix", {}),
    "known": ("known", {}),
    "images": ("images", {}),
    "images.plain": ("images", {"fused": False}),
    "channels_first": ("channels_first", {"axis": 1}),
    "channels_first.plain": ("channels_first", {"axis": 1, "fused": False}),
    "matrix.no_scale": ("matrix", {"scale": False}),
    "matrix.no_center": ("matrix", {"center": False}),
    "images.no_scale": ("images", {"scale": False}),
    "images.no_center": ("images", {"center": False}),
}
PROGRAMS = {"two_layers": _two_layers, "on_ps": _on_ps, "regularized": _regularized,
            "not_trainable": partial(_normalized, trainable=False)}
for _name, (_shape, _options) in _KINDS.items():
    for _when, _training in {"training": True, "inference": False, "fed": None}.items():
        PROGRAMS[f"{_name}.{_when}"] = partial(_minimize, _shape, _training, **_options)
