# SPDX-License-Identifier: Apache-2.0
"""Learning-rate decays and gradient clipping."""
from functools import partial

import millstream as tf
from programs.optimizers import model


def _rate(decay):
    decay(tf.train.create_global_step())


def _trained():
    step = tf.train.create_global_step()
    rate = tf.train.exponential_decay(0.1, step, 100, 0.5, staircase=True)
    tf.train.AdamOptimizer(rate).minimize(model(), step)


def _clipped(clip):
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    gradients, variables = zip(*optimizer.compute_gradients(model()))
    optimizer.apply_gradients(list(zip(clip(gradients), variables)))


def _global_norm(gradients):
    return tf.clip_by_global_norm(gradients, 5.0)[0]


PROGRAMS = {
    "exponential": partial(_rate, lambda step: tf.train.exponential_decay(0.1, step, 100, 0.5)),
    "exponential.staircase": partial(_rate, lambda step: tf.train.exponential_decay(0.1, step, 100, 0.5, staircase=True)),
    "natural_exp": partial(_rate, lambda step: tf.train.natural_exp_decay(0.1, step, 100, 0.5)),
    "natural_exp.staircase": partial(_rate, lambda step: tf.train.natural_exp_decay(0.1, step, 100, 0.5, staircase=True)),
    "inverse_time": partial(_rate, lambda step: tf.train.inverse_time_decay(0.1, step, 100, 0.5)),
    "inverse_time.staircase": partial(_rate, lambda step: tf.train.inverse_time_decay(0.1, step, 100, 0.5, staircase=True)),
    "piecewise_constant": partial(_rate, lambda step: tf.train.piecewise_constant(step, [10, 20], [0.1, 0.01, 0.001])),
    "polynomial": partial(_rate, lambda step: tf.train.polynomial_decay(0.1, step, 100)),
    "polynomial.cycle": partial(_rate, lambda step: tf.train.polynomial_decay(0.1, step, 100, power=2.0, cycle=True)),
    "cosine": partial(_rate, lambda step: tf.train.cosine_decay(0.1, step, 100, alpha=0.1)),
    "cosine_restarts": partial(_rate, lambda step: tf.train.cosine_decay_restarts(0.1, step, 100)),
    "cosine_restarts.same_length": partial(_rate, lambda step: tf.train.cosine_decay_restarts(0.1, step, 100, t_mul=1.0)),
    "linear_cosine": partial(_rate, lambda step: tf.train.linear_cosine_decay(0.1, step, 100)),
    "linear_warmup": partial(_rate, lambda step: tf.train.linear_warmup(0.1, step, 100, scale=4.0)),
    "trained": _trained,
    "clip_by_value": partial(_clipped, lambda gradients: [tf.clip_by_value(g, -1.0, 1.0) for g in gradients]),
    "clip_by_norm": partial(_clipped, lambda gradients: [tf.clip_by_norm(g, 2.0) for g in gradients]),
    "clip_by_global_norm": partial(_clipped, _global_norm),
}
