# SPDX-License-Identifier: Apache-2.0
"""tf.data: map, filter, flat_map, interleave, shuffle, batch, padded_batch, zip, window by batch, iterators of all kinds."""
import os
import shutil
import tempfile

import numpy as np
import tensorflow as tf


def drain(sess, element, limit=50):
    out = []
    try:
        while len(out) < limit:
            out.append(sess.run(element))
    except tf.errors.OutOfRangeError:
        pass
    return out


folder = tempfile.mkdtemp()
for k in range(3):
    with open(os.path.join(folder, "part%d.csv" % k), "w") as f:
        f.write("id,value,name\n")
        for j in range(4):
            f.write("%d,%.2f,row%d\n" % (10 * k + j, k + j / 4.0, j))
files = sorted(os.path.join(folder, n) for n in os.listdir(folder))


def parse(line):
    number, value, name = tf.decode_csv(line, [[0], [0.0], [""]])
    return {"id": number, "value": value}, name


with tf.Session() as sess:
    ds = tf.data.Dataset.from_tensor_slices(files)
    ds = ds.interleave(lambda f: tf.data.TextLineDataset(f).skip(1), cycle_length=2, block_length=1)
    ds = ds.map(parse, num_parallel_calls=2).filter(lambda x, name: tf.not_equal(name, "row2")).batch(4).prefetch(1)
    features, names = ds.make_one_shot_iterator().get_next()
    print(ds.output_types, ds.output_shapes)
    for f, n in drain(sess, (features, names)):
        print(f["id"], f["value"], n)

    shuffled = tf.data.Dataset.range(20).shuffle(8, seed=4).repeat(2).batch(5)
    print(np.array(drain(sess, shuffled.make_one_shot_iterator().get_next())))

    sequences = tf.data.Dataset.range(1, 7).map(lambda n: (tf.fill([n], n), tf.cast(n, tf.float32) / 2))
    padded = sequences.padded_batch(3, padded_shapes=([None], []), padding_values=(tf.constant(-1, tf.int64), 0.0))
    for row in drain(sess, padded.make_one_shot_iterator().get_next()):
        print(row[0].tolist(), row[1].tolist())
    print(drain(sess, sequences.padded_batch(4, ([8], []), drop_remainder=True).make_one_shot_iterator().get_next())[0][0])

    limit = tf.placeholder(tf.int64, [])
    squares = tf.data.Dataset.range(limit).map(lambda x: x * x).apply(tf.data.experimental.map_and_batch(lambda x: x + 1, 3))
    iterator = squares.make_initializable_iterator()
    value = iterator.get_next()
    for n in (5, 2):
        sess.run(iterator.initializer, {limit: n})
        print([v.tolist() for v in drain(sess, value)])

    train = tf.data.Dataset.from_tensor_slices((np.arange(6), np.arange(6) * 0.5)).repeat()
    test = tf.data.Dataset.from_tensor_slices((np.arange(2), np.zeros(2)))
    shared = tf.data.Iterator.from_structure(train.output_types, train.output_shapes)
    item = shared.get_next()
    for ds in (train, test):
        sess.run(shared.make_initializer(ds))
        print(drain(sess, item, 7))
    handle = tf.placeholder(tf.string, [])
    feedable = tf.data.Iterator.from_string_handle(handle, train.output_types, train.output_shapes)
    a, b = (d.make_one_shot_iterator() for d in (train, test))
    ha, hb = sess.run([a.string_handle(), b.string_handle()])
    element = feedable.get_next()
    print(sess.run(element, {handle: ha}), sess.run(element, {handle: hb}), sess.run(element, {handle: ha}))

    def generator():
        for i in range(4):
            yield i, [i] * i

    gen = tf.data.Dataset.from_generator(generator, (tf.int32, tf.float32), (tf.TensorShape([]), tf.TensorShape([None])))
    print([(i, v.tolist()) for i, v in drain(sess, gen.make_one_shot_iterator().get_next())])
    both = tf.data.Dataset.zip((tf.data.Dataset.range(3), tf.data.Dataset.from_tensors("x").repeat()))
    print(drain(sess, both.concatenate(both.take(1)).make_one_shot_iterator().get_next()))
    flat = tf.data.Dataset.range(3).flat_map(lambda n: tf.data.Dataset.from_tensors(n).repeat(n)).enumerate(10)
    print(drain(sess, flat.make_one_shot_iterator().get_next()))
    cached = tf.data.Dataset.range(3).map(lambda x: x * 2).cache().repeat(2).skip(1)
    print(drain(sess, cached.make_one_shot_iterator().get_next()))
    scanned = tf.data.Dataset.range(5).apply(tf.data.experimental.scan(tf.constant(0, tf.int64), lambda s, x: (s + x, s * x)))
    print(drain(sess, scanned.make_one_shot_iterator().get_next()))
    print(drain(sess, tf.data.Dataset.range(10).shard(3, 1).make_one_shot_iterator().get_next()))
    pyf = tf.data.Dataset.range(3).map(lambda x: tf.py_func(lambda v: v + 100, [x], tf.int64))
    print(drain(sess, pyf.make_one_shot_iterator().get_next()))
    grouped = tf.data.Dataset.range(9).apply(tf.data.experimental.group_by_window(
        lambda x: x % 3, lambda key, d: d.batch(3), window_size=3))
    print([v.tolist() for v in drain(sess, grouped.make_one_shot_iterator().get_next())])
    buckets = tf.data.Dataset.range(1, 13).map(lambda n: tf.fill([n % 6], n)).apply(
        tf.data.experimental.bucket_by_sequence_length(lambda x: tf.shape(x)[0], [2, 4], [3, 2, 1], padded_shapes=[None]))
    print([v.tolist() for v in drain(sess, buckets.make_one_shot_iterator().get_next())])
    again = tf.data.Dataset.range(12).batch(4).apply(tf.data.experimental.unbatch()).filter(lambda x: tf.equal(x % 5, 0))
    print(drain(sess, again.make_one_shot_iterator().get_next()))
shutil.rmtree(folder)
