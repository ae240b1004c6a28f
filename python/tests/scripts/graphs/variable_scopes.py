# SPDX-License-Identifier: Apache-2.0
"""Variable scopes with initializers, regularizers, partitioners, custom getters and reuse; names and collections."""
import numpy as np
import tensorflow as tf

tf.set_random_seed(11)


def conv_relu(x, shape, scope):
    with tf.variable_scope(scope):
        w = tf.get_variable("weights", shape, initializer=tf.truncated_normal_initializer(stddev=0.1))
        b = tf.get_variable("biases", shape[-1:], initializer=tf.constant_initializer(0.1))
        return tf.nn.relu(tf.nn.conv2d(x, w, strides=[1, 1, 1, 1], padding="SAME") + b)


def my_filter(x):
    h = conv_relu(x, [3, 3, 2, 4], "conv1")
    return conv_relu(h, [3, 3, 4, 2], "conv2")


images = tf.constant(np.random.RandomState(0).rand(2, 5, 5, 2), tf.float32)
with tf.variable_scope("image_filters", regularizer=lambda w: 0.01 * tf.nn.l2_loss(w)) as scope:
    first = my_filter(images)
    scope.reuse_variables()
    second = my_filter(images + 1.0)
with tf.variable_scope(scope, reuse=True):
    third = my_filter(images)

with tf.variable_scope("parts", partitioner=tf.fixed_size_partitioner(3, axis=0)):
    table = tf.get_variable("table", [7, 4], initializer=tf.random_uniform_initializer(-1, 1))
with tf.variable_scope("sized", partitioner=tf.variable_axis_size_partitioner(64)):
    sized = tf.get_variable("table", [8, 4], initializer=tf.ones_initializer())
looked_up = tf.nn.embedding_lookup(table, [0, 3, 6, 2], partition_strategy="div")


def doubled(getter, name, *args, **kwargs):
    return 2.0 * getter(name, *args, **kwargs)


with tf.variable_scope("getter", custom_getter=doubled):
    twice = tf.get_variable("v", initializer=tf.constant([1.0, 2.0]))
with tf.variable_scope("auto", reuse=tf.AUTO_REUSE, dtype=tf.float64):
    one = tf.get_variable("v", [2], initializer=tf.zeros_initializer())
    two = tf.get_variable("v", [2])
with tf.variable_scope("outer"):
    with tf.variable_scope(None, default_name="block"):
        a = tf.get_variable("v", [])
    with tf.variable_scope(None, default_name="block"):
        b = tf.get_variable("v", [])
    with tf.name_scope("only_ops"):
        c = tf.get_variable("w", [])
        d = tf.add(c, 1.0)
frozen = tf.get_variable("frozen", [3], trainable=False, initializer=tf.glorot_uniform_initializer(), collections=[
    tf.GraphKeys.GLOBAL_VARIABLES, "mine"])
for v in tf.global_variables():
    print(v.name, v.shape, v.dtype.base_dtype.name, v in tf.trainable_variables(), v.op.type in ("VariableV2", "VarHandleOp"))
print([v.name for v in table._get_variable_list()], sized.get_shape(), table.name)
print("losses", [t.name for t in tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)])
print(one is two, a.name, b.name, d.name, [v.name for v in tf.get_collection("mine")])
for f in [lambda: tf.get_variable("frozen", [3]), lambda: tf.get_variable("frozen", [4]),
          lambda: tf.Variable(tf.get_variable("frozen"))]:
    try:
        f()
    except ValueError as e:
        print("ValueError", str(e).split(".")[0][:60])
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    x, y, z = sess.run([first, second, third])
    print(np.array_equal(x, z), x.sum(), y.sum())
    print(sess.run(tf.convert_to_tensor(table)))
    print(sess.run(looked_up), sess.run(twice), sess.run(sized.as_tensor()).sum())
    print(sess.run(tf.add_n(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES))))
    print(sess.run(frozen))
