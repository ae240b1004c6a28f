# SPDX-License-Identifier: Apache-2.0
"""Datasets that are kept in files: snapshots, fingerprints, records, iterators in checkpoints."""

import os
import tempfile
import tensorflow as tf

D = tf.data.Dataset
d = tempfile.mkdtemp()


def show(name, fn):
    try:
        print(name, fn())
    except TypeError as e:
        print(name, "raised", type(e).__name__)


def plain(value):
    return value.tolist() if hasattr(value, "tolist") else value


def drain(ds, n=100):
    nx = tf.data.make_initializable_iterator(ds)
    out = []
    g = nx.get_next()
    with tf.Session() as s:
        s.run(nx.initializer)
        try:
            for _ in range(n):
                out.append(s.run(g))
        except tf.errors.OutOfRangeError:
            out.append("end")
    return [tuple(map(plain, o)) if isinstance(o, tuple) else plain(o) for o in out]


ds = D.range(6).map(lambda x: x * 2)
a = ds.snapshot(os.path.join(d, "s"))
print(drain(a))
print(drain(a))
print(len(os.listdir(os.path.join(d, "s"))))
b = D.from_tensor_slices(([1.0, 2.0], ["x", "y"])).apply(
    tf.data.experimental.snapshot(
        os.path.join(d, "s2"),
        compression="GZIP",
        shard_func=lambda x, y: tf.constant(0, tf.int64),
        reader_func=lambda dd: dd.flat_map(lambda q: q),
    )
)
print(drain(b))
print(drain(b))
show("bad shard", lambda: drain(ds.snapshot(d + "/x", shard_func=lambda x: "no")))
with tf.Session() as s:
    f = [
        s.run(q.fingerprint())
        for q in (
            ds,
            D.range(6).map(lambda x: x * 2),
            D.range(7).map(lambda x: x * 2),
            D.range(6).map(lambda x: x * 3),
            D.range(6).shuffle(3, seed=1).batch(2),
        )
    ]
    print(f[0] == f[1], f[0] == f[2], f[0] == f[3], f[0].dtype)
tf.reset_default_graph()
it = tf.data.make_initializable_iterator(D.range(10))
nx = it.get_next()
sv = tf.train.Saver({"it": tf.data.experimental.make_saveable_from_iterator(it)})
with tf.Session() as s:
    s.run(it.initializer)
    print(s.run(nx), s.run(nx))
    p = sv.save(s, d + "/it")
    print(s.run(nx), s.run(nx))
    sv.restore(s, p)
    print(s.run(nx))
with tf.Session() as s:
    s.run(it.initializer)
    sv.restore(s, p)
    print(s.run(nx))
w = tf.data.experimental.TFRecordWriter(d + "/out.tfrecord").write(D.from_tensor_slices(["p", "q"]))
tf.Session().run(w)
print(list(tf.python_io.tf_record_iterator(d + "/out.tfrecord")))
show("not strings", lambda: tf.data.experimental.TFRecordWriter(d + "/o").write(D.range(3)))
print(drain(tf.data.experimental.from_list([(1, "a"), (2, "b")])))
print(tf.data.experimental.SHARD_HINT)
