# SPDX-License-Identifier: Apache-2.0
"""Datasets of the rows of ragged tensors."""

import tensorflow as tf, numpy as np
R = lambda: tf.ragged.constant([[1, 2], [], [3, 4, 5]])
for mk in (lambda: tf.data.Dataset.from_tensor_slices(R()).map(lambda x: x * 2), lambda: tf.data.Dataset.from_tensor_slices((R(), [7, 8, 9])).map(lambda x, y: (tf.reduce_sum(x), y)).batch(2), lambda: tf.data.Dataset.from_tensor_slices({"a": tf.ragged.constant([["x"], ["y", "z"]]), "b": np.eye(2)})):
    for one in (True, False):
        tf.reset_default_graph(); d = mk(); it = tf.data.make_one_shot_iterator(d) if one else tf.data.make_initializable_iterator(d); n = it.get_next()
        with tf.Session() as s:
            if not one: s.run(it.initializer)
            try:
                while True: print(s.run(n if not isinstance(n, dict) else {k: (v.values if hasattr(v, "row_splits") else v) for k, v in n.items()}))
            except tf.errors.OutOfRangeError: print("end")
