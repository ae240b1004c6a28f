# SPDX-License-Identifier: Apache-2.0
"""Clusters with more tasks than cores: threads that read links also compute there, and must not wait for what only they bring."""
import os
import subprocess
import sys

import pytest
import test_seeds
from ports import free_ports

SCRIPT = '''
import os, sys
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
import numpy as np
import millstream as tf
job, ps, worker = sys.argv[1:]
server = tf.train.Server({"ps": [ps], "worker": [worker]}, job_name=job, task_index=0)
if job == "ps":
    server.join()
    sys.exit(0)
with tf.device("/job:ps/task:0"):
    w = tf.Variable(tf.ones([50, 50]))
    count = tf.Variable(0.0)
    add = count.assign_add(1.0)

@tf.Defun(tf.float32)
def asks(x):
    return tf.py_func(lambda value: value + inner.run(add), [x], tf.float32)

with tf.device("/job:worker/task:0"):
    asked = tf.py_func(lambda value: value[0, 0] + inner.run(add), [tf.matmul(w, w)], tf.float32)
    called = asks(tf.reduce_sum(w) * 0)
    gradient = tf.gradients(tf.reduce_sum(tf.matmul(w, w)), w)[0]
with tf.device("/job:ps/task:0"):
    train = w.assign_sub(0.0 * gradient)
with tf.Session(server.target) as session, tf.Session(server.target) as inner:
    session.run(tf.global_variables_initializer())
    for i in range(200):
        assert session.run(asked) == 50 + 2 * i + 1
        assert session.run(called) == 2 * i + 2
        session.run(train.op)
    assert session.run(w).sum() == 2500
'''


@pytest.fixture(name="start")
def _start(tmp_path):
    running, hosts = [], [f"localhost:{p}" for p in free_ports(2)]
    script = tmp_path / "program.py"
    script.write_text(SCRIPT)

    def start(job):
        running.append(subprocess.Popen([sys.executable, str(script), job, *hosts], cwd=tmp_path,
                                        env={**os.environ, "PYTHONPATH": test_seeds.PACKAGES}))
        return running[-1]
    yield start
    for process in running:
        process.kill()
        process.wait()


def test_a_step_may_ask_the_cluster_for_something(start):
    start("ps")
    assert start("worker").wait(120) == 0
