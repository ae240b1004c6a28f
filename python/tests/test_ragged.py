# SPDX-License-Identifier: Apache-2.0
"""Ragged tensors, where TensorFlow's own scripts (scripts/functions/ragged_tensors.py) do not tell."""
import json
import subprocess
import sys

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


_FIRST_USES = {
    "reduction": "tf.reduce_sum(tf.ragged.constant([[1, 2], [3]]), axis=1)",
    "all": "tf.reduce_sum(tf.ragged.constant([[1, 2], [3]]))",
    "unary": "tf.abs(tf.ragged.constant([[-1, 2], [3]])).flat_values",
    "binary": "tf.math.add(tf.ragged.constant([[1, 2], [3]]), 1).flat_values",
    "list": "tf.concat([tf.ragged.constant([[1, 2], [3]]), tf.ragged.constant([[4]])], 0).flat_values",
    "namespace": "tf.nn.relu(tf.ragged.constant([[-1., 2.], [3.]])).flat_values",
}
_FIRST_RESULTS = {"reduction": [3, 3], "all": 6, "unary": [1, 2, 3], "binary": [2, 3, 4], "list": [1, 2, 3, 4],
                  "namespace": [0, 2, 3]}


@pytest.mark.parametrize("kind", sorted(_FIRST_USES))
def test_functions_taken_before_the_first_ragged_tensor(kind):
    """A function is looked up before its argument is made: a process of its own, in which nothing ragged was used yet."""
    program = ("import sys, json, millstream as tf\n"
               "assert 'millstream.ops.ragged.ragged_tensor' not in sys.modules\n"
               f"print(json.dumps(tf.Session().run({_FIRST_USES[kind]}).tolist()))")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == _FIRST_RESULTS[kind]


def test_names_of_a_function_are_one_function():
    assert tf.reduce_sum is tf.math.reduce_sum and tf.abs is tf.math.abs
    assert tf.reduce_sum.__name__ == "reduce_sum" and tf.reduce_sum.__doc__
