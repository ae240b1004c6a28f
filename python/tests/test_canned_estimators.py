# SPDX-License-Identifier: Apache-2.0
"""Ready-made estimators where scripts/estimators/canned_estimators.py does not look: clusters, warm starts, wrong arguments."""
import json

import numpy as np
import pytest

import millstream as tf

fc = tf.feature_column
WORDS = fc.categorical_column_with_hash_bucket("words", 6000)
CLUSTER = {"chief": ["localhost:1"], "worker": ["localhost:2"], "ps": ["localhost:3", "localhost:4"]}


def features():
    return {"words": tf.constant([["a"], ["b"]]), "x": tf.constant([[1.0], [2.0]])}, tf.constant([0, 1])


def inputs(count=2):
    return lambda: tf.data.Dataset.from_tensor_slices(({"x": np.float32([[1], [2]])}, [0, 1])).repeat(count).batch(2)


def test_tables_are_spread_over_parameter_servers(monkeypatch, tmp_path):
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": CLUSTER, "task": {"type": "worker", "index": 0}}))
    estimator = tf.estimator.DNNLinearCombinedClassifier(
        str(tmp_path), linear_feature_columns=[WORDS], dnn_feature_columns=[fc.embedding_column(WORDS, 600)], dnn_hidden_units=[600, 4],
        input_layer_partitioner=tf.min_max_variable_partitioner(max_partitions=2, min_slice_size=1 << 20))
    with tf.Graph().as_default() as graph, graph.device(estimator._device()):
        _, spec = estimator._build(graph, features, tf.estimator.ModeKeys.TRAIN)
        shapes = {v.op.name: (v.shape.as_list(), v.device) for v in tf.trainable_variables()}
        assert spec.train_op.device.startswith("/job:")
    table = "dnn/input_from_feature_columns/input_layer/words_embedding/embedding_weights/part_"
    assert shapes[table + "0"][0] == shapes[table + "1"][0] == [3000, 600]
    assert {shapes[table + "0"][1], shapes[table + "1"][1]} == {"/job:ps/task:0", "/job:ps/task:1"}
    kernel = "dnn/hiddenlayer_0/kernel/part_"
    assert shapes[kernel + "0"][0] == shapes[kernel + "1"][0] == [300, 600]
    assert shapes["linear/linear_model/words/weights/part_0"][0] == [6000, 1]
    assert all(device.startswith("/job:ps") for _, device in shapes.values())


def test_warm_start_settings(tmp_path):
    x = fc.numeric_column("x")
    first = tf.estimator.LinearClassifier([x], str(tmp_path / "a"))
    first.train(inputs(5))
    weights, bias = "linear/linear_model/x/weights", "linear/linear_model/bias_weights"
    settings = tf.estimator.WarmStartSettings(str(tmp_path / "a"), vars_to_warm_start=".*weights$")
    still = tf.train.GradientDescentOptimizer(0.0)
    second = tf.estimator.LinearClassifier([x], str(tmp_path / "b"), optimizer=still, warm_start_from=settings)
    second.train(inputs(1))
    np.testing.assert_array_equal(first.get_variable_value(weights), second.get_variable_value(weights))
    only = tf.estimator.WarmStartSettings(str(tmp_path / "a"), vars_to_warm_start=".*bias")
    third = tf.estimator.LinearClassifier([x], str(tmp_path / "c"), optimizer=still, warm_start_from=only)
    third.train(inputs(1))
    assert third.get_variable_value(weights) == 0 != first.get_variable_value(weights)
    np.testing.assert_array_equal(first.get_variable_value(bias), third.get_variable_value(bias))
    with pytest.raises(ValueError, match="misspelled"), tf.Graph().as_default():
        tf.Variable(1.0, name="v")
        tf.train.warm_start(str(tmp_path / "a"), "none", var_name_to_prev_var_name={"w": "v"})


