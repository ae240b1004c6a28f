# SPDX-License-Identifier: Apache-2.0
"""Groups of ops on elements that run as one: they are formed, give the same bits, and nothing waits for them in vain."""

import millstream as tf
import numpy as np
import pytest


def config(fused):
    made = tf.ConfigProto(operation_timeout_in_ms=60000)
    if not fused:
        made.graph_options.rewrite_options.remapping = 2  # off
    return made


def run(build, fused, feeds=None, steps=1):
    """The values that `build` gives, and the members of each group that ran."""
    with tf.Graph().as_default():
        fetches = build()
        options, metadata = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), tf.RunMetadata()
        with tf.Session(config=config(fused)) as session:
            session.run(tf.global_variables_initializer())
            for _ in range(steps):
                values = session.run(fetches, feeds, options=options, run_metadata=metadata)
    labels = [node.timeline_label for device in metadata.step_stats.dev_stats for node in device.node_stats]
    groups = [label.split("(")[1].strip(")").split(", ") for label in labels if "= _FusedElements(" in label]
    return values, groups


def compare(build, *members, feeds=None, steps=1):
    """`members`: names of which some group must hold all."""
    got, groups = run(build, True, feeds, steps)
    want, none = run(build, False, feeds, steps)
    assert none == []
    if members:
        assert any(set(members) <= set(group) for group in groups), groups
    else:
        assert groups == []
    for a, b in zip(got, want, strict=True):
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


def numbers(*shape, seed=0):
    return np.float32(np.random.RandomState(seed).randn(*shape))


CHAINS = {
    "gelu": lambda x: 0.5 * x * (1 + tf.tanh(0.7978845608 * (x + 0.044715 * x * x * x))),
    "swish": lambda x: x * tf.sigmoid(1.5 * x),
    "softplus": lambda x: tf.nn.relu(x) - x * 0.3 + tf.log1p(tf.exp(-tf.abs(x))),
    "huber": lambda x: tf.where(tf.abs(x) < 1, 0.5 * tf.square(x), tf.abs(x) - 0.5),
    "clip": lambda x: tf.cast(tf.cast(x > 0, x.dtype) * x < 1, x.dtype) * tf.minimum(x, 2),
}


@pytest.mark.parametrize("dtype", [tf.float32, tf.float64, tf.float16, tf.bfloat16], ids=lambda t: t.name)
@pytest.mark.parametrize("name", CHAINS)
def test_chains_and_their_gradients(name, dtype):
    for shape in [(), (1,), (7, 3), (65,), (33, 700)]:

        def build(shape=shape):
            x = tf.Variable(tf.cast(numbers(*shape), dtype), use_resource=True)
            with tf.name_scope("chain"):
                y = CHAINS[name](tf.cast(x.read_value(), dtype) + tf.cast(numbers(*shape[-1:], seed=1), dtype))
            return [y, *tf.gradients(y, x)]

        got, groups = run(build, True)
        want, none = run(build, False)
        assert not none and any(len(group) > 2 for group in groups), groups
        for a, b in zip(got, want, strict=True):
            np.testing.assert_array_equal(np.float64(a), np.float64(b))


def test_unknown_sizes():
    """What is likely to have one shape, and what has not: [1, 3] and [5, 3] are both [?, 3] to the graph."""
    for rows in (1, 5):
        x, w = numbers(rows, 3), numbers(5, 3, seed=1)

        def build():
            a = tf.placeholder(tf.float32, [None, 3], name="a")
            b = tf.placeholder(tf.float32, [None, 3], name="b")
            return [tf.tanh(tf.multiply(tf.sigmoid(a, name="small"), b, name="large"))]

        compare(build, "small", "large", feeds={"a:0": x, "b:0": w})


def test_errors_name_the_op():
    with tf.Graph().as_default(), tf.Session() as session:
        a, b = (tf.placeholder(tf.float32, [None]) for _ in range(2))
        y = tf.tanh(tf.add(tf.sigmoid(a), b, name="the_sum"))
        with pytest.raises(tf.errors.InvalidArgumentError, match="Incompatible shapes") as error:
            session.run(y, {a: [1, 2], b: [1, 2, 3]})
        assert error.value.op.name == "the_sum"


def test_queues_do_not_wait_for_themselves():
    """The first half of the chain fills the queue that the second half reads."""

    def build():
        x = tf.Variable(numbers(4), use_resource=True).read_value()
        queue = tf.FIFOQueue(3, [tf.float32], [[4]])
        first = tf.tanh(tf.sigmoid(x, name="one"), name="two")
        put = queue.enqueue(first)
        second = tf.exp(tf.add(queue.dequeue(), first, name="three"), name="four")
        with tf.control_dependencies([put]):
            done = tf.constant(0)
        return [second, done]

    compare(build, "one", "two")
    compare(build, "three", "four")


def test_partial_runs():
    with tf.Graph().as_default(), tf.Session(config=config(True)) as session:
        a, b = (tf.placeholder(tf.float32, [2]) for _ in range(2))
        first = tf.tanh(tf.sigmoid(a))
        second = tf.exp(first * b)
        handle = session.partial_run_setup([first, second], [a, b])
        value = session.partial_run(handle, first, {a: [1, 2]})
        np.testing.assert_allclose(value, np.tanh(1 / (1 + np.exp([-1.0, -2.0]))), rtol=1e-6)
        got = session.partial_run(handle, second, {b: 2 * value})
        np.testing.assert_allclose(got, np.exp(2 * value * value), rtol=1e-6)


