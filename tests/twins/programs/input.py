# SPDX-License-Identifier: Apache-2.0
"""Input queues."""
from functools import partial

import numpy as np

import millstream as tf


def _strings(**kwargs):
    tf.train.string_input_producer(["a", "b"], **kwargs)


def _slices(**kwargs):
    numbers = tf.constant(np.arange(6, dtype=np.float32).reshape(3, 2))
    return tf.train.slice_input_producer([numbers, tf.constant(np.arange(3, dtype=np.int64))], seed=3, **kwargs)


def _range():
    tf.train.range_input_producer(tf.constant(5), shuffle=False, num_epochs=2).dequeue()


def _examples():
    return [tf.placeholder(tf.float32, [4], name="x"), tf.placeholder(tf.int64, [], name="label")]


def _batch(**kwargs):
    tf.train.batch(_examples(), 8, **kwargs)


def _shuffle_batch(**kwargs):
    tf.train.shuffle_batch(_examples(), 8, capacity=64, min_after_dequeue=16, seed=3, **kwargs)


def _padded():
    tf.train.batch([tf.placeholder(tf.float32, [None], name="x")], 8, dynamic_pad=True)


def _joined():
    tf.train.batch_join([_examples(), _examples()], 8)
    tf.train.shuffle_batch_join([_examples(), _examples()], 8, capacity=64, min_after_dequeue=16, seed=3)


PROGRAMS = {
    "strings": partial(_strings, seed=3),
    "strings.in_order": partial(_strings, shuffle=False, num_epochs=2),
    "slices": _slices,
    "slices.epochs": partial(_slices, num_epochs=3, shuffle=True),
    "range": _range,
    "batch": _batch,
    "batch.many_threads": partial(_batch, num_threads=3, capacity=100, shared_name="shared", name="fed"),
    "batch.smaller": partial(_batch, allow_smaller_final_batch=True),
    "batch.padded": _padded,
    "shuffle_batch": _shuffle_batch,
    "shuffle_batch.smaller": partial(_shuffle_batch, allow_smaller_final_batch=True, num_threads=2),
    "joined": _joined,
}
