# SPDX-License-Identifier: Apache-2.0
"""Optimizers, decays, averages: the trajectories and names of TensorFlow 2.21 (data/optimizers.json)."""
import json
import os

import numpy as np
import pytest

import millstream as tf
from millstream import gen_ops

GOLDENS = json.load(open(os.path.join(os.path.dirname(__file__), "data", "optimizers.json")))
OPTIMIZERS = {
    "gd": lambda step: tf.train.GradientDescentOptimizer(0.1),
    "mom": lambda step: tf.train.MomentumOptimizer(0.1, 0.9),
    "nes": lambda step: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "adagrad": lambda step: tf.train.AdagradOptimizer(0.1),
    "da": lambda step: tf.train.AdagradDAOptimizer(0.1, step, l1_regularization_strength=0.01,
                                                   l2_regularization_strength=0.01),
    "adadelta": lambda step: tf.train.AdadeltaOptimizer(0.5),
    "rms": lambda step: tf.train.RMSPropOptimizer(0.01, momentum=0.5),
    "rmsc": lambda step: tf.train.RMSPropOptimizer(0.01, centered=True),
    "adam": lambda step: tf.train.AdamOptimizer(0.05),
    "ftrl": lambda step: tf.train.FtrlOptimizer(0.1, l1_regularization_strength=0.01, l2_regularization_strength=0.02),
    "ftrlv2": lambda step: tf.train.FtrlOptimizer(0.1, l2_shrinkage_regularization_strength=0.1),
    "pgd": lambda step: tf.train.ProximalGradientDescentOptimizer(0.1, 0.01, 0.01),
    "pada": lambda step: tf.train.ProximalAdagradOptimizer(0.1, 0.1, 0.01, 0.01),
}


@pytest.fixture(autouse=True)
def fresh_graph():
    with tf.Graph().as_default():
        yield


@pytest.mark.parametrize("resource", [False, True])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_trajectory(name, resource):
    """Five steps on a product (dense gradient) of gathered rows (sparse gradient with repeated rows)."""
    rng = np.random.RandomState(0)
    w0, e0 = rng.randn(4, 3).astype(np.float32), rng.randn(6, 4).astype(np.float32)
    x = rng.randint(0, 6, size=(8,)).astype(np.int32)
    x[1] = x[0]
    y = rng.randn(8, 3).astype(np.float32)
    step = tf.train.get_or_create_global_step()
    w = tf.get_variable("w", initializer=w0, use_resource=resource)
    e = tf.get_variable("e", initializer=e0, use_resource=resource)
    difference = gen_ops.mat_mul(e.sparse_read(tf.constant(x)), w) - y
    loss = gen_ops.mean(gen_ops.square(difference), [0, 1])
    train = OPTIMIZERS[name](step).minimize(loss, global_step=step)
    golden = GOLDENS[f"{name}_{resource}"]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        losses = []
        for _ in range(5):
            losses.append(sess.run([loss, train])[0])
        np.testing.assert_allclose(losses, golden["loss"], rtol=2e-6, atol=2e-6)
        sums = {v.op.name: float(np.sum(sess.run(v))) for v in tf.global_variables()}
    assert sorted(sums) == sorted(golden["sums"])
    for key, value in golden["sums"].items():
        np.testing.assert_allclose(sums[key], value, rtol=1e-4, atol=1e-4, err_msg=key)


def test_decays():
    g = tf.placeholder(tf.int32, [])
    t = tf.train
    rates = [t.exponential_decay(0.1, g, 10, 0.9), t.exponential_decay(0.1, g, 10, 0.9, staircase=True),
             t.piecewise_constant(g, [5, 20], [1.0, 0.5, 0.1]), t.polynomial_decay(0.1, g, 15, 0.01, power=2.0),
             t.polynomial_decay(0.1, g, 15, 0.01, cycle=True), t.natural_exp_decay(0.1, g, 10, 0.5),
             t.inverse_time_decay(0.1, g, 10, 0.5), t.cosine_decay(0.1, g, 20), t.cosine_decay_restarts(0.1, g, 10),
             t.linear_cosine_decay(0.1, g, 20)]
    with tf.Session() as sess:
        values = [x for k in [0, 3, 5, 7, 16, 25] for x in sess.run(rates, {g: k})]
        np.testing.assert_allclose(values, GOLDENS["decay"], rtol=1e-5, atol=1e-7)
        warm = tf.train.linear_warmup(0.1, g, 10, scale=4.0)
        np.testing.assert_allclose([sess.run(warm, {g: k}) for k in (0, 5, 10, 20)], [0.1, 0.25, 0.4, 0.4], rtol=1e-6)


def test_moving_average():
    v = tf.Variable([1.0, 2.0], name="v")
    ema, t = tf.train.ExponentialMovingAverage(0.9), v * 2.0
    apply, ema2 = ema.apply([v]), tf.train.ExponentialMovingAverage(0.8, zero_debias=True, name="E2")
    apply2, inc, values = ema2.apply([t]), tf.assign_add(v, [1.0, 1.0]), []
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(3):
            sess.run(inc)
            sess.run([apply, apply2])
            values += list(sess.run(ema.average(v))) + list(sess.run(ema2.average(t)))
    np.testing.assert_allclose(values, GOLDENS["ema"]["values"], rtol=1e-6)
    assert sorted(x.op.name for x in tf.global_variables()) == GOLDENS["ema"]["variables"]
    assert sorted(ema.variables_to_restore()) == GOLDENS["ema"]["restore"]


