# SPDX-License-Identifier: Apache-2.0
"""DistributedOptimizer: dense gradients, sparse ones that are gathered, and sparse ones that are made dense; 1 to 3 workers, and the broadcast of the
variables at its root and elsewhere.

Horovod's DistributedOptimizer and the strategies of tf.distribute have no twin: they exist in Python only.
"""
from functools import partial

import millstream as tf


def _model(rows):
    w = tf.get_variable("w", [3])
    table = tf.get_variable("table", [10, 3])
    ids = tf.placeholder(tf.int64, [rows], name="ids")
    return tf.nn.l2_loss(tf.nn.embedding_lookup(table, ids) + w)


def _train(workers, rows, is_root):
    with tf.device("/job:worker/task:1"):
        step = tf.train.create_global_step()
        optimizer = tf.train.DistributedOptimizer(tf.train.MomentumOptimizer(0.1, 0.9), workers)
        optimizer.minimize(_model(rows), step)
        optimizer.make_session_run_hook(is_root).begin()


PROGRAMS = {
    f"{kind}.workers{workers}{'.root' if is_root else ''}": partial(_train, workers, rows, is_root)
    for workers in (1, 2, 3) for is_root in (False, True) for kind, rows in (("sparse", 2), ("made_dense", 8), ("unknown_rows", None))
}
