# SPDX-License-Identifier: Apache-2.0
"""Trains on global batches that do not depend on the number of ranks and prints the loss of each, exactly.

Arguments: kind of gradients (dense, sparse_as_dense, fp16, predivide, passes, tape), number of steps."""
import sys

import numpy as np

import millstream as tf
import millstream.horovod as hvd

BATCH = 16
kind, steps = sys.argv[1], int(sys.argv[2])
hvd.init()
rank, size = hvd.rank(), hvd.size()
random = np.random.RandomState(7)
data, ids = random.rand(steps, BATCH, 5).astype(np.float32), random.randint(0, 6, [steps, BATCH])
targets = data.sum(2) + ids
own = slice(rank * BATCH // size, (rank + 1) * BATCH // size)

x, i, y = tf.placeholder(tf.float32, [None, 5]), tf.placeholder(tf.int64, [None]), tf.placeholder(tf.float32, [None])
table = tf.get_variable("table", [6, 3], initializer=tf.random_normal_initializer(seed=1))
hidden = tf.concat([tf.layers.dense(x, 4, tf.nn.tanh, kernel_initializer=tf.random_normal_initializer(seed=2)), tf.gather(table, i)], 1)
output = tf.layers.dense(hidden, 1, kernel_initializer=tf.random_normal_initializer(seed=3))[:, 0]
loss = tf.reduce_mean((output - y) ** 2)
settings = {"sparse_as_dense": dict(sparse_as_dense=True), "fp16": dict(compression=hvd.Compression.fp16),
            "predivide": dict(gradient_predivide_factor=2.0),
            "passes": dict(sparse_as_dense=True, backward_passes_per_step=2, average_aggregated_gradients=True)}.get(kind, {})
inner = tf.train.MomentumOptimizer(0.05, 0.5)
if kind == "tape":
    variables = tf.trainable_variables()
    with hvd.DistributedGradientTape(tf.GradientTape()) as tape:
        again = tf.identity(loss)
    train = inner.apply_gradients(zip(tape.gradient(again, variables), variables))
else:
    train = hvd.DistributedOptimizer(inner, **settings).minimize(loss)
mean = hvd.allreduce(loss, name="loss")
with tf.Session() as session:
    session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    session.run(hvd.broadcast_global_variables(0))
    losses = [session.run([mean, train], {x: data[n, own], i: ids[n, own], y: targets[n, own]})[0] for n in range(steps)]
    weights = np.concatenate([np.ravel(w) for w in session.run(tf.trainable_variables())])
same = hvd.allgather_object(weights.tobytes())
assert all(s == same[0] for s in same), "ranks have different weights"
if rank == 0:
    print("losses", " ".join(float(value).hex() for value in [*losses, weights.sum()]))
