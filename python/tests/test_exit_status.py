# SPDX-License-Identifier: Apache-2.0
"""A worker that leaves with a status other than 0 has not ended well: the ps waits for it to come again."""
import os
import subprocess
import sys

import pytest
import test_seeds
from ports import free_ports

SCRIPT = '''
import sys
import millstream as tf
job, how, ps, worker = sys.argv[1:]
server = tf.train.Server({"ps": [ps], "worker": [worker]}, job_name=job, task_index=0)
if job == "ps":
    server.join()
    sys.exit(0)
with tf.device("/job:ps/task:0"):
    step = tf.train.get_or_create_global_step()
    train = tf.assign_add(step, 1)
with tf.train.MonitoredTrainingSession(server.target, is_chief=True) as sess:
    sess.run(train)
    if how == "inside":
        sys.exit(3)
if how == "after":
    sys.exit("something is wrong")
if how == "raised":
    raise SystemExit(3)
if how == "app":
    tf.app.run(lambda _: 3, argv=["x"])
sys.exit(0)
'''


@pytest.fixture(name="start")
def _start(tmp_path):
    """Starts a task of one job; all are gone when the test ends."""
    ports, running = free_ports(2), []
    script = tmp_path / "program.py"
    script.write_text(SCRIPT)

    def start(job, how=""):
        command = ["-m", "millstream", str(script)] if how == "raised" else [str(script)]
        running.append(subprocess.Popen([sys.executable, *command, job, how, *(f"localhost:{p}" for p in ports)], cwd=tmp_path,
                                        stderr=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": test_seeds.PACKAGES}))
        return running[-1]
    yield start
    for process in running:
        process.kill()
        process.wait()


@pytest.mark.parametrize("how,status", [("inside", 3), ("after", 1), ("raised", 3), ("app", 3)])
def test_ps_waits_for_a_worker_that_failed(start, how, status):
    ps = start("ps")
    assert start("worker", how).wait(120) == status
    assert start("worker").wait(120) == 0  # waits in vain if the ps has ended
    assert ps.wait(60) == 0


def test_statuses():
    from millstream.training import exit_status
    assert [exit_status.is_failure(c) for c in (None, 0, False, 1, True, "text", "", 256)] == [
        False, False, False, True, True, True, True, True]
