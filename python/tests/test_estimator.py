# SPDX-License-Identifier: Apache-2.0
"""tf.estimator: model functions, trained in one process and in a cluster that TF_CONFIG describes."""
import json
import os
import subprocess
import sys

import numpy as np
import pytest

import millstream as tf
from ports import free_ports

X = np.random.RandomState(0).randn(512, 3).astype(np.float32)
Y = (X @ [[1.0], [-2.0], [0.5]] + 3.0).astype(np.float32)


def model_fn(features, labels, mode, params):
    out = tf.layers.dense(features["x"], 1, name="line")
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions={"y": out, "twice": out * 2})
    loss = tf.losses.mean_squared_error(labels, out)
    train = tf.train.GradientDescentOptimizer(params["rate"]).minimize(loss, tf.train.get_global_step())
    metrics = {"error": tf.metrics.mean_absolute_error(labels, out)}
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train, eval_metric_ops=metrics)


def inputs(epochs, shuffle=False, labels=True):
    return tf.estimator.inputs.numpy_input_fn({"x": X}, Y if labels else None, batch_size=64, num_epochs=epochs, shuffle=shuffle)


@pytest.fixture
def estimator(tmp_path):
    return tf.estimator.Estimator(model_fn, str(tmp_path / "model"), tf.estimator.RunConfig(tf_random_seed=1), {"rate": 0.1})


def test_train_evaluate_predict(estimator):
    before = estimator.evaluate(inputs(1))
    assert before["global_step"] == 0
    assert estimator.train(inputs(None), steps=150) is estimator
    after = estimator.evaluate(inputs(1))
    assert after["global_step"] == 150 and after["loss"] < 1e-3 < before["loss"] and after["error"] < 0.05
    np.testing.assert_allclose(estimator.get_variable_value("line/kernel"), [[1.0], [-2.0], [0.5]], atol=0.05)
    assert set(estimator.get_variable_names()) == {"global_step", "line/bias", "line/kernel"}
    rows = list(estimator.predict(inputs(1, labels=False)))
    assert len(rows) == 512
    np.testing.assert_allclose([r["y"] for r in rows], Y, atol=0.2)
    np.testing.assert_allclose(rows[0]["twice"], rows[0]["y"] * 2, rtol=1e-6)
    assert list(next(estimator.predict(inputs(1, labels=False), predict_keys=["y"]))) == ["y"]


def test_training_goes_on_from_the_checkpoint(estimator):
    estimator.train(inputs(None), steps=10)
    estimator.train(inputs(None), steps=10)
    assert estimator.get_variable_value("global_step") == 20
    estimator.train(inputs(None), max_steps=20)  # nothing to do
    assert estimator.latest_checkpoint().endswith("model.ckpt-20")
    estimator.train(inputs(1), max_steps=1000)  # the input ends first
    assert estimator.get_variable_value("global_step") == 28


def test_evaluation_for_some_steps(estimator):
    estimator.train(inputs(None), steps=1)
    runs = []

    class Count(tf.train.SessionRunHook):
        def after_run(self, run_context, run_values):
            runs.append(1)

    estimator.evaluate(inputs(None), steps=3, hooks=[Count()], name="some")
    assert len(runs) == 3
    assert any("tfevents" in n for n in os.listdir(os.path.join(estimator.model_dir, "eval_some")))


def test_dataset_input_and_partial_arguments(tmp_path):
    def input_fn(params):
        return tf.data.Dataset.from_tensor_slices(({"x": X}, Y)).batch(params["batch"]).repeat(2)

    seen = []

    def small_model(features, labels):  # no mode, no params
        seen.append(features["x"].shape.as_list())
        loss = tf.reduce_mean(tf.square(tf.layers.dense(features["x"], 1) - labels))
        return tf.estimator.EstimatorSpec("train", loss=loss, train_op=tf.train.AdamOptimizer().minimize(
            loss, tf.train.get_global_step()))

    with pytest.raises(ValueError, match="does not include params"):
        tf.estimator.Estimator(small_model, str(tmp_path), params={"batch": 128})
    estimator = tf.estimator.Estimator(lambda features, labels, mode, params: small_model(features, labels), str(tmp_path),
                                       params={"batch": 128})
    estimator.train(input_fn)
    assert estimator.get_variable_value("global_step") == 8 and seen[0][1:] == [3]


