# SPDX-License-Identifier: Apache-2.0
"""A generative adversarial network: two networks by tf.make_template and reuse, two optimizers over their own variables."""
import numpy as np
import tensorflow as tf

tf.set_random_seed(1234)
np.random.seed(1234)
Z_DIM, H_DIM, X_DIM, MB = 4, 16, 2, 32


def xavier_init(size):
    in_dim = size[0]
    return tf.random_normal(shape=size, stddev=1. / tf.sqrt(in_dim / 2.))


X = tf.placeholder(tf.float32, shape=[None, X_DIM])
Z = tf.placeholder(tf.float32, shape=[None, Z_DIM])
D_W1, D_b1 = tf.Variable(xavier_init([X_DIM, H_DIM])), tf.Variable(tf.zeros(shape=[H_DIM]))
D_W2, D_b2 = tf.Variable(xavier_init([H_DIM, 1])), tf.Variable(tf.zeros(shape=[1]))
theta_D = [D_W1, D_W2, D_b1, D_b2]


def discriminator(x):
    h1 = tf.nn.leaky_relu(tf.matmul(x, D_W1) + D_b1)
    logit = tf.matmul(h1, D_W2) + D_b2
    return tf.nn.sigmoid(logit), logit


def _generator(z):
    with tf.variable_scope("hidden"):
        h = tf.layers.dense(z, H_DIM, activation=tf.nn.elu)
    return tf.layers.dense(h, X_DIM, name="out")


generator = tf.make_template("generator", _generator)
G_sample = generator(Z)
G_again = generator(2.0 * Z)
theta_G = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope="generator")
D_real, logit_real = discriminator(X)
D_fake, logit_fake = discriminator(G_sample)
D_loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(logits=logit_real, labels=tf.ones_like(logit_real))) + \
    tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(logits=logit_fake, labels=tf.zeros_like(logit_fake)))
G_loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(logits=logit_fake, labels=tf.ones_like(logit_fake)))
# A gradient penalty: gradients of gradients.
eps = tf.placeholder(tf.float32, [None, 1])
mixed = eps * X + (1. - eps) * G_sample
slopes = tf.sqrt(tf.reduce_sum(tf.square(tf.gradients(discriminator(mixed)[1], [mixed])[0]), axis=1) + 1e-8)
penalty = tf.reduce_mean((slopes - 1.) ** 2)
D_solver = tf.train.AdamOptimizer(1e-2, beta1=0.5).minimize(D_loss + 0.1 * penalty, var_list=theta_D)
G_solver = tf.train.AdamOptimizer(1e-2, beta1=0.5).minimize(G_loss, var_list=theta_G)
clip_D = [p.assign(tf.clip_by_value(p, -0.9, 0.9)) for p in theta_D]
print([v.name for v in theta_G], len(tf.trainable_variables()))

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for it in range(60):
        real = np.random.multivariate_normal([1, -1], [[0.3, 0.1], [0.1, 0.2]], MB)
        noise = np.random.uniform(-1., 1., [MB, Z_DIM])
        _, d = sess.run([D_solver, D_loss], {X: real, Z: noise, eps: np.random.rand(MB, 1)})
        if it % 10 == 0:
            sess.run(clip_D)
        _, g, p = sess.run([G_solver, G_loss, penalty], {X: real, Z: noise, eps: np.full([MB, 1], 0.5)})
        if it % 15 == 0:
            print("Iter: {}; D loss: {:.4}; G_loss: {:.4}; penalty {:.4}".format(it, d, g, p))
    a, b = sess.run([G_sample, G_again], {Z: np.ones([3, Z_DIM])})
    print(a, b.mean(axis=0))
