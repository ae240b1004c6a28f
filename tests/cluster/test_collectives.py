# SPDX-License-Identifier: Apache-2.0
"""Collective ops between the tasks of a cluster: in one graph, in one graph per worker, and when a task dies."""
import concurrent.futures
import random

import numpy as np
import pytest

import millstream as tf


@pytest.fixture
def workers(make_cluster):
    return make_cluster(worker=3)


def _reduce(x, size, instance, group=1, **kwargs):
    return tf.raw_ops.CollectiveReduce(input=x, group_size=size, group_key=group, instance_key=instance, merge_op="Add", final_op="Id",
                                       subdiv_offsets=[0], **kwargs)


def _run_each(cluster, tasks, make):
    """Runs make(task), in a graph and a session of its own on each task, at once; the results or errors."""
    def run(task):
        with tf.Graph().as_default(), tf.Session(cluster.target("worker", task)) as session:
            with tf.device(f"/job:worker/task:{task}/cpu:0"):
                fetches = make(task)
            try:
                return session.run(fetches, options=tf.RunOptions(timeout_in_ms=180_000))  # else members that nobody joins wait for ever
            except tf.errors.OpError as error:
                return error

    with concurrent.futures.ThreadPoolExecutor(len(tasks)) as pool:
        return list(pool.map(run, tasks))


def _reduce_anew(cluster, size=3):
    """The sum of ones after a group has failed: a task that has not heard of that yet gets the failure once more, while the others wait for it."""
    expected = (tf.errors.AbortedError, tf.errors.UnavailableError, tf.errors.DeadlineExceededError)
    for _ in range(3):
        results = _run_each(cluster, range(size), lambda _: _reduce(tf.constant(1.0), size, 1, timeout_seconds=10.0))
        if not any(isinstance(result, expected) for result in results):
            break
    return [float(x) for x in results]


def test_one_graph(workers):
    with tf.Graph().as_default(), tf.Session(workers.target("worker")) as session:
        sums, parts = [], []
        for task in range(3):
            with tf.device(f"/job:worker/task:{task}/cpu:0"):
                sums.append(_reduce(tf.constant([1.0, 10.0]) * (task + 1), 3, 1))
                parts.append(tf.raw_ops.CollectiveGatherV2(input=tf.constant([[task]]), group_size=3, group_key=1, instance_key=2,
                                                           ordering_token=[]))
        for _ in range(3):
            got_sums, got_parts = session.run([sums, parts])
            for one in got_sums:
                np.testing.assert_array_equal(one, [6, 60])
            for one in got_parts:
                np.testing.assert_array_equal(one, [[0], [1], [2]])


def test_a_graph_for_each_worker(workers):
    def make(task):
        outputs = []
        for instance in range(20) if task != 1 else reversed(range(20)):  # built, and perhaps run, in another order
            outputs.append(_reduce(tf.constant([float(task + instance)]), 3, instance))
        return outputs if task != 1 else outputs[::-1]

    for result in _run_each(workers, [0, 1, 2], make):
        assert [float(x[0]) for x in result] == [3.0 + 3 * instance for instance in range(20)]


def test_every_kind_and_large_tensors(workers):
    rows = 3 * 1000

    def make(task):
        x = tf.fill([rows, 100], float(task + 1))
        keys = dict(group_size=3, group_key=2)
        bcast = (tf.raw_ops.CollectiveBcastSendV2(input=x, instance_key=4, **keys) if task == 2 else
                 tf.raw_ops.CollectiveBcastRecvV2(T=tf.float32, shape=[rows, 100], instance_key=4, **keys))
        return [_reduce(x, 3, 1, group=2),
                tf.raw_ops.CollectiveAllToAllV2(input=x, instance_key=2, ordering_token=[], **keys),
                tf.raw_ops.CollectiveReduceScatterV2(input=x, instance_key=3, merge_op="Add", final_op="Div", ordering_token=[], **keys),
                bcast,
                tf.raw_ops.CollectiveGatherV2(input=x, instance_key=5, ordering_token=[], **keys)]

    for reduced, moved, shared, copied, gathered in _run_each(workers, [0, 1, 2], make):
        assert (reduced == 6).all() and reduced.shape == (rows, 100)
        assert [moved[i * 1000, 0] for i in range(3)] == [1, 2, 3]
        assert (shared == 2).all() and shared.shape == (1000, 100)
        assert (copied == 3).all()
        assert gathered.shape == (3 * rows, 100) and [gathered[i * rows, 5] for i in range(3)] == [1, 2, 3]


def test_shape_mismatch_is_everybodys_error(workers):
    for error in _run_each(workers, [0, 1], lambda task: _reduce(tf.constant([1.0] * (task + 1)), 2, 1)):
        assert isinstance(error, tf.errors.InvalidArgumentError) and "Shape mismatch" in str(error)
    assert [float(x) for x in _run_each(workers, [0, 1], lambda _: _reduce(tf.constant(1.0), 2, 1))] == [2, 2]


def test_types_that_differ_name_the_tasks(workers):
    for error in _run_each(workers, [0, 1], lambda task: _reduce(tf.constant([1.0], [tf.float32, tf.float64][task]), 2, 1)):
        assert isinstance(error, tf.errors.InvalidArgumentError)
        assert "task:0 has all-reduce of float" in str(error) and "task:1 has all-reduce of double" in str(error)


