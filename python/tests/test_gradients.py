# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

import millstream as tf
from millstream import gen_ops


def run(fetches, feed_dict=None):
    with tf.Session() as session:
        return session.run(fetches, feed_dict)


def test_names_and_values(fresh_graph):
    w = gen_ops.identity(tf.constant(2.0))
    (grad,) = tf.gradients(w * w * 3, [w])
    assert grad.name == "gradients/AddN:0" and run(grad) == 12
    names = [op.name for op in fresh_graph.get_operations()]
    assert "gradients/mul_1_grad/Mul" in names
    assert tf.gradients(w * w, w)[0].name.startswith("gradients_1/")


def test_none_stop_and_grad_ys():
    x, y = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    assert tf.gradients(x * 2, [y]) == [None]
    z = x * x
    by_x, by_y = tf.gradients(z * y, [x, y], stop_gradients=[z])
    assert by_x is None and run(by_y, {x: 3.0, y: 2.0}) == 9.0
    assert run(tf.gradients(z, x, grad_ys=tf.constant(5.0)), {x: 3.0}) == [30.0]
    assert run(tf.gradients(x, [y], unconnected_gradients="zero"), {x: 1.0, y: 1.0}) == [0.0]


def test_indexed_slices():
    table = gen_ops.identity(tf.constant(np.ones([4, 2], np.float32)))
    rows = gen_ops.gather_v2(table, [1, 1, 3], 0)
    (grad,) = tf.gradients(rows * 2, [table])
    assert isinstance(grad, tf.IndexedSlices)
    value = run(grad)
    assert value.indices.tolist() == [1, 1, 3] and value.values.tolist() == [[2, 2]] * 3
    np.testing.assert_array_equal(run(tf.convert_to_tensor(grad)), [[0, 0], [4, 4], [0, 0], [2, 2]])


def test_registered_gradient_and_override(fresh_graph):
    @tf.RegisterGradient("TripleForTest")
    def triple(op, grad):
        assert op.type == "Identity"
        return grad * 3

    x = tf.placeholder(tf.float32, [])
    with fresh_graph.gradient_override_map({"Identity": "TripleForTest"}):
        y = gen_ops.identity(x)
    z = gen_ops.identity(x)
    assert run(tf.gradients([y, z], x), {x: 1.0}) == [4.0]

    @tf.RegisterGradient("FailForTest")
    def fail(op, grad):
        raise KeyError("from the gradient")

    with fresh_graph.gradient_override_map({"Identity": "FailForTest"}):
        bad = gen_ops.identity(x)
    with pytest.raises(KeyError, match="from the gradient"):
        tf.gradients(bad, x)
    assert run(x + 1, {x: 1.0}) == 2


def test_no_gradient():
    x = tf.constant([1.0])
    with pytest.raises(LookupError):
        tf.gradients(gen_ops.unique(x).y, x)


def test_devices_of_gradient_ops():
    with tf.device("/job:worker/task:1"):
        x = tf.constant(1.0)
        y = x * x
        grad = tf.gradients(y, x)[0]
    assert grad.device == "/job:worker/task:1"
    with tf.device("/job:ps"):
        z = x * 2
    grad = tf.gradients(z, x, colocate_gradients_with_ops=True)[0]
    assert grad.device == "/job:ps"


def test_gradients_of_loops_wait_for_what_follows_them():
    """Control dependencies on something that needs the loop: its gradient, which changes the loop, must not wait for itself."""
    x = tf.constant([[[1.0], [2.0]]])
    outputs, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.BasicRNNCell(2), x, dtype=tf.float32)
    y = tf.layers.batch_normalization(outputs, training=True)
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    with tf.control_dependencies(updates):
        train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(tf.square(y - 1)))
    mean = [v for v in tf.global_variables() if "moving_mean" in v.name][0]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        before = sess.run(mean)
        sess.run(train)
        assert (sess.run(mean) != before).all()


@pytest.mark.parametrize("shape", [[3], [None], None, [2, None], []])
def test_hessians_of_any_shape(shape):
    x = tf.placeholder(tf.float32, shape)
    value = {0: np.float32(2), 1: np.array([1, 2, 3], np.float32), 2: np.array([[1, 2], [3, 4]], np.float32)}[
        1 if shape is None else len(shape)]
    y = tf.reduce_sum(x ** 3) + tf.reduce_sum(x) ** 2
    hessian = tf.hessians(y, x)[0]
    with tf.Session() as session:
        got = session.run(hessian, {x: value})
    expected = (np.diag(6 * value.ravel()) + 2).reshape(value.shape + value.shape)
    np.testing.assert_allclose(got, expected, rtol=1e-5)


def test_hessians_of_several():
    a, b = tf.constant([1.0, 2.0]), tf.get_variable("b", initializer=[3.0, 4.0, 5.0])
    first, second = tf.hessians(tf.reduce_sum(a) * tf.reduce_prod(b) + tf.reduce_sum(a ** 2), [a, b])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_allclose(session.run(first), 2 * np.eye(2))
        np.testing.assert_allclose(session.run(second), 3 * np.array([[0, 5, 4], [5, 0, 3], [4, 3, 0]]), rtol=1e-6)


def test_jacobians_of_unknown_shape():
    x = tf.placeholder(tf.float32, [None])
    m = tf.placeholder(tf.float32, [None, None])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([x, m])
        y = tf.tensordot(m, x ** 2, 1)
        rows = m ** 2
    jacobian, per_row = tape.jacobian(y, x), tape.batch_jacobian(rows, m)
    with tf.Session() as session:
        got, batch = session.run([jacobian, per_row], {x: [1, 2], m: [[1, 2], [3, 4], [5, 6]]})
    np.testing.assert_allclose(got, [[2, 8], [6, 16], [10, 24]])
    np.testing.assert_allclose(batch, [np.diag(2 * np.array(r)) for r in ([1, 2], [3, 4], [5, 6])])


def test_loops_without_back_prop_have_no_gradient():
    x, limit = tf.constant(2.0), tf.placeholder_with_default(3, [])
    for maximum in (None, 3, limit):
        def loop(back_prop, maximum=maximum):
            return tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), [0, x], back_prop=back_prop,
                                 maximum_iterations=maximum)[1]
        with_gradient, without = loop(True), loop(False)
        assert tf.gradients(without, x) == [None]
        both = tf.gradients(with_gradient + without * x, x)[0]
        with tf.Session() as session:
            assert session.run(both) == 4 * 2.0 ** 3 + 2.0 ** 4
    mapped = tf.map_fn(lambda v: v * x, tf.constant([1.0, 2.0]), back_prop=False)
    assert tf.gradients(mapped, x) == [None]


def test_hessians_through_a_loop():
    x = tf.constant([1.0, 2.0])
    y = tf.while_loop(lambda i, y: i < 2, lambda i, y: (i + 1, y * tf.reduce_sum(x ** 2)), [0, tf.constant(1.0)])[1]  # (x . x) ** 2
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(tf.hessians(y, x)[0]), [[28, 16], [16, 52]], rtol=1e-5)
