# SPDX-License-Identifier: Apache-2.0
"""Embedding lookups and partitioned variables."""
from functools import partial

import millstream as tf


def _ids():
    return tf.placeholder(tf.int64, [None], name="ids")


def _lookup(**kwargs):
    table = tf.get_variable("table", [10, 3])
    tf.nn.embedding_lookup(table, _ids(), **kwargs)


def _tables(strategy):
    tables = [tf.get_variable(f"table_{i}", [10, 3]) for i in range(2)]
    rows = tf.nn.embedding_lookup(tables, _ids(), partition_strategy=strategy)
    tf.train.AdagradOptimizer(0.1).minimize(tf.nn.l2_loss(rows))


def _partitioned(strategy, ps):
    with tf.device(tf.train.replica_device_setter(ps_tasks=ps)):
        table = tf.get_variable("table", [11, 3], partitioner=tf.fixed_size_partitioner(3))
        rows = tf.nn.embedding_lookup(table, _ids(), partition_strategy=strategy)
        tf.train.AdamOptimizer().minimize(tf.nn.l2_loss(rows), tf.train.create_global_step())
        tf.global_variables_initializer()


def _sparse(combiner, weighted=False):
    table = tf.get_variable("table", [10, 3])
    ids = tf.SparseTensor(tf.placeholder(tf.int64, [None, 2], name="indices"), _ids(),
                          tf.placeholder(tf.int64, [2], name="shape"))
    weights = None
    if weighted:
        weights = tf.SparseTensor(ids.indices, tf.placeholder(tf.float32, [None], name="weights"), ids.dense_shape)
    tf.nn.embedding_lookup_sparse(table, ids, weights, combiner=combiner)


def _axis_size():
    partitioner = tf.variable_axis_size_partitioner(64)
    tf.get_variable("a", [16, 4], partitioner=partitioner)
    with tf.variable_scope("s", partitioner=tf.min_max_variable_partitioner(3, min_slice_size=16)):
        tf.get_variable("b", [6, 2], initializer=tf.zeros_initializer())


PROGRAMS = {
    "lookup": _lookup,
    "lookup.max_norm": partial(_lookup, max_norm=1.0),
    "tables.mod": partial(_tables, "mod"),
    "tables.div": partial(_tables, "div"),
    "partitioned.ps1": partial(_partitioned, "div", 1),
    "partitioned.ps2": partial(_partitioned, "div", 2),
    "partitioned.ps3": partial(_partitioned, "mod", 3),
    "partitioners": _axis_size,
    "sparse.mean": partial(_sparse, "mean"),
    "sparse.sqrtn": partial(_sparse, "sqrtn"),
    "sparse.sum": partial(_sparse, "sum"),
    "sparse.mean.weighted": partial(_sparse, "mean", True),
    "sparse.sqrtn.weighted": partial(_sparse, "sqrtn", True),
}
