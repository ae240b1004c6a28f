# SPDX-License-Identifier: Apache-2.0
"""Layers and filters that few programs use; a layer of the program's own."""

import tensorflow as tf, numpy as np

rs = np.random.RandomState(0)
s = tf.InteractiveSession()
I = tf.random_uniform_initializer(-0.5, 0.5, seed=2)
x = tf.constant(rs.rand(2, 3, 4, 5, 2).astype(np.float32))
y = tf.layers.conv3d_transpose(x, 3, (2, 3, 2), (2, 1, 2), "same", kernel_initializer=I, activation=tf.nn.relu)
y2 = tf.layers.conv3d_transpose(x, 2, 2, kernel_initializer=I, use_bias=False)
t = tf.constant(rs.rand(2, 7, 3).astype(np.float32))
z = tf.layers.separable_conv1d(
    t, 4, 3, strides=2, padding="same", depth_multiplier=2, depthwise_initializer=I, pointwise_initializer=I
)
z2 = tf.layers.separable_conv1d(t, 4, 3, dilation_rate=2, depthwise_initializer=I, pointwise_initializer=I)
im = tf.constant(rs.rand(1, 5, 5, 2).astype(np.float32))
k = tf.constant(rs.rand(2, 2, 2).astype(np.float32))
d = tf.nn.dilation2d(im, k, [1, 1, 1, 1], [1, 1, 1, 1], "VALID")
e = tf.nn.erosion2d(im, k, [1, 1, 1, 1], [1, 2, 2, 1], "SAME")
at = tf.nn.atrous_conv2d_transpose(im, tf.constant(rs.rand(3, 3, 4, 2).astype(np.float32)), [1, 5, 5, 4], 2, "SAME")
at2 = tf.nn.atrous_conv2d_transpose(im, tf.constant(rs.rand(3, 3, 4, 2).astype(np.float32)), [1, 9, 9, 4], 2, "VALID")
g = tf.gradients(tf.reduce_sum(tf.square(y)) + tf.reduce_sum(tf.square(z)) + tf.reduce_sum(tf.square(at)), [x, t, im])
s.run(tf.global_variables_initializer())
print([(v.name, v.shape.as_list()) for v in tf.trainable_variables()])
for q in (y, y2, z, z2, d, e, at, at2, *g):
    r = s.run(q)
    print(q.shape, r.shape, r.sum(), r.ravel()[:4])
c = tf.layers.Conv2D(3, 2, name="cc", kernel_initializer=I)
o = c(im)
o2 = c(im)
print(
    c.name,
    [w.name for w in c.weights],
    c.trainable_weights == c.variables,
    c.built,
    o.name,
    o2.name,
    c.count_params() if hasattr(c, "count_params") else "",
    c.dtype,
    c.input_shape if hasattr(c, "input_shape") else "",
    c.losses,
    c.updates,
)
print(
    tf.layers.dense(tf.ones([2, 3, 4]), 5).shape,
    tf.layers.flatten(im).shape,
    tf.layers.max_pooling1d(t, 2, 2).shape,
    tf.layers.average_pooling3d(x, 2, 1).shape,
)


class My(tf.layers.Layer):

    def __init__(self, n, **k):
        super().__init__(**k)
        self.n = n

    def build(self, shape):
        self.w = self.add_variable("w", [int(shape[-1]), self.n], initializer=tf.ones_initializer())
        super().build(shape)

    def call(self, x):
        return tf.matmul(x, self.w)


m = My(3, name="mine")
r = m(tf.ones([2, 4]))
s.run(tf.global_variables_initializer())
print(s.run(r), [v.name for v in m.variables])
