# SPDX-License-Identifier: Apache-2.0
"""Automatic mixed precision and loss scaling: on the CPU, and (python_on_shadow_device) on an accelerator."""
import os

import numpy as np
import pytest

import millstream as tf
from millstream.client import rewrite_defaults

ON_ACCELERATOR = "MILLSTREAM_DEVICE_PLUGINS" in os.environ


@pytest.fixture(autouse=True)
def no_rewrite_is_left():
    yield
    tf.train.experimental.disable_mixed_precision_graph_rewrite()
    assert not rewrite_defaults._mixed_precision


def _config(**rewrites):
    config = tf.ConfigProto()
    for name in rewrites or {"auto_mixed_precision": 1, "auto_mixed_precision_cpu": 1}:
        setattr(config.graph_options.rewrite_options, name, 1)
    return config


def _run(fetches, config=None, feed=None):
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feed)


# 1 + 2^-12 is a float, but no half and no bfloat16.
FINE = np.float32(1 + 2.0 ** -12)


def test_products_are_rounded_where_asked():
    x = tf.placeholder(tf.float32, [1, 1])
    y = tf.matmul(x, x)
    feed = {x: [[FINE]]}
    assert _run(y, feed=feed)[0, 0] == FINE * FINE
    half = _run(y, _config(), feed)
    assert half[0, 0] == 1 and half.dtype == np.float32
    assert _run(y, _config(auto_mixed_precision=1), feed)[0, 0] == (1 if ON_ACCELERATOR else FINE * FINE)


def test_bfloat16_on_the_cpu():
    with tf.device("/cpu:0"):
        x = tf.placeholder(tf.float32, [1, 1])
        y = tf.matmul(x, x)
    value = np.float32(1 + 2.0 ** -7)  # a bfloat16, its square is none
    assert _run(y, _config(auto_mixed_precision_onednn_bfloat16=1), {x: [[value]]})[0, 0] in (1 + 2.0 ** -6, 1 + 2.0 ** -6 + 2.0 ** -7)
    large = np.float32(1e5)  # out of the range of half
    assert _run(y, _config(auto_mixed_precision_onednn_bfloat16=1), {x: [[large]]})[0, 0] == pytest.approx(1e10, rel=0.02)
    assert np.isinf(_run(y, _config(auto_mixed_precision_cpu=1), {x: [[large]]})[0, 0])


def test_sums_stay_floats():
    x = tf.placeholder(tf.float32, [1, 4096])
    assert _run(tf.reduce_sum(x), _config(), {x: np.full([1, 4096], FINE)}) == pytest.approx(4097, abs=1e-3)


def _network(kind):
    rng = np.random.RandomState(1)
    x = tf.constant(rng.rand(16, 6, 6, 2).astype(np.float32))
    y = tf.constant(rng.randint(0, 3, 16))
    if kind == "conv":
        h = tf.layers.conv2d(x, 4, 3, activation=tf.nn.relu)
        h = tf.layers.batch_normalization(h, training=True)
        h = tf.layers.flatten(tf.layers.max_pooling2d(h, 2, 2))
    elif kind == "rnn":
        h, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.BasicLSTMCell(5), tf.reshape(x, [16, 6, 12]), dtype=tf.float32)
        h = h[:, -1]
    else:
        h = tf.layers.dense(tf.layers.flatten(x), 8, activation=tf.tanh)
    return tf.losses.sparse_softmax_cross_entropy(y, tf.layers.dense(h, 3))


def _train(kind, config, wrap, resource, steps=30):
    with tf.Graph().as_default():
        tf.set_random_seed(7)
        with tf.variable_scope("", use_resource=resource):
            loss = _network(kind)
        step = tf.train.get_or_create_global_step()
        train = wrap(tf.train.MomentumOptimizer(0.05, 0.9)).minimize(loss, global_step=step)
        with tf.Session(config=config) as session:
            session.run(tf.global_variables_initializer())
            losses = [session.run([loss, train])[0] for _ in range(steps)]
            values = session.run(tf.trainable_variables())
            assert session.run(step) == steps
        assert all(v.dtype == np.float32 for v in values)
        assert all(v.dtype.base_dtype == tf.float32 for v in tf.trainable_variables())
        return np.array(losses)


