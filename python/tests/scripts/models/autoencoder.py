# SPDX-License-Identifier: Apache-2.0
"""Denoising and variational autoencoders: dictionaries of weights, transposed convolutions, the reparameterization trick."""
import numpy as np
import tensorflow as tf

tf.set_random_seed(0)
rs = np.random.RandomState(0)
images = (rs.rand(24, 64) > 0.6).astype(np.float32)


class VAE(object):
    """Built in __init__, with helpers that are public methods, as many classes of the time."""

    def __init__(self, network_architecture, transfer_fct=tf.nn.softplus, learning_rate=0.01, batch_size=12):
        self.arch, self.fct, self.rate, self.batch_size = network_architecture, transfer_fct, learning_rate, batch_size
        self.x = tf.placeholder(tf.float32, [None, network_architecture["n_input"]])
        self._create_network()
        self._create_loss_optimizer()
        self.sess = tf.InteractiveSession()
        self.sess.run(tf.global_variables_initializer())

    def _weights(self, n_in, n_out, name):
        return tf.get_variable(name, [n_in, n_out], initializer=tf.contrib.layers.xavier_initializer())

    def _create_network(self):
        a = self.arch
        w = {"h": self._weights(a["n_input"], a["n_hidden"], "h"), "mean": self._weights(a["n_hidden"], a["n_z"], "mean"),
             "sigma": self._weights(a["n_hidden"], a["n_z"], "sigma"), "g": self._weights(a["n_z"], a["n_hidden"], "g"),
             "out": self._weights(a["n_hidden"], a["n_input"], "out")}
        hidden = self.fct(tf.matmul(self.x, w["h"]))
        self.z_mean, self.z_log_sigma_sq = tf.matmul(hidden, w["mean"]), tf.matmul(hidden, w["sigma"])
        eps = tf.random_normal((self.batch_size, a["n_z"]), 0, 1, dtype=tf.float32, seed=9)
        self.z = tf.add(self.z_mean, tf.multiply(tf.sqrt(tf.exp(self.z_log_sigma_sq)), eps))
        self.x_reconstr_mean = tf.nn.sigmoid(tf.matmul(self.fct(tf.matmul(self.z, w["g"])), w["out"]))

    def _create_loss_optimizer(self):
        reconstr = -tf.reduce_sum(self.x * tf.log(1e-10 + self.x_reconstr_mean) +
                                  (1 - self.x) * tf.log(1e-10 + 1 - self.x_reconstr_mean), 1)
        latent = -0.5 * tf.reduce_sum(1 + self.z_log_sigma_sq - tf.square(self.z_mean) - tf.exp(self.z_log_sigma_sq), 1)
        self.cost = tf.reduce_mean(reconstr + latent)
        self.optimizer = tf.train.AdamOptimizer(learning_rate=self.rate).minimize(self.cost)

    def partial_fit(self, X):
        return self.sess.run((self.optimizer, self.cost), feed_dict={self.x: X})[1]


vae = VAE(dict(n_input=64, n_hidden=20, n_z=3))
for epoch in range(10):
    cost = sum(vae.partial_fit(images[i:i + 12]) for i in (0, 12)) / 2
    if epoch % 3 == 0:
        print("Epoch:", "%04d" % (epoch + 1), "cost=", "{:.6f}".format(cost))
print(vae.sess.run(vae.z_mean, {vae.x: images[:2]}))
vae.sess.close()

tf.reset_default_graph()
tf.set_random_seed(1)
x = tf.placeholder(tf.float32, [None, 8, 8, 1])
noise = tf.placeholder(tf.float32, [None, 8, 8, 1])
with tf.name_scope("encoder"):
    net = tf.layers.conv2d(x + 0.1 * noise, 4, 3, strides=2, padding="same", activation=tf.nn.relu)
    net = tf.layers.conv2d(net, 2, (3, 3), padding="same", activation=tf.nn.relu)
    code = tf.layers.max_pooling2d(net, 2, 2)
with tf.name_scope("decoder"):
    up = tf.image.resize_nearest_neighbor(code, (4, 4))
    net = tf.layers.conv2d(up, 4, 3, padding="SAME", activation=tf.nn.relu)
    logits = tf.layers.conv2d_transpose(net, 1, 5, 2, "same")
decoded = tf.nn.sigmoid(logits, name="decoded")
cost = tf.losses.sigmoid_cross_entropy(x, logits)
opt = tf.train.AdamOptimizer(0.01).minimize(cost)
print(code.shape, logits.shape, decoded.name, [v.name for v in tf.trainable_variables()])
with tf.Session(config=tf.ConfigProto(allow_soft_placement=True, log_device_placement=False)) as sess:
    sess.run(tf.global_variables_initializer())
    feed = {x: images.reshape(-1, 8, 8, 1), noise: rs.randn(24, 8, 8, 1)}
    for i in range(20):
        c, _ = sess.run([cost, opt], feed)
        if i % 5 == 0:
            print(i, c)
    print(sess.run(decoded, feed).mean())
