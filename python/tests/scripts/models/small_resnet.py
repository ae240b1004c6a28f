# SPDX-License-Identifier: Apache-2.0
"""Residual blocks with fused batch normalization, dropout, regularization, steps of the learning rate."""

import tensorflow as tf, numpy as np

rs = np.random.RandomState(0)
tf.set_random_seed(4)


def bn(x, train, name):
    return tf.layers.batch_normalization(
        x, axis=3, momentum=0.9, epsilon=1e-05, center=True, scale=True, training=train, fused=True, name=name
    )


def conv(x, f, k, s, name):
    return tf.layers.conv2d(
        x,
        f,
        k,
        s,
        padding="SAME" if s == 1 else "VALID",
        use_bias=False,
        kernel_initializer=tf.variance_scaling_initializer(seed=f + k),
        kernel_regularizer=lambda w: 0.001 * tf.nn.l2_loss(w),
        name=name,
    )


def pad(x, k):
    p = (k - 1) // 2
    return tf.pad(x, [[0, 0], [p, k - 1 - p], [p, k - 1 - p], [0, 0]])


def block(x, f, s, train, name):
    with tf.variable_scope(name):
        sc = x
        x = tf.nn.relu(bn(x, train, "bn1"))
        if s > 1 or sc.shape[3] != f:
            sc = conv(x, f, 1, s, "sc")
        x = conv(pad(x, 3) if s > 1 else x, f, 3, s, "c1")
        x = tf.nn.relu(bn(x, train, "bn2"))
        return conv(x, f, 3, 1, "c2") + sc


x = tf.placeholder(tf.float32, [None, 8, 8, 3])
y = tf.placeholder(tf.int64, [None])
tr = tf.placeholder_with_default(False, [], name="is_training")
h = conv(x, 4, 3, 1, "init")
h = block(h, 4, 1, tr, "b1")
h = block(h, 8, 2, tr, "b2")
h = tf.nn.relu(bn(h, tr, "final"))
h = tf.reduce_mean(h, [1, 2], keepdims=True)
h = tf.squeeze(h, [1, 2])
h = tf.layers.dropout(h, 0.3, training=tr, seed=3)
lo = tf.layers.dense(h, 3, kernel_initializer=tf.glorot_uniform_initializer(seed=9))
loss = tf.losses.sparse_softmax_cross_entropy(y, lo) + tf.losses.get_regularization_loss()
gs = tf.train.get_or_create_global_step()
lr = tf.train.piecewise_constant(gs, [3, 6], [0.1, 0.01, 0.001])
with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
    train = tf.train.MomentumOptimizer(lr, 0.9, use_nesterov=True).minimize(loss, gs)
acc = tf.reduce_mean(tf.cast(tf.nn.in_top_k(lo, y, 1), tf.float32))
X = rs.rand(6, 8, 8, 3)
Y = rs.randint(0, 3, 6)
print([v.name for v in tf.trainable_variables()])
print(
    [v.name for v in tf.global_variables() if v not in tf.trainable_variables()][:4],
    len(tf.get_collection(tf.GraphKeys.UPDATE_OPS)),
    sum((int(np.prod(v.shape.as_list())) for v in tf.trainable_variables())),
)
with tf.Session() as s:
    s.run(tf.global_variables_initializer())
    for i in range(8):
        l, _ = s.run([loss, train], {x: X, y: Y, tr: True})
        print("%.4f" % l)
    print(s.run([acc, lr, gs], {x: X, y: Y}))
    print(s.run("final/moving_mean:0"))
