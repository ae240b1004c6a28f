# SPDX-License-Identifier: Apache-2.0
"""cond, case, switch_case, assertions, tf.Print, py_func, control dependencies, groups and tuples."""
import sys

import numpy as np
import tensorflow as tf

x = tf.placeholder(tf.float32, [], name="x")
v = tf.Variable(1.0, name="v")
is_training = tf.placeholder_with_default(True, [], name="is_training")


def train_branch():
    with tf.control_dependencies([tf.assign_add(v, 10.0)]):
        return tf.identity(x * 2.0)


branch = tf.cond(is_training, train_branch, lambda: x - 1.0)
pair = tf.cond(x > 0, lambda: (x, [x + 1, tf.constant(5)]), lambda: (-x, [x - 1, tf.constant(6)]))
nested = tf.cond(x > 0, lambda: tf.cond(x > 10, lambda: tf.constant("big"), lambda: tf.constant("small")),
                 lambda: tf.constant("negative"))
chosen = tf.case([(x < -1, lambda: tf.constant(-1.0)), (x > 1, lambda: x * x)], default=lambda: tf.sin(x), exclusive=True)
ordered = tf.case({x < 0: lambda: tf.constant(1), x > 100: lambda: tf.constant(2)}, default=lambda: tf.constant(3), exclusive=True)
switched = tf.switch_case(tf.cast(x, tf.int32), [lambda: tf.constant(10), lambda: tf.constant(11)], default=lambda: tf.constant(12))
slope = tf.gradients(tf.cond(x > 0, lambda: x * x * x, lambda: -x), x)[0]
session = tf.Session()
session.run(tf.global_variables_initializer())
for value in (-3.0, 0.5, 20.0):
    print(session.run([pair, nested, chosen, ordered, slope], {x: value}))
print(session.run([switched], {x: 0.0}), session.run(switched, {x: 1.0}), session.run(switched, {x: 7.0}))
print(session.run(branch, {x: 3.0}), session.run(v), session.run(branch, {x: 3.0, is_training: False}), session.run(v))

printed = tf.Print(x, [x, tf.shape(x)], message="x is ", first_n=1, summarize=3)
print(session.run(printed + 1, {x: 4.0}))
checked = tf.Assert(tf.reduce_all(x > 0), [x], name="positive")
with tf.control_dependencies([checked, tf.assert_less(x, 100.0, message="too big")]):
    safe = tf.sqrt(x)
print(session.run(safe, {x: 9.0}))
for bad in (-1.0, 200.0):
    try:
        session.run(safe, {x: bad})
    except tf.errors.InvalidArgumentError as e:
        print("InvalidArgumentError", "assertion failed" in str(e), e.op.name.split("/")[0])
try:
    tf.assert_equal(tf.constant(1), tf.constant(2))
except tf.errors.InvalidArgumentError as e:
    print("static", type(e).__name__)


def numpy_part(a, b):
    return a.dot(b).astype(np.float32), b"text", np.int64(len(a))


product, text, length = tf.py_func(numpy_part, [tf.ones([2, 3]), tf.fill([3, 2], 2.0)], [tf.float32, tf.string, tf.int64])
product.set_shape([2, 2])
print(session.run([product, text, length]), product.shape, text.shape)


def fails(a):
    raise ValueError("from python")


try:
    session.run(tf.py_func(fails, [x], tf.float32), {x: 1.0})
except (tf.errors.InvalidArgumentError, tf.errors.UnknownError) as e:
    print(type(e).__name__, "from python" in str(e))
state = []
log = tf.py_func(lambda a: state.append(float(a)), [x], [], stateful=True)
session.run(log, {x: 5.0})
print(state)

counter = tf.Variable(0, trainable=False)
increment = tf.assign_add(counter, 1)
with tf.control_dependencies([increment]):
    after = counter.read_value()
session.run(counter.initializer)
reads = [session.run(after) for _ in range(3)]
print(reads)
both = tf.tuple([x + 1, x + 2], control_inputs=[increment])
print(session.run(both, {x: 1.0}), session.run(counter))
grouped = tf.group(increment, v.assign(7.0), name="all")
print(session.run(grouped), session.run([counter, v]), grouped.type, grouped.name)
print(session.run({"a": x, "b": [x * 2, (x, v)], "none": tf.no_op()}, {x: 1.5}))
sparse = session.run(tf.SparseTensor([[0, 1]], [2.0], [2, 2]))
print(sparse.indices.tolist(), sparse.values, sparse.dense_shape)
for bad in (lambda: session.run("nosuch:0"), lambda: session.run(x), lambda: session.run(v, {x: [1, 2]}), lambda: session.run(None)):
    try:
        bad()
    except (ValueError, TypeError, tf.errors.OpError) as e:
        print(type(e).__name__)
try:
    session.run(tf.Variable(3.0))
except tf.errors.FailedPreconditionError as e:
    print("FailedPreconditionError", "uninitialized" in str(e))
session.close()
try:
    session.run(v)
except RuntimeError as e:
    print("closed", type(e).__name__)
sys.stdout.flush()
