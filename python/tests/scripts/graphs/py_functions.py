# SPDX-License-Identifier: Apache-2.0
"""Python functions in graphs: arrays, tensors with values, their gradients."""

import tensorflow as tf, numpy as np

np.set_printoptions(precision=5, suppress=True)


def show(name, f):
    tf.reset_default_graph()
    tf.set_random_seed(7)
    try:
        fetched = f()
        with tf.Session() as s:
            s.run([tf.global_variables_initializer(), tf.local_variables_initializer(), tf.tables_initializer()])
            print(name, s.run(fetched))
    except Exception as e:
        print(name, type(e).__name__)


show("py_func", lambda: tf.py_func(lambda a, b: (a + b, str(a[0]).encode()), [tf.constant([1.0, 2.0]), tf.constant([1.0, 1.0])], [tf.float32, tf.string]))
show("py_function", lambda: tf.py_function(lambda x: x.numpy() * 2, [tf.constant([1.0, 2.0])], tf.float32))
show("several", lambda: tf.py_function(lambda x, y: (tf.reduce_sum(x), y.numpy().decode() + "!"), [tf.constant([1.0, 2.0]), tf.constant("s")], [tf.float32, tf.string]))


def gradient():
    x = tf.constant([1.0, 2.0])
    w = tf.Variable(3.0)
    y = tf.py_function(lambda v, k: v * v * k, [x, w], tf.float32)
    return y, tf.gradients(y, [x, w], grad_ys=tf.constant([1.0, 10.0]))


def branches(x):
    total = 0.0
    for row in x:
        if row[0] > 1:
            total += float(tf.reduce_sum(row))
    return np.float32(total * len(x))


show("gradient", gradient)
show("branches", lambda: tf.py_function(branches, [tf.constant([[1.0, 2.0], [3.0, 4.0]])], tf.float32))
show("nothing", lambda: tf.py_function(lambda: None, [], []))
show("wrong_type", lambda: tf.py_function(lambda x: tf.cast(x, tf.int32), [1.0], tf.float32))
show("raises", lambda: tf.py_function(lambda x: x.no_such_thing, [1.0], tf.float32))
show("random", lambda: tf.py_function(lambda x: tf.cast(tf.reduce_all(tf.equal(x + tf.zeros([3]), x)), tf.float32), [tf.random_uniform([3])], tf.float32))


def twice():
    def f(x):
        r = tf.random.uniform([2])
        return tf.reduce_sum(tf.abs(r.numpy() - r))
    return tf.py_function(f, [1.0], tf.float32)


show("same_value", twice)
show("in_data", lambda: tf.data.make_one_shot_iterator(tf.data.Dataset.range(3).map(lambda x: tf.py_function(lambda v: v * 2, [x], tf.int64))).get_next())
