# SPDX-License-Identifier: Apache-2.0
"""Embedding lookups, partitioned variables, and embeddings that grow with the vocabulary."""
from functools import partial

import millstream as tf
from millstream import embedding


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


def _hash(key, optimizer, shards, lookups=1):
    with tf.device(tf.train.replica_device_setter(ps_tasks=2)):
        table = embedding.HashEmbedding("words", 4, key, shards=shards, min_count=2)
        losses = [tf.nn.l2_loss(table.lookup(tf.placeholder(key, [None, 2], name="keys"))) for _ in range(lookups)]
        loss = losses[0] if lookups == 1 else tf.add_n(losses)
        table.minimize(loss, optimizer())
        table.lookup(tf.placeholder(key, [5], name="known"), train=False)
        table.evict(tf.placeholder(tf.int64, [], name="before"), tf.placeholder(tf.int64, [], name="max_rows"))
        table.size()


HASH_OPTIMIZERS = {
    "sgd": lambda: tf.train.GradientDescentOptimizer(0.5),
    "adagrad": lambda: tf.train.AdagradOptimizer(0.5, initial_accumulator_value=0.25),
    "adam": lambda: tf.train.AdamOptimizer(0.5),
}
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
PROGRAMS.update({f"hash.{name}.shards{shards}.{key.name}": partial(_hash, key, optimizer, shards)
                 for name, optimizer in HASH_OPTIMIZERS.items() for shards in (1, 3) for key in (tf.int64, tf.string)})
PROGRAMS["hash.two_lookups"] = partial(_hash, tf.int64, HASH_OPTIMIZERS["sgd"], 2, lookups=2)
