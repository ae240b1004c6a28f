# SPDX-License-Identifier: Apache-2.0
"""Trains with a strategy of several workers on global batches that do not depend on their number; prints the losses exactly.

Arguments: multi_worker or collective; sessions at the strategy's server (default, monitored) or at one of the program (server)."""
import json
import os
import sys

import numpy as np

import millstream as tf

STEPS, BATCH = 8, 16
config = json.loads(os.environ.get("TF_CONFIG", "{}"))
target = ""
if sys.argv[2] == "server" and config:
    target = tf.train.Server(config["cluster"], job_name=config["task"]["type"], task_index=config["task"]["index"]).target
strategy = {"multi_worker": tf.distribute.experimental.MultiWorkerMirroredStrategy,
            "collective": tf.contrib.distribute.CollectiveAllReduceStrategy}[sys.argv[1]]()
random = np.random.RandomState(7)
data, ids = random.rand(STEPS * BATCH, 5).astype(np.float32), random.randint(0, 6, STEPS * BATCH)
with strategy.scope():
    iterator = strategy.make_dataset_iterator(tf.data.Dataset.from_tensor_slices((data, ids, (data.sum(1) + ids).astype(np.float32))).batch(BATCH))
    step = tf.train.get_or_create_global_step()

    def fn(inputs):
        x, i, y = inputs
        table = tf.get_variable("table", [6, 3])
        hidden = tf.concat([tf.layers.dense(x, 4, tf.nn.tanh), tf.gather(table, i)], 1)
        loss = tf.reduce_sum((tf.layers.dense(hidden, 1)[:, 0] - y) ** 2) / BATCH
        with tf.control_dependencies([tf.train.AdamOptimizer(0.05).minimize(loss, global_step=step)]):
            return tf.identity(loss)
    total = strategy.reduce(tf.distribute.ReduceOp.SUM, strategy.experimental_run_v2(fn, args=(iterator.get_next(),)))
    context = strategy.experimental_run_v2(lambda: tf.distribute.get_replica_context().replica_id_in_sync_group)
    ranks = strategy.reduce(tf.distribute.ReduceOp.SUM, context)
    # All workers begin with the variables of the first one, whatever their own seed.
    kernel = tf.trainable_variables()[0]
    assign = [v.assign(np.random.RandomState(n).normal(size=v.shape.as_list())) for n, v in enumerate(tf.trainable_variables())]
    mean_kernel = strategy.reduce(tf.distribute.ReduceOp.MEAN, kernel.value())
    tf.add_to_collection(tf.GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
    if sys.argv[2] == "monitored":
        chief = not config or config["task"]["index"] == 0
        session = tf.train.MonitoredTrainingSession(is_chief=chief, checkpoint_dir="checkpoints", save_checkpoint_steps=3)
    else:
        session = tf.Session(target)
with session:
    if sys.argv[2] != "monitored":
        session.run([tf.global_variables_initializer(), iterator.initialize()])
    start, spread = session.run([kernel, mean_kernel])
    np.testing.assert_allclose(spread, start, rtol=1e-6)
    session.run(assign)
    losses = [float(session.run(total)) for _ in range(STEPS)]
    weights = sum(float(np.sum(w)) for w in session.run(tf.trainable_variables()))
    n = strategy.num_replicas_in_sync
    assert session.run(ranks) == n * (n - 1) // 2 and session.run(step) == STEPS
print("losses", " ".join(value.hex() for value in [*losses, weights]))
