# SPDX-License-Identifier: Apache-2.0
"""Elastic training that counts how often each example was used, and checks every collective in each world. Arguments: folder, epochs, session."""
import os
import pathlib
import sys
import time

import numpy as np

import millstream as tf
import millstream.horovod as hvd

EXAMPLES, BATCH = 250, 4
folder, epochs = pathlib.Path(sys.argv[1]), int(sys.argv[2])
task = os.environ["TF_CONFIG"].split('"index":')[1].strip(" }")
gate = folder / f"gate-{task}"  # while it is there, workers of that number that are started do not get further
(folder / f"started-{task}").write_text(str(os.getpid()))
while gate.exists():
    time.sleep(0.01)
hvd.init()
(folder / f"pid-{task}").write_text(str(os.getpid()))

data = np.random.RandomState(0).rand(EXAMPLES, 3).astype(np.float32)
rows, dealt = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.float32, [])
weights = tf.Variable(tf.zeros([3, 1]))
table = tf.Variable(tf.ones([EXAMPLES, 2]))
counts = tf.Variable(tf.zeros([EXAMPLES], tf.int32), trainable=False)
x = tf.gather(data, rows)
size = tf.cast(hvd.size_op(), tf.float32)
errors = tf.square(tf.matmul(x, weights) - tf.reduce_sum(x, 1, keepdims=True))
loss = (tf.reduce_sum(errors) + tf.reduce_sum(tf.square(tf.nn.embedding_lookup(table, rows)))) / dealt * size
optimizer = hvd.DistributedOptimizer(tf.train.MomentumOptimizer(0.05, 0.5), gradient_predivide_factor=2.0)
train_op = optimizer.minimize(loss)
used = hvd.allgather(tf.expand_dims(rows, 1), name="used")
count_op = tf.assign_add(counts, tf.scatter_nd(used, tf.ones_like(used[:, 0]), [EXAMPLES]))

# In worlds of every size the same graph gives what this size means.
mine = tf.placeholder(tf.float32, [2])
CHECKS = {
    "sum": hvd.allreduce(mine, op=hvd.Sum, name="sum"),
    "mean": hvd.allreduce(mine, name="mean"),
    "integers": hvd.allreduce(tf.cast(mine, tf.int32), name="integers"),
    "max": hvd.allreduce(mine, op=hvd.Max, name="max"),
    "root": hvd.broadcast(mine, 0, name="root"),
    "all": hvd.allgather(tf.tile(mine, [hvd.rank_op() + 1]), name="all"),
    "exchanged": hvd.alltoall(tf.tile(mine[:1], [hvd.size_op()]), name="exchanged"),
    "scattered": hvd.reducescatter(tf.tile(mine, [hvd.size_op()]), op=hvd.Sum, name="scattered"),
    "ranks": tf.stack([hvd.rank_op(), hvd.size_op()]),
}


def check(session):
    n, r = hvd.size(), hvd.rank()
    values = [np.array([i + 1, 10 * i], np.float32) for i in range(n)]
    got = session.run(CHECKS, {mine: values[r]})
    want = {"sum": sum(values), "mean": sum(values) / n, "integers": (sum(values) // n).astype(np.int32), "max": values[-1], "root": values[0],
            "all": np.concatenate([np.tile(v, i + 1) for i, v in enumerate(values)]), "exchanged": np.array([v[0] for v in values]),
            "scattered": sum(values), "ranks": np.array([r, n])}
    for name, value in want.items():
        np.testing.assert_allclose(got[name], value, rtol=1e-6, err_msg=f"{name} of rank {r} of {n}")


resets = []


@hvd.elastic.run
def train(state, session):
    print(f"rank {hvd.rank()} of {hvd.size()} begins at epoch {state.queue.epoch}, {state.queue.position}", flush=True)
    check(session)
    while state.queue.epoch < epochs:
        examples = state.queue.take()
        _, error = session.run([train_op, count_op, loss], {rows: examples, dealt: state.queue.dealt})[1:]
        state.steps += 1
        (folder / f"steps-{hvd.rank()}").write_text(f"{hvd.size()} {state.steps}")
        time.sleep(0.005)
        if state.steps % 3 == 0:
            state.commit()


with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    state = hvd.elastic.TensorFlowState(session=session, queue=hvd.elastic.WorkQueue(EXAMPLES, BATCH), steps=0)
    state.register_reset_callbacks([lambda: resets.append(hvd.size())])
    train(state, session)
    got = session.run(counts)
    assert (got == epochs).all(), (got.min(), got.max())
    values = hvd.allgather_object(session.run([weights, table]))
    for other in values:
        for a, b in zip(other, values[0]):
            np.testing.assert_array_equal(a, b)
    print(f"rank {hvd.rank()} of {hvd.size()} is done, every example was used {epochs} times, resets {resets}, "
          f"weights {np.abs(session.run(weights) - 1).max():.3f}", flush=True)