def test_wrong_arguments():
    x = fc.numeric_column("x")
    with pytest.raises(ValueError, match="Unsupported optimizer name: Best"):
        tf.estimator.LinearClassifier([x], optimizer="Best").train(inputs())
    with pytest.raises(ValueError, match="n_classes must be > 2: 1"):
        tf.estimator.DNNClassifier([3], [x], n_classes=1)
    with pytest.raises(ValueError, match="must be defined"):
        tf.estimator.DNNLinearCombinedRegressor()
    with pytest.raises(ValueError, match="dnn_hidden_units must be defined"):
        tf.estimator.DNNLinearCombinedRegressor(dnn_feature_columns=[x]).train(inputs())
    with pytest.raises(ValueError, match="should be a dictionary"):
        tf.estimator.LinearClassifier([x]).train(lambda: (tf.constant([[1.0]]), tf.constant([1])))
    with pytest.raises(ValueError, match="Mismatched label shape"):
        tf.estimator.LinearClassifier([x]).train(lambda: ({"x": tf.constant([[1.0]])}, tf.constant([[1, 0]])))
    with pytest.raises(tf.errors.InvalidArgumentError, match="Labels must be"):
        tf.estimator.LinearClassifier([x]).train(lambda: ({"x": tf.constant([[1.0]])}, tf.constant([2])), steps=1)
    with pytest.raises(ValueError, match="Invalid loss_reduction"):
        tf.estimator.LinearRegressor([x], loss_reduction="none")


def test_sequences():
    words = fc.sequence_categorical_column_with_vocabulary_list("words", ["a", "b", "c"])
    columns = [fc.indicator_column(words), fc.sequence_numeric_column("sizes"),
               fc.embedding_column(words, 2, initializer=tf.ones_initializer())]
    with tf.Graph().as_default(), tf.Session() as session:
        where = [[0, 0], [0, 1], [2, 0]]
        batch = {"words": tf.SparseTensor(where, ["a", "c", "b"], [3, 2]), "sizes": tf.SparseTensor(where, [5.0, 6.0, 7.0], [3, 2])}
        out, lengths = tf.contrib.feature_column.sequence_input_layer(batch, columns)
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        values, count = session.run([out, lengths])
        with pytest.raises(ValueError, match="must not be of type _SequenceCategoricalColumn"):
            fc.input_layer(batch, [fc.indicator_column(words)])
    assert count.tolist() == [2, 0, 1]  # sizes, then words as embedding and as indicator
    assert values.tolist() == [[[5, 1, 1, 1, 0, 0], [6, 1, 1, 0, 0, 1]], [[0] * 6] * 2, [[7, 1, 1, 0, 1, 0], [0] * 6]]


def _regression():
    x = np.float32(np.random.RandomState(0).randn(32, 1))
    return lambda: tf.data.Dataset.from_tensor_slices(({"x": x}, 2 * x)).repeat(8).batch(8)


def test_training_ends_when_evaluations_get_no_better(tmp_path):
    estimator = tf.estimator.LinearRegressor([fc.numeric_column("x")], str(tmp_path), optimizer=tf.train.GradientDescentOptimizer(0.0))
    hooks = lambda: [tf.contrib.estimator.stop_if_no_decrease_hook(estimator, "loss", 20, run_every_secs=None,
                                                                   run_every_steps=1)]
    for _ in range(2):  # nothing is learned: the second evaluation, 32 steps later, is as bad
        estimator.train(_regression(), hooks=hooks())
        estimator.evaluate(_regression())
    assert list(tf.contrib.estimator.read_eval_metrics(estimator.eval_dir())) == [32, 64]
    estimator.train(_regression(), hooks=hooks())
    assert estimator.get_variable_value("global_step") < 70
    assert estimator.get_variable_value("signal_early_stopping/STOP")
    low = tf.contrib.estimator.stop_if_lower_hook(estimator, "loss", -1.0, run_every_secs=None, run_every_steps=1)
    assert not low._should_stop()


