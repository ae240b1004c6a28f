# SPDX-License-Identifier: Apache-2.0
"""Batch normalization three ways, moving averages of variables, restoring the averages with a Saver."""
import os
import shutil
import tempfile

import numpy as np
import tensorflow as tf

folder = tempfile.mkdtemp()
rs = np.random.RandomState(6)


def batch_norm(x, n_out, phase_train, scope="bn"):
    """By hand, with ExponentialMovingAverage and tf.cond, the well-known answer of a forum."""
    with tf.variable_scope(scope):
        beta = tf.Variable(tf.constant(0.0, shape=[n_out]), name="beta", trainable=True)
        gamma = tf.Variable(tf.constant(1.0, shape=[n_out]), name="gamma", trainable=True)
        batch_mean, batch_var = tf.nn.moments(x, [0, 1, 2], name="moments")
        ema = tf.train.ExponentialMovingAverage(decay=0.5)

        def mean_var_with_update():
            ema_apply_op = ema.apply([batch_mean, batch_var])
            with tf.control_dependencies([ema_apply_op]):
                return tf.identity(batch_mean), tf.identity(batch_var)

        mean, var = tf.cond(phase_train, mean_var_with_update, lambda: (ema.average(batch_mean), ema.average(batch_var)))
        return tf.nn.batch_normalization(x, mean, var, beta, gamma, 1e-3)


with tf.Graph().as_default(), tf.Session() as sess:
    x = tf.placeholder(tf.float32, [None, 3, 3, 2])
    phase = tf.placeholder(tf.bool, [], name="phase_train")
    y = batch_norm(x, 2, phase)
    sess.run(tf.global_variables_initializer())
    batches = [rs.rand(4, 3, 3, 2) * (k + 1) for k in range(3)]
    for b in batches:
        print(np.abs(sess.run(y, {x: b, phase: True})).sum())
    print(np.abs(sess.run(y, {x: batches[0], phase: False})).sum())
    print(sorted(v.name for v in tf.global_variables()))

with tf.Graph().as_default():
    tf.set_random_seed(2)
    x = tf.placeholder(tf.float32, [None, 4])
    training = tf.placeholder(tf.bool)
    h = tf.layers.dense(x, 6, use_bias=False)
    h = tf.layers.batch_normalization(h, training=training, momentum=0.7)
    h = tf.nn.relu(h)
    h = tf.layers.batch_normalization(h, training=training, renorm=False, scale=False, name="second")
    y = tf.layers.dense(h, 1)
    t = tf.placeholder(tf.float32, [None, 1])
    loss = tf.losses.mean_squared_error(t, y)
    update_ops = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    step = tf.Variable(0, trainable=False, name="global_step")
    with tf.control_dependencies(update_ops):
        train_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=step)
    ema = tf.train.ExponentialMovingAverage(0.9, num_updates=step)
    with tf.control_dependencies([train_op]):
        train = ema.apply(tf.trainable_variables())
    print(len(update_ops), [v.name for v in tf.global_variables() if "moving" in v.name])
    print(ema.average_name(tf.trainable_variables()[0]), len(tf.moving_average_variables()))
    saver = tf.train.Saver()
    data = rs.randn(16, 4)
    target = data[:, :1] * 2 - data[:, 1:2]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for i in range(20):
            value, _ = sess.run([loss, train], {x: data, t: target, training: True})
            if i % 5 == 0:
                print(i, value)
        print("evaluation", sess.run(loss, {x: data, t: target, training: False}))
        averages = sess.run([ema.average(v) for v in tf.trainable_variables()])
        print([float(np.abs(a).sum()) for a in averages])
        path = saver.save(sess, os.path.join(folder, "model.ckpt"), global_step=step)
        print(os.path.basename(path))
    with tf.Session() as sess:
        restore = ema.variables_to_restore()
        print(len(restore), "dense/kernel/ExponentialMovingAverage" in restore)
        tf.train.Saver(restore).restore(sess, tf.train.latest_checkpoint(folder))
        print(np.allclose(sess.run(tf.trainable_variables()[0]), averages[0]))
        print("averaged", sess.run(loss, {x: data, t: target, training: False}))

with tf.Graph().as_default(), tf.Session() as sess:
    image = tf.constant(rs.rand(2, 4, 4, 3), tf.float32)
    scale, offset = tf.ones([3]), tf.zeros([3])
    y, mean, var = tf.nn.fused_batch_norm(image, scale, offset, is_training=True)
    print(sess.run([tf.reduce_sum(tf.abs(y)), mean, var]))
    m, v = tf.nn.moments(image, [1, 2], keep_dims=True)
    print(sess.run(tf.reduce_sum(tf.abs(image - m) / tf.sqrt(v + 1e-5))), m.shape)
    print(sess.run(tf.reduce_sum(tf.nn.local_response_normalization(image, 2, 1.0, 1e-4, 0.75))))
    print(sess.run(tf.reduce_sum(tf.nn.l2_normalize(image, -1))))
shutil.rmtree(folder)
