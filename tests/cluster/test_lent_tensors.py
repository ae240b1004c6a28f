# SPDX-License-Identifier: Apache-2.0
"""Large tensors between tasks of one host, which are lent, not copied: whoever reads one sees one value of it, and no update is lost."""
import concurrent.futures
import threading

import pytest

import millstream as tf

ELEMENTS = 100_000  # 400 KB of floats
STEPS = 60
LINKS = ["shm", "tcp"]


def _run_side_by_side(*programs):
    """Runs each in a thread of its own and returns their results."""
    with concurrent.futures.ThreadPoolExecutor(len(programs)) as pool:
        return [future.result() for future in [pool.submit(program) for program in programs]]


def _train_op(kind, variable, ones):
    """Adds `ones`, which the worker makes, to the variable."""
    if kind == "assign_add":
        return tf.assign_add(variable, ones, use_locking=True)
    optimizer = {"sgd": tf.train.GradientDescentOptimizer(1.0), "momentum": tf.train.MomentumOptimizer(1.0, 0.0)}[kind]
    return optimizer.apply_gradients([(-ones, variable)])


@pytest.mark.parametrize("links_kind", LINKS)
@pytest.mark.parametrize("kind, dtype", [(kind, dtype) for kind in ("assign_add", "sgd", "momentum") for dtype in (tf.float32, tf.float64)]
                         + [("assign_add", tf.int32)], ids=str)
@pytest.mark.parametrize("resource", [False, True], ids=["reference", "resource"])
def test_readers_see_whole_values_and_no_update_is_lost(make_cluster, monkeypatch, links_kind, kind, resource, dtype):
    monkeypatch.setenv("MILLSTREAM_LINKS", links_kind)
    cluster = make_cluster(ps=1, worker=2)

    def worker(index):
        with tf.Graph().as_default(), tf.Session(cluster.target("worker", index)) as session:
            with tf.device("/job:ps/task:0"):
                variable = tf.get_variable("v", [ELEMENTS], dtype, tf.zeros_initializer(), use_resource=resource)
                value = tf.identity(variable)  # one read of a resource variable
            with tf.device(f"/job:worker/task:{index}"):
                one = tf.placeholder(dtype, [])
                ones = tf.fill([ELEMENTS], one)
                lowest = tf.reduce_min(value)
                highest = tf.reduce_max(value + 0 * lowest)  # looks at it again, later
            train = _train_op(kind, variable, ones)
            if index == 0:
                session.run(tf.global_variables_initializer())
            ready.wait()
            seen = []
            for _ in range(STEPS):
                seen.append(session.run([lowest, highest]))
                session.run(train, {one: 1})
            ready.wait()
            return seen, session.run([lowest, highest])

    ready = threading.Barrier(2, timeout=120)
    for seen, last in _run_side_by_side(lambda: worker(0), lambda: worker(1)):
        assert all(low == high for low, high in seen), seen
        assert [low for low, _ in seen] == sorted(low for low, _ in seen)
        assert list(last) == [2 * STEPS, 2 * STEPS]


@pytest.mark.parametrize("links_kind", LINKS)
def test_values_that_a_queue_keeps_outlive_their_worker(make_cluster, monkeypatch, links_kind):
    monkeypatch.setenv("MILLSTREAM_LINKS", links_kind)
    cluster = make_cluster(ps=1, worker=2)
    with tf.Graph().as_default():
        with tf.device("/job:ps/task:0"):
            queue = tf.FIFOQueue(300, [tf.float32], [[ELEMENTS]], shared_name="values")
        with tf.device("/job:worker/task:1"):
            value = tf.placeholder(tf.float32, [])
            enqueue = queue.enqueue([tf.fill([ELEMENTS], value)])
        with tf.Session(cluster.target("worker", 1)) as session:
            for number in range(270):  # more than can be lent at a time
                session.run(enqueue, {value: number})
    cluster.kill("worker", 1)
    with tf.Graph().as_default(), tf.Session(cluster.target("worker", 0)) as session:
        with tf.device("/job:ps/task:0"):
            queue = tf.FIFOQueue(300, [tf.float32], [[ELEMENTS]], shared_name="values")
            taken = queue.dequeue()
        with tf.device("/job:worker/task:0"):
            lowest, highest = tf.reduce_min(taken), tf.reduce_max(taken)
        for number in range(270):
            assert session.run([lowest, highest]) == [number, number]


@pytest.mark.parametrize("links_kind", LINKS)
def test_an_assigned_value_is_the_variables_own(make_cluster, monkeypatch, links_kind):
    monkeypatch.setenv("MILLSTREAM_LINKS", links_kind)
    cluster = make_cluster(ps=1, worker=1)
    with tf.Graph().as_default(), tf.Session(cluster.target("worker")) as session:
        with tf.device("/job:ps/task:0"):
            variable = tf.get_variable("v", [ELEMENTS], tf.float32, tf.zeros_initializer())
        with tf.device("/job:worker/task:0"):
            value = tf.placeholder(tf.float32, [])
            made = tf.fill([ELEMENTS], value)
        assign, add = tf.assign(variable, made), tf.assign_add(variable, made)
        for number in range(20):
            session.run(assign.op, {value: number})
            session.run(add.op, {value: 1})  # in place
            assert set(session.run(variable)) == {number + 1}
