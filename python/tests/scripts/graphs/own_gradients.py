# SPDX-License-Identifier: Apache-2.0
"""Gradients of the program's own: py_func, overrides, custom_gradient, functions; assigning to slices."""

import tensorflow as tf, numpy as np
from tensorflow.python.framework import ops


def py_func(func, inp, Tout, stateful=True, name=None, grad=None):
    rnd = "PyFuncGrad" + str(np.random.randint(0, 100000000.0))
    tf.RegisterGradient(rnd)(grad)
    g = tf.get_default_graph()
    with g.gradient_override_map({"PyFunc": rnd}):
        return tf.py_func(func, inp, Tout, stateful=stateful, name=name)


def sq(x):
    return np.square(x).astype(np.float32)


def sg(op, grad):
    return grad * 20 * op.inputs[0]


x = tf.constant([1.0, 2.0])
y = py_func(sq, [x], [tf.float32], name="my", grad=sg)
print(y[0].op.name, y[0].shape)


@tf.RegisterGradient("ClipG")
def _c(op, g):
    return tf.clip_by_value(g, -0.1, 0.1)


with tf.get_default_graph().gradient_override_map({"Identity": "ClipG"}):
    z = tf.identity(x * 5)


@tf.custom_gradient
def lg(x):
    e = tf.exp(x)

    def grad(dy):
        return dy * (1 - 1 / (1 + e))

    return (tf.log(1 + e), grad)


@tf.custom_gradient
def withv(x):
    with tf.variable_scope("cg", use_resource=True):
        v = tf.get_variable("v", initializer=3.0)

    def grad(dy, variables=None):
        return (dy * 2, [dy * 7 for _ in variables])

    return (x * v, grad)


from tensorflow.python.framework import function


@function.Defun(tf.float32, tf.float32, func_name="MyF")
def fn(a, b):
    return a * b + 1.0


@function.Defun(tf.float32, tf.float32)
def fg(a, dy):
    return dy * 100.0


@function.Defun(tf.float32, grad_func=fg)
def f2(a):
    return a + 2.0


@tf.grad_pass_through
def rnd(x):
    return tf.round(x)


@tf.recompute_grad
def rc(x):
    return tf.sin(x)


lv = withv(tf.constant(2.0))
with tf.Session() as s:
    s.run(tf.global_variables_initializer())
    print(s.run(y), s.run(tf.gradients(y, x)), s.run(tf.gradients(z, x)), s.run([lg(x), tf.gradients(lg(x), x)[0]]))
    print(s.run([lv] + tf.gradients(lv, tf.trainable_variables())))
    print(
        s.run(fn(x, x)),
        s.run(tf.gradients(fn(x, 2 * x), x)),
        s.run(tf.gradients(f2(x), x)),
        s.run(tf.gradients(rnd(x * 1.7), x)),
        s.run(tf.gradients(rc(x), x)),
    )
    with tf.variable_scope("rcs", use_resource=True):

        @tf.recompute_grad
        def lay(x):
            with tf.variable_scope("", reuse=tf.AUTO_REUSE):
                return tf.sin(x * tf.get_variable("k", [2], initializer=tf.constant_initializer([0.5, 2.0])))

        yy = lay(x)
    s.run(tf.global_variables_initializer())
    kk = [v for v in tf.trainable_variables() if v.op.name.endswith("/k")]
    print(kk[0].name, s.run(tf.gradients(yy, [x] + kk)))

    def multi(a, b):
        return (a + b, str(a.shape).encode(), np.int64(3))

    print(s.run(tf.py_func(multi, [x, tf.ones([2])], [tf.float32, tf.string, tf.int64])))
    print(
        s.run(tf.py_func(lambda: np.float64(2.5), [], tf.float64)),
        s.run(tf.numpy_function(lambda a: a * 2, [x], tf.float32)),
    )

    def bad(a):
        raise ValueError("in py")

    for ex in (
        ValueError("v"),
        KeyError("k"),
        StopIteration(),
        NotImplementedError("n"),
        MemoryError("m"),
        RuntimeError("r"),
        TypeError("t"),
    ):

        def bad(a, ex=ex):
            raise ex

        try:
            s.run(tf.py_func(bad, [x], tf.float32))
        except Exception as e:
            print(type(e).__name__)
    try:
        s.run(tf.py_func(lambda a: a.astype(np.int64), [x], tf.float32))
    except Exception as e:
        print(type(e).__name__)
    print(tf.test.compute_gradient_error(x, [2], tf.square(x), [2]) < 0.001)
    v = tf.Variable([[1.0, 2.0], [3.0, 4.0]], name="v")
    r = tf.get_variable("r", initializer=[1.0, 2.0, 3.0], use_resource=True)
    s.run(tf.global_variables_initializer())
    print(
        s.run(v[0, 1:].assign([9.0])),
        s.run(r[::2].assign([7.0, 8.0])),
        s.run(tf.strided_slice(v, [1], [2], [1], var=v, name="part").assign([[5.0, 5.0]])),
        v[1].assign([0.0, 0.0], name="nm").name,
    )
