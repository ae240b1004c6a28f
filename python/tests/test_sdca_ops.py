# SPDX-License-Identifier: Apache-2.0
"""A linear model trained by dual coordinate ascent, on reference variables as TF1's linear estimators do it."""
import numpy as np

import millstream as tf

FEATURES = np.array([[1, 0.5], [-1, 2], [0.25, -1], [2, 1]], np.float32)
LABELS = np.array([1, -2, 0.5, 3], np.float32)


def train(l1, l2, steps):
    with tf.Graph().as_default(), tf.Session() as session:
        weights = tf.Variable(np.zeros(2, np.float32), use_resource=False)
        state = tf.Variable(np.zeros((4, 4), np.float32), use_resource=False)
        out_state, _, deltas = tf.train.sdca_optimizer(
            [], [], [], [FEATURES], np.ones(4, np.float32), LABELS, [], [], [weights], state, loss_type="squared_loss", l1=l1, l2=l2,
            num_loss_partitions=1, num_inner_iterations=1)
        step = tf.group(tf.assign(state, out_state), tf.assign_add(weights, deltas[0]))
        session.run(tf.global_variables_initializer())
        for _ in range(steps):
            session.run(step)
        session.run(tf.train.sdca_shrink_l1([weights], l1=l1, l2=l2))
        return session.run(weights)


def test_squared_loss_is_ridge_regression():
    best = np.linalg.solve(FEATURES.T @ FEATURES + 0.5 * np.eye(2), FEATURES.T @ LABELS)
    np.testing.assert_allclose(train(0.0, 0.5, 100), best, rtol=1e-4)


def test_l1_makes_weights_zero():
    assert np.all(train(100.0, 0.5, 20) == 0)


def test_fingerprints_depend_on_the_names():
    with tf.Graph().as_default(), tf.Session() as session:
        words = session.run(tf.train.sdca_fprint(["a", "b", "a"]))
    assert words.shape == (3, 2) and words.dtype == np.int64
    assert np.array_equal(words[0], words[2]) and not np.array_equal(words[0], words[1])
