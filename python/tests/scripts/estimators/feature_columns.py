# SPDX-License-Identifier: Apache-2.0
"""Feature columns of every kind: input layers, linear models, crosses, shared tables, parts of tables, parsing specs."""
import os
import tempfile

import numpy as np
import tensorflow as tf

fc = tf.feature_column
folder = tempfile.mkdtemp()
with open(os.path.join(folder, "colors.txt"), "w") as f:
    f.write("red\ngreen\nblue\n")


def rows(shape):
    return np.random.RandomState(sum(shape)).randn(*shape).astype(np.float32)


def fixed(shape, dtype=None, partition_info=None):
    return tf.constant(rows([int(s) for s in shape]))


age = fc.numeric_column("age")
income = fc.numeric_column("income", shape=(2,), default_value=[1.0, 2.0], normalizer_fn=lambda x: x / 10.0)
age_buckets = fc.bucketized_column(age, boundaries=[18, 30.5, 60])
income_buckets = fc.bucketized_column(fc.numeric_column("income", shape=[2]), boundaries=[0.0, 25.0])
job = fc.categorical_column_with_hash_bucket("job", 7)
zone = fc.categorical_column_with_hash_bucket("zone", 5, dtype=tf.int64)
level = fc.categorical_column_with_vocabulary_list("level", ["low", "mid", "high"], num_oov_buckets=2)
number = fc.categorical_column_with_vocabulary_list("number", (7, 8, 9), default_value=2)
color = fc.categorical_column_with_vocabulary_file("color", os.path.join(folder, "colors.txt"))
color2 = fc.categorical_column_with_vocabulary_file("color2", os.path.join(folder, "colors.txt"), 3, default_value=0)
place = fc.categorical_column_with_identity("place", 4, default_value=0)
weighted = fc.weighted_categorical_column(job, "job_weight")
cross = fc.crossed_column(["level", age_buckets], 20)
cross2 = fc.crossed_column([cross, "job", number], 11, hash_key=5)

features = {
    "age": tf.constant([[17.0], [18.0], [70.0]]), "income": tf.constant([[1.0, 20.0], [30.0, -4.0], [25.0, 0.0]]),
    "job": tf.SparseTensor([[0, 0], [0, 1], [2, 0]], ["cook", "nurse", "cook"], [3, 2]),
    "job_weight": tf.SparseTensor([[0, 0], [0, 1], [2, 0]], [0.5, 2.0, -1.0], [3, 2]),
    "zone": tf.constant([[4], [-1], [9]], tf.int64), "level": tf.constant(["mid", "", "none"]),
    "number": tf.constant([[7, 9], [8, 8], [5, -1]], tf.int64), "color": tf.constant([["blue"], ["pink"], ["red"]]),
    "color2": tf.constant([["blue"], ["pink"], ["green"]]), "place": tf.constant([3, 9, 1]),
}


def show(title, value, feed=None):
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), tf.tables_initializer()])
        print(title, np.round(sess.run(value, feed), 5).tolist())


shared = fc.shared_embedding_columns([color, color2], 3, initializer=fixed)
columns = [age, income, age_buckets, fc.indicator_column(level), fc.indicator_column(number), fc.indicator_column(weighted),
           fc.embedding_column(job, 2, combiner="sum", initializer=fixed), fc.embedding_column(zone, 3, initializer=fixed, max_norm=0.5),
           fc.embedding_column(weighted, 4, combiner="sqrtn", initializer=fixed), fc.indicator_column(cross2), fc.indicator_column(place)]
to_vars, to_outputs = {}, {}
net = fc.input_layer(features, columns + shared, cols_to_vars=to_vars, cols_to_output_tensors=to_outputs)
print(net.shape)
for v in tf.global_variables():
    print(v.name, v.shape, v in tf.get_collection(tf.GraphKeys.MODEL_VARIABLES), v in tf.trainable_variables())
for c in sorted(to_vars, key=lambda c: c.name):
    print(c.name, [v.name for v in to_vars[c]], to_outputs[c].shape.as_list()[1])
show("input layer", net)

tf.reset_default_graph()
features = {k: tf.constant(v) for k, v in {
    "age": [[17.0], [18.0], [70.0]], "income": [[1.0, 20.0], [30.0, -4.0], [25.0, 0.0]], "level": [["mid"], [""], ["none"]],
    "job": [["cook", "nurse"], ["", "cook"], ["", ""]], "number": np.int64([[7, 9], [8, 8], [5, -1]]),
    "job_weight": [[1.0, 3.0], [0.0, 0.5], [0.0, 0.0]]}.items()}
