# SPDX-License-Identifier: Apache-2.0
"""Batches of lists, dicts, single tensors and sparse ones."""

import tensorflow as tf, numpy as np

i = tf.train.range_input_producer(8, shuffle=False).dequeue()
one = tf.train.batch([i], 3)
d = tf.train.batch({"k": i}, 2)
two = tf.train.batch([i, i * 2], 2)
j = tf.train.shuffle_batch_join([[tf.constant(3)]], 2, 20, 5)
m = tf.train.batch([tf.constant([1, 2, 3, 4])], 2, enqueue_many=True)
mj = tf.train.maybe_batch_join([[tf.constant(7)]], True, 2)
mb = tf.train.maybe_batch([tf.constant(5)], tf.constant(True), 2)
sp = tf.SparseTensor([[0], [2]], tf.constant([1.5, 2.5]), [4])
sb = tf.train.batch([sp, tf.constant(1)], 2)
ms = tf.train.batch([tf.SparseTensor([[0, 1], [1, 0], [2, 2]], [10, 20, 30], [3, 3])], 2, enqueue_many=True)
ex = tf.train.Example()
ex.features.feature["v"].int64_list.value.extend([4, 5])
f = tf.parse_single_example(ex.SerializeToString(), {"v": tf.VarLenFeature(tf.int64)})
fb = tf.train.batch(f, 2)
print(
    type(one).__name__ == "list",
    sorted(d),
    len(two),
    one.shape,
    sb[0].get_shape(),
    ms.get_shape(),
    fb["v"].get_shape(),
)
with tf.Session() as s:
    c = tf.train.Coordinator()
    t = tf.train.start_queue_runners(s, c)
    print(
        s.run(one).shape, s.run(d)["k"].shape, [x.shape for x in s.run(two)], s.run(j), s.run(m), s.run(mj), s.run(mb)
    )
    print(s.run(sb))
    r = s.run(ms)
    print(r.dense_shape, r.values.shape)
    print(s.run(fb))
    print(s.run(tf.sparse_tensor_to_dense(fb["v"])))
    c.request_stop()
    c.join(t)
