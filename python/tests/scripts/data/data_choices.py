# SPDX-License-Identifier: Apache-2.0
"""Datasets chosen from others, resampled, grouped, read from CSV files and TFRecords, cached in files."""

import tensorflow as tf, numpy as np, os, tempfile

os.chdir(tempfile.mkdtemp())


def ds(name, f, n=6, kind="init"):
    tf.reset_default_graph(); tf.set_random_seed(3)
    try:
        d = f()
        print(name, d.output_types, d.output_shapes)
        it = d.make_initializable_iterator() if kind == "init" else d.make_one_shot_iterator()
        nx = it.get_next()
        with tf.Session() as s:
            s.run(tf.tables_initializer())
            if kind == "init": s.run(it.initializer)
            for _ in range(n):
                try: print(" ", s.run(nx))
                except tf.errors.OutOfRangeError: print("  end"); break
    except Exception as e:
        print(name, "ERR", type(e).__name__)
D = tf.data.Dataset
X = tf.data.experimental
ds("sparse_slices", lambda: D.from_tensor_slices(tf.SparseTensor([[0, 1], [1, 0]], [1, 2], [2, 2])))
ds("from_sparse", lambda: D.from_sparse_tensor_slices(tf.SparseTensor([[0, 1], [1, 0]], [1, 2], [2, 2])))
ds("enumerate", lambda: D.range(5, 8).enumerate(start=2))
ds("group_by_reducer", lambda: D.range(8).apply(X.group_by_reducer(lambda x: x % 2, X.Reducer(lambda _: np.int64(0), lambda s, x: s + x, lambda s: s))))
ds("dense_to_sparse", lambda: D.range(4).map(lambda x: tf.fill([x], x)).apply(X.dense_to_sparse_batch(2, [4])))
ds("sample", lambda: X.sample_from_datasets([D.range(0, 5), D.range(10, 15)], [0.5, 0.5], seed=2), n=12)
ds("choose", lambda: X.choose_from_datasets([D.range(0, 5), D.range(10, 15)], D.from_tensor_slices(np.array([0, 1, 1, 0], np.int64))))
ds("rejection", lambda: D.range(20).map(lambda x: x % 2).apply(X.rejection_resample(lambda x: tf.cast(x, tf.int32), [0.5, 0.5], seed=3)))
ds("ignore", lambda: D.from_tensor_slices([1., 0., 2.]).map(lambda x: tf.check_numerics(1. / x, "e")).apply(X.ignore_errors()))
ds("random", lambda: X.RandomDataset(seed=3).take(2))
ds("counter", lambda: X.Counter(5, 2).take(3))
ds("cardinality", lambda: D.from_tensors(X.cardinality(D.range(7).batch(2))))
ds("py_function", lambda: D.range(3).map(lambda x: tf.py_function(lambda v: v * 2, [x], tf.int64)))
open("l.txt", "w").write("h1,h2\n1,a\n2,b\n#c\n3,c\n")
ds("csv", lambda: X.CsvDataset("l.txt", [tf.int32, tf.string], header=True))
ds("make_csv", lambda: X.make_csv_dataset("l.txt", 2, label_name="h1", num_epochs=1, shuffle=False, column_defaults=[tf.string, tf.string]))
w = tf.python_io.TFRecordWriter("r.tfr")
for i in range(4): w.write(tf.train.Example(features=tf.train.Features(feature={"x": tf.train.Feature(int64_list=tf.train.Int64List(value=[i] * i)), "y": tf.train.Feature(float_list=tf.train.FloatList(value=[i, i]))})).SerializeToString())
w.close()
F = {"x": tf.VarLenFeature(tf.int64), "y": tf.FixedLenFeature([2], tf.float32)}
ds("parse_ds", lambda: tf.data.TFRecordDataset("r.tfr").batch(2).apply(X.parse_example_dataset(F)))
ds("make_batched", lambda: X.make_batched_features_dataset("r.tfr", 2, F, num_epochs=1, shuffle=False))
ds("cache_file", lambda: D.range(3).cache("cc").repeat(2), n=7)
ds("single", lambda: D.from_tensors(X.get_single_element(D.range(3, 4))))
ds("table", lambda: D.from_tensor_slices(["a", "b", "zz"]).map(tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "b"], np.array([0, 1], np.int64)), -1).lookup))
ds("parallel_interleave", lambda: D.range(3).apply(X.parallel_interleave(lambda x: D.range(x * 10, x * 10 + 2), cycle_length=2, sloppy=False)))
ds("snapshot_save", lambda: D.from_tensors(1).apply(X.assert_cardinality(1)))
# reinitializable, feedable
tf.reset_default_graph()
o = X.get_next_as_optional(tf.data.make_one_shot_iterator(D.range(1)))
e = X.Optional.from_value((1.0, tf.constant([2, 3])))
with tf.Session() as s:
    print(s.run([o.has_value(), o.get_value()]), s.run([e.has_value(), e.get_value()]))
