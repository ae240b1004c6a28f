# SPDX-License-Identifier: Apache-2.0
"""Partitioned variables and lookups in lists of variables, with both strategies and all combiners."""

import tensorflow as tf, numpy as np

with tf.device(tf.train.replica_device_setter(ps_tasks=3, worker_device="/job:worker/task:0")):
    with tf.variable_scope("emb", partitioner=tf.fixed_size_partitioner(3)):
        e = tf.get_variable("table", [10, 4], initializer=tf.random_uniform_initializer(seed=3))
    v = tf.get_variable(
        "vv", [7, 2], partitioner=tf.variable_axis_size_partitioner(24), initializer=tf.ones_initializer()
    )
    m = tf.get_variable(
        "mm",
        [8, 2],
        partitioner=tf.min_max_variable_partitioner(max_partitions=4, min_slice_size=16),
        initializer=tf.zeros_initializer(),
    )
print(type(e).__name__, [p.name for p in e], [p.device for p in e], [p.shape.as_list() for p in e])
print([p.name for p in v], [p.shape.as_list() for p in v], len(list(m)))
print(e.get_shape(), e.dtype, e.name, e.as_tensor().name)
print([v.op.name for v in tf.trainable_variables()])
tf.reset_default_graph()
with tf.variable_scope("emb", partitioner=tf.fixed_size_partitioner(3)):
    e = tf.get_variable("table", [10, 4], initializer=tf.random_uniform_initializer(seed=3))
parts = [
    tf.Variable(np.arange(i, 10, 3).astype(np.float32).reshape(-1, 1) * [[1.0, 10.0]], dtype=tf.float32)
    for i in range(3)
]
ids = tf.constant([[0, 9], [4, 3]])
a = tf.nn.embedding_lookup(e, ids, partition_strategy="div")
b = tf.nn.embedding_lookup(parts, ids)
c = tf.nn.embedding_lookup(parts, ids, partition_strategy="mod", max_norm=5.0)
sp = tf.SparseTensor([[0, 0], [0, 1], [2, 0]], [1, 2, 9], [3, 2])
wt = tf.SparseTensor([[0, 0], [0, 1], [2, 0]], [1.0, 3.0, 2.0], [3, 2])
ds = [tf.nn.embedding_lookup_sparse(parts, sp, wt, combiner=k) for k in ("sum", "mean", "sqrtn")]
d2 = tf.nn.embedding_lookup_sparse(e, sp, None, partition_strategy="div", combiner="mean")
g = tf.gradients(tf.reduce_sum(b * b), parts)
loss = tf.reduce_sum(tf.square(a))
tr = tf.train.AdagradOptimizer(0.5).minimize(loss)
print([x.op.name for x in tf.global_variables()])
with tf.Session() as s:
    s.run(tf.global_variables_initializer())
    for t in (a, b, c, d2, *ds):
        print(s.run(t))
    for x in g:
        print(type(x).__name__, s.run(x))
    s.run(tr)
    print(s.run(e.as_tensor()))
    print(s.run(tf.nn.safe_embedding_lookup_sparse(parts, sp, default_id=0)))
try:
    tf.nn.embedding_lookup(parts, ids, partition_strategy="zz")
except ValueError as er:
    print(er)
