# SPDX-License-Identifier: Apache-2.0
"""Every optimizer, dense and sparse, on both kinds of variables; decays; summed gradients; an optimizer of the program."""

import tensorflow as tf, numpy as np

T = tf.train


def run(mk, n=4, sparse=False, use_resource=False):
    with tf.Graph().as_default():
        tf.set_random_seed(1)
        w = tf.get_variable(
            "w", [4, 2], initializer=tf.random_uniform_initializer(-1, 1, seed=1), use_resource=use_resource
        )
        gs = T.get_or_create_global_step()
        x = tf.nn.embedding_lookup(w, [0, 2, 2]) if sparse else w
        loss = tf.reduce_sum(tf.square(x - tf.constant(0.3))) + tf.reduce_sum(tf.abs(x)) * 0.1
        op = mk()
        gv = op.compute_gradients(loss)
        g, nrm = tf.clip_by_global_norm([a for a, _ in gv], 1.0)
        tr = op.apply_gradients(zip(g, [v for _, v in gv]), global_step=gs)
        with tf.Session() as s:
            s.run(tf.global_variables_initializer())
            for _ in range(n):
                l, _ = s.run([loss, tr])
            print(
                type(op).__name__,
                sparse,
                "%.6f" % l,
                s.run(w).ravel(),
                s.run(gs),
                op.get_slot_names(),
                sorted((v.op.name for v in op.variables())),
                s.run(nrm),
            )


for sp in (0, 1):
    for ur in (0, 1):
        for mk in (
            lambda: T.GradientDescentOptimizer(0.1),
            lambda: T.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
            lambda: T.AdagradOptimizer(0.1),
            lambda: T.AdadeltaOptimizer(1.0),
            lambda: T.RMSPropOptimizer(0.1, momentum=0.5),
            lambda: T.RMSPropOptimizer(0.1, centered=True),
            lambda: T.AdamOptimizer(0.1, beta1=0.8, epsilon=0.1),
            lambda: T.FtrlOptimizer(
                0.1,
                l1_regularization_strength=0.01,
                l2_shrinkage_regularization_strength=0.1,
                learning_rate_power=-0.4,
            ),
            lambda: T.ProximalGradientDescentOptimizer(0.1, l1_regularization_strength=0.1),
            lambda: T.ProximalAdagradOptimizer(0.1, l2_regularization_strength=0.1),
            lambda: T.AdagradDAOptimizer(0.1, T.get_global_step(), l1_regularization_strength=0.01),
        ):
            run(mk, sparse=bool(sp), use_resource=bool(ur))
with tf.Graph().as_default():
    gs = tf.placeholder(tf.int32, [])
    f = [
        T.exponential_decay(0.1, gs, 10, 0.5, staircase=True),
        T.piecewise_constant(gs, [5, 10], [1.0, 0.5, 0.1]),
        T.polynomial_decay(0.1, gs, 20, 0.01, power=2.0, cycle=True),
        T.natural_exp_decay(0.1, gs, 5, 0.3),
        T.inverse_time_decay(0.1, gs, 5, 0.3, staircase=True),
        T.cosine_decay(0.1, gs, 20, alpha=0.1),
        T.cosine_decay_restarts(0.1, gs, 5),
        T.linear_cosine_decay(0.1, gs, 20),
        T.noisy_linear_cosine_decay(0.1, gs, 20, initial_variance=0.0),
    ]
    with tf.Session() as s:
        for k in (0, 5, 7, 12, 30):
            print(k, s.run(f, {gs: k}))
with tf.Graph().as_default():
    x = tf.placeholder(tf.float32, [])
    w = tf.Variable(2.0)
    op = T.AdamOptimizer(0.1)
    tv = tf.trainable_variables()
    acc = [tf.Variable(tf.zeros_like(v.initialized_value()), trainable=False) for v in tv]
    zero = [a.assign(tf.zeros_like(a)) for a in acc]
    gv = op.compute_gradients(x * w * w, tv)
    ac = [a.assign_add(g) for a, (g, _) in zip(acc, gv)]
    st = op.apply_gradients([(a, v) for a, v in zip(acc, tv)])
    ema = T.ExponentialMovingAverage(0.9, num_updates=tf.constant(3))
    mo = ema.apply([w])
    av = ema.average(w)
    print(ema.average_name(w), sorted(ema.variables_to_restore()))
    with tf.Session() as s:
        s.run(tf.global_variables_initializer())
        s.run(zero)
        for k in (1.0, 2.0, 3.0):
            s.run(ac, {x: k})
        print(s.run(acc))
        s.run(st)
        s.run(mo)
        print(s.run([w, av]))
    print(
        T.Optimizer.GATE_NONE, T.Optimizer.GATE_OP, T.Optimizer.GATE_GRAPH, op.get_name(), op.get_slot(w, "m").op.name
    )

    class My(T.Optimizer):

        def __init__(self, lr=0.1, use_locking=False, name="My"):
            super().__init__(use_locking, name)
            self._lr = lr

        def _prepare(self):
            self._lr_t = tf.convert_to_tensor(self._lr)

        def _create_slots(self, vs):
            for v in vs:
                self._zeros_slot(v, "z", self._name)

        def _apply_dense(self, grad, var):
            z = self.get_slot(var, "z")
            zt = z.assign(0.5 * z + grad)
            return tf.group(tf.assign_sub(var, self._lr_t * zt), zt)

        def _apply_sparse(self, grad, var):
            raise NotImplementedError

    mt = My().minimize(
        w * w,
        aggregation_method=tf.AggregationMethod.EXPERIMENTAL_TREE,
        colocate_gradients_with_ops=True,
        gate_gradients=2,
    )
    with tf.Session() as s:
        s.run(tf.global_variables_initializer())
        for _ in range(3):
            s.run(mt)
        print(s.run(w), mt.name)
