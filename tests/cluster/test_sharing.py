# SPDX-License-Identifier: Apache-2.0
"""What a healthy cluster does: state that clients share, graphs over many tasks, large tensors, many sessions."""
import os
import threading

import numpy as np
import pytest

import millstream as tf


def test_two_clients_share_variables(make_cluster):
    cluster = make_cluster(ps=1, worker=2)
    with tf.device("/job:ps/task:0"):
        v = tf.Variable(0.0)
        add = v.assign_add(1.0, use_locking=True)
    with tf.Session(cluster.target("worker", 0)) as a, tf.Session(cluster.target("worker", 1)) as b:
        a.run(v.initializer)
        threads = [threading.Thread(target=lambda s=s: [s.run(add.op) for _ in range(200)]) for s in (a, b)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert a.run(v) == b.run(v) == 400.0  # no update is lost


def test_waiting_in_a_queue_holds_no_thread(make_cluster):
    """Ten clients wait at a ps with two threads; what they wait for still gets through."""
    cluster = make_cluster(ps=1, worker=1)
    with tf.device("/job:ps/task:0"):
        queue = tf.FIFOQueue(100, tf.int32)
        put, take = queue.enqueue(7), queue.dequeue()
    with tf.Session(cluster.target("worker")) as session:
        session.run(put)
        assert session.run(take) == 7
        got = []
        threads = [threading.Thread(target=lambda: got.append(session.run(take))) for _ in range(10)]
        for t in threads:
            t.start()
        for _ in range(10):
            session.run(put)
        for t in threads:
            t.join(30)
        assert got == [7] * 10


def test_a_model_cut_over_three_tasks(make_cluster):
    cluster = make_cluster(ps=1, worker=2)
    rng = np.random.RandomState(0)
    data = rng.randn(64, 4).astype(np.float32)
    labels = (data @ [1.0, -2.0, 0.5, 3.0]).astype(np.float32)[:, None]
    x, y = tf.placeholder(tf.float32, [None, 4]), tf.placeholder(tf.float32, [None, 1])
    tf.set_random_seed(1)
    with tf.device("/job:worker/task:0"):
        w1 = tf.Variable(tf.random_normal([4, 8], stddev=0.3))
        hidden = tf.tanh(tf.matmul(x, w1))
    with tf.device("/job:worker/task:1"):
        w2 = tf.Variable(tf.random_normal([8, 1], stddev=0.3))
        out = tf.matmul(hidden, w2)
    with tf.device("/job:ps/task:0"):
        loss = tf.reduce_mean(tf.square(out - y))
    train = tf.train.AdamOptimizer(0.05).minimize(loss)
    with tf.Session(cluster.target("worker")) as session:
        session.run(tf.global_variables_initializer())
        first = session.run(loss, {x: data, y: labels})
        for _ in range(150):
            session.run(train, {x: data, y: labels})
        assert session.run(loss, {x: data, y: labels}) < first / 20


def test_one_client_drives_two_workers(make_cluster):
    cluster = make_cluster(ps=1, worker=2)
    with tf.device("/job:ps/task:0"):
        w = tf.Variable(0.0)
    gradients = []
    for task in range(2):
        with tf.device(f"/job:worker/task:{task}"):
            gradients.append(tf.gradients(tf.square(w - 3.0 - task), w)[0])
    with tf.device("/job:ps/task:0"):
        together = w.assign_sub(0.125 * tf.add_n(gradients))
        alone = [w.assign_sub(0.1 * g, use_locking=True) for g in gradients]
    with tf.Session(cluster.target("worker")) as session:
        session.run(w.initializer)
        for _ in range(60):
            session.run(together)
        assert abs(session.run(w) - 3.5) < 1e-3
        threads = [threading.Thread(target=lambda op=op: [session.run(op) for _ in range(30)]) for op in alone]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert 2.9 < session.run(w) < 4.1


def test_sixteen_tasks(make_cluster):
    cluster = make_cluster(ps=4, worker=12)
    parts = []
    for i in range(4):
        with tf.device(f"/job:ps/task:{i}"):
            parts.append(tf.constant(float(i)))
    sums = []
    for i in range(12):
        with tf.device(f"/job:worker/task:{i}"):
            sums.append(tf.add_n(parts) + i)
    total = tf.add_n(sums)
    with tf.Session(cluster.target("worker", 11)) as session:
        assert len(session.list_devices()) == 16
        for _ in range(5):
            assert session.run(total) == 12 * 6 + 66


def _available_gb():
    with open("/proc/meminfo") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("MemAvailable")) / 1e6


@pytest.mark.parametrize("links", ["shm", "tcp", "grpc"])
def test_a_tensor_of_three_gigabytes(make_cluster, links):
    if _available_gb() < 12:
        pytest.skip("needs 12 GB of memory")
    os.environ["MILLSTREAM_LINKS"] = links
    try:
        cluster = make_cluster(ps=1, worker=1)
    finally:
        del os.environ["MILLSTREAM_LINKS"]
    with tf.device("/job:ps/task:0"):
        big = tf.fill([800_000_000], tf.placeholder_with_default(np.float32(2.0), []))
    with tf.device("/job:worker/task:0"):
        ends = big[0] + big[799_999_999]
        size = tf.size(big)
    with tf.Session(cluster.target("worker")) as session:
        assert session.run([ends, size]) == [4.0, 800_000_000]


def _resources(pid):
    with open(f"/proc/{pid}/status") as f:
        kb = next(int(line.split()[1]) for line in f if line.startswith("VmRSS"))
    return kb, len(os.listdir(f"/proc/{pid}/fd"))


def test_a_thousand_sessions_leave_nothing_behind(make_cluster):
    cluster = make_cluster(ps=1, worker=1)
    with tf.device("/job:ps/task:0"):
        a = tf.constant([1.0] * 100)
        b = a * 2.0
    with tf.device("/job:worker/task:0"):
        c = b + 1.0

    def open_and_close(count):
        for _ in range(count):
            with tf.Session(cluster.target("worker")) as session:
                session.run(c)

    open_and_close(150)
    before = [_resources(p.pid) for p in cluster.processes.values()]
    open_and_close(1000)
    after = [_resources(p.pid) for p in cluster.processes.values()]
    for (kb0, fds0), (kb1, fds1) in zip(before, after):
        assert kb1 - kb0 < 4000, (before, after)
        assert fds1 <= fds0 + 2, (before, after)


def test_tensors_stay_where_they_are_between_steps(make_cluster):
    cluster = make_cluster(ps=1, worker=1)
    with tf.device("/job:ps/task:0"):
        at_ps = tf.get_session_handle(tf.constant(3.0) + 1.0)
    with tf.device("/job:worker/task:0"):
        at_worker = tf.get_session_handle(tf.constant(5.0) + 1.0)
    with tf.Session(cluster.target("worker")) as session:
        at_ps, at_worker = session.run([at_ps, at_worker])
        assert at_ps.handle.endswith("/job:ps/replica:0/task:0/device:CPU:0")
        assert at_ps.eval() == 4.0 and at_worker.eval() == 6.0
        holder, value = tf.get_session_tensor(at_ps.handle, tf.float32)
        assert value.op.device == "/job:ps/replica:0/task:0/device:CPU:0"
        assert session.run(value * 10.0, {holder: at_ps.handle}) == 40.0
        assert session.run(value * 10.0, {holder: at_worker.handle}) == 60.0  # of another task: moved first
