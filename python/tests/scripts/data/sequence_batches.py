# SPDX-License-Identifier: Apache-2.0
"""Batches of SequenceExamples, similarity at several sizes, sparse counts."""

import tensorflow as tf, numpy as np

np.set_printoptions(precision=5, suppress=True)


def show(name, f):
    tf.reset_default_graph()
    tf.set_random_seed(7)
    try:
        fetched = f()
        with tf.Session() as s:
            s.run([tf.global_variables_initializer(), tf.local_variables_initializer(), tf.tables_initializer()])
            print(name, s.run(fetched))
    except Exception as e:
        print(name, type(e).__name__)


def ex(a, b): return tf.train.SequenceExample(context=tf.train.Features(feature={"c": tf.train.Feature(float_list=tf.train.FloatList(value=[a]))}), feature_lists=tf.train.FeatureLists(feature_list={"x": tf.train.FeatureList(feature=[tf.train.Feature(int64_list=tf.train.Int64List(value=[i, i])) for i in range(b)]), "v": tf.train.FeatureList(feature=[tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"q"] * i)) for i in range(b)])})).SerializeToString()
S = [ex(1., 2), ex(2., 3)]
show("seq", lambda: tf.io.parse_sequence_example(S, {"c": tf.FixedLenFeature([], tf.float32), "d": tf.VarLenFeature(tf.int64)}, {"x": tf.FixedLenSequenceFeature([2], tf.int64), "v": tf.VarLenFeature(tf.string)}))
show("seq2", lambda: tf.io.parse_sequence_example(S, {"z": tf.FixedLenFeature([2], tf.int64, [5, 6])}))
show("ms", lambda: tf.image.ssim_multiscale(tf.random_uniform([2, 181, 183, 2], seed=1), tf.random_uniform([2, 181, 183, 2], seed=2) * .5, 1.))
show("bin", lambda: (tf.sparse.bincount([1, 1, 3]), tf.sparse.bincount([[1, 1, 3], [0, 0, 2]], axis=-1, maxlength=3), tf.sparse.bincount([1, 1, 3], weights=[.5, 1., 2.], minlength=5), tf.sparse.bincount(tf.SparseTensor([[0, 0], [1, 1]], [2, 2], [2, 2]), axis=-1, binary_output=True)))
