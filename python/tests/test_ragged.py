# SPDX-License-Identifier: Apache-2.0
"""Ragged tensors, where TensorFlow's own scripts (scripts/functions/ragged_tensors.py) do not tell."""
import pytest

import millstream as tf


def test_placeholders_are_fed_with_values_and_lists():
    with tf.Graph().as_default(), tf.Session() as sess:
        p = tf.ragged.placeholder(tf.int32, 1)
        assert sess.run(p * 2, {p: tf.ragged.constant_value([[1], [2, 3]])}).to_list() == [[2], [4, 6]]
        assert sess.run(tf.reduce_sum(p, axis=1), {p: [[1], [], [2, 3]]}).tolist() == [1, 0, 5]


def test_lists_of_different_depths_are_refused():
    with tf.Graph().as_default():
        for wrong in ([[1], 2], [[[]], [1]], [[1], [[2]]]):
            with pytest.raises(ValueError):
                tf.ragged.constant(wrong)
        with pytest.raises(TypeError):
            iter(tf.ragged.constant([[1], [2, 3]]))


def test_functions_are_what_they_were_for_tensors():
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.ragged.constant([[1]])
        assert sess.run(tf.concat([[1], [2]], 0)).tolist() == [1, 2]
        assert sess.run(tf.reduce_sum([[1, 2]], axis=1)).tolist() == [3]
        assert sess.run(tf.where([True, False], [1, 2], [3, 4])).tolist() == [1, 4]
        with pytest.raises(TypeError):
            tf.add("a", 1)
