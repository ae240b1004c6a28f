# SPDX-License-Identifier: Apache-2.0
"""Optimizers that change how gradients of several workers travel: StaleSynchronousOptimizer, DistributedOptimizer with compression,
LocalSGDOptimizer, HierarchicalOptimizer. Workers are devices of one process that share a graph."""
import threading
import time

import numpy as np
import pytest

import millstream as tf
from millstream.worker_modes.collective_group import CollectiveGroup


@pytest.fixture(autouse=True)
def fresh_graph():
    tf.reset_default_graph()


def _session(devices):
    session = tf.Session(config=tf.ConfigProto(device_count={"CPU": devices}))
    session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    return session


def _reduced(gradients, steps=1, **settings):
    """The gradients that DistributedOptimizer gives to each of the workers in every step; gradients[worker] is the gradient of one."""
    results, fed = [], []
    for i, gradient in enumerate(gradients):
        with tf.device(f"/cpu:{i}"):
            v = tf.get_variable(f"v{i}", gradient.shape, dtype=gradient.dtype, initializer=tf.zeros_initializer())
            fed.append(tf.placeholder(gradient.dtype, gradient.shape))
            optimizer = tf.train.DistributedOptimizer(tf.train.GradientDescentOptimizer(1.0), len(gradients), **settings)
            (found, _), = optimizer.compute_gradients(tf.reduce_sum(v * fed[-1]), [v])
            results.append(found)
    with _session(len(gradients)) as session:
        return [session.run(results, dict(zip(fed, gradients))) for _ in range(steps)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("compression, bits", [("none", 22), ("fp16", 10), ("bf16", 7)])
def test_means_of_compressed_gradients(compression, bits, workers, dtype):
    random = np.random.RandomState(3)
    gradients = [random.randn(50, 3).astype(dtype) for _ in range(workers)]
    found, = _reduced(gradients, compression=compression)
    for value in found:
        assert value.dtype == dtype and value.tobytes() == found[0].tobytes()
        np.testing.assert_allclose(value, np.mean(gradients, 0), atol=8 * 2.0**-bits)
    exact = np.abs(found[0] - np.mean(gradients, 0)).max() < 1e-6
    assert exact == (compression == "none" or workers == 1)


def _top_k_reference(gradients, ratio, steps):
    """Error feedback as its definition has it."""
    residuals = [np.zeros_like(g).ravel() for g in gradients]
    count = int(np.ceil(ratio * gradients[0].size))
    for _ in range(steps):
        mean = np.zeros(gradients[0].size, gradients[0].dtype)
        for residual, gradient in zip(residuals, gradients):
            residual += gradient.ravel()
            sent = np.argsort(-np.abs(residual), kind="stable")[:count]
            mean[sent] += residual[sent] / len(gradients)
            residual[sent] = 0
        yield mean.reshape(gradients[0].shape)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("workers", [2, 3])
def test_top_k_sends_the_largest_entries_and_keeps_the_others(workers, dtype):
    random = np.random.RandomState(4)
    gradients = [random.randn(40, 5).astype(dtype) for _ in range(workers)]
    found = _reduced(gradients, steps=30, compression="topk", topk_ratio=0.04)
    for values, expected in zip(found, _top_k_reference(gradients, 0.04, 30)):
        for value in values:
            np.testing.assert_allclose(value, expected, atol=1e-4)
        assert np.count_nonzero(values[0]) <= 8 * workers
    # Nothing is lost: what has not been sent yet is a few gradients at most.
    total = np.sum([values[0] for values in found], 0) / 30
    assert np.abs(total - np.mean(gradients, 0)).max() < np.abs(gradients).max()


def test_small_gradients_travel_whole_with_top_k():
    gradients = [np.float32([1, 2, 3]), np.float32([3, 4, 5])]
    found, = _reduced(gradients, compression="topk", topk_ratio=0.5)
    np.testing.assert_allclose(found[0], [2, 3, 4])
    assert not tf.local_variables()


def test_top_k_converges_as_whole_gradients_do():
    """A least-squares problem of 400 numbers; every worker has half of the equations."""
    random = np.random.RandomState(5)
    wanted = random.randn(400).astype(np.float32)
    losses = {}
    for compression in ("none", "topk"):
        tf.reset_default_graph()
        trains, first = [], None
        for i in range(2):
            with tf.device(f"/cpu:{i}"):
                matrix = np.eye(400, dtype=np.float32)[i::2]
                v = tf.get_variable(f"v{i}", [400], initializer=tf.zeros_initializer())
                loss = tf.reduce_sum((tf.linalg.matvec(matrix, v) - matrix @ wanted) ** 2)
                optimizer = tf.train.DistributedOptimizer(tf.train.GradientDescentOptimizer(0.3), 2, compression, topk_ratio=0.1)
                trains.append(optimizer.minimize(loss, var_list=[v]))
                first = first if first is not None else v
        with _session(2) as session:
            for _ in range(150):
                session.run(trains)
            losses[compression] = np.abs(session.run(first) - wanted).max()
    assert losses["none"] < 1e-3 and losses["topk"] < 1e-2


def test_local_sgd_averages_every_few_steps():
    variables, slots, trains, averages = [], [], [], []
    for i in range(3):
        with tf.device(f"/cpu:{i}"):
            v = tf.get_variable(f"v{i}", [], initializer=tf.zeros_initializer())
            step = tf.get_variable(f"step{i}", [], tf.int64, tf.zeros_initializer(), trainable=False)
            optimizer = tf.train.LocalSGDOptimizer(tf.train.MomentumOptimizer(1.0, 0.0), 3, average_every=2)
            before = set(tf.global_variables())
            trains.append(optimizer.minimize(-(i + 1.0) * v, step, var_list=[v]))
            slots.append(optimizer.get_slot(v, "momentum"))
            own = [v, *(set(tf.global_variables()) - before)]
            averages.append(tf.group(*[optimizer._average(x) for x in own]))
            variables.append(v)
    with _session(3) as session:
        for _ in range(2):
            session.run(trains)
        assert session.run(variables) == [2, 4, 6]
        session.run(averages)
        assert session.run(variables) == [4, 4, 4] and session.run(slots) == [-2, -2, -2]


def test_groups_of_hierarchical_workers():
    v = tf.get_variable("v", [2], initializer=tf.zeros_initializer())
    step = tf.train.create_global_step()
    trains, optimizers = [], []
    for i in range(5):
        with tf.device(f"/cpu:{i}"):
            optimizers.append(tf.train.HierarchicalOptimizer(tf.train.GradientDescentOptimizer(1.0), 5, i, group_size=[2, 3]))
            trains.append(optimizers[i].minimize(-(i + 1.0) * tf.reduce_sum(v), step))
    assert [o.is_leader for o in optimizers] == [True, False, True, False, False]
    with _session(5) as session:
        session.run(trains[:2])
        assert session.run(v).tolist() == [1.5, 1.5]
        session.run(trains[2:])
        session.run(trains[2:])
        assert session.run(v).tolist() == [9.5, 9.5] and session.run(step) == 3
        assert session.run([o.step for o in optimizers]) == [1, 1, 3, 3, 3]  # what their leader has seen
        session.run([optimizers[0].agree_op, optimizers[1].agree_op])
        assert session.run(optimizers[1].step) == 3


@pytest.mark.parametrize("staleness", [0, 2])
def test_a_fast_worker_stays_within_the_bound(staleness):
    """The slow worker makes a step only when it is told to, so how far the fast one gets is known exactly."""
    steps, step = 8, tf.train.create_global_step()
    updates = [tf.get_variable(f"v{i}", [], initializer=tf.zeros_initializer()) for i in range(2)]
    trains = [tf.train.StaleSynchronousOptimizer(tf.train.GradientDescentOptimizer(1.0), staleness, 2, i).minimize(-v, step, var_list=[v])
              for i, v in enumerate(updates)]
    with _session(1) as session:
        fast = threading.Thread(target=lambda: [session.run(trains[0]) for _ in range(steps)])
        fast.start()
        for slow in range(steps):
            allowed = min(slow + staleness + 1, steps)
            while session.run(updates[0]) < allowed:
                time.sleep(0.001)
            assert session.run(updates[0]) == allowed
            session.run(trains[1])
        fast.join()


def test_refusals():
    sgd, step = tf.train.GradientDescentOptimizer(0.1), tf.train.create_global_step()
    v = tf.get_variable("v", [2])
    loss = tf.reduce_sum(v)
    for make, words in [
        (lambda: tf.train.StaleSynchronousOptimizer(sgd, -1, 2, 0), "staleness must not be negative: -1"),
        (lambda: tf.train.StaleSynchronousOptimizer(sgd, 1, 2, 2), "worker_index must be between 0 and 1: 2"),
        (lambda: tf.train.StaleSynchronousOptimizer(sgd, 1, 2, 0).minimize(loss), "Global step is required"),
        (lambda: tf.train.StaleSynchronousOptimizer(sgd, 1, 2, 0).make_session_run_hook().begin(), "apply_gradients"),
        (lambda: tf.train.LocalSGDOptimizer(sgd, 2, 0), "average_every must be positive: 0"),
        (lambda: tf.train.LocalSGDOptimizer(sgd, 0, 1), "at least one worker: 0"),
        (lambda: tf.train.LocalSGDOptimizer(sgd, 2, 5).minimize(loss), "Global step is required"),
        (lambda: tf.train.HierarchicalOptimizer(sgd, 4, 0, 0), "group_size must be positive: 0"),
        (lambda: tf.train.HierarchicalOptimizer(sgd, 4, 4, 2), "between 0 and 3: 4"),
        (lambda: tf.train.HierarchicalOptimizer(sgd, 4, 0, [2, 3]), "add up to 4 workers"),
        (lambda: tf.train.HierarchicalOptimizer(sgd, 4, 0, 2).minimize(loss), "Global step is required"),
        (lambda: tf.train.HierarchicalOptimizer(sgd, 4, 0, 2).make_session_run_hook().begin(), "apply_gradients"),
        (lambda: tf.train.DistributedOptimizer(sgd, 2, "zip"), "compression must be one of none, fp16, bf16, topk: 'zip'"),
        (lambda: tf.train.DistributedOptimizer(sgd, 2, "topk", 0.0), "above 0 and at most 1: 0.0"),
    ]:
        with pytest.raises(ValueError, match=words):
            make()
    with pytest.raises(NotImplementedError, match="'small' cannot be broadcast"):
        CollectiveGroup(2).broadcast([tf.get_variable("small", initializer=np.int8(1), trainable=False)], True)
    del step
