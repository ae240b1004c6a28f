# SPDX-License-Identifier: Apache-2.0
"""tf.contrib.opt, contrib.training and slim evaluation, contrib.learn."""
import sys
import types

import numpy as np
import pytest

import millstream as tf

opt = tf.contrib.opt
START = np.float32([[1.0, -2.0], [3.0, 0.5], [-1.0, 4.0]])


def run(make, steps=3, sparse=False, use_resource=False):
    """The variable after some steps on the sum of its squares, or of those of two rows."""
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("v", initializer=START, use_resource=use_resource)
        used = tf.gather(v, [0, 2, 0]) if sparse else v
        train = make().minimize(tf.reduce_sum(tf.square(used)) / 2)
        session.run(tf.global_variables_initializer())
        for _ in range(steps):
            session.run(train)
        return session.run(v)


@pytest.mark.parametrize("use_resource", [False, True])
def test_decoupled_weight_decay(use_resource):
    w, velocity = START.astype(np.float64), 0.0
    for _ in range(3):
        gradient = w.copy()
        w = w - 0.01 * w
        velocity = 0.9 * velocity + gradient
        w = w - 0.1 * velocity
    make = lambda: opt.MomentumWOptimizer(0.01, 0.1, 0.9)
    np.testing.assert_allclose(run(make, use_resource=use_resource), w, rtol=1e-5)
    extended = opt.extend_with_decoupled_weight_decay(tf.train.MomentumOptimizer)
    np.testing.assert_allclose(run(lambda: extended(0.01, 0.1, 0.9), use_resource=use_resource), w, rtol=1e-5)
    plain, decayed = (run(m, 1, use_resource=use_resource) for m in (lambda: tf.train.AdamOptimizer(0.1),
                                                                     lambda: opt.AdamWOptimizer(0.02, 0.1)))
    np.testing.assert_allclose(decayed, plain - 0.02 * START, rtol=1e-5)


def test_decay_of_some_variables():
    a, b = tf.Variable([1.0]), tf.Variable([1.0])
    train = opt.MomentumWOptimizer(0.5, 0.0, 0.0).minimize(a[0] + b[0], decay_var_list=[a])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        assert session.run([a, b]) == [[0.5], [1.0]]


@pytest.mark.parametrize("use_resource", [False, True])
def test_variants_of_adam(use_resource):
    b1, b2, w, m, u = 0.9, 0.999, START.astype(np.float64), 0.0, 0.0
    for t in range(1, 4):
        m, u = b1 * m + (1 - b1) * w, np.maximum(b2 * u, abs(w))
        w = w - 0.1 / (1 - b1 ** t) * m / (u + 1e-8)
    np.testing.assert_allclose(run(lambda: opt.AdaMaxOptimizer(0.1), use_resource=use_resource), w, rtol=1e-4)
    w, m, v = START.astype(np.float64), 0.0, 0.0
    for t in range(1, 4):
        g = w
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
        w = w - 0.1 * np.sqrt(1 - b2 ** t) / (1 - b1 ** t) * (m * b1 + (1 - b1) * g) / (np.sqrt(v) + 1e-8)
    np.testing.assert_allclose(run(lambda: opt.NadamOptimizer(0.1), use_resource=use_resource), w, rtol=1e-4)
    lazy = run(lambda: opt.LazyAdamOptimizer(0.1), sparse=True, use_resource=use_resource)
    whole = run(lambda: tf.train.AdamOptimizer(0.1), sparse=True, use_resource=use_resource)
    np.testing.assert_allclose(lazy, whole, rtol=1e-5)  # every step has the same rows
    assert (lazy[1] == START[1]).all()


def test_rates_by_layer():
    w = START.astype(np.float64)
    g = w + 1e-4 * w
    rate = 0.5 * 0.001 * np.linalg.norm(w) / (np.linalg.norm(w) + 1e-4 * np.linalg.norm(w))
    np.testing.assert_allclose(run(lambda: opt.LARSOptimizer(0.5), 1), w - rate * g, rtol=1e-5)


def test_averages_and_clipped_variables(tmp_path):
    v = tf.get_variable("v", initializer=[4.0])
    optimizer = opt.MovingAverageOptimizer(tf.train.GradientDescentOptimizer(1.0), average_decay=0.5)
    with pytest.raises(RuntimeError, match="before creating"):
        optimizer.swapping_saver()
    train = optimizer.minimize(v[0])
    saver = optimizer.swapping_saver()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        saver.save(session, str(tmp_path / "m"))
    assert tf.train.load_variable(str(tmp_path / "m"), "v") == [3.5]  # the average of 4 and 3
    w = tf.get_variable("w", initializer=[[3.0, 4.0]])
    clipped = opt.VariableClippingOptimizer(tf.train.GradientDescentOptimizer(0.0), {w: [1]}, 1.0).minimize(tf.reduce_sum(w))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(clipped)
        np.testing.assert_allclose(session.run(w), [[0.6, 0.8]], rtol=1e-6)