def test_slots_and_clipping():
    w = tf.Variable([1.0, 2.0], name="w")
    opt = tf.train.MomentumOptimizer(0.1, 0.9)
    pairs = opt.compute_gradients(gen_ops.sum(w * w, [0]), gate_gradients=tf.train.Optimizer.GATE_GRAPH)
    train = opt.apply_gradients([(gen_ops.clip_by_value(g, -1.0, 1.0), v) for g, v in pairs])
    assert opt.get_slot_names() == ["momentum"] and opt.get_slot(w, "momentum").op.name == "w/Momentum"
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(train)
        np.testing.assert_allclose(sess.run(w), [0.9, 1.9])
    with pytest.raises(ValueError, match="No gradients provided"):
        opt.minimize(tf.constant(1.0) * 2.0)


def test_users_optimizer():
    class Sign(tf.train.Optimizer):
        def __init__(self):
            super().__init__(False, "Sign")

        def _apply_dense(self, grad, var):
            return tf.assign_sub(var, 0.5 * gen_ops.sign(grad))

    w = tf.Variable([1.0, -1.0])
    train = Sign().minimize(gen_ops.sum(w * w, [0]))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(train)
        np.testing.assert_allclose(sess.run(w), [0.5, -0.5])


def test_device_setter():
    sizes = [10, 1000, 20, 30]
    with tf.device(tf.train.replica_device_setter(ps_tasks=2, worker_device="/job:worker/task:1")):
        devices = [tf.Variable(tf.constant(0.0, shape=[n])).device for n in sizes]
        other = tf.constant(1.0) + 2.0
    assert devices == [f"/job:ps/task:{i}" for i in (0, 1, 0, 1)] and other.device == "/job:worker/task:1"
    greedy = tf.contrib.training.GreedyLoadBalancingStrategy(2, tf.contrib.training.byte_size_load_fn)
    with tf.device(tf.train.replica_device_setter(ps_tasks=2, ps_strategy=greedy)):
        devices = [tf.Variable(tf.constant(0.0, shape=[n])).device for n in sizes]
    assert devices == [f"/job:ps/task:{i}" for i in (0, 1, 0, 0)]


class _TwoWorkers:
    """DC-ASGD by its formula: workers that take turns."""

    def __init__(self, w, rate, factor):
        self.w, self.rate, self.factor = np.array(w, np.float64), rate, factor
        self.shadows = [self.w.copy(), self.w.copy()]

    def step(self, worker, gradient, rows=slice(None)):
        gradient = np.asarray(gradient)
        delay = self.w[rows] - self.shadows[worker][rows]
        self.w[rows] -= self.rate * (gradient + self.factor * gradient * gradient * delay)
        self.shadows[worker][rows] = self.w[rows]


@pytest.mark.parametrize("resource", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_delay_compensated(sparse, resource):
    expected = _TwoWorkers([1.0, -2.0, 3.0], 0.1, 2.0)
    w = tf.get_variable("w", initializer=np.float32(expected.w), use_resource=resource)
    # Half a square has the value itself as its gradient; a row that occurs twice has it twice.
    loss = gen_ops.l2_loss(w.sparse_read(tf.constant([2, 0, 2])) if sparse else w)
    opts = [tf.train.DelayCompensatedGradientDescentOptimizer(0.1, 2.0, num_workers=2, name=name) for name in "AB"]
    trains = [opt.minimize(loss, worker_index=i) for i, opt in enumerate(opts)]
    assert opts[0].get_slot(w, "shadow_1").op.name == "w/A/shadow_1"
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for worker in (0, 1, 1, 0, 1):
            sess.run(trains[worker])
            if sparse:
                expected.step(worker, expected.w[[0, 2]] * [1, 2], [0, 2])
            else:
                expected.step(worker, expected.w)
            np.testing.assert_allclose(sess.run(w), expected.w, rtol=1e-5)
            np.testing.assert_allclose(sess.run(opts[worker].get_slot(w, f"shadow_{worker}")), expected.shadows[worker], rtol=1e-5)
    with pytest.raises(ValueError, match="worker_index"):
        opts[0].minimize(loss, worker_index=2)
    with pytest.raises(ValueError, match="worker_index"):
        tf.train.DelayCompensatedGradientDescentOptimizer(0.1, 2.0, num_workers=2, worker_index=2)


def test_sync_replicas_with_rows():
    """Rows of an embedding get the mean of those gradients that have them."""
    e = tf.get_variable("e", initializer=np.ones([4, 1], np.float32))
    step = tf.train.get_or_create_global_step()
    opt = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.5), replicas_to_aggregate=1)
    train = opt.minimize(gen_ops.sum(e.sparse_read(tf.constant([2, 0, 2])), [0, 1]), global_step=step)
    hook = opt.make_session_run_hook(True, num_tokens=0)
    with tf.train.SingularMonitoredSession(hooks=[hook]) as sess:
        sess.run(train)
        sess.run(train)
        values, steps = sess.run([e, step])
    assert steps == 2
    np.testing.assert_allclose(values[:, 0], [0.0, 1.0, -1.0, 1.0])
