# SPDX-License-Identifier: Apache-2.0
"""A ps, a worker, the chief is killed and started again: training goes on by itself; all tasks end with success."""
import os
import re
import signal
import subprocess
import sys
import time

import pytest
import test_seeds

SCRIPT = '''
import sys, time
import numpy as np
import millstream as tf
job, index, ps, workers, folder, aggregate = (
    sys.argv[1], int(sys.argv[2]), sys.argv[3].split(","), sys.argv[4].split(","), sys.argv[5], int(sys.argv[6]))
cluster = tf.train.ClusterSpec({"ps": ps, "worker": workers})
server = tf.train.Server(cluster, job_name=job, task_index=index)
if job == "ps":
    server.join()
    sys.exit(0)
with tf.device(tf.train.replica_device_setter(worker_device="/job:worker/task:%d" % index, cluster=cluster)):
    x = tf.placeholder(tf.float32, [None, 5])
    w = tf.get_variable("w", [5, 1], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - tf.reduce_sum(x, 1, keepdims=True)))
    step = tf.train.get_or_create_global_step()
    # Asynchronous workers do not wait for one that is started again: it needs time to come before the end.
    optimizer, hooks = tf.train.GradientDescentOptimizer(0.05), [tf.train.StopAtStepHook(last_step=250 if aggregate else 600)]
    if aggregate:  # synchronous
        optimizer = tf.train.SyncReplicasOptimizer(optimizer, aggregate, total_num_replicas=len(workers))
        hooks.append(optimizer.make_session_run_hook(index == 0))
    train = optimizer.minimize(loss, global_step=step)
n, now = 0, 0
with tf.train.MonitoredTrainingSession(master=server.target, is_chief=index == 0, checkpoint_dir=folder,
                                       save_checkpoint_steps=50, save_summaries_steps=None, save_summaries_secs=None,
                                       hooks=hooks) as sess:
    while not sess.should_stop():
        _, now, value = sess.run([train, step, loss], {x: np.random.randn(8, 5)})
        n += 1
        time.sleep(0.01)
        if n % 10 == 0:
            print("at", now, flush=True)
print("END", n, now, flush=True)
'''


class Job:
    """1 ps and 2 workers, with their logs; `aggregate` gradients make an update, 0 for asynchronous training."""

    def __init__(self, folder, aggregate):
        self.folder, self.aggregate, self.tasks = folder, aggregate, {}
        self.checkpoints = str(folder / "ckpt")
        self.hosts = [f"localhost:{p}" for p in test_seeds.free_ports(3)]

    def start(self, job, index):
        with open(self.log(job, index), "a") as log:
            self.tasks[job, index] = subprocess.Popen(
                [sys.executable, "-c", SCRIPT, job, str(index), self.hosts[0], ",".join(self.hosts[1:]), self.checkpoints,
                 str(self.aggregate)],
                stdout=log, stderr=subprocess.STDOUT, cwd=self.folder, env={**os.environ, "PYTHONPATH": test_seeds.PACKAGES})
        return self.tasks[job, index]

    def log(self, job, index):
        return self.folder / f"{job}{index}.log"

    def wait_for(self, pattern, job="worker", index=1):
        deadline = time.monotonic() + 60
        while not re.search(pattern, self.log(job, index).read_text()):
            assert time.monotonic() < deadline, self.log(job, index).read_text()
            time.sleep(0.05)

    def kill(self, job, index):
        self.tasks[job, index].send_signal(signal.SIGKILL)
        self.tasks.pop((job, index)).wait()

    def finish(self):
        """All end by themselves, with success."""
        for task, process in self.tasks.items():
            try:
                assert process.wait(timeout=60) == 0, self.log(*task).read_text()[-2000:]
            except subprocess.TimeoutExpired:
                pytest.fail(f"{task} did not end: {self.log(*task).read_text()[-2000:]}")


@pytest.fixture
def make_job(tmp_path):
    jobs = []

    def make(aggregate):
        jobs.append(Job(tmp_path, aggregate))
        for task in (("ps", 0), ("worker", 0), ("worker", 1)):
            jobs[-1].start(*task)
        jobs[-1].wait_for(r"at 1\d\d")  # some way, with checkpoints
        return jobs[-1]

    yield make
    for process in (p for job in jobs for p in job.tasks.values()):
        if process.poll() is None:
            process.kill()


@pytest.mark.parametrize("victim", [("ps", 0), ("worker", 0), ("worker", 1)])
@pytest.mark.parametrize("aggregate", [0, 2])
def test_killed_and_started_again(make_job, victim, aggregate):
    job = make_job(aggregate)
    job.kill(*victim)
    job.start(*victim)
    job.finish()
    if victim == ("worker", 1) and not aggregate:  # one that comes too late ends with success
        assert job.start(*victim).wait(timeout=30) == 0
        assert "END 0 0" in job.log(*victim).read_text()
    import millstream as tf
    assert tf.train.load_variable(job.checkpoints, "global_step") >= 250


def test_a_lost_backup_worker_holds_up_nobody(make_job):
    """Synchronous with one worker more than needed: killed, and not started again."""
    job = make_job(1)
    job.kill("worker", 1)
    ps = job.tasks.pop(("ps", 0))  # stays a while in case that one comes back
    job.finish()
    ps.kill()
    import millstream as tf
    assert tf.train.load_variable(job.checkpoints, "global_step") >= 250