@pytest.mark.parametrize("resource", [False, True])
@pytest.mark.parametrize("kind", ["dense", "conv", "rnn"])
def test_training_gives_the_losses_of_floats(kind, resource):
    exact = _train(kind, None, lambda opt: opt, resource)
    half = _train(kind, _config(), lambda opt: tf.train.experimental.MixedPrecisionLossScaleOptimizer(opt, tf.train.experimental.FixedLossScale(1024.)),
                  resource)
    np.testing.assert_allclose(half, exact, rtol=0.03, atol=0.01)
    assert not np.array_equal(half, exact)  # it has done something
    assert exact[-1] < exact[0]


def test_the_switch_of_the_program():
    opt = tf.train.experimental.enable_mixed_precision_graph_rewrite(tf.train.GradientDescentOptimizer(1.0))
    assert isinstance(opt, tf.train.experimental.MixedPrecisionLossScaleOptimizer)
    x = tf.placeholder(tf.float32, [1, 1])
    y = tf.matmul(x, x)
    feed = {x: [[FINE]]}
    rounded = 1 if ON_ACCELERATOR else FINE * FINE
    assert _run(y, feed=feed)[0, 0] == rounded
    assert _run(y, tf.ConfigProto(), feed)[0, 0] == rounded
    forbidden = tf.ConfigProto()
    forbidden.graph_options.rewrite_options.auto_mixed_precision = 2
    assert _run(y, forbidden, feed)[0, 0] == FINE * FINE
    tf.train.experimental.disable_mixed_precision_graph_rewrite()
    assert _run(y, feed=feed)[0, 0] == FINE * FINE


def test_refusals():
    enable = tf.compat.v1.mixed_precision.enable_mixed_precision_graph_rewrite
    with pytest.raises(ValueError, match="must be an instance of"):
        enable(3)
    with pytest.raises(ValueError, match="must not already be"):
        enable(enable(tf.train.AdamOptimizer()))
    with pytest.raises(ValueError, match="at least 1"):
        enable(tf.train.AdamOptimizer(), 0.5)
    with pytest.raises(ValueError, match="Python int or float"):
        tf.mixed_precision.FixedLossScale("a")
    with pytest.raises(ValueError, match="Could not interpret"):
        enable(tf.train.AdamOptimizer(), "x")
    with pytest.raises(ValueError, match="instance of Optimizer"):
        tf.mixed_precision.MixedPrecisionLossScaleOptimizer(3, 2.0)


class _Dynamic:
    """A variable with the fed gradient, under a dynamic scale."""

    def __init__(self, optimizer=None, resource=True, **arguments):
        self.gradient = tf.placeholder(tf.float32, [2])
        self.w = tf.get_variable("w", initializer=[1.0, 2.0], use_resource=resource)
        self.scale = tf.mixed_precision.DynamicLossScale(**arguments)
        self.optimizer = tf.mixed_precision.MixedPrecisionLossScaleOptimizer(optimizer or tf.train.GradientDescentOptimizer(1.0), self.scale)
        self.step = tf.train.get_or_create_global_step()
        self.train = self.optimizer.apply_gradients([(self.gradient, self.w)], global_step=self.step)
        self.session = tf.Session()
        self.session.run(tf.global_variables_initializer())

    def after(self, gradient):
        self.session.run(self.train, {self.gradient: gradient})
        return float(self.session.run(self.scale())), self.session.run(self.w).tolist(), int(self.session.run(self.step))


@pytest.mark.parametrize("resource", [False, True])
def test_the_scale_grows_and_shrinks(resource):
    model = _Dynamic(resource=resource, initial_loss_scale=4, increment_period=2, multiplier=2.0)
    assert model.after([1, 0]) == (4, [0, 2], 1)
    assert model.after([1, 0]) == (8, [-1, 2], 2)
    assert model.after([np.inf, 0]) == (4, [-1, 2], 2)  # neither variable nor step
    assert model.after([0, 1]) == (4, [-1, 1], 3)
    assert model.after([np.nan, 0]) == (2, [-1, 1], 3)  # counts anew
    assert model.after([0, 1]) == (2, [-1, 0], 4)
    assert model.after([0, 1]) == (4, [-1, -1], 5)
    for _ in range(5):
        last = model.after([-np.inf, 0])
    assert last == (1, [-1, -1], 5)


