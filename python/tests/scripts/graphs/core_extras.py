# SPDX-License-Identifier: Apache-2.0
"""Tapes, functions, modules, critical sections, devices, checks of shapes, dense tables, CTC by dense labels."""

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


def tape():
    x = tf.constant([1., 2.])
    with tf.GradientTape(persistent=True) as t:
        t.watch(x); y = x * x; z = tf.reduce_sum(y * 3.)
    return t.gradient(y, x), t.gradient(z, [x, y])
show("tape", tape)
def jac():
    x = tf.constant([1., 2.])
    with tf.GradientTape() as t:
        t.watch(x); y = x * x
    return t.jacobian(y, x)
show("jac", jac)
def func():
    @tf.function
    def f(x, y=2.): return x * y, tf.reduce_sum(x)
    return f(tf.constant([1., 2.])), f(tf.constant([1., 3.]), 4.)
show("function", func)
class M(tf.Module):
    def __init__(self, name=None):
        super(M, self).__init__(name=name); self.w = tf.Variable(2., name="w"); self.subs = [tf.Variable(3.)]
    def __call__(self, x): return x * self.w + self.subs[0]
def mod():
    m = M("mm"); print([v.name for v in m.variables], m.name, len(m.trainable_variables), m.submodules)
    return m(3.)
show("module", mod)
def cs():
    c = tf.CriticalSection(); v = tf.Variable(0.)
    return c.execute(lambda: v.assign_add(1.).op and tf.identity(v + 1.))
show("critical", cs)
show("assert_shapes", lambda: (tf.debugging.assert_shapes([(tf.zeros([2, 3]), ("N", "M")), (tf.zeros([3]), ("M",))]), tf.constant(1))[1])
show("assert_shapes_bad", lambda: (tf.debugging.assert_shapes([(tf.zeros([2, 3]), ("N", "M")), (tf.zeros([4]), ("M",))]), tf.constant(1))[1])
print(tf.compat.dimension_value(tf.Dimension(3)), tf.compat.dimension_at_index(tf.TensorShape([1, 2]), 1).value)
print(tf.config.list_physical_devices("GPU"), tf.config.experimental.list_physical_devices("GPU"))
print(tf.executing_eagerly(), tf.executing_eagerly_outside_functions(), tf.control_flow_v2_enabled(), tf.resource_variables_enabled())
show("dense_table", lambda: (lambda t: [t.lookup([1, 2]), t.size()])(tf.lookup.experimental.DenseHashTable(tf.int64, tf.int64, default_value=-1, empty_key=-2, deleted_key=-3)))
def dht():
    t = tf.lookup.experimental.DenseHashTable(tf.int64, tf.int64, default_value=-1, empty_key=-2, deleted_key=-3)
    with tf.control_dependencies([t.insert(tf.constant([1], tf.int64), tf.constant([9], tf.int64))]): return t.lookup(tf.constant([1, 2], tf.int64))
show("dense_table2", dht)
show("volume", lambda: tf.shape(tf.extract_volume_patches(tf.zeros([1, 3, 3, 3, 1]), [1, 2, 2, 2, 1], [1, 1, 1, 1, 1], "VALID")))
show("conv_t", lambda: tf.shape(tf.nn.conv_transpose(tf.ones([1, 3, 3, 1]), tf.ones([2, 2, 1, 1]), [1, 6, 6, 1], 2)))
show("ctc2", lambda: tf.nn.ctc_loss_v2(tf.constant([[1, 2]]), tf.zeros([4, 1, 3]), [2], [4], blank_index=0))
show("ctc2s", lambda: tf.nn.ctc_loss_v2(tf.SparseTensor([[0, 0], [0, 1]], [0, 1], [1, 2]), tf.zeros([4, 1, 3]), None, [4], blank_index=2))
print(tf.version.GRAPH_DEF_VERSION_MIN_PRODUCER, isinstance(tf.float32.is_numpy_compatible, bool))
