# SPDX-License-Identifier: Apache-2.0
"""Ready-made estimators over feature columns: variables, losses, metrics, predictions and summaries, from given initial values."""
import glob
import os
import tempfile

import numpy as np
import tensorflow as tf

fc = tf.feature_column
N = 24
rng = np.random.RandomState(0)
DATA = {"age": rng.randint(15, 70, [N, 1]).astype(np.float32), "hours": rng.rand(N, 2).astype(np.float32),
        "job": np.array([["cook"], ["nurse"], ["smith"]] * (N // 3)), "weight": rng.rand(N, 1).astype(np.float32)}
BINARY = (DATA["hours"].sum(1) > 1.0).astype(np.int32)
THREE = rng.randint(0, 3, [N])
VALUES = (DATA["hours"] @ [[1.0], [2.0]]).astype(np.float32)
age = fc.numeric_column("age", normalizer_fn=lambda x: x / 50.0)
hours = fc.numeric_column("hours", shape=[2])
job = fc.categorical_column_with_vocabulary_list("job", ["cook", "nurse", "smith"])
age_buckets = fc.bucketized_column(age, [0.5, 1.0])
deep = [age, hours, fc.embedding_column(job, 2)]
wide = [job, age_buckets, fc.crossed_column([age_buckets, "job"], 10)]


class Begin(tf.train.SessionRunHook):
    """Gives every trainable variable a value that depends on its name and shape only."""

    def begin(self):
        self.ops = []
        for v in tf.trainable_variables():
            seed = sum(ord(c) for c in v.op.name.replace("/part_0", ""))
            value = np.random.RandomState(seed).uniform(-0.5, 0.5, v.shape.as_list())
            self.ops.append(tf.assign(v, value.astype(np.float32)))

    def after_create_session(self, session, coord):
        session.run(self.ops)


def inputs(labels, repeat=1):
    return lambda: tf.data.Dataset.from_tensor_slices((DATA, labels)).repeat(repeat).batch(8)


def rounded(value):
    value = np.asarray(value)
    if value.dtype.kind == "O" or value.dtype.kind == "S":
        return value.tolist()
    return np.round(value.astype(np.float64), 4).tolist()


def tags(folder):
    found = set()
    for path in glob.glob(os.path.join(folder, "events*")):
        for event in tf.train.summary_iterator(path):
            found.update(v.tag for v in event.summary.value)
    return sorted(t for t in found if "_sec" not in t)


def show(title, estimator, labels):
    print("==", title)
    estimator.train(inputs(labels, 4), hooks=[Begin()])
    for name in sorted(estimator.get_variable_names()):
        print(name, rounded(estimator.get_variable_value(name)))
    result = estimator.evaluate(inputs(labels))
    print({k: round(float(result[k]), 4) for k in sorted(result)})
    first = next(iter(estimator.predict(inputs(labels))))
    print({k: rounded(first[k]) for k in sorted(first)})
    print(tags(estimator.model_dir))


config = tf.estimator.RunConfig(save_summary_steps=1, tf_random_seed=1)
show("linear, two classes", tf.estimator.LinearClassifier(wide + [hours], config=config), BINARY)
show("linear, three classes, weights", tf.estimator.LinearClassifier(
    wide, n_classes=3, weight_column="weight", optimizer=tf.train.FtrlOptimizer(0.1, l1_regularization_strength=0.01)), THREE)
show("linear, names of classes", tf.estimator.LinearClassifier(
    [hours], n_classes=3, label_vocabulary=["a", "b", "c"], optimizer="SGD"), np.array(["a", "b", "c"])[THREE])
show("linear regression", tf.estimator.LinearRegressor([hours, age], optimizer=lambda: tf.train.AdamOptimizer(0.01)), VALUES)
show("deep, two classes", tf.estimator.DNNClassifier([4, 3], deep, activation_fn=tf.nn.tanh, config=config), BINARY)
show("deep, three classes, batch norm", tf.estimator.DNNClassifier(
    [3], deep, n_classes=3, batch_norm=True, loss_reduction=tf.losses.Reduction.SUM_OVER_BATCH_SIZE), THREE)
show("deep regression", tf.estimator.DNNRegressor(hidden_units=[5], feature_columns=[hours], optimizer="RMSProp", weight_column="weight"),
     VALUES)
show("wide and deep", tf.estimator.DNNLinearCombinedClassifier(
    linear_feature_columns=wide, dnn_feature_columns=deep, dnn_hidden_units=[4], config=config), BINARY)
show("wide and deep regression", tf.estimator.DNNLinearCombinedRegressor(
    linear_feature_columns=wide, dnn_feature_columns=deep, dnn_hidden_units=[4], linear_optimizer="SGD",
    dnn_optimizer=tf.train.GradientDescentOptimizer(0.01)), VALUES)
show("baseline", tf.estimator.BaselineClassifier(n_classes=3), THREE)
show("baseline regression", tf.estimator.BaselineRegressor(), VALUES)

linear = tf.estimator.LinearClassifier([hours])
linear.train(inputs(BINARY, 2))
warm = tf.estimator.LinearClassifier([hours], optimizer=tf.train.GradientDescentOptimizer(0.0), warm_start_from=linear.model_dir)
warm.train(inputs(BINARY), steps=1)
name = "linear/linear_model/hours/weights"
print(np.allclose(linear.get_variable_value(name), warm.get_variable_value(name)))
more = tf.estimator.add_metrics(linear, lambda labels, predictions: {
    "mine": tf.metrics.mean(tf.cast(labels, tf.float32) - predictions["logistic"][:, 0])})
result = more.evaluate(inputs(BINARY))
print(sorted(result), round(float(result["mine"]), 4))
spec = tf.estimator.classifier_parse_example_spec([hours, job], "label", weight_column="weight")
print(sorted(spec.items()))
exported = linear.export_savedmodel(tempfile.mkdtemp(), tf.estimator.export.build_parsing_serving_input_receiver_fn(
    fc.make_parse_example_spec([hours])))
with tf.Session(graph=tf.Graph()) as sess:
    meta = tf.saved_model.loader.load(sess, ["serve"], exported)
    print(sorted((k, v.method_name, sorted(v.inputs), sorted(v.outputs)) for k, v in meta.signature_def.items()))
