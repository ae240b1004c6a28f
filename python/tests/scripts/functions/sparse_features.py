# SPDX-License-Identifier: Apache-2.0
"""A wide model over sparse features: tf.parse_example, hashing, embedding_lookup_sparse, sparse placeholders and products."""
import numpy as np
import tensorflow as tf


def example(words, weights, age, label, tags=()):
    f = {"words": tf.train.Feature(bytes_list=tf.train.BytesList(value=[w.encode() for w in words])),
         "weights": tf.train.Feature(float_list=tf.train.FloatList(value=weights)),
         "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[label]))}
    if age is not None:
        f["age"] = tf.train.Feature(float_list=tf.train.FloatList(value=[age]))
    if tags:
        f["tags"] = tf.train.Feature(int64_list=tf.train.Int64List(value=tags))
    return tf.train.Example(features=tf.train.Features(feature=f)).SerializeToString()


rows = [example(["big", "red", "dog"], [1.0, 0.5, 2.0], 3.0, 1, [1, 2]), example(["small", "dog"], [1.0, 1.0], None, 0),
        example([], [], 7.0, 0, [3]), example(["red", "car", "red", "van"], [0.1, 0.2, 0.3, 0.4], 1.5, 1, [2, 2, 5])]
serialized = tf.placeholder(tf.string, [None])
parsed = tf.parse_example(serialized, {
    "words": tf.VarLenFeature(tf.string), "weights": tf.VarLenFeature(tf.float32), "tags": tf.VarLenFeature(tf.int64),
    "age": tf.FixedLenFeature([1], tf.float32, default_value=[5.0]), "label": tf.FixedLenFeature([], tf.int64),
    "padded": tf.FixedLenSequenceFeature([], tf.int64, allow_missing=True)})
words = parsed["words"]
ids = tf.SparseTensor(words.indices, tf.string_to_hash_bucket_fast(words.values, 16), words.dense_shape)
table = tf.get_variable("table", initializer=np.random.RandomState(0).randn(16, 3).astype(np.float32) * 0.1)
combined = [tf.nn.embedding_lookup_sparse(table, ids, parsed["weights"], combiner=c) for c in ("sum", "mean", "sqrtn")]
safe = tf.nn.safe_embedding_lookup_sparse(table, ids, combiner="mean")
multi_hot = tf.sparse_to_indicator(parsed["tags"], 8)
dense_tags = tf.sparse_tensor_to_dense(parsed["tags"], default_value=-1)
features = tf.concat([safe, parsed["age"] / 10.0, tf.cast(multi_hot, tf.float32)], 1)
weights = tf.Variable(tf.zeros([12, 1]))
logits = tf.matmul(features, weights)
labels = tf.expand_dims(tf.cast(parsed["label"], tf.float32), 1)
loss = tf.reduce_mean(tf.nn.weighted_cross_entropy_with_logits(labels=labels, logits=logits, pos_weight=1.5))
train = tf.train.FtrlOptimizer(0.5, l1_regularization_strength=0.001).minimize(loss)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    feed = {serialized: rows}
    for c in combined:
        print(sess.run(c, feed)[:2] if c is combined[0] else sess.run(c, feed).shape)
    print(sess.run([dense_tags, multi_hot, parsed["age"], parsed["padded"]], feed))
    for i in range(20):
        value, _ = sess.run([loss, train], feed)
        if i % 5 == 0:
            print(i, value)
    print(sess.run(table).sum(), sess.run(weights).ravel())
    try:
        sess.run(loss, {serialized: [b"not an example"]})
    except tf.errors.InvalidArgumentError:
        print("InvalidArgumentError")
    try:
        sess.run(parsed["label"], {serialized: [tf.train.Example().SerializeToString()]})
    except tf.errors.InvalidArgumentError as e:
        print("label" in str(e))

    sp = tf.sparse_placeholder(tf.float32, [None, 4])
    value = tf.SparseTensorValue([[0, 1], [1, 3], [2, 0]], [1.0, 2.0, 3.0], [3, 4])
    dense = tf.constant(np.arange(8).reshape(4, 2), tf.float32)
    product = tf.sparse_tensor_dense_matmul(sp, dense)
    print(sess.run([product, tf.sparse_reduce_sum(sp, 1), tf.sparse_tensor_to_dense(sp)], {sp: value}))
    st = tf.SparseTensor([[0, 2], [0, 0], [1, 1]], [3, 1, 2], [2, 3])
    print(sess.run([tf.sparse_reorder(st).values, tf.sparse_tensor_to_dense(tf.sparse_reorder(st)),
                    tf.sparse_add(tf.sparse_reorder(st), tf.sparse_reorder(st)).values, tf.sparse_transpose(tf.sparse_reorder(st)).indices]))
    joined = tf.sparse_concat(1, [tf.sparse_reorder(st), tf.sparse_reorder(st)])
    print(sess.run(tf.sparse_tensor_to_dense(joined)), sess.run(tf.sparse_retain(st, [True, False, True]).indices).tolist())
    split = tf.string_split(["a b c", "d", ""], " ")
    print(sess.run(split), sess.run(tf.sparse_tensor_to_dense(split, default_value="-")).tolist())
    filled, empty = tf.sparse_fill_empty_rows(tf.SparseTensor([[0, 0], [2, 1]], [1, 2], [3, 2]), -1)
    print(sess.run([filled.values, empty]))
    hyp = tf.SparseTensor([[0, 0], [0, 1]], ["a", "b"], [1, 2])
    truth = tf.SparseTensor([[0, 0], [0, 1], [0, 2]], ["a", "x", "c"], [1, 3])
    print(sess.run(tf.edit_distance(hyp, truth)), sess.run(tf.sparse_softmax(tf.SparseTensor([[0, 0], [0, 1]], [1.0, 2.0], [1, 2])).values))
    print(sess.run(tf.scatter_nd([[1], [3]], [9, 8], [5])), sess.run(tf.sparse_to_dense([1, 3], [5], 7, 0)))
