# SPDX-License-Identifier: Apache-2.0
"""Losses, with and without weights, with all reductions."""
from functools import partial

import millstream as tf

_R = tf.losses.Reduction


def _pair(columns=3):
    return (tf.placeholder(tf.float32, [None, columns], name="labels"),
            tf.placeholder(tf.float32, [None, columns], name="predictions"))


def _weights(columns=1):
    return tf.placeholder(tf.float32, [None, columns], name="weights")


def _plain(loss):
    loss(*_pair())


def _weighted(loss):
    labels, predictions = _pair()
    loss(labels, predictions, weights=_weights())


def _sparse_softmax():
    labels = tf.placeholder(tf.int64, [None], name="labels")
    logits = tf.placeholder(tf.float32, [None, 5], name="logits")
    tf.losses.sparse_softmax_cross_entropy(labels, logits)
    tf.losses.sparse_softmax_cross_entropy(labels, logits, weights=tf.placeholder(tf.float32, [None], name="weights"))


def _reductions():
    for reduction in (_R.NONE, _R.SUM, _R.MEAN, _R.SUM_OVER_BATCH_SIZE):
        labels, predictions = _pair()
        tf.losses.mean_squared_error(labels, predictions, weights=_weights(), reduction=reduction)


def _total():
    labels, predictions = _pair()
    tf.losses.absolute_difference(labels, predictions)
    tf.losses.huber_loss(labels, predictions, delta=2.0)
    tf.train.GradientDescentOptimizer(0.1)
    tf.losses.get_total_loss()


_LOSSES = {
    "absolute_difference": tf.losses.absolute_difference,
    "mean_squared_error": tf.losses.mean_squared_error,
    "cosine_distance": lambda labels, predictions, **kw: tf.losses.cosine_distance(labels, predictions, axis=1, **kw),
    "hinge_loss": tf.losses.hinge_loss,
    "huber_loss": tf.losses.huber_loss,
    "log_loss": tf.losses.log_loss,
    "mean_pairwise_squared_error": tf.losses.mean_pairwise_squared_error,
    "sigmoid_cross_entropy": tf.losses.sigmoid_cross_entropy,
    "sigmoid_cross_entropy.smooth": lambda *args, **kw: tf.losses.sigmoid_cross_entropy(*args, label_smoothing=0.1, **kw),
}

PROGRAMS = {
    "softmax_cross_entropy": lambda: tf.losses.softmax_cross_entropy(*_pair()),
    "softmax_cross_entropy.smooth": lambda: tf.losses.softmax_cross_entropy(*_pair(), label_smoothing=0.1),
    "sparse_softmax_cross_entropy": _sparse_softmax,
    "reductions": _reductions,
    "total": _total,
}
for _name, _loss in _LOSSES.items():
    PROGRAMS[_name] = partial(_plain, _loss)
    PROGRAMS[f"{_name}.weighted"] = partial(_weighted, _loss)
