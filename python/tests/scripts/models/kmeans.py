# SPDX-License-Identifier: Apache-2.0
"""k-means and fixed points with while_loop, TensorArray, scan, map_fn and foldl; segment sums; nested loops and gradients."""
import numpy as np
import tensorflow as tf

rs = np.random.RandomState(4)
true = np.array([[0, 0], [5, 5], [-5, 4]], np.float32)
points = np.concatenate([c + rs.randn(30, 2).astype(np.float32) for c in true])
N, K = len(points), 3

data = tf.constant(points)
start = tf.constant(points[[0, 40, 70]] + 0.5)


def assign_to(centroids):
    distances = tf.reduce_sum(tf.square(tf.expand_dims(data, 0) - tf.expand_dims(centroids, 1)), 2)
    return tf.argmin(distances, 0)


def body(i, centroids, history, moved):
    ids = assign_to(centroids)
    totals = tf.unsorted_segment_sum(data, ids, K)
    counts = tf.unsorted_segment_sum(tf.ones([N, 1]), ids, K)
    new = totals / tf.maximum(counts, 1.0)
    moved = tf.reduce_max(tf.norm(new - centroids, axis=1))
    return i + 1, new, history.write(i, moved), moved


history = tf.TensorArray(tf.float32, size=0, dynamic_size=True, clear_after_read=False)
i, centroids, history, moved = tf.while_loop(lambda i, c, h, m: tf.logical_and(i < 20, m > 1e-4), body,
                                             [tf.constant(0), start, history, tf.constant(1e9)], parallel_iterations=1)
with tf.Session() as sess:
    n, c, h = sess.run([i, centroids, history.stack()])
    print("iterations", n, "movement", h)
    print(c[c[:, 0].argsort()])
    print(np.bincount(sess.run(assign_to(centroids))))

    # The same with variables and a Python loop.
    variable = tf.Variable(start)
    ids = tf.Variable(tf.zeros([N], tf.int64))
    new_ids = assign_to(variable)
    means = tf.concat([tf.reduce_mean(tf.gather(data, tf.reshape(tf.where(tf.equal(ids, k)), [-1])), [0], keep_dims=True)
                       for k in range(K)], 0)
    changed = tf.reduce_any(tf.not_equal(new_ids, ids))
    with tf.control_dependencies([changed]):
        update = tf.group(variable.assign(means), ids.assign(new_ids))
    sess.run(tf.global_variables_initializer())
    sess.run(ids.assign(new_ids))
    for step in range(10):
        sess.run(update)
    print(np.allclose(np.sort(sess.run(variable), 0), np.sort(c, 0), atol=1e-3))

    x = tf.constant(3.0)
    root = tf.while_loop(lambda r: tf.abs(r * r - x) > 1e-5, lambda r: 0.5 * (r + x / r), [x])
    print(sess.run(root), sess.run(tf.gradients(root, x)))
    w = tf.constant([[0.5, 0.1], [-0.2, 0.7]])
    power = tf.while_loop(lambda i, m: i < 3, lambda i, m: (i + 1, tf.matmul(m, w)), [0, tf.eye(2)])[1]
    print(sess.run([power, tf.gradients(power, w)[0]]))
    table = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, tf.while_loop(
        lambda j, b: j < 2, lambda j, b: (j + 1, b + tf.cast(i * 2 + j, tf.float32) * x), [0, a])[1]), [0, tf.constant(0.0)])[1]
    print(sess.run([table, tf.gradients(table, x)[0]]))
    elems = np.arange(1, 6, dtype=np.float32)
    print(sess.run(tf.scan(lambda a, e: a * 0.5 + e, elems)), sess.run(tf.foldl(lambda a, e: a + e, elems)),
          sess.run(tf.foldr(lambda a, e: a - e, elems)))
    print(sess.run(tf.map_fn(lambda t: (t[0] + t[1], t[0] * t[1]), (elems, elems[::-1].copy()), dtype=(tf.float32, tf.float32))))
    fib = tf.scan(lambda a, _: (a[1], a[0] + a[1]), tf.zeros([8]), initializer=(0, 1))
    print(sess.run(fib)[0])
    grow = tf.while_loop(lambda v: tf.shape(v)[0] < 5, lambda v: tf.concat([v, v[-1:] * 2], 0), [tf.constant([1])],
                         shape_invariants=[tf.TensorShape([None])])
    print(sess.run(grow), grow.shape)
    ta = tf.TensorArray(tf.float32, 3, element_shape=[2], clear_after_read=False).unstack(points[:3])
    print(sess.run([ta.read(1), ta.gather([2, 0]), ta.size()]))
