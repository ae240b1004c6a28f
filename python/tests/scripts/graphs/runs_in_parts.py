# SPDX-License-Identifier: Apache-2.0
"""Steps that are run in parts, structures of fetches, callables, feeds that do not fit, sessions that are closed."""

from collections import OrderedDict, namedtuple

import numpy as np
import tensorflow as tf


def show(name, fn):
    try:
        r = fn()
        print(name, r)
    except (TypeError, ValueError, RuntimeError, tf.errors.OpError) as e:
        print(name, "raised", type(e).__name__)


# partial runs
a = tf.placeholder(tf.float32, shape=[], name="a")
b = tf.placeholder(tf.float32, shape=[], name="b")
c = tf.placeholder(tf.float32, shape=[], name="c")
r1 = tf.add(a, b, name="r1")
r2 = tf.multiply(r1, c, name="r2")
with tf.Session() as sess:
    h = sess.partial_run_setup([r1, r2], [a, b, c])
    print(sess.partial_run(h, r1, feed_dict={a: 1, b: 2}))
    print(sess.partial_run(h, r2, feed_dict={c: 17}))
    show("again", lambda: sess.partial_run(h, r2, feed_dict={c: 1}))
    h = sess.partial_run_setup([r1, r2], [a, b, c])
    show("unfed", lambda: sess.partial_run(h, r2, feed_dict={c: 1}))
    show("not set up", lambda: sess.partial_run(h, r1, feed_dict={"nope:0": 1}))
    show("empty", lambda: sess.partial_run_setup([], [a]))
    show("no feeds", lambda: sess.partial_run(sess.partial_run_setup([tf.constant(3.0) * 2]), []))

# fetch structures
P = namedtuple("P", "x y")
with tf.Session() as sess:
    out = sess.run({"p": P(r1, [r2, {"z": a}]), "o": OrderedDict([("q", b)]), "t": (c,)}, {a: 1, b: 2, c: 3})
    print(sorted(out), out["p"].x, out["p"].y[0], out["p"].y[1]["z"], out["o"], out["t"])
    show("none fetch", lambda: sess.run(None))
    show("int fetch", lambda: sess.run(3))
    show("str fetch", lambda: sess.run("r1:0", {a: 1, b: 2}))
    show("op by name", lambda: sess.run("r1", {a: 1, b: 2}))
    show("missing name", lambda: sess.run("zz:0"))
    show("bad feed shape", lambda: sess.run(r1, {a: [1, 2], b: 1}))
    show("bad feed type", lambda: sess.run(r1, {a: "x", b: 1}))
    show("feed key", lambda: sess.run(r1, {3: 1}))
    show("feed tensor", lambda: sess.run(r1, {a: tf.constant(1.0), b: 1}))
    show("feed not dict", lambda: sess.run(r1, [1]))
    f = sess.make_callable([r1, r2], feed_list=[a, b, c])
    print([float(v) for v in f(1, 2, 3)])
    show("callable arity", lambda: f(1, 2))
    sp = tf.sparse_placeholder(tf.float32, shape=[2, 3])
    print(sess.run(tf.sparse_tensor_to_dense(sp), {sp: ([[0, 1], [1, 2]], [5.0, 6.0], [2, 3])}))
    v = sess.run(sp, {sp: tf.SparseTensorValue([[0, 1]], [5.0], [2, 3])})
    print(type(v).__name__, v.indices.tolist(), v.values.tolist(), v.dense_shape.tolist())
    big = tf.placeholder(tf.int32, [None, 2])
    print(sess.run(tf.reduce_sum(big, 0), {big: np.ones((3, 2), np.int64)}))
sess2 = tf.Session()
sess2.close()
show("closed", lambda: sess2.run(a, {a: 1}))
g2 = tf.Graph()
with g2.as_default():
    z = tf.constant(1)
with tf.Session() as s:
    show("other graph", lambda: s.run(z))
show("no default", lambda: z.eval())
with tf.Session(graph=g2).as_default():
    print(z.eval())
tf.reset_default_graph()
i = tf.InteractiveSession()
x = tf.Variable([1.0, 2.0], name="x")
i.run(tf.global_variables_initializer())
print(x.eval(), tf.identity(x).eval())
x.initializer.run()
print(x.assign_add([1.0, 1.0]).eval())
print(tf.report_uninitialized_variables().eval())
y = tf.Variable(3.0, name="y")
print(tf.report_uninitialized_variables().eval())
show("uninit", lambda: y.eval())
i.close()
