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
job, index, ps, workers, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3].split(","), sys.argv[4].split(","), sys.argv[5]
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
    train = tf.train.GradientDescentOptimizer(0.05).minimize(loss, global_step=step)
n, now = 0, 0
with tf.train.MonitoredTrainingSession(master=server.target, is_chief=index == 0, checkpoint_dir=folder,
                                       save_checkpoint_steps=50, save_summaries_steps=None, save_summaries_secs=None,
                                       hooks=[tf.train.StopAtStepHook(last_step=400)]) as sess:
    while not sess.should_stop():
        _, now, value = sess.run([train, step, loss], {x: np.random.randn(8, 5)})
        n += 1
        time.sleep(0.01)
        if n % 10 == 0:
            print("at", now, flush=True)
print("END", n, now, flush=True)
'''


@pytest.mark.parametrize("victim", [("ps", 0), ("worker", 0), ("worker", 1)])
def test_killed_and_started_again(tmp_path, victim):
    hosts = [f"localhost:{p}" for p in test_seeds.free_ports(3)]
    folder = str(tmp_path / "ckpt")

    def start(job, index):
        log = open(tmp_path / f"{job}{index}.log", "a")
        return subprocess.Popen([sys.executable, "-c", SCRIPT, job, str(index), hosts[0], f"{hosts[1]},{hosts[2]}", folder],
                                stdout=log, stderr=subprocess.STDOUT, cwd=tmp_path,
                                env={**os.environ, "PYTHONPATH": test_seeds.PACKAGES})

    tasks = {task: start(*task) for task in (("ps", 0), ("worker", 0), ("worker", 1))}
    try:
        deadline = time.monotonic() + 60
        while not re.search(r"at 1\d\d", (tmp_path / "worker1.log").read_text()):  # some way, with checkpoints
            assert time.monotonic() < deadline, (tmp_path / "worker1.log").read_text()
            time.sleep(0.05)
        tasks[victim].send_signal(signal.SIGKILL)
        tasks[victim].wait()
        tasks[victim] = start(*victim)
        for task, process in tasks.items():
            log = tmp_path / f"{task[0]}{task[1]}.log"
            try:
                assert process.wait(timeout=60) == 0, log.read_text()[-2000:]
            except subprocess.TimeoutExpired:
                pytest.fail(f"{task} did not end: {log.read_text()[-2000:]}")
    finally:
        for process in tasks.values():
            if process.poll() is None:
                process.kill()
    if victim == ("worker", 1):  # one that comes too late ends with success
        assert start(*victim).wait(timeout=30) == 0
        assert "END 0 0" in (tmp_path / "worker1.log").read_text()
    import millstream as tf
    assert tf.train.load_variable(folder, "global_step") >= 400
