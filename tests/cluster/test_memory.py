# SPDX-License-Identifier: Apache-2.0
"""What a long job must not do: take fresh memory with every step."""
import threading
import time

import numpy as np
import pytest

import millstream as tf


def _page_faults(pid):
    with open(f"/proc/{pid}/stat") as f:
        return int(f.read().rsplit(")", 1)[1].split()[7])


def _resident_mb(pid):
    with open(f"/proc/{pid}/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS")) / 1024


@pytest.mark.parametrize("links", ["shm", "tcp"])
def test_a_steady_step_takes_no_fresh_pages(make_cluster, monkeypatch, links):
    monkeypatch.setenv("MILLSTREAM_LINKS", links)
    cluster = make_cluster(ps=1, worker=1)
    with tf.device("/job:ps/task:0"):
        w = tf.Variable(tf.zeros([784, 100]))
        b = tf.Variable(tf.fill([100], 0.1))
    with tf.device("/job:worker/task:0"):
        x = tf.Variable(tf.random_normal([100, 784], seed=1), trainable=False)
        loss = tf.reduce_mean(tf.square(tf.nn.relu(tf.matmul(x, w) + b) - 1.0))
    train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
    with tf.Session(cluster.target("worker")) as session:
        session.run(tf.global_variables_initializer())
        first = session.run(loss)

        def faults_of(steps):
            before = {task: _page_faults(p.pid) for task, p in cluster.processes.items()}
            for _ in range(steps):
                session.run(train)
            return {task: _page_faults(p.pid) - before[task] for task, p in cluster.processes.items()}

        faults_of(1500)  # until every thread that may take a step has had one
        rounds = [faults_of(200) for _ in range(5)]
        for task in cluster.processes:
            # A thread that gets work for the first time touches its stack; a leak of one page per step shows in every round.
            assert min(r[task] for r in rounds) <= 8, rounds
        assert session.run(loss) < first


def test_a_slow_consumer_holds_its_producer_back(make_cluster):
    """The ps makes megabytes as fast as it can; the worker takes one every 10 ms."""
    cluster = make_cluster(ps=1, worker=1)
    with tf.device("/job:worker/task:0"):
        queue = tf.FIFOQueue(4, tf.float32, shapes=[[250_000]])
        take = tf.reduce_sum(queue.dequeue())
    with tf.device("/job:ps/task:0"):
        made = tf.Variable(0, trainable=False)
        with tf.control_dependencies([made.assign_add(1)]):
            value = tf.fill([250_000], tf.constant(1.0))
    put = queue.enqueue(value)
    with tf.Session(cluster.target("worker")) as session:
        session.run(made.initializer)
        end = threading.Event()

        def produce():
            try:
                while not end.is_set():
                    session.run(put)
            except tf.errors.OpError:
                assert end.is_set()

        producers = [threading.Thread(target=produce) for _ in range(4)]
        for p in producers:
            p.start()
        for _ in range(20):
            session.run(take)
        before = [_resident_mb(p.pid) for p in cluster.processes.values()]
        for _ in range(100):
            time.sleep(0.01)
            assert session.run(take) == 250_000
        after = [_resident_mb(p.pid) for p in cluster.processes.values()]
        assert np.all(np.subtract(after, before) < 16), (before, after)  # of 100 MB that went through
        assert session.run(made) <= 120 + 4 + 4 + 2  # taken, in the queue, on their way
        end.set()
        session.run(queue.close(cancel_pending_enqueues=True))
        for p in producers:
            p.join(30)
            assert not p.is_alive()


def test_a_graph_that_wants_more_memory_than_it_may_have(make_cluster):
    cluster = make_cluster(flags=["--max_memory_bytes", "64M"], worker=1)
    size = tf.placeholder(tf.int32, [])
    total = tf.reduce_sum(tf.random_uniform([size, 1_000_000]))  # 4 MB each
    with tf.Session(cluster.target("worker")) as session:
        assert session.run(total, {size: 2}) > 0
        with pytest.raises(tf.errors.ResourceExhaustedError):
            session.run(total, {size: 40})
        assert session.run(total, {size: 2}) > 0  # the server lives and takes work
    assert cluster.alive("worker", 0)
