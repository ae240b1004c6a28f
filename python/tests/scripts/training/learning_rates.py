# SPDX-License-Identifier: Apache-2.0
"""Every schedule and every optimizer on one small problem, with slots, clipping and gradient noise."""
import numpy as np
import tensorflow as tf

step = tf.Variable(0, trainable=False, dtype=tf.int64, name="global_step")
schedules = [
    ("exponential", tf.train.exponential_decay(0.1, step, 10, 0.5)),
    ("staircase", tf.train.exponential_decay(0.1, step, 10, 0.5, staircase=True)),
    ("natural", tf.train.natural_exp_decay(0.1, step, 10, 0.5)),
    ("inverse", tf.train.inverse_time_decay(0.1, step, 10, 0.5)),
    ("polynomial", tf.train.polynomial_decay(0.1, step, 20, 0.01, power=2.0)),
    ("cycle", tf.train.polynomial_decay(0.1, step, 8, 0.01, cycle=True)),
    ("cosine", tf.train.cosine_decay(0.1, step, 20, alpha=0.1)),
    ("restarts", tf.train.cosine_decay_restarts(0.1, step, 6, t_mul=2.0, m_mul=0.8)),
    ("linear cosine", tf.train.linear_cosine_decay(0.1, step, 20)),
    ("piecewise", tf.train.piecewise_constant(step, [5, 15], [0.1, 0.05, 0.01])),
]
warm = tf.cond(step < 5, lambda: 0.02 * tf.cast(step + 1, tf.float32), lambda: schedules[0][1])
with tf.Session() as sess:
    sess.run(step.initializer)
    for n in (0, 3, 7, 15, 30):
        sess.run(step.assign(n))
        print(n, [float("%.5f" % v) for v in sess.run([s for _, s in schedules] + [warm])])

optimizers = [
    ("sgd", lambda: tf.train.GradientDescentOptimizer(0.1)), ("momentum", lambda: tf.train.MomentumOptimizer(0.05, 0.9)),
    ("nesterov", lambda: tf.train.MomentumOptimizer(0.05, 0.9, use_nesterov=True)),
    ("adagrad", lambda: tf.train.AdagradOptimizer(0.3)), ("adadelta", lambda: tf.train.AdadeltaOptimizer(1.0)),
    ("rmsprop", lambda: tf.train.RMSPropOptimizer(0.05, momentum=0.5)),
    ("centered", lambda: tf.train.RMSPropOptimizer(0.05, centered=True)), ("adam", lambda: tf.train.AdamOptimizer(0.1)),
    ("ftrl", lambda: tf.train.FtrlOptimizer(0.3, l1_regularization_strength=0.01)),
    ("proximal", lambda: tf.train.ProximalGradientDescentOptimizer(0.1, 0.001, 0.001)),
    ("proximal adagrad", lambda: tf.train.ProximalAdagradOptimizer(0.3, l2_regularization_strength=0.01)),
]
rs = np.random.RandomState(0)
A = rs.randn(10, 3).astype(np.float32)
target = A.dot([[1.0], [-2.0], [0.5]]).astype(np.float32)
for name, make in optimizers:
    with tf.Graph().as_default(), tf.Session() as sess:
        w = tf.get_variable("w", initializer=np.zeros([3, 1], np.float32))
        table = tf.get_variable("table", initializer=np.ones([4, 1], np.float32))
        gs = tf.train.get_or_create_global_step()
        loss = tf.reduce_mean(tf.square(tf.matmul(A, w) - target)) + tf.reduce_sum(tf.square(tf.nn.embedding_lookup(table, [1, 1, 3])))
        opt = make()
        grads_and_vars = opt.compute_gradients(loss)
        kinds = [isinstance(g, tf.IndexedSlices) for g, _ in grads_and_vars]
        clipped = [(tf.clip_by_norm(g, 5.0), v) for g, v in grads_and_vars]
        train = opt.apply_gradients(clipped, global_step=gs)
        sess.run(tf.global_variables_initializer())
        for _ in range(15):
            value, _ = sess.run([loss, train])
        print("%s: %.5f %s %s %s %d" % (name, value, opt.get_slot_names(), kinds, [v.op.name for v in tf.global_variables()
                                                                                  if v not in (w, table)], sess.run(gs)))
        print("   ", sess.run(w).ravel(), sess.run(table).ravel())
