# SPDX-License-Identifier: Apache-2.0
"""Losses of slim, end points of a network, training with batch normalization."""

import numpy as np
import tensorflow as tf

slim = tf.contrib.slim
L = slim.losses
p = tf.constant([[0.2, 0.9, 0.4], [0.5, 0.1, 0.7]])
y = tf.constant([[0.0, 1, 0], [1, 0, 0]])
s = tf.InteractiveSession()
for f in (
    L.absolute_difference,
    L.mean_squared_error,
    L.log_loss,
    L.mean_pairwise_squared_error,
    L.sigmoid_cross_entropy,
    L.softmax_cross_entropy,
    L.hinge_loss,
):
    print(f.__name__, s.run(f(p, y)))
print(
    s.run(L.mean_squared_error(p, y, weights=tf.constant([1.0, 2.0]))),
    s.run(L.sparse_softmax_cross_entropy(p, tf.constant([1, 0], tf.int64), weights=0.5)),
    s.run(L.cosine_distance(tf.nn.l2_normalize(p, 1), y, 1)),
    s.run(L.softmax_cross_entropy(p, y, weights=tf.constant([1.0, 0.0]), label_smoothing=0.1)),
)
print([l.op.name for l in L.get_losses()], s.run(L.get_total_loss()))
U = slim.utils
with tf.variable_scope("q"):
    a = slim.conv2d(tf.ones([1, 4, 4, 2]), 3, 3, outputs_collections="ep", scope="c")
    b = slim.max_pool2d(a, 2, outputs_collections=["ep", "ep2"], scope="p")
d = U.convert_collection_to_dict("ep")
print(
    list(d),
    d["q/c"] is a,
    U.last_dimension(a.get_shape(), min_rank=4),
    U.two_element_tuple(3),
    U.n_positive_integers(2, [4, 5]),
    U.constant_value(tf.constant(True)),
    U.gather_tensors_aliases([a, b, p]),
)


def arg_scope(wd=0.0005):
    with slim.arg_scope(
        [slim.conv2d, slim.fully_connected],
        activation_fn=tf.nn.relu,
        weights_regularizer=slim.l2_regularizer(wd),
        biases_initializer=tf.zeros_initializer(),
        weights_initializer=tf.truncated_normal_initializer(stddev=0.05, seed=4),
    ):
        with slim.arg_scope(
            [slim.batch_norm], is_training=True, decay=0.9, updates_collections=tf.GraphKeys.UPDATE_OPS
        ):
            with slim.arg_scope([slim.conv2d], padding="SAME") as sc:
                return sc


def net(x, n=3, reuse=None, scope="vgg"):
    with tf.variable_scope(scope, "vgg", [x], reuse=reuse) as sc:
        ep = sc.name + "_end_points"
        with slim.arg_scope([slim.conv2d, slim.fully_connected, slim.max_pool2d], outputs_collections=ep):
            h = slim.repeat(x, 2, slim.conv2d, 4, [3, 3], scope="conv1")
            h = slim.max_pool2d(h, [2, 2], scope="pool1")
            h = slim.stack(h, slim.conv2d, [(4, [1, 1]), (6, [3, 3])], scope="c2")
            h = slim.batch_norm(h, scope="bn")
            h = slim.conv2d(
                h, 4, 3, normalizer_fn=slim.batch_norm, normalizer_params={"scale": True}, scope="cbn", stride=2
            )
            h = slim.avg_pool2d(h, 2, scope="ap")
            h = slim.flatten(h)
            h = slim.dropout(h, 0.999, is_training=False, scope="dr")
            h = slim.fully_connected(h, 5, scope="fc1")
            h = slim.fully_connected(h, n, activation_fn=None, scope="fc2")
            return (h, slim.utils.convert_collection_to_dict(ep))


X = np.random.RandomState(0).rand(4, 8, 8, 3).astype(np.float32)
with slim.arg_scope(arg_scope()):
    lo, ep = net(tf.constant(X))
print([(v.op.name, v.shape.as_list()) for v in slim.get_model_variables()])
print(sorted(ep))
print(
    [v.op.name for v in slim.get_variables_to_restore(exclude=["vgg/fc2"])][-3:],
    len(slim.get_variables_by_suffix("weights")),
)
slim.losses.softmax_cross_entropy(lo, slim.one_hot_encoding([0, 1, 2, 0], 3))
tl = tf.losses.get_total_loss()
gs = slim.get_or_create_global_step()
op = slim.learning.create_train_op(tl, tf.train.MomentumOptimizer(0.05, 0.9), global_step=gs)
with tf.Session() as s:
    s.run(tf.global_variables_initializer())
    for i in range(3):
        print("%.5f" % s.run(op), s.run(tf.losses.get_losses()), s.run(lo)[0])
    print(len(tf.losses.get_regularization_losses()), s.run(gs))
