# SPDX-License-Identifier: Apache-2.0
"""Variables, scopes, initializers. Names are those that TensorFlow gives."""
import numpy as np
import pytest

import millstream as tf


def names(kind=None):
    return [op.name for op in tf.get_default_graph().get_operations() if kind is None or op.type == kind]


def run(x, init=True):
    with tf.Session() as sess:
        if init:
            sess.run(tf.global_variables_initializer())
        return sess.run(x)


@pytest.fixture(autouse=True)
def fresh_graph():
    with tf.Graph().as_default():
        yield


def test_ref_variable_nodes():
    v = tf.Variable(0.5, name="v")
    assert names() == ["v/initial_value", "v", "v/Assign", "v/read"]
    assert v.dtype == tf.float32_ref and v.name == "v:0" and v.shape == []
    assert run(v) == 0.5
    assert run(v + 1) == 1.5
    assert tf.trainable_variables() == [v]


def test_resource_variable_nodes():
    v = tf.get_variable("v", [2], use_resource=True, initializer=tf.zeros_initializer())
    assert names() == ["v/Initializer/zeros", "v", "v/IsInitialized/VarIsInitializedOp", "v/Assign",
                       "v/Read/ReadVariableOp"]
    np.testing.assert_array_equal(run(v.assign_add([1., 2.])), [1, 2])


def test_scopes_and_reuse():
    with tf.variable_scope("foo") as scope:
        a = tf.get_variable("a", [1])
        with pytest.raises(ValueError, match="already exists"):
            tf.get_variable("a", [1])
    with tf.variable_scope(scope, reuse=True):
        assert tf.get_variable("a", [1]) is a
        with pytest.raises(ValueError, match="does not exist"):
            tf.get_variable("b", [1])
        with pytest.raises(ValueError, match="shape"):
            tf.get_variable("a", [2])
    with tf.variable_scope("foo", reuse=tf.AUTO_REUSE):
        assert tf.get_variable("a", [1]) is a
        assert tf.get_variable("c", [1]).name == "foo/c:0"
    with tf.variable_scope(None, "d"):
        assert tf.get_variable("x", [1]).name == "d/x:0"
    with tf.variable_scope(None, "d"):
        assert tf.get_variable("x", [1]).name == "d_1/x:0"
    with tf.name_scope("outer"):
        assert tf.get_variable("free", [1]).name == "free:0"
        assert tf.Variable(1.0).name == "outer/Variable:0"


def test_custom_getter_and_regularizer():
    def double(getter, name, *args, **kwargs):
        return getter(name + "_got", *args, **kwargs) * 2.0

    with tf.variable_scope("s", custom_getter=double, regularizer=lambda w: w[0] * 3.0):
        x = tf.get_variable("x", [1], initializer=tf.ones_initializer())
    assert tf.global_variables()[0].name == "s/x_got:0"
    loss, = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
    assert run([x, loss]) == [[2.], 3.]


def test_partitioned():
    v = tf.get_variable("v", [5, 2], partitioner=tf.fixed_size_partitioner(2), initializer=tf.ones_initializer())
    assert [p.name for p in v._get_variable_list()] == ["v/part_0:0", "v/part_1:0"]
    assert [p.shape.as_list() for p in v._get_variable_list()] == [[3, 2], [2, 2]]
    assert v._get_variable_list()[1]._get_save_slice_info().spec == "5 2 3,2:0,2"
    assert run(tf.convert_to_tensor(v)).shape == (5, 2)


def test_initial_value_from_other_variable():
    a = tf.Variable([2.0, 3.0])
    b = tf.Variable(a * 2.0)
    c = tf.Variable(a.initialized_value() + 1.0)
    np.testing.assert_array_equal(run(b), [4, 6])
    np.testing.assert_array_equal(run(c), [3, 4])


def test_uninitialized():
    v = tf.Variable(1.0, name="v")
    w = tf.get_variable("w", [], use_resource=True)
    assert list(run(tf.report_uninitialized_variables(), init=False)) == [b"v", b"w"]
    with pytest.raises(tf.errors.FailedPreconditionError, match="v"):
        run(v.value(), init=False)
    with pytest.raises(tf.errors.FailedPreconditionError):
        run(w, init=False)


def test_changes():
    v = tf.Variable(tf.constant([1, 2, 3]))
    n = tf.Variable(0)
    with tf.Session() as sess:
        sess.run(tf.initialize_all_variables())
        sess.run(tf.scatter_add(v, [0, 2], [10, 10]))
        np.testing.assert_array_equal(sess.run(v), [11, 2, 13])
        sess.run([tf.assign_sub(v, [1, 1, 1])])
        np.testing.assert_array_equal(v.eval(), [10, 1, 12])
        count = n.count_up_to(2)
        assert [sess.run(count), sess.run(count)] == [0, 1]
        with pytest.raises(tf.errors.OutOfRangeError):
            sess.run(count)
        v.load([7, 7, 7])
        np.testing.assert_array_equal(v.eval(), [7, 7, 7])


def test_initializers():
    values = run([tf.get_variable(f"v{i}", [200, 100], initializer=init) for i, init in enumerate([
        tf.random_normal_initializer(stddev=2.0), tf.truncated_normal_initializer(), tf.random_uniform_initializer(-1, 1),
        tf.glorot_uniform_initializer(), tf.initializers.he_normal(), tf.orthogonal_initializer(),
        tf.initializers.identity()])])
    assert abs(values[0].std() - 2) < 0.1 and abs(values[1]).max() <= 2 and abs(values[2]).max() <= 1
    assert abs(values[3].std() - np.sqrt(2 / 300)) < 0.002 and abs(values[4].std() - np.sqrt(2 / 200)) < 0.002
    np.testing.assert_allclose(values[5].T @ values[5], np.eye(100), atol=1e-4)
    np.testing.assert_array_equal(values[6], np.eye(200, 100))


def test_float_global_step():
    step = tf.get_variable("global_step", [], initializer=tf.constant_initializer(0), trainable=False)
    assert tf.train.get_global_step() is step
    assert tf.train.get_or_create_global_step() is step


def test_proto_round_trip():
    v = tf.get_variable("v", [2], use_resource=True)
    w = tf.Variable([1.0], name="w")
    for x in (v, w):
        y = tf.Variable.from_proto(x.to_proto())
        assert y.name == x.name and y.shape == x.shape and y.op is x.op
