# SPDX-License-Identifier: Apache-2.0
"""A client that computes over a ps and two workers (second document). Its argument is the master's address."""
import sys

import tensorflow as tf

if __name__ == "__main__":
    target = sys.argv[1] if len(sys.argv) > 1 else "grpc://localhost:2223"
    with tf.device("/job:ps/task:0"):
        x = tf.Variable(tf.ones([2, 2]))
        y = tf.Variable(tf.ones([2, 2]))

    with tf.device("/job:worker/task:0"):
        z = tf.matmul(x, y) + x

    with tf.device("/job:worker/task:1"):
        z = tf.matmul(z, x) + x

    with tf.Session(target) as sess:
        sess.run(tf.global_variables_initializer())
        val = sess.run(z)
        print(val)
