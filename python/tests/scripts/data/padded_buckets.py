# SPDX-License-Identifier: Apache-2.0
"""Batches padded to boundaries of buckets, and to sizes that tensors say."""

import tensorflow as tf, numpy as np
X = tf.data.experimental
def go(d, n=6):
    tf.set_random_seed(1)
    it = tf.data.make_one_shot_iterator(d); nx = it.get_next(); print(d.output_shapes if hasattr(d, "output_shapes") else "")
    with tf.Session() as s:
        for _ in range(n):
            try: print(s.run(nx))
            except tf.errors.OutOfRangeError: print("end"); break
            except (tf.errors.InvalidArgumentError, tf.errors.InternalError): print("invalid"); break
    tf.reset_default_graph()
mk = lambda: tf.data.Dataset.range(1, 9).map(lambda x: (tf.fill([x], x), x, tf.fill([x, 2], 1.)))
go(mk().apply(X.bucket_by_sequence_length(lambda a, b, c: tf.size(a), [4, 10], [2, 3, 1], pad_to_bucket_boundary=True)))
go(mk().apply(X.bucket_by_sequence_length(lambda a, b, c: tf.size(a), [4, 6], [2, 3, 1], pad_to_bucket_boundary=True, padded_shapes=([None], [], [None, 2]), padding_values=(np.int64(-1), np.int64(0), 0.))))
go(mk().map(lambda a, b, c: a).padded_batch(3, tf.constant([7], tf.int64)), 2)
go(mk().map(lambda a, b, c: a).take(5).padded_batch(3, [9], drop_remainder=True), 3)