def test_the_scale_stays_finite():
    model = _Dynamic(initial_loss_scale=2.0 ** 127, increment_period=1)
    assert model.after([0, 0])[0] == 2.0 ** 127
    assert model.after([0, 0])[0] == 2.0 ** 127


def test_slots_and_names():
    model = _Dynamic(tf.train.MomentumOptimizer(0.1, 0.9))
    assert [v.name for v in model.optimizer.variables()] == ["w/Momentum:0", "current_loss_scale:0", "good_steps:0"]
    assert model.train.name == "Momentum"
    assert model.optimizer.get_slot(model.w, "momentum").name == "w/Momentum:0"
    assert not any("loss_scale" in v.name or "good_steps" in v.name for v in tf.trainable_variables())


def test_gradients_are_those_of_the_loss():
    w = tf.get_variable("w", initializer=[3.0, 4.0])
    table = tf.get_variable("table", initializer=[[1.0], [2.0], [3.0]])
    loss = tf.reduce_sum(w * w) + tf.reduce_sum(tf.square(tf.gather(table, [2, 0])))
    for scale in (tf.mixed_precision.FixedLossScale(256), tf.mixed_precision.DynamicLossScale()):
        optimizer = tf.mixed_precision.MixedPrecisionLossScaleOptimizer(tf.train.GradientDescentOptimizer(1.0), scale)
        (dense, _), (sparse, _), (nothing, _) = optimizer.compute_gradients(loss, [w, table, tf.Variable(1.0)])
        assert nothing is None and isinstance(sparse, tf.IndexedSlices)
        assert _run(dense).tolist() == [6, 8]
        assert _run(sparse.values).tolist() == [[6], [2]]


def test_small_gradients_survive_by_the_scale():
    """The gradient 1e-8 is nothing in half; scaled by 2^15 it is something."""
    def gradient(scale):
        with tf.Graph().as_default():
            x = tf.placeholder(tf.float32, [1, 1])
            w = tf.get_variable("w", [1, 1], initializer=tf.ones_initializer())
            loss = tf.reduce_sum(tf.matmul(x, w)) * 1e-8
            optimizer = tf.mixed_precision.MixedPrecisionLossScaleOptimizer(tf.train.GradientDescentOptimizer(1.0), scale)
            return _run(optimizer.compute_gradients(loss)[0][0], _config(), {x: [[1.0]]})[0, 0]
    assert gradient(1.0) == 0
    assert gradient(2.0 ** 15) == pytest.approx(1e-8, rel=0.01)


def test_checkpoints_keep_floats_and_the_scale(tmp_path):
    model = _Dynamic(initial_loss_scale=8, increment_period=100)
    model.after([np.inf, 0])
    path = tf.train.Saver().save(model.session, str(tmp_path / "model"))
    assert dict(tf.train.list_variables(path)).keys() == {"current_loss_scale", "global_step", "good_steps", "w"}
    assert tf.train.load_variable(path, "current_loss_scale") == 4


def test_a_scale_of_ones_own():
    class Doubling(tf.mixed_precision.LossScale):
        def __init__(self):
            super().__init__()
            self._scale = self._add_weight("scale", 1.0)

        def __call__(self):
            return self._scale.value()

        def update(self, grads):
            return self._scale.assign(self._scale * 2.0), True

        def get_config(self):
            return {}

    w = tf.get_variable("w", initializer=[1.0])
    scale = Doubling()
    train = tf.mixed_precision.MixedPrecisionLossScaleOptimizer(tf.train.GradientDescentOptimizer(0.5), scale).minimize(tf.reduce_sum(w * w))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for expected in (2, 4, 8):
            session.run(train)
            assert session.run(scale()) == expected
        assert session.run(w) == 0


def test_config_round_trip():
    scale = tf.mixed_precision.DynamicLossScale(16, 3, 4.0)
    again = tf.mixed_precision.DynamicLossScale.from_config(scale.get_config())
    assert (again.initial_loss_scale, again.increment_period, again.multiplier) == (16.0, 3, 4.0)
    assert tf.mixed_precision.FixedLossScale(2.).get_config() == {"loss_scale_value": 2.0}
