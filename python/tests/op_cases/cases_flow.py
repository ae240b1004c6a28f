# SPDX-License-Identifier: Apache-2.0
"""Branches, loops, order, checks, random values."""
import numpy as np
from cases_math import A, B, c, fed, grads, k


def loop(tf):
    return tf.while_loop(lambda i, x: i < 4, lambda i, x: (i + 1, x * 2.0), [tf.constant(0), c(tf)])


def loop_single(tf):
    return tf.while_loop(lambda i: tf.less(i, 10), lambda i: tf.add(i, 3), [tf.constant(0)])


def loop_grad(tf):
    x = c(tf)
    _, y = tf.while_loop(lambda i, y: i < 3, lambda i, y: [i + 1, tf.tanh(y) * x], [0, x])
    return tf.gradients(y, x)


def loop_shapes(tf):
    return tf.while_loop(lambda i, x: i < 3, lambda i, x: [i + 1, tf.concat([x, [tf.to_float(i)]], 0)],
                         [tf.constant(0), tf.constant([9.0])], shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])])


def loop_array(tf):
    ta = tf.TensorArray(tf.float32, size=3)
    _, ta = tf.while_loop(lambda i, t: i < 3, lambda i, t: (i + 1, t.write(i, tf.to_float(i) * 2.0)), [0, ta])
    return ta.stack()


def loop_limit(tf):
    return [tf.while_loop(lambda i, s: i < 100, lambda i, s: [i + 1, s + i], [0, 0], maximum_iterations=4),
            tf.while_loop(lambda i, j: i < 100, lambda i, j: [i + 1, j], [0, 1],
                          maximum_iterations=fed(tf, 7, [], tf.int32))]


def nested(tf):
    inner = lambda i: tf.while_loop(lambda j, s: j < i, lambda j, s: (j + 1, s + j), [0, 0])[1]
    return tf.while_loop(lambda i, s: i < 5, lambda i, s: (i + 1, s + inner(i)), [0, 0])


def arrays(tf):
    ta = tf.TensorArray(tf.float32, 2).unstack(c(tf))
    tb = tf.TensorArray(tf.float32, 2, infer_shape=False).split(tf.constant([1.0, 2.0, 3.0]), [1, 2])
    tc = tf.TensorArray(tf.float32, 0, dynamic_size=True, clear_after_read=False).write(1, 5.0).write(0, 4.0)
    return [ta.read(1), tb.concat(), tc.stack(), tc.size(), ta.size(), tc.gather([1])]


def cond_grad(tf):
    x = c(tf)
    return tf.gradients(tf.cond(tf.reduce_sum(x) > 0, lambda: x * x, lambda: -x), x)


def grouped(tf):
    op = tf.group(c(tf), tf.no_op(name="n"), name="g")
    with tf.control_dependencies([op]):
        return tf.identity(A)


def asserted(tf):
    x = fed(tf, A, [None, 3])
    checks = [tf.assert_equal(x, x), tf.assert_less(x, 100.0), tf.assert_rank(x, 2), tf.assert_positive(tf.abs(x)),
              tf.assert_non_negative(tf.abs(x)), tf.assert_less_equal(x, x), tf.assert_greater(x, -100.0),
              tf.assert_greater_equal(x, x), tf.assert_negative(x - 100.0), tf.assert_non_positive(x - 100.0),
              tf.assert_none_equal(x, 99.0), tf.assert_near(x, x), tf.assert_rank_at_least(x, 1),
              tf.assert_rank_in(x, (2, 3)),
              tf.assert_integer(3), tf.assert_type(x, tf.float32), tf.Assert(True, [x])]
    with tf.control_dependencies(checks):
        return tf.identity(x)


def case(tf):
    x = fed(tf, 2, [], tf.int32)
    return [tf.case([(tf.less(x, 1), lambda: 10), (tf.less(x, 3), lambda: 20)], default=lambda: 30),
            tf.case({tf.equal(x, 2): lambda: tf.constant(1.0), tf.equal(x, 3): lambda: tf.constant(2.0)}, exclusive=True)]