def test_inner_values_may_be_fetched_and_fed():
    with tf.Graph().as_default(), tf.Session(config=config(True)) as session:
        x = tf.placeholder(tf.float32, [3])
        a = tf.sigmoid(x)
        b = tf.tanh(a)
        c = b * b
        got = session.run([a, b, c], {x: [1, 2, 3]})
        np.testing.assert_array_equal(got[2], got[1] * got[1])
        np.testing.assert_array_equal(session.run(c, {b: [1, 2, 3]}), [1, 4, 9])
        grad = tf.gradients(c, x)[0]
        sigmoid = 1 / (1 + np.exp([-1.0, -2.0, -3.0]))
        want = 2 * np.tanh(sigmoid) * (1 - np.tanh(sigmoid) ** 2) * sigmoid * (1 - sigmoid)
        np.testing.assert_allclose(session.run(grad, {x: [1, 2, 3]}), want, rtol=1e-5)


@pytest.mark.parametrize("taken", [True, False])
def test_branches(taken):
    """A value that is computed whatever the branch must not end with the branch."""

    def build():
        x = tf.placeholder_with_default(numbers(5), [5])
        p = tf.placeholder_with_default(taken, [])
        always = tf.sigmoid(x, name="always")
        chosen = tf.cond(
            p,
            lambda: tf.tanh(tf.multiply(x, always, name="inside"), name="inside2"),
            lambda: tf.exp(tf.subtract(x, always, name="outside"), name="outside2"),
        )
        return [tf.square(always), chosen]

    compare(build, *(["cond/inside", "cond/inside2"] if taken else ["cond/outside", "cond/outside2"]))


def test_loops_and_their_gradients():
    def build():
        w = tf.Variable(numbers(6, 24) / 5, use_resource=True)
        x = tf.constant(numbers(9, 4, 6, seed=2))

        def body(i, c, h):
            a, j, f, o = tf.split(tf.matmul(x[i] + h, w), 4, 1)
            c = c * tf.sigmoid(f + 1, name="forget") + tf.multiply(tf.sigmoid(a), tf.tanh(j), name="product")
            return i + 1, c, tf.tanh(c, name="out") * tf.sigmoid(o)

        start = tf.zeros([4, 6])
        state = tf.while_loop(lambda i, *_: i < 9, body, [0, start, start])[2]
        return [state, *tf.gradients(state, w)]

    compare(build, "while/forget", "while/product", "while/out")


def test_nested_loops_with_branches():
    def build():
        def inner(j, v):
            v = tf.cond(tf.equal(j % 2, 0), lambda: tf.tanh(v * 1.1) + 0.1, lambda: tf.sigmoid(v - 0.2) * 0.9)
            return j + 1, tf.tanh(v * 0.5, name="last") + v

        def outer(i, v):
            w = tf.while_loop(lambda j, _: j < i, inner, [0, v])[1]
            return i + 1, tf.tanh(w * v, name="both") + w

        return [tf.while_loop(lambda i, _: i < 6, outer, [0, tf.constant(numbers(8))])[1]]

    compare(build, "while/both", "while/mul")


def test_variables_are_read_when_they_were_read_before():
    """A read that stands before an update, and one after it."""

    def build():
        v = tf.Variable(numbers(6), use_resource=True)
        before = tf.tanh(tf.sigmoid(v.read_value()))
        with tf.control_dependencies([before]):
            update = v.assign_add(np.ones(6, np.float32))
        with tf.control_dependencies([update]):
            after = tf.tanh(tf.sigmoid(v.read_value()))
        ref = tf.Variable(numbers(6), use_resource=False)
        old = tf.tanh(tf.sigmoid(ref * 2))
        with tf.control_dependencies([old]):
            update = tf.assign_add(ref, np.ones(6, np.float32))
        return [before, after, old, tf.tanh(tf.sigmoid(update * 2.0))]

    got, _ = run(build, True, steps=3)
    want, _ = run(build, False, steps=3)
    for a, b in zip(got, want, strict=True):
        np.testing.assert_array_equal(a, b)


def test_functions():
    def build():
        @tf.Defun(tf.float32, tf.float32)
        def cell(x, y):
            return tf.tanh(x * y + 1.0) * tf.sigmoid(y), x - y

        a, b = cell(tf.Variable(numbers(3, 4)).read_value(), tf.Variable(numbers(3, 4, seed=1)).read_value())
        return [a, b, *tf.gradients(a, b)[:0]]

    got, groups = run(build, True)
    want, _ = run(build, False)
    for a, b in zip(got, want, strict=True):
        np.testing.assert_array_equal(a, b)
    assert any(len(group) > 2 for group in groups), groups


def test_single_ops_stay():
    compare(lambda: [tf.tanh(tf.Variable(numbers(3), use_resource=True).read_value())])


def test_the_number_of_threads_does_not_matter():
    def build():
        x = tf.constant(numbers(1025, 257))
        return [CHAINS["gelu"](x + tf.placeholder_with_default(numbers(257, seed=3), [257]))]

    values = []
    for threads in (1, 2, 3, 4):
        with tf.Graph().as_default():
            y = build()
            made = tf.ConfigProto(intra_op_parallelism_threads=threads)
            with tf.Session(config=made) as session:
                values.append(session.run(y)[0])
    for value in values[1:]:
        np.testing.assert_array_equal(value, values[0])


def test_denormal_numbers_are_zero():
    def build():
        x = tf.Variable(np.full(3000, 2e-38, np.float32), use_resource=True).read_value()
        return [tf.multiply(tf.multiply(x, 0.1, name="small"), 1e10, name="large")]

    got, _ = run(build, True)
    assert not got[0].any()
    compare(build, "small", "large")
