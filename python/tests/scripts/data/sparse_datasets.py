# SPDX-License-Identifier: Apache-2.0
"""Datasets whose elements hold sparse tensors: parsed examples with features of any length, batched, shared iterators."""
import numpy as np
import tensorflow as tf


def example(words, label):
    return tf.train.Example(features=tf.train.Features(feature={
        "words": tf.train.Feature(int64_list=tf.train.Int64List(value=words)),
        "label": tf.train.Feature(float_list=tf.train.FloatList(value=[label]))})).SerializeToString()


records = [example([1, 2, 3], 0.0), example([], 1.0), example([7], 0.5), example([4, 4], 2.0)]


def parse(record):
    parsed = tf.parse_single_example(record, {"words": tf.VarLenFeature(tf.int64), "label": tf.FixedLenFeature([], tf.float32)})
    return parsed["words"], parsed["label"]


dataset = tf.data.Dataset.from_tensor_slices(records).map(parse)
print(dataset.output_classes[0] is tf.SparseTensor, dataset.output_types)
words, label = dataset.make_one_shot_iterator().get_next()
batched = dataset.batch(3).make_initializable_iterator()
batch_words, batch_labels = batched.get_next()
scaled = dataset.map(lambda w, l: {"w": tf.SparseTensor(w.indices, w.values * 10, w.dense_shape), "l": l}).filter(
    lambda d: tf.shape(d["w"].values)[0] > 0).make_one_shot_iterator().get_next()
table = tf.constant(np.arange(16, dtype=np.float32).reshape(8, 2))
summed = tf.nn.embedding_lookup_sparse(table, batch_words, None, combiner="sum")
with tf.Session() as sess:
    for _ in records:
        w, l = sess.run([words, label])
        print(w.indices.tolist(), w.values, w.dense_shape, l)
    sess.run(batched.initializer)
    for _ in range(2):
        w, l = sess.run([batch_words, batch_labels])
        print(w.indices.tolist(), w.values, w.dense_shape, l)
    sess.run(batched.initializer)
    print(sess.run(summed))
    for _ in range(3):
        value = sess.run(scaled)
        print(value["w"].values, value["l"])
    st = tf.SparseTensor([[0, 1], [2, 0]], [5, 6], [3, 2])
    rows = tf.data.Dataset.from_tensor_slices(st).make_one_shot_iterator().get_next()
    for _ in range(3):
        r = sess.run(rows)
        print(r.indices.tolist(), r.values, r.dense_shape)
    whole = tf.data.Dataset.from_tensors((st, 1)).repeat(2).make_one_shot_iterator().get_next()
    print(sess.run(whole)[0].values, sess.run(tf.sparse_tensor_to_dense(whole[0])))
    shared = tf.data.Iterator.from_structure(dataset.output_types, dataset.output_shapes, output_classes=dataset.output_classes)
    element = shared.get_next()
    sess.run(shared.make_initializer(dataset))
    print(sess.run(element)[0].values)