def test_export(estimator, tmp_path):
    estimator.train(inputs(None), steps=100)
    receiver = tf.estimator.export.build_raw_serving_input_receiver_fn({"x": tf.placeholder(tf.float32, [None, 3])})
    folder = estimator.export_savedmodel(str(tmp_path / "out"), receiver).decode()
    with tf.Graph().as_default(), tf.Session() as session:
        meta = tf.saved_model.load(session, ["serve"], folder)
        signature = meta.signature_def["serving_default"]
        out = session.run(signature.outputs["y"].name, {signature.inputs["x"].name: X[:5]})
    np.testing.assert_allclose(out, Y[:5], atol=0.2)
    assert os.listdir(tmp_path / "out") == [os.path.basename(folder)]


def test_specs_are_checked(estimator):
    with pytest.raises(ValueError, match="Missing loss"):
        tf.estimator.EstimatorSpec("eval")
    with pytest.raises(ValueError, match="Missing train_op"):
        tf.estimator.EstimatorSpec("train", loss=tf.constant(1.0))
    with pytest.raises(ValueError, match="both steps and max_steps"):
        estimator.train(inputs(1), steps=1, max_steps=1)
    with pytest.raises(ValueError, match="explicitly set as boolean"):
        tf.estimator.inputs.numpy_input_fn(X, Y)
    with pytest.raises(ValueError, match="should return an EstimatorSpec"):
        tf.estimator.Estimator(lambda features, labels: 1, estimator.model_dir).train(inputs(1))
    config = tf.estimator.RunConfig(save_checkpoints_steps=5)
    assert config.save_checkpoints_secs is None and config.replace(model_dir="m").model_dir == "m"
    with pytest.raises(ValueError, match="not supported"):
        config.replace(master="x")


def test_train_and_evaluate_in_one_process(estimator):
    receiver = tf.estimator.export.build_raw_serving_input_receiver_fn({"x": tf.placeholder(tf.float32, [None, 3])})
    exporters = [tf.estimator.FinalExporter("final", receiver), tf.estimator.BestExporter("best", receiver)]
    result, exports = tf.estimator.train_and_evaluate(
        estimator, tf.estimator.TrainSpec(inputs(None), max_steps=60),
        tf.estimator.EvalSpec(inputs(1), steps=None, throttle_secs=0, exporters=exporters))
    assert result["global_step"] == 60 and len(exports) == 2
    assert all(os.path.exists(os.path.join(e.decode(), "saved_model.pb")) for e in exports)


PROGRAM = """
import sys
sys.path.insert(0, {here!r})
import millstream as tf
from test_estimator import inputs, model_fn
config = tf.estimator.RunConfig(model_dir={folder!r}, save_checkpoints_steps=100, experimental_max_worker_delay_secs=0)
estimator = tf.estimator.Estimator(model_fn, config=config, params={{"rate": 0.05}})
result = tf.estimator.train_and_evaluate(estimator, tf.estimator.TrainSpec(inputs(None), max_steps=400),
                                         tf.estimator.EvalSpec(inputs(1), steps=None, start_delay_secs=0, throttle_secs=0))
print("RESULT", result)
"""


def test_train_and_evaluate_in_a_cluster(tmp_path):
    ports = iter(free_ports(3))
    cluster = {job: [f"localhost:{next(ports)}"] for job in ("chief", "ps", "worker")}
    program = PROGRAM.format(here=os.path.dirname(os.path.abspath(__file__)), folder=str(tmp_path / "model"))
    tasks = {job: subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   env={**os.environ, "TF_CONFIG": json.dumps({"cluster": cluster, "task": {"type": job, "index": 0}})})
             for job in ("ps", "chief", "worker", "evaluator")}
    outputs = {}
    try:
        for job, task in tasks.items():
            outputs[job] = task.communicate(timeout=180)[0]
    finally:
        for task in tasks.values():
            task.kill()
    assert [t.returncode for t in tasks.values()] == [0] * 4, outputs
    assert "'global_step': " in outputs["evaluator"] and "RESULT None" in outputs["worker"]
    assert int(tf.train.load_variable(str(tmp_path / "model"), "global_step")) >= 400
