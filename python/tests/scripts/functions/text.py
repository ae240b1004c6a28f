# SPDX-License-Identifier: Apache-2.0
"""Strings, tables, hashing, CSV, numbers from text, SequenceExamples; a bag of words over a vocabulary file."""
import os
import shutil
import tempfile

import numpy as np
import tensorflow as tf

folder = tempfile.mkdtemp()
vocabulary = os.path.join(folder, "vocab.txt")
with open(vocabulary, "w") as f:
    f.write("\n".join(["the", "cat", "sat", "on", "mat"]) + "\n")
sentences = tf.placeholder(tf.string, [None])
tokens = tf.string_split(sentences, " ")
table = tf.lookup.StaticVocabularyTable(tf.lookup.TextFileInitializer(
    vocabulary, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER), num_oov_buckets=2)
ids = tf.SparseTensor(tokens.indices, table.lookup(tokens.values), tokens.dense_shape)
bag = tf.sparse_tensor_to_dense(ids, default_value=-1)
reverse = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer([0, 1, 2], ["zero", "one", "two"], tf.int32, tf.string), "?")
with tf.Session() as sess:
    sess.run(tf.tables_initializer())
    feed = {sentences: ["the cat sat", "the dog sat on the mat"]}
    print(sess.run(bag, feed).tolist(), sess.run(table.size()))
    print(sess.run(reverse.lookup(tf.constant([2, 0, 9]))), sess.run(reverse.size()))
    print(sess.run(tf.string_join(["a", ["b", "c"]], separator="-")), sess.run(tf.reduce_join([["a", "b"], ["c", "d"]], 1, separator="+")))
    print(sess.run(tf.substr(["hello", "world"], 1, 3)), sess.run(tf.strings.length(["abc", ""])), sess.run(tf.strings.strip([" x ", "y\n"])))
    print(sess.run(tf.regex_replace("a1b22", r"\d+", "#")), sess.run(tf.strings.regex_full_match(["ab", "abc"], "a.")))
    print(sess.run(tf.as_string([1.5, 2.25], precision=2)), sess.run(tf.as_string([7, 10], width=4, fill="0")), sess.run(tf.as_string([True])))
    print(sess.run(tf.string_to_number(["1.5", "-2e3"])), sess.run(tf.string_to_number(["7"], tf.int64)))
    print(sess.run(tf.string_to_hash_bucket_fast(["a", "b", "c"], 100)), sess.run(tf.string_to_hash_bucket_strong(["a"], 100, [1, 2])))
    print(sess.run(tf.decode_csv(["1,x,2.5", "2,,0"], [[0], ["none"], [0.0]])), sess.run(tf.strings.lower(["ABC"])), sess.run(tf.strings.upper(["abc"])))
    print(sess.run(tf.decode_raw([b"\x01\x00\x02\x00"], tf.int16)), sess.run(tf.encode_base64("hello?")), sess.run(tf.decode_base64("aGVsbG8_")))
    print(sess.run(tf.strings.split(["a b", "c"]).values), sess.run(tf.strings.format("x={} y={}", (tf.constant([1, 2]), tf.constant(3.0)))))
    print(sess.run(tf.unique(["b", "a", "b"])), sess.run(tf.equal(["a", "b"], "a")), sess.run(tf.where(tf.equal(["a", "b"], "b"))).tolist())
    print(sess.run(tf.one_hot(table.lookup(tf.constant(["cat", "on"])), 5)), sess.run(tf.constant("h\u00e9llo")), sess.run(tf.fill([2], "z")))
    print(sess.run(tf.cast(tf.constant([1, 0]), tf.bool)), sess.run(tf.concat([["a"], ["b", "c"]], 0)), sess.run(tf.reverse(["x", "y"], [0])))
    serialized = tf.serialize_tensor(tf.constant([[1.0, 2.0]]))
    print(sess.run(tf.parse_tensor(serialized, tf.float32)))
    example = tf.train.SequenceExample()
    example.context.feature["length"].int64_list.value.append(3)
    for k in range(3):
        example.feature_lists.feature_list["words"].feature.add().int64_list.value.append(k * 10)
        example.feature_lists.feature_list["vectors"].feature.add().float_list.value.extend([k, k / 2.0])
    context, sequence = tf.parse_single_sequence_example(
        example.SerializeToString(), context_features={"length": tf.FixedLenFeature([], tf.int64)},
        sequence_features={"words": tf.FixedLenSequenceFeature([], tf.int64), "vectors": tf.FixedLenSequenceFeature([2], tf.float32)})
    print(sess.run([context["length"], sequence["words"], sequence["vectors"]]))
    mutable = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
    insert = mutable.insert(["a", "b"], tf.constant([1, 2], tf.int64))
    sess.run(insert)
    print(sess.run([mutable.lookup(tf.constant(["b", "z"])), mutable.size()]))
    try:
        sess.run(tf.string_to_number("abc"))
    except tf.errors.InvalidArgumentError:
        print("InvalidArgumentError")
shutil.rmtree(folder)
