# SPDX-License-Identifier: Apache-2.0
"""Tasks with the shadow device (millstream/devices/shadow), whose memory the host cannot touch: values that travel between tasks over every kind of link, queues,
partial runs and collectives."""
import os
import pathlib

import numpy as np
import pytest

import millstream as tf
from train_command import summary_of, train

HERE = pathlib.Path(__file__).resolve().parent
PLUGIN = os.path.abspath(os.environ.get("MILLSTREAM_SHADOW_PLUGIN", HERE / "../../build/dev/libmillstream_shadow.so"))
LINKS = ["shm", "tcp", "grpc", "tls"]


@pytest.fixture
def on_accelerators(monkeypatch):
    """Processes that this test starts have an accelerator; the test itself is a client without one."""
    monkeypatch.setenv("MILLSTREAM_DEVICE_PLUGINS", PLUGIN)


@pytest.fixture(params=LINKS)
def link(request, monkeypatch, links, on_accelerators):
    for name, value in links(request.param).items():
        monkeypatch.setenv(name, value)
    return request.param


def _gpu(job, task=0):
    return tf.device(f"/job:{job}/task:{task}/gpu:0")


@pytest.mark.parametrize("dtype", [tf.float32, tf.int64, tf.bool])
def test_values_travel_between_devices(make_cluster, link, dtype):
    cluster = make_cluster(ps=1, worker=1)
    shape = [70, 1000]  # more than a tensor that is lent, and than a frame
    fed = tf.placeholder(dtype, shape)
    with _gpu("worker"):
        there = tf.identity(tf.reverse(fed, [0]))
    with _gpu("ps"):
        back = tf.reverse(there, [1])
        alone = tf.reshape(there[0, 0], [])
    with _gpu("worker"):
        both = tf.stack([tf.identity(back), there]), tf.identity(alone)
    value = np.arange(70000).reshape(shape).astype(dtype.as_numpy_dtype)
    with tf.Session(cluster.target("worker")) as session:
        assert {d.device_type for d in session.list_devices()} == {"CPU", "GPU"}
        for _ in range(3):
            stacked, first = session.run(both, {fed: value})
            np.testing.assert_array_equal(stacked, [value[::-1, ::-1], value[::-1]])
            assert first == value[-1, 0]


def test_variables_on_a_ps_with_an_accelerator(make_cluster, link):
    cluster = make_cluster(ps=1, worker=2)
    with _gpu("ps"):
        v = tf.get_variable("v", initializer=np.zeros([300, 300], np.float32), use_resource=True)
        r = tf.Variable(np.zeros([300, 300], np.float32))
    updates = []
    for task in range(2):
        with _gpu("worker", task):
            updates += [v.assign_add(tf.sqrt(v + task + 1.0) * 0 + (task + 1.0)), tf.assign_add(r, tf.fill([300, 300], task + 1.0))]
    with tf.Session(cluster.target("worker")) as session:
        session.run(tf.global_variables_initializer())
        for _ in range(5):
            session.run([u.op if hasattr(u, "op") else u for u in updates])
        for value in session.run([v, r]):
            np.testing.assert_array_equal(value, np.full([300, 300], 15))


def test_queues_between_tasks(make_cluster, link):
    cluster = make_cluster(ps=1, worker=2)
    with tf.device("/job:ps/task:0"):
        queue = tf.FIFOQueue(10, [tf.float32, tf.int32], shapes=[[200], []], shared_name="rows")
    number = tf.placeholder(tf.float32, [])
    with _gpu("worker", 0):
        row = tf.fill([200], number) * 2.0
        count = tf.cast(number, tf.int32)
    put = queue.enqueue([row, count])
    rows, counts = queue.dequeue_many(3)
    with _gpu("worker", 1):
        sums = tf.reduce_sum(rows, 1)
        total = tf.reduce_sum(tf.cast(counts, tf.float32))
    with tf.Session(cluster.target("worker", 0)) as producer, tf.Session(cluster.target("worker", 1)) as consumer:
        for i in range(6):
            producer.run(put, {number: i})
        assert consumer.run([sums, total])[0].tolist() == [0, 400, 800]
        taken = consumer.run([sums, total])
        assert taken[0].tolist() == [1200, 1600, 2000] and taken[1] == 12


def test_partial_runs(make_cluster, link):
    cluster = make_cluster(ps=1, worker=1)
    a, b = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.float32, [2])
    with _gpu("worker"):
        doubled = a * 2.0
    with _gpu("ps"):
        result = doubled + b
    with tf.Session(cluster.target("worker")) as session:
        for i in range(3):
            handle = session.partial_run_setup([doubled, result], [a, b])
            first = session.partial_run(handle, doubled, {a: [i, 1]})
            assert first.tolist() == [2 * i, 2]
            assert session.partial_run(handle, result, {b: first + 1}).tolist() == [4 * i + 1, 5]


@pytest.mark.parametrize("mode", ["sync", "allreduce", "local-sgd"])
def test_training_modes(program, small_mnist, link, mode):
    size = ["--ps", 0 if mode in ("allreduce", "local-sgd") else 1, "--workers", 2]
    done = train(program, "--model", "softmax", "--mode", mode, *size, "--data_dir", small_mnist, "--train_steps", 200, "--learning_rate", 0.2, "--batch_size", 50,
                 "--threads", 1, "--status_port", -1, "--logdir", "")
    assert summary_of(done)["accuracy"] > 0.8


def test_an_elastic_job(program, tmp_path, on_accelerators):
    from test_elastic import Job, _check_end
    job = Job(program, tmp_path, "1:2", 6, "--max_restarts", "1")
    try:
        job.wait_for_steps(2, 4)
        job.signal(0)
        job.wait_for(r"rank \d of 2 begins", 4)
        _check_end(job, 2, 6)
    finally:
        if job.process.poll() is None:
            job.process.kill()
