# SPDX-License-Identifier: Apache-2.0
"""Least squares: tall, wide and square matrices, batches, shapes that are not known, with and without regularization."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)
session = tf.Session()
for shape in ((4, 2), (2, 4), (3, 3), (2, 5, 3), (2, 3, 5)):
    a = rng.randn(*shape)
    b = rng.randn(*shape[:-1], 2)
    known = tf.placeholder(tf.float64, shape)
    unknown = tf.placeholder(tf.float64, [None] * len(shape))
    for l2 in (0.0, 0.5):
        for fast in (True, False):
            x = tf.linalg.lstsq(known, b, l2, fast)
            y = tf.linalg.lstsq(unknown, b, l2, fast)
            print(shape, l2, fast, x.shape, session.run(x, {known: a}).ravel()[:4], session.run(y, {unknown: a}).ravel()[:2])
            if fast and l2:
                print(session.run(tf.gradients(x, known)[0], {known: a}).ravel()[:3])
