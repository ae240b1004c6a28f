# SPDX-License-Identifier: Apache-2.0
"""A parameter server and a worker in one process."""
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

import millstream as tf
from millstream import gen_ops
from ports import free_ports


def test_variable_on_ps():
    ports = free_ports(2)
    cluster = tf.train.ClusterSpec({"ps": [f"localhost:{ports[0]}"], "worker": [f"localhost:{ports[1]}"]})
    ps = tf.train.Server(cluster, job_name="ps", task_index=0)
    worker = tf.train.Server(cluster, job_name="worker", task_index=0, config=tf.ConfigProto(allow_soft_placement=True))
    assert worker.target == f"grpc://localhost:{ports[1]}" and worker.server_def.job_name == "worker"
    with tf.device("/job:ps/task:0"):
        v = gen_ops.variable_v2(shape=[2], dtype=tf.float32)
        init = gen_ops.assign(v, [1.0, 2.0])
    p = tf.placeholder(tf.float32, [2])
    with tf.device("/job:worker/task:0"):
        y = v * p
    add = gen_ops.assign_add(v, p)
    with tf.Session(worker.target) as session:
        assert len(session.list_devices()) == 2
        session.run(init.op)
        assert session.run(y, {p: [3, 4]}).tolist() == [3, 8]
        session.run(add.op, {p: [1, 1]})
    with tf.Session(worker.target) as session:
        assert session.run(y, {p: [3, 4]}).tolist() == [6, 12]
        with pytest.raises(tf.errors.OpError):
            with tf.device("/job:ps/task:7"):
                session.run(tf.constant(1))
    for server in (worker, ps):
        server.stop()
        server.join()


def test_arguments():
    for cluster, kwargs in [({"a": ["h:1"], "b": ["h:2"]}, {}), ({"a": ["h:1", "h:2"]}, {})]:
        with pytest.raises(ValueError):
            tf.train.Server(cluster, start=False, **kwargs)
    with pytest.raises(TypeError):
        tf.train.Server(3, start=False)
    with pytest.raises(tf.errors.OpError):
        tf.train.Server({"a": ["localhost:1"]}, job_name="nope", task_index=0)
    local = tf.train.Server.create_local_server()
    with tf.Session(local.target) as session:
        assert session.run(tf.constant(3)) == 3
    local.stop()


def test_interrupt_ends_join():
    code = ("import millstream as tf; s = tf.train.Server.create_local_server(); print('up', flush=True); s.join()")
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "up\n"
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert "KeyboardInterrupt" in err and process.returncode != 0


def test_session_of_another_process():
    (port,) = free_ports(1)
    cluster = {"worker": [f"localhost:{port}"]}
    target = f"grpc://localhost:{port}"
    v = gen_ops.variable_v2(shape=[], dtype=tf.float32, shared_name="v")
    init = gen_ops.assign(v, 5.0)
    waiting = tf.Session(target)  # there is no server yet: Ctrl-C ends the wait
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        waiting.run(init.op)
    code = f"import millstream as tf; s = tf.train.Server({cluster!r}, 'worker', 0); print('up', flush=True); s.join()"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "up\n"
        with tf.Session(target) as session:
            session.run(init.op)
        with tf.Session(target) as session:
            assert session.run(v + 1) == 6
            with pytest.raises(tf.errors.InvalidArgumentError) as info:
                session.run(tf.placeholder(tf.float32, name="unfed") + 1)
            assert info.value.op.name == "unfed"
        tf.Session.reset(target)
        with tf.Session(target) as session:
            with pytest.raises(tf.errors.FailedPreconditionError):
                session.run(v + 1)
        process.kill()


def test_server_def_says_what_was_asked_for():
    from millstream.proto import tensorflow_server_pb2
    port, other = free_ports(2)
    given = tensorflow_server_pb2.ServerDef(protocol="grpc", replica=3)
    for index, address in ((0, f"localhost:{port}"), (2, f"localhost:{other}")):
        given.cluster.job.add(name=f"job{index}").tasks[index] = address
    server = tf.train.Server(given, job_name="job2", task_index=2, config=tf.ConfigProto(allow_soft_placement=True), start=False)
    made = server.server_def
    assert (made.job_name, made.task_index, made.replica, made.protocol) == ("job2", 2, 3, "grpc")
    assert made.cluster == given.cluster and made.default_session_config.allow_soft_placement
    lone = tf.train.Server({"worker": {1: f"localhost:{port}"}}, task_index=1, start=False).server_def
    assert lone.job_name == "worker" and dict(lone.cluster.job[0].tasks) == {1: f"localhost:{port}"}
    with pytest.raises(ValueError, match="job_name"):
        tf.train.Server({"a": ["localhost:0"], "b": ["localhost:0"]}, start=False)
    with pytest.raises(ValueError, match="task_index"):
        tf.train.Server({"a": ["localhost:1", "localhost:2"]}, start=False)


def test_a_ps_does_without_protobuf():
    """Python's messages take 3 MB, which a task that only serves need not have."""
    program = ("import sys, millstream as tf\nserver = tf.train.Server({'ps': ['localhost:0']}, job_name='ps', task_index=0)\n"
               "assert not any(m.startswith('google.protobuf') for m in sys.modules)\nserver.stop()\n")
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


PROGRAM = """
import sys
import millstream as tf
job, cluster = sys.argv[1], tf.train.ClusterSpec({"ps": [sys.argv[2]], "worker": [sys.argv[3]]})
server = tf.train.Server(cluster, job, 0)
if job == "ps":
    server.join()
print("trains")
with tf.device(tf.train.replica_device_setter(cluster=cluster)):
    step = tf.assign_add(tf.train.get_or_create_global_step(), 1)
with tf.train.MonitoredTrainingSession(server.target, hooks=[tf.train.StopAtStepHook(last_step=3)]) as session:
    while not session.should_stop():
        session.run(step)
"""


def test_a_ps_does_not_go_on_as_a_worker():
    hosts = [f"localhost:{port}" for port in free_ports(2)]
    ps, worker = (subprocess.Popen([sys.executable, "-c", PROGRAM, job, *hosts], stdout=subprocess.PIPE, text=True)
                  for job in ("ps", "worker"))
    try:
        assert worker.communicate(timeout=120)[0] == "trains\n" and worker.returncode == 0
        assert ps.communicate(timeout=120)[0] == "" and ps.returncode == 0
    finally:
        for process in (ps, worker):
            process.kill()