def seeded(tf):
    tf.set_random_seed(7)
    return [tf.random_uniform([3]), tf.random_normal([2, 2], 1.0, 2.0), tf.truncated_normal([3]),
            tf.random_uniform([2], 0, 10, tf.int32), tf.random_shuffle([1, 2, 3, 4]), tf.random_uniform([2], seed=3),
            tf.multinomial([[0.1, 2.0, 0.5]], 4)]


def initialized(tf, fetches):
    with tf.control_dependencies(None):
        tf.get_default_graph()._golden_init = tf.global_variables_initializer()
    return fetches


def assign_in_loop(tf):
    v = tf.Variable(0)

    def body(i):
        with tf.control_dependencies([tf.assign_add(v, i)]):
            return i + 1
    end = tf.while_loop(lambda i: i < 5, body, [tf.constant(0)])
    with tf.control_dependencies([end]):
        return initialized(tf, [v.read_value()])


def assign_in_branch(tf):
    v = tf.Variable(1.0)
    taken = tf.cond(tf.constant(True), lambda: tf.assign_add(v, 10.0), lambda: tf.assign_sub(v, 1.0))
    with tf.control_dependencies([taken]):
        return initialized(tf, v.read_value())


def branch_on_variable(tf):
    v, x = tf.Variable(2.0), tf.constant(3.0)
    y = tf.cond(v > 1.0, lambda: v * x, lambda: x)
    return initialized(tf, [y] + tf.gradients(y, [v, x]))


def weights_in_loop(tf):
    w, x = tf.Variable(np.eye(3, dtype=np.float32) * 0.5), c(tf)
    _, y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.tanh(tf.matmul(y, w))), [0, x])
    return initialized(tf, [y] + tf.gradients(y, [w, x]))


