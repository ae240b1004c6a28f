# SPDX-License-Identifier: Apache-2.0
"""Clients that come and go, half of them without closing their sessions: they leave nothing at master and ps."""
import os
import subprocess
import sys
import time

import pytest

SESSIONS, PER_CLIENT = 1000, 20

# Forks clients: each makes sessions with a graph of their own size, and ends well, is killed, or is killed in a partial run.
CLIENTS = r'''
import os, signal, sys
import millstream as tf
target, first, clients, per_client = sys.argv[1], *map(int, sys.argv[2:])

def sessions(number):
    with tf.device("/job:ps/task:0"):
        v = tf.get_variable("v", [100], initializer=tf.zeros_initializer())
        x = y = tf.placeholder(tf.float32, [100])
        for _ in range(300):
            y = tf.identity(y)
        step = tf.assign_add(v, y)
    made = []
    for i in range(per_client):
        session = tf.Session(target)
        made.append(session)
        session.run(v.initializer)
        session.run(step, {x: [1.0] * 100})
        if number % 4 == 3:
            handle = session.partial_run_setup([y, step], [x])
            session.partial_run(handle, [y], {x: [1.0] * 100})
        if number % 2 == 0:
            session.close()
    if number % 2 == 1:
        os.kill(os.getpid(), signal.SIGKILL)  # here, where the sessions are alive

for number in range(first, first + clients):
    child = os.fork()
    if child == 0:
        try:
            sessions(number)
            os._exit(0)
        except BaseException:
            import traceback
            traceback.print_exc()
        os._exit(1)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status == (-signal.SIGKILL if number % 2 else 0), (number, status)
'''


def _usage(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as f:
        status = dict(line.split(":", 1) for line in f)
    return {"threads": int(status["Threads"]), "descriptors": len(os.listdir(f"/proc/{pid}/fd")), "rss_kb": int(status["VmRSS"].split()[0])}


def _settled(cluster, most, seconds):
    """What the tasks use, once it is no more than `most`, or when time is up."""
    deadline = time.monotonic() + seconds
    while True:
        usage = {task: _usage(process.pid) for task, process in cluster.processes.items()}
        good = most is not None and all(usage[task][key] <= most[task][key] for task in usage for key in usage[task])
        if good or time.monotonic() > deadline:
            return usage
        time.sleep(0.2)


@pytest.fixture
def short_lease(monkeypatch):
    monkeypatch.setenv("MILLSTREAM_SESSION_LEASE_MS", "500")


def test_sessions_that_come_and_go_leave_nothing(make_cluster, short_lease):
    cluster = make_cluster(ps=1, worker=1)

    def clients(first, count):
        subprocess.run([sys.executable, "-c", CLIENTS, cluster.target("worker"), str(first), str(count), str(PER_CLIENT)], check=True, timeout=600)

    warm_up = 8
    clients(0, warm_up)
    before = _settled(cluster, None, 3)
    # A session with this graph takes some 150 kB at the master and 30 kB at the ps.
    most = {task: {"threads": u["threads"] + 4, "descriptors": u["descriptors"] + 4, "rss_kb": u["rss_kb"] * 1.05 + 8000} for task, u in before.items()}
    clients(warm_up, SESSIONS // PER_CLIENT - warm_up)
    after = _settled(cluster, most, 30)
    grown = [f"{task}: {key} from {before[task][key]} to {after[task][key]}" for task in most for key in most[task] if after[task][key] > most[task][key]]
    assert not grown, grown
    assert all(cluster.alive(*task) for task in cluster.processes)