def test_predictors(tmp_path):
    estimator = tf.estimator.LinearRegressor([fc.numeric_column("x")], str(tmp_path / "m"), optimizer=tf.train.GradientDescentOptimizer(0.05))
    estimator.train(_regression())
    receiver = tf.estimator.export.build_raw_serving_input_receiver_fn({"x": tf.placeholder(tf.float32, [None, 1])})
    folder = estimator.export_savedmodel(str(tmp_path / "out"), receiver)
    wanted = [[2.0], [-4.0]]
    exported = tf.contrib.predictor.from_saved_model(folder, signature_def_key="predict")
    direct = tf.contrib.predictor.from_estimator(estimator, receiver)
    for predict in (exported, direct):
        np.testing.assert_allclose(predict({"x": [[1.0], [-2.0]]})["predictions"], wanted, atol=0.1)
    with pytest.raises(ValueError, match="unexpected keys"):
        exported({"y": 1})
    with pytest.raises(ValueError, match="Available signatures"):
        tf.contrib.predictor.from_saved_model(folder, signature_def_key="none")


def _exported_signatures(estimator, receiver, folder):
    path = estimator.export_savedmodel(str(folder), receiver)
    with tf.Session(graph=tf.Graph()) as session:
        return tf.saved_model.loader.load(session, [tf.saved_model.tag_constants.SERVING], path).signature_def


@pytest.mark.parametrize("make", [
    lambda columns: tf.estimator.LinearClassifier(columns), lambda columns: tf.estimator.DNNClassifier([3], columns, n_classes=3),
    lambda columns: tf.estimator.LinearRegressor(columns), lambda columns: tf.estimator.BaselineClassifier(),
    lambda columns: tf.estimator.BaselineRegressor(),
    lambda columns: tf.estimator.DNNLinearCombinedClassifier(linear_feature_columns=columns, dnn_feature_columns=columns,
                                                             dnn_hidden_units=[2])])
@pytest.mark.parametrize("keys", ["x", "xz"])
def test_exports_with_raw_placeholders_keep_what_they_can_serve(make, keys, tmp_path):
    columns = [tf.feature_column.numeric_column(k) for k in keys]
    estimator = make(columns)
    estimator.train(lambda: tf.data.Dataset.from_tensors(({k: [[1.0], [2.0]] for k in keys}, [[0], [1]])).repeat(2), steps=1)
    raw = tf.estimator.export.build_raw_serving_input_receiver_fn({k: tf.placeholder(tf.float32, [None, 1]) for k in keys})
    signatures = _exported_signatures(estimator, raw, tmp_path / "raw")
    assert list(signatures) == ["predict"] and set(signatures["predict"].inputs) == set(keys)
    if isinstance(estimator, (tf.estimator.BaselineClassifier, tf.estimator.BaselineRegressor)):
        return  # they have no columns to parse
    parsed = tf.estimator.export.build_parsing_serving_input_receiver_fn(tf.feature_column.make_parse_example_spec(columns))
    assert {"predict", "serving_default"} < set(_exported_signatures(estimator, parsed, tmp_path / "parsed"))


def test_alternative_receivers_have_signatures_of_their_own(tmp_path):
    estimator = tf.estimator.LinearClassifier([tf.feature_column.numeric_column("x")])
    estimator.train(lambda: tf.data.Dataset.from_tensors(({"x": [[1.0], [2.0]]}, [[0], [1]])), steps=1)

    def receiver():
        examples = tf.placeholder(tf.string, [None])
        features = tf.parse_example(examples, {"x": tf.FixedLenFeature([1], tf.float32)})
        return tf.estimator.export.ServingInputReceiver(features, examples, {"raw": {"x": features["x"]}})
    signatures = _exported_signatures(estimator, receiver, tmp_path)
    assert set(signatures) == {"classification", "predict", "serving_default", "regression", "raw:predict"}
    assert signatures["raw:predict"].inputs["x"].dtype == tf.float32.as_datatype_enum