def array_of_unknown_size(tf):
    x = fed(tf, [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [None, 2])
    n = tf.shape(x)[0]
    array = tf.TensorArray(tf.float32, size=n)
    _, array = tf.while_loop(lambda i, t: i < n, lambda i, t: (i + 1, t.write(i, tf.reduce_sum(x[i]))), [0, array])
    sums = array.stack()
    return [sums] + tf.gradients(sums, x)


def branch_in_map(tf):
    x = fed(tf, [1.0, -2.0, 3.0], [None])
    mapped = tf.map_fn(lambda v: tf.cond(v > 0, lambda: v * 2.0, lambda: -v), x)
    total = tf.scan(lambda a, v: a + v, mapped)
    return [mapped, total] + tf.gradients(total, x)


CASES = {
    "assign_in_loop": assign_in_loop, "assign_in_branch": assign_in_branch, "branch_on_variable": branch_on_variable,
    "weights_in_loop": weights_in_loop, "array_of_unknown_size": array_of_unknown_size, "branch_in_map": branch_in_map,
    "cond": lambda tf: tf.cond(fed(tf, True, [], tf.bool), lambda: tf.add(c(tf), 1.0), lambda: tf.constant(B)),
    "cond_list": lambda tf: tf.cond(tf.constant(False), lambda: [1, 2.0], lambda: [3, 4.0]),
    "cond_tuple": lambda tf: tf.cond(tf.constant(False), lambda: (c(tf), {"b": 2}), lambda: (tf.constant(B), {"b": 3})),
    "cond_ops": lambda tf: tf.cond(tf.constant(True), lambda: tf.no_op(), lambda: tf.no_op()),
    "cond_old": lambda tf: tf.cond(tf.constant(True), fn1=lambda: 1, fn2=lambda: 2),
    "cond_grad": cond_grad, "cond_nested": lambda tf: tf.cond(tf.constant(True), lambda: tf.cond(
        tf.constant(False), lambda: 1, lambda: 2), lambda: 3),
    "loop": loop, "loop_single": loop_single, "loop_grad": loop_grad, "loop_shapes": loop_shapes, "loop_array": loop_array,
    "loop_limit": loop_limit, "loop_nested": nested, "tensor_array": arrays, "group": grouped, "asserts": asserted,
    "case": case,
    "loop_structure": lambda tf: tf.while_loop(lambda i, s: i < 3, lambda i,
                                               s: (i + 1, {"a": s["a"] + 1, "b": (s["b"][0] * 2,)}),
                                               (0, {"a": 1, "b": (2,)})),
    "map_fn": lambda tf: [tf.map_fn(lambda x: x * 2.0, c(tf)),
                          tf.map_fn(lambda x: (x[0] + x[1], x[0]), (c(tf), tf.constant(B))),
                          tf.map_fn(lambda x: tf.to_int32(x[0]), c(tf), dtype=tf.int32)],
    "fold": lambda tf: [tf.foldl(lambda a, x: a + x, c(tf)), tf.foldr(lambda a, x: a - x, k(tf, [1, 2, 3])),
                        tf.foldl(lambda a, x: a * 2 + x, k(tf, [1, 2, 3]), initializer=10)],
    "scan": lambda tf: [tf.scan(lambda a, x: a + x, k(tf, [1, 2, 3])), tf.scan(lambda a, x: a + x, c(tf), tf.zeros([3])),
                        tf.scan(lambda a, x: a - x, k(tf, [1, 2, 3]), reverse=True),
                        tf.scan(lambda a, x: (a[0] + x, a[1] * x), k(tf, [1, 2, 3]), (0, 1))],
    "scan_grad": lambda tf: grads(tf, lambda x: tf.scan(lambda a, v: a * v, x), A),
    "map_grad": lambda tf: grads(tf, lambda x: tf.map_fn(lambda v: v * v, x), A),
    "random": seeded,
    "random_more": lambda tf: [tf.random_crop(c(tf), [1, 2], seed=1), tf.random_uniform([2], -1.0, 1.0, seed=1),
                               tf.random.stateless_uniform([2], [1, 2]), tf.random.stateless_normal([2], [1, 2])],
    "random_gen": lambda tf: [tf.random.normal([2], seed=4), tf.random.uniform([2], seed=4),
                              tf.random.shuffle([1, 2, 3], seed=2),
                              tf.random.truncated_normal([2], seed=4), tf.random.categorical([[1.0, 2.0]], 3, seed=4)],
    "is_increasing": lambda tf: [tf.is_non_decreasing([1, 1, 2]), tf.is_strictly_increasing([1, 1, 2])],
    "py_func": lambda tf: [tf.py_func(lambda x, y: x + y, [c(tf), tf.constant(B)], tf.float32),
                           tf.py_func(lambda x: (x.sum(), x.max()), [c(tf)], [tf.float32, tf.float32])],
    "error_cond_bool": lambda tf: tf.cond(True, lambda: 1, lambda: 2),
    "error_cond_fn": lambda tf: tf.cond(tf.constant(True), 1, 2),
    "error_cond_types": lambda tf: tf.cond(tf.constant(True), lambda: 1, lambda: 2.0),
    "error_loop_vars": lambda tf: tf.while_loop(lambda: True, lambda: 1, []),
    "error_loop_shape": lambda tf: tf.while_loop(lambda x: True, lambda x: tf.concat([x, x], 0), [tf.constant([1.0])]),
    "error_assert": lambda tf: tf.assert_equal(tf.constant(1), 2), "error_rank": lambda tf: tf.assert_rank(A, 3),
    "error_assert_run": lambda tf: tf.assert_less(fed(tf, A, [2, 3]), 0.0),
    "error_integer": lambda tf: tf.assert_integer(1.5),
    "error_group": lambda tf: tf.group(None), "error_map": lambda tf: tf.map_fn(3, A),
    "error_body": lambda tf: tf.while_loop(
        lambda x: True, lambda x: 1 / 0, [1]),
}
OTHER_NODES = {k for k in CASES if k not in ("group", "random", "random_gen")} - {"cond"}
OTHER_ERRORS = {"error_map"}