@pytest.mark.parametrize("waiting", [0, 1])  # one is the leader
def test_a_worker_that_does_not_come_is_named(workers, waiting):
    (error,) = _run_each(workers, [waiting], lambda _: _reduce(tf.constant(1.0), 2, 1, timeout_seconds=1.0))
    assert isinstance(error, tf.errors.DeadlineExceededError)
    assert "Collective has timed out waiting for other workers" in str(error)
    assert "worker:2 at " in str(error) and f"worker:{waiting} at " not in str(error)
    # Those who have given up may form a group of another size.
    results = _run_each(workers, [0, 1, 2], lambda _: _reduce(tf.constant(1.0), 3, 1))
    assert [float(x) for x in results] == [3, 3, 3]


@pytest.mark.parametrize("waiting", [0, 1])  # one is the group's first task, which knows who has entered
def test_a_member_of_a_formed_group_that_is_late_is_named(workers, waiting):
    assert [float(x) for x in _run_each(workers, [0, 1, 2], lambda _: _reduce(tf.constant(1.0), 3, 1))] == [3, 3, 3]
    (error,) = _run_each(workers, [waiting], lambda _: _reduce(tf.constant(1.0), 3, 1, timeout_seconds=1.0))
    assert isinstance(error, tf.errors.DeadlineExceededError)
    assert "task:2" in str(error).split("not yet:")[1]
    assert f"task:{waiting}" not in str(error).split("not yet:")[1].split(")")[0]
    assert _reduce_anew(workers) == [3, 3, 3]


def test_a_cancelled_step_ends_the_others_and_the_group_is_formed_anew(workers):
    def make(_):
        return _reduce(tf.constant(1.0), 3, 1)

    def run_cancelled():
        with tf.Graph().as_default(), tf.Session(workers.target("worker", 0)) as session:
            with tf.device("/job:worker/task:0/cpu:0"):
                fetch = make(0)
            with pytest.raises(tf.errors.DeadlineExceededError):
                session.run(fetch, options=tf.RunOptions(timeout_in_ms=1500))

    assert [float(x) for x in _run_each(workers, [0, 1, 2], make)] == [3, 3, 3]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        other = pool.submit(_run_each, workers, [1], make)
        pool.submit(run_cancelled).result(timeout=60)
        (error,) = other.result(timeout=60)
    assert isinstance(error, tf.errors.AbortedError) and "task:0" in str(error), error
    assert _reduce_anew(workers) == [3, 3, 3]


def test_many_small_ones_in_different_orders_are_fused(workers):
    """Each task starts its collectives in another order, as executors do; types and reductions are mixed."""
    kinds = [(tf.float32, "Add", "Id", lambda x: sum(x)), (tf.int64, "Max", "Id", max), (tf.float64, "Add", "Div", lambda x: sum(x) / 3)]

    def make(task):
        outputs = {}
        for instance in random.Random(task).sample(range(300), 300):
            dtype, merge, final, _ = kinds[instance % 3]
            value = tf.cast(tf.fill([instance % 17], task * instance), dtype)
            outputs[instance] = tf.raw_ops.CollectiveReduceV2(input=value, group_size=3, group_key=5, instance_key=instance, merge_op=merge,
                                                              final_op=final, ordering_token=[])
        return [outputs[instance] for instance in range(300)]

    for result in _run_each(workers, [0, 1, 2], make):
        for instance, got in enumerate(result):
            want = kinds[instance % 3][3]([task * instance for task in range(3)])
            np.testing.assert_array_equal(got, np.full([instance % 17], want))


def test_two_groups_do_not_wait_for_each_other(workers):
    """Tasks 0 and 1 reduce while their group with task 2 waits."""
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(_run_each, workers, [0, 1], lambda _: _reduce(tf.constant(1.0), 3, 1, group=1))
        results = _run_each(workers, [0, 1], lambda _: _reduce(tf.constant(1.0), 2, 1, group=2))
        assert [float(x) for x in results] == [2, 2] and not waiting.done()
        assert [float(x) for x in _run_each(workers, [2], lambda _: _reduce(tf.constant(1.0), 3, 1, group=1))] == [3]
        assert [float(x) for x in waiting.result(timeout=60)] == [3, 3]


def _dies_while_others_wait(workers, victim):
    def make(_):
        return _reduce(tf.constant(1.0), 3, 1)

    others = [task for task in range(3) if task != victim]
    assert [float(x) for x in _run_each(workers, [0, 1, 2], make)] == [3, 3, 3]
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(_run_each, workers, others, make)
        with pytest.raises(concurrent.futures.TimeoutError):
            waiting.result(timeout=1)
        workers.kill("worker", victim)
        for error in waiting.result(timeout=60):
            assert isinstance(error, (tf.errors.UnavailableError, tf.errors.AbortedError)), error
            assert f"worker:{victim}" in str(error) or f"task:{victim}" in str(error)
    return others, make


@pytest.mark.parametrize("victim", [0, 2])  # one is the leader
def test_a_worker_that_dies_is_named_and_may_come_back(workers, victim):
    _, make = _dies_while_others_wait(workers, victim)
    workers.start("worker", victim)
    assert [float(x) for x in _run_each(workers, [0, 1, 2], make)] == [3, 3, 3]


def test_survivors_form_the_group_again(workers):
    others, _ = _dies_while_others_wait(workers, 2)
    assert [float(x) for x in _run_each(workers, others, lambda _: _reduce(tf.constant(1.0), 2, 1))] == [2, 2]
