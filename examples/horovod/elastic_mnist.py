# SPDX-License-Identifier: Apache-2.0
"""MNIST with elastic Horovod: ranks may die and come, and training goes on from the last commit.

    millstream launch --workers 1:4 -- python -m millstream elastic_mnist.py
    millstream launch --workers 2 --max_restarts 3 -- python -m millstream elastic_mnist.py
"""
import argparse
import os

import horovod.tensorflow as hvd
import numpy as np
import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument("--batches", type=int, default=300)
parser.add_argument("--batch_size", type=int, default=64)
parser.add_argument("--learning_rate", type=float, default=0.1)
parser.add_argument("--batches_per_commit", type=int, default=10)
parser.add_argument("--die_at", type=int, default=-1, help="rank --die_rank ends itself at this batch, once")
parser.add_argument("--die_rank", type=int, default=1)
parser.add_argument("--died", default="./died", help="file that says that it has")
args = parser.parse_args()

# Horovod: initialize Horovod.
hvd.init()

(images, labels), (test_images, test_labels) = tf.keras.datasets.mnist.load_data()
images, test_images = images.reshape(-1, 784) / 255.0, test_images.reshape(-1, 784) / 255.0

x = tf.placeholder(tf.float32, [None, 784])
y = tf.placeholder(tf.int64, [None])
hidden = tf.layers.dense(x, 64, activation=tf.nn.relu)
logits = tf.layers.dense(hidden, 10)
loss = tf.losses.sparse_softmax_cross_entropy(y, logits)
accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), y), tf.float32))
optimizer = hvd.DistributedOptimizer(tf.train.MomentumOptimizer(args.learning_rate, 0.9))
train_op = optimizer.minimize(loss)


@hvd.elastic.run
def train(state, session):
    while state.batch < args.batches:
        if hvd.rank() == args.die_rank and state.batch == args.die_at and not os.path.exists(args.died):
            open(args.died, "w").close()
            os._exit(9)
        rows = np.random.RandomState(state.batch * hvd.size() + hvd.rank()).randint(0, len(images), args.batch_size)
        session.run(train_op, {x: images[rows], y: labels[rows]})
        state.batch += 1
        # Horovod: commit state at the end of every `batches_per_commit` batches
        if state.batch % args.batches_per_commit == 0:
            state.commit()


with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    state = hvd.elastic.TensorFlowState(session=session, batch=0)
    state.register_reset_callbacks([lambda: print("rank %d goes on from batch %d" % (hvd.rank(), state.batch), flush=True)])
    train(state, session)
    result = session.run(accuracy, {x: test_images, y: test_labels})
    print("rank %d of %d: batch %d, accuracy %.4f" % (hvd.rank(), hvd.size(), state.batch, result), flush=True)