for combiner in ("sum", "mean", "sqrtn"):
    found = {}
    with tf.variable_scope(combiner, initializer=tf.ones_initializer()):
        out = fc.linear_model(features, [age, income, income_buckets, job, level, cross, weighted], units=2, sparse_combiner=combiner,
                              cols_to_vars=found)
    for key in sorted(found, key=lambda c: c if isinstance(c, str) else c.name):
        print(key if isinstance(key, str) else key.name, [(v.name, v.shape.as_list()) for v in found[key]])
    updates = [tf.assign(v, rows(v.shape.as_list())) for v in tf.global_variables(combiner)]
    with tf.control_dependencies(updates):
        loss = tf.reduce_sum(tf.square(out))
    gradients = tf.gradients(loss, tf.trainable_variables(combiner))
    dense = [tf.convert_to_tensor(g) for g in gradients]
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), tf.tables_initializer()])
        sess.run(updates)
        print(combiner, np.round(sess.run(out), 4).tolist(), [float(np.round(g.sum(), 3)) for g in sess.run(dense)])

tf.reset_default_graph()
with tf.variable_scope("net", partitioner=tf.fixed_size_partitioner(3)):
    features = {"job": tf.constant([["cook", "nurse"], ["", "cook"], ["smith", ""]])}
    parts = fc.input_layer(features, fc.embedding_column(job, 2, initializer=lambda shape, dtype, partition_info: tf.fill(
        shape, float(partition_info.var_offset[0]))))
    line = fc.linear_model(features, [job])
for v in tf.global_variables():
    print(v.name, v.shape)
show("parts", parts)
show("line", line)

for column in [age, income, age_buckets, job, zone, level, place, weighted, cross, cross2, fc.embedding_column(color, 2)]:
    print(column.name, sorted((k, type(v).__name__, v.dtype.name, getattr(v, "shape", None)) for k, v in
                              fc.make_parse_example_spec([column]).items()))
example = tf.train.Example(features=tf.train.Features(feature={
    "age": tf.train.Feature(float_list=tf.train.FloatList(value=[33.0])),
    "job": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"cook", b"smith"]))})).SerializeToString()
tf.reset_default_graph()
used = [age, income, fc.indicator_column(job)]
show("parsed", fc.input_layer(tf.parse_example([example], fc.make_parse_example_spec(used)), used))

steps = fc.sequence_categorical_column_with_vocabulary_list("steps", ["a", "b"])
print(steps.name, fc.make_parse_example_spec([fc.embedding_column(steps, 2)]))


def error(call):
    try:
        call()
        print("no error")
    except (ValueError, TypeError) as e:
        print(type(e).__name__, str(e)[:60])


error(lambda: fc.numeric_column("x", shape=(0,)))
error(lambda: fc.numeric_column("x", shape=("a",)))
error(lambda: fc.numeric_column("x", dtype=tf.string))
error(lambda: fc.numeric_column("x", default_value="a"))
error(lambda: fc.numeric_column("x", shape=[2], default_value=[1.0]))
error(lambda: fc.bucketized_column(job, [1]))
error(lambda: fc.bucketized_column(age, [3, 1]))
error(lambda: fc.bucketized_column(age, []))
error(lambda: fc.categorical_column_with_hash_bucket("x", 0))
error(lambda: fc.categorical_column_with_hash_bucket("x", 4, tf.float32))
error(lambda: fc.categorical_column_with_vocabulary_list("x", []))
error(lambda: fc.categorical_column_with_vocabulary_list("x", [1, 1]))
error(lambda: fc.categorical_column_with_vocabulary_list("x", [1, 2], num_oov_buckets=1, default_value=0))
error(lambda: fc.categorical_column_with_vocabulary_file("x", os.path.join(folder, "none")))
error(lambda: fc.categorical_column_with_identity("x", 3, 3))
error(lambda: fc.crossed_column(["a"], 3))
error(lambda: fc.crossed_column(["a", job], 3))
error(lambda: fc.crossed_column(["a", age], 3))
error(lambda: fc.embedding_column(job, 0))
error(lambda: fc.indicator_column(age))
error(lambda: fc.shared_embedding_columns([color, job], 2))
error(lambda: fc.input_layer({"job": [["a"]]}, [job]))
error(lambda: fc.input_layer({"age": [[1.0]]}, [age, age]))
error(lambda: fc.input_layer({"age": [[1.0]]}, []))
error(lambda: fc.input_layer({"other": [[1.0]]}, [age]))
error(lambda: fc.input_layer({"age": 1.0}, [age]))
error(lambda: fc.input_layer({"age": [[1.0]], "income": [[1.0, 2.0], [1.0, 2.0]]}, [age, income]))
error(lambda: fc.linear_model({"job": tf.constant([[1.0]])}, [job]))
error(lambda: fc.linear_model({"place": tf.constant([["a"]])}, [place]))
print(fc.numeric_column("x") == fc.numeric_column("x"), len({fc.numeric_column("x"), fc.numeric_column("x")}))
