# SPDX-License-Identifier: Apache-2.0
"""A small convolutional network in the style of slim: arg scopes, end points, batch norm, regularization, a train op."""
import numpy as np
import tensorflow as tf

slim = tf.contrib.slim


def arg_scope(weight_decay=0.001, is_training=True):
    with slim.arg_scope([slim.conv2d, slim.fully_connected], activation_fn=tf.nn.relu,
                        weights_regularizer=slim.l2_regularizer(weight_decay),
                        weights_initializer=tf.truncated_normal_initializer(stddev=0.1),
                        normalizer_fn=slim.batch_norm, normalizer_params={"is_training": is_training, "decay": 0.9}):
        with slim.arg_scope([slim.conv2d, slim.max_pool2d], padding="SAME") as sc:
            return sc


def network(images, num_classes=4, is_training=True, reuse=None, scope="Tiny"):
    end_points = {}
    with tf.variable_scope(scope, "Tiny", [images], reuse=reuse):
        net = slim.repeat(images, 2, slim.conv2d, 6, [3, 3], scope="conv1")
        end_points["conv1"] = net
        net = slim.max_pool2d(net, [2, 2], 2, scope="pool1")
        net = slim.conv2d(net, 8, 3, stride=2, scope="conv2")
        net = slim.avg_pool2d(net, net.get_shape().as_list()[1:3], scope="pool2", padding="VALID")
        net = slim.flatten(net)
        net = slim.fully_connected(net, 10, scope="fc3")
        net = slim.dropout(net, 1.0, is_training=is_training, scope="dropout3")
        logits = slim.fully_connected(net, num_classes, activation_fn=None, normalizer_fn=None, scope="logits")
        end_points["predictions"] = slim.softmax(logits, scope="predictions")
    return logits, end_points


rs = np.random.RandomState(1)
batch = rs.rand(12, 8, 8, 3).astype(np.float32)
labels = np.arange(12) % 4
batch[np.arange(12), labels, labels] += 2.0

tf.set_random_seed(8)
images = tf.placeholder(tf.float32, [None, 8, 8, 3])
with slim.arg_scope(arg_scope()):
    logits, end_points = network(images)
with slim.arg_scope(arg_scope(is_training=False)):
    test_logits, _ = network(images, is_training=False, reuse=True)
one_hot = slim.one_hot_encoding(labels, 4)
tf.losses.softmax_cross_entropy(one_hot, logits)
total_loss = tf.losses.get_total_loss()
global_step = tf.train.get_or_create_global_step()
rate = tf.train.exponential_decay(0.05, global_step, 10, 0.9, staircase=True)
train_op = slim.learning.create_train_op(total_loss, tf.train.RMSPropOptimizer(rate, momentum=0.5), global_step=global_step)
for v in slim.get_model_variables():
    print(v.op.name, v.shape.as_list())
print([v.op.name for v in slim.get_variables_to_restore(exclude=["Tiny/logits", "global_step"])][:3])
print(sorted(end_points), end_points["conv1"].shape, len(tf.get_collection(tf.GraphKeys.UPDATE_OPS)))
print(len(tf.losses.get_regularization_losses()), [v.op.name for v in slim.get_variables_by_suffix("logits/weights")])
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(15):
        loss = sess.run(train_op, {images: batch})
        if i % 5 == 0:
            print(i, loss)
    probs, test = sess.run([end_points["predictions"], test_logits], {images: batch})
    print(probs.sum(axis=1), (probs.argmax(1) == labels).mean(), np.abs(test).sum())
    for name in ("Tiny/conv2/BatchNorm/moving_mean:0", "Tiny/fc3/BatchNorm/moving_variance:0"):
        print(sess.run(tf.get_default_graph().get_tensor_by_name(name)))