def test_another_library_minimizes(monkeypatch):
    def minimize(fun, x0, jac, method, bounds, callback, options):
        assert jac is True and method == "L-BFGS-B" and options == {"maxiter": 100}
        x = x0
        for _ in range(options["maxiter"]):
            loss, gradient = fun(x)
            x = x - 0.1 * gradient
        return types.SimpleNamespace(x=x, fun=float(loss), message="done", nit=100, nfev=100)
    optimize = types.ModuleType("scipy.optimize")
    optimize.minimize = minimize
    package = types.ModuleType("scipy")
    package.optimize = optimize
    monkeypatch.setitem(sys.modules, "scipy", package)
    monkeypatch.setitem(sys.modules, "scipy.optimize", optimize)
    a, b = tf.Variable([[1.0, 2.0]]), tf.Variable(5.0)
    loss = tf.reduce_sum(tf.square(a - 3.0)) + tf.square(b + 1.0)
    seen = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        opt.ScipyOptimizerInterface(loss, options={"maxiter": 100}).minimize(session, fetches=[loss], loss_callback=seen.append)
        np.testing.assert_allclose(session.run(a), [[3.0, 3.0]], atol=1e-4)
        assert abs(session.run(b) + 1.0) < 1e-4 and len(seen) == 100


def _checkpoint(folder):
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("x", initializer=2.0)
        tf.train.get_or_create_global_step()
        session.run(tf.global_variables_initializer())
        return tf.train.Saver().save(session, str(folder / "model"), global_step=7)


def test_evaluation_of_checkpoints(tmp_path):
    path = _checkpoint(tmp_path)
    x = tf.get_variable("x", initializer=0.0)
    step = tf.train.get_or_create_global_step()
    value, update = tf.metrics.mean(x * 2.0)
    tf.summary.scalar("value", value)
    hooks = [tf.contrib.training.StopAfterNEvalsHook(4), tf.contrib.training.SummaryAtEndHook(str(tmp_path / "logs"))]
    assert tf.contrib.training.evaluate_once(path, eval_ops=update, final_ops={"v": value}, hooks=hooks) == {"v": 4.0}
    assert list((tmp_path / "logs").iterdir())
    out = tf.contrib.slim.evaluation.evaluate_once("", path, str(tmp_path / "slim"), num_evals=3, eval_op=[update], final_op=value,
                                                   variables_to_restore=[x, step])
    assert out == 4.0
    out = tf.contrib.slim.evaluation.evaluation_loop("", str(tmp_path), str(tmp_path / "loop"), num_evals=1, eval_op=update,
                                                     final_op=value, eval_interval_secs=0, max_number_of_evaluations=1)
    assert out == 4.0
    assert tf.contrib.training.wait_for_new_checkpoint(str(tmp_path), path, 0.01, timeout=0.05) is None


def test_contrib_learn():
    rng = np.random.RandomState(0)
    x = rng.randn(90, 4).astype(np.float32)
    y = (x[:, 0] > 0).astype(int) + (x[:, 1] > 0.5)
    columns = [tf.contrib.layers.real_valued_column("", dimension=4)]
    np.random.seed(1)
    config = tf.contrib.learn.RunConfig(tf_random_seed=1)
    classifier = tf.contrib.learn.DNNClassifier(feature_columns=columns, hidden_units=[10, 10], n_classes=3, config=config)
    assert classifier.fit(x=x, y=y, steps=80) is classifier
    assert classifier.evaluate(x=x, y=y)["accuracy"] > 0.9
    assert (np.array(list(classifier.predict(x, as_iterable=True))) == y).mean() > 0.9
    assert np.array(list(classifier.predict_proba(x[:2]))).shape == (2, 3)
    regressor = tf.contrib.learn.LinearRegressor(tf.contrib.learn.infer_real_valued_columns_from_input(x))
    regressor.fit(input_fn=lambda: (tf.constant(x), tf.constant(x.sum(1))), steps=60)
    assert regressor.evaluate(x, x.sum(1))["loss"] < 1.0

    def model_fn(features, targets, mode, params):
        out = tf.contrib.layers.fully_connected(features, 1, activation_fn=None)
        if mode == tf.contrib.learn.ModeKeys.INFER:
            return tf.contrib.learn.ModelFnOps(mode, predictions={"y": out})
        loss = tf.losses.mean_squared_error(targets, out[:, 0])
        train = tf.contrib.layers.optimize_loss(loss, tf.contrib.framework.get_global_step(), params["rate"], "SGD")
        return {"y": out}, loss, train
    estimator = tf.contrib.learn.SKCompat(tf.contrib.learn.Estimator(model_fn, params={"rate": 0.2}))
    estimator.fit(x, x.sum(1), steps=40)
    np.testing.assert_allclose(estimator.predict(x)["y"][:, 0], x.sum(1), atol=0.2)
