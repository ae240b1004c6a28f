# SPDX-License-Identifier: Apache-2.0
"""Workers that come when others have left after their training, or when the job is done."""
import os
import socket
import subprocess
import sys

import pytest
import test_seeds
from ports import free_ports

SCRIPT = '''
import sys
import millstream as tf
job, index, style, ps, workers = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4], sys.argv[5].split(",")
cluster = tf.train.ClusterSpec({"ps": [ps], "worker": workers})
server = tf.train.Server(cluster, job_name=job, task_index=index)
if job == "ps":
    server.join()
    sys.exit(0)
chief, n = index == 0, 0
config = tf.ConfigProto(device_filters=["/job:ps", "/job:worker/task:0"]) if chief else None
with tf.device(tf.train.replica_device_setter(worker_device="/job:worker/task:%d" % index, cluster=cluster)):
    step = tf.train.get_or_create_global_step()
    train = tf.assign_add(step, 1)
if style == "monitored":
    hooks = [tf.train.StopAtStepHook(num_steps=5)]
    with tf.train.MonitoredTrainingSession(server.target, is_chief=chief, hooks=hooks, config=config) as sess:
        while not sess.should_stop():
            sess.run(train)
            n += 1
elif style == "managed":
    supervisor = tf.train.Supervisor(is_chief=chief, recovery_wait_secs=1)
    with supervisor.managed_session(server.target, config=config) as sess:
        sess.run(step)  # whether it should stop or not
        while not supervisor.should_stop() and n < 5:
            sess.run(train)
            n += 1
elif style == "prepared":
    supervisor = tf.train.Supervisor(is_chief=chief, recovery_wait_secs=1)
    sess = supervisor.prepare_or_wait_for_session(server.target, config=config)
    while n < 5:
        sess.run(train)
        n += 1
    supervisor.stop()
else:
    with tf.Session(server.target, config=config) as sess:
        sess.run(train)
print("END", n, flush=True)
'''


class Job:
    """1 ps and 2 workers, of which the second is started by the test."""

    def __init__(self, folder):
        self.folder = folder
        self.ports = free_ports(3)
        self.ps = self.start("ps", 0, "")

    def start(self, job, index, style):
        hosts = [f"localhost:{p}" for p in self.ports]
        return subprocess.Popen([sys.executable, "-c", SCRIPT, job, str(index), style, hosts[0], ",".join(hosts[1:])],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder,
                                env={**os.environ, "PYTHONPATH": test_seeds.PACKAGES})

    def work(self, index, style):
        """(exit code, steps or None, what it wrote to standard error)."""
        process = self.start("worker", index, style)
        try:
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
        steps = [int(line.split()[1]) for line in out.splitlines() if line.startswith("END ")]
        return process.returncode, steps[0] if steps else None, err


@pytest.fixture
def job(tmp_path):
    made = Job(tmp_path)
    yield made
    made.ps.kill()


@pytest.mark.parametrize("style", ["monitored", "managed", "prepared", "plain"])
def test_the_job_is_done(job, style):
    assert job.work(0, "monitored")[:2] == (0, 5)
    assert job.ps.poll() is None  # the other worker may come
    code, steps, err = job.work(1, style)
    assert "/job:ps/replica:0/task:0 at localhost:" in err and "the job is done" in err, err
    if style == "plain":
        assert code == 1 and "FailedPreconditionError" in err
    else:
        assert (code, steps) == (0, None if style == "prepared" else 0), err
        assert err.count("There is nothing left to do") == 1, err
    assert job.ps.wait(20) == 0


@pytest.mark.parametrize("style", ["monitored", "managed", "prepared"])
def test_the_chief_has_left(job, style):
    with socket.create_server(("localhost", job.ports[2])):  # its process is there, and has no session yet
        assert job.work(0, "monitored")[:2] == (0, 5)
    code, steps, err = job.work(1, style)
    assert (code, steps) == (0, 5), err  # it needs the ps alone, and does not wait for the chief
    assert job.ps.wait(20) == 0


def test_the_next_job_is_not_told(job):
    """It waits for ps tasks of its own."""
    assert job.work(0, "monitored")[:2] == (0, 5)
    again = job.start("worker", 0, "monitored")
    try:
        assert job.ps.wait(20) == 0
        assert again.poll() is None
        job.ps = job.start("ps", 0, "")
        out, err = again.communicate(timeout=60)
        assert again.returncode == 0 and "END 5" in out, err
    finally:
        again.kill()
