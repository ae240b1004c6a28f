# SPDX-License-Identifier: Apache-2.0
"""What goes wrong in clusters: every case ends with the named error or the right result, never with a hang."""
import json
import os
import signal
import threading
import time
import urllib.request

import pytest
import strangers

import millstream as tf

PS = "/job:ps/replica:0/task:0"


def _waiting_step(session, op):
    """Runs a step in a thread, and returns when it has begun; join() gives its error."""
    with session.graph.as_default():
        begun = tf.FIFOQueue(1, tf.bool)
        begins, seen = begun.enqueue(True), begun.dequeue()

    class Step(threading.Thread):
        error = None

        def run(self):
            try:
                session.run([op, begins])
            except tf.errors.OpError as e:
                self.error = e

    step = Step(daemon=True)
    step.start()
    session.run(seen)
    assert step.is_alive(), step.error
    return step


def _until_it_works(call, *errors):
    """The result of call(), which may fail with these errors for a while."""
    deadline = time.monotonic() + 30
    while True:
        try:
            return call()
        except errors:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def _await_takers(cluster, count):
    """Until as many steps wait for an element of the queue `q` at the ps."""
    deadline = time.monotonic() + 60
    while True:
        with urllib.request.urlopen(cluster.status_url("ps") + "status.json", timeout=30) as answer:
            tasks = json.loads(answer.read())["tasks"]
        waiting = [queue["waiting_to_dequeue"] for task in tasks if task["task"] == PS for queue in task["queues"] if queue["name"] == "q"]
        if waiting == [count]:
            return
        assert time.monotonic() < deadline, tasks
        time.sleep(0.02)


def _queue_on_ps():
    with tf.device("/job:ps/task:0"):
        queue = tf.FIFOQueue(10, tf.float32)
        return queue.dequeue()


def test_a_peer_that_is_missing_is_named(make_cluster):
    cluster = make_cluster(start=False, ps=1, worker=1)
    cluster.start("worker", 0)
    config = tf.ConfigProto(operation_timeout_in_ms=1500)
    with tf.Session(cluster.target("worker"), config=config) as session:
        with pytest.raises(tf.errors.DeadlineExceededError) as caught:
            session.run(tf.constant(1))
    assert PS in str(caught.value) and cluster.spec["ps"][0] in str(caught.value)
    # Whoever waits without a deadline is served as soon as the task is there.
    session = tf.Session(cluster.target("worker"))
    result = []
    waited_for = strangers.Listener(cluster.spec["ps"][0])  # sees who looks for the ps
    thread = threading.Thread(target=lambda: result.append(session.run(tf.constant(5))), daemon=True)
    thread.start()
    waited_for.wait(1)
    waited_for.close()
    assert not result
    cluster.start("ps", 0)
    thread.join(20)
    assert result == [5]


def test_device_filters_leave_missing_tasks_alone(make_cluster):
    cluster = make_cluster(start=False, ps=1, worker=2)
    cluster.start("worker", 0)
    config = tf.ConfigProto(device_filters=["/job:worker/task:0"])
    with tf.Session(cluster.target("worker"), config=config) as session:
        assert session.run(tf.constant(3)) == 3


def test_a_task_killed_during_a_step_fails_it_at_once(make_cluster):
    cluster = make_cluster(ps=1, worker=2)
    taken = _queue_on_ps()
    with tf.device("/job:worker/task:1"):
        far = taken * 2.0
        other = tf.constant(1.0)
    session = tf.Session(cluster.target("worker"))
    assert session.run(other) == 1.0
    step = _waiting_step(session, far)
    begin = time.time()
    cluster.kill("ps", 0)
    step.join(60)
    assert isinstance(step.error, tf.errors.UnavailableError), step.error
    assert PS in str(step.error)
    assert time.time() - begin < 25  # sooner than a link is given up that says nothing
    # The rest goes on.
    assert session.run(other) == 1.0
    with pytest.raises((tf.errors.UnavailableError, tf.errors.AbortedError)):
        session.run(far)


def test_a_worker_killed_between_two_others(make_cluster):
    cluster = make_cluster(ps=1, worker=2)
    taken = _queue_on_ps()
    with tf.device("/job:worker/task:1"):
        far = tf.identity(taken)
    with tf.device("/job:worker/task:0"):
        here = far + 1.0
    session = tf.Session(cluster.target("worker"))
    step = _waiting_step(session, here)
    cluster.kill("worker", 1)
    step.join(20)
    assert isinstance(step.error, tf.errors.UnavailableError), step.error
    assert "/job:worker/replica:0/task:1" in str(step.error)
    assert cluster.alive("ps", 0) and cluster.alive("worker", 0)


def test_a_task_that_stands_still_is_given_up_after_the_deadline(make_cluster):
    cluster = make_cluster(ps=1, worker=1, flags=["--deadline_ms", "2000"])
    with tf.device("/job:ps/task:0"):
        v = tf.constant(1.0) * tf.placeholder_with_default(1.0, [])
    session = tf.Session(cluster.target("worker"))
    assert session.run(v) == 1.0
    cluster.signal("ps", 0, signal.SIGSTOP)
    begin = time.time()
    with pytest.raises((tf.errors.UnavailableError, tf.errors.DeadlineExceededError)) as caught:
        session.run(v)
    assert PS in str(caught.value)
    assert 1 < time.time() - begin < 20
    cluster.signal("ps", 0, signal.SIGCONT)
    with tf.Session(cluster.target("worker")) as fresh:
        assert _until_it_works(lambda: fresh.run(v), tf.errors.UnavailableError, tf.errors.DeadlineExceededError) == 1.0


def test_a_restarted_ps_is_another_one(make_cluster):
    cluster = make_cluster(ps=1, worker=1)
    with tf.device("/job:ps/task:0"):
        v = tf.Variable(3.0)
    session = tf.Session(cluster.target("worker"))
    session.run(v.initializer)
    assert session.run(v) == 3.0
    cluster.kill("ps", 0)
    cluster.start("ps", 0)
    with pytest.raises(tf.errors.AbortedError):
        _until_it_works(lambda: session.run(v), tf.errors.UnavailableError)
    with tf.Session(cluster.target("worker")) as fresh:
        with pytest.raises(tf.errors.FailedPreconditionError):
            fresh.run(v)
        fresh.run(v.initializer)
        assert fresh.run(v) == 3.0


def test_a_restarted_master_does_not_know_old_sessions(make_cluster):
    cluster = make_cluster(ps=1, worker=1)
    c = tf.constant(2.0)
    session = tf.Session(cluster.target("worker"))
    assert session.run(c) == 2.0
    cluster.kill("worker", 0)
    cluster.start("worker", 0)
    with pytest.raises((tf.errors.AbortedError, tf.errors.UnavailableError)):
        session.run(c)
    with pytest.raises(tf.errors.AbortedError):
        _until_it_works(lambda: session.run(c), tf.errors.UnavailableError)


def test_another_job_is_kept_out(make_cluster):
    os.environ["MILLSTREAM_JOB_ID"] = "mine"
    try:
        cluster = make_cluster(start=False, ps=1, worker=1)
        cluster.start("worker", 0)
        os.environ["MILLSTREAM_JOB_ID"] = "theirs"
        cluster.start("ps", 0)
    finally:
        del os.environ["MILLSTREAM_JOB_ID"]
    with pytest.raises(tf.errors.PermissionDeniedError) as caught:
        tf.Session(cluster.target("worker")).run(tf.constant(1))
    assert "theirs" in str(caught.value) and "mine" in str(caught.value)


def test_a_task_at_the_wrong_address_is_found_out(make_cluster):
    cluster = make_cluster(start=False, ps=2, worker=1)
    cluster.start("worker", 0)
    cluster.start("ps", 0)
    right = dict(cluster.spec)
    cluster.spec = {"ps": list(reversed(right["ps"])), "worker": right["worker"]}
    cluster.start("ps", 0)  # at the address of task 1
    cluster.spec = right
    with pytest.raises(tf.errors.FailedPreconditionError) as caught:
        tf.Session(cluster.target("worker")).run(tf.constant(1))
    assert "/job:ps/replica:0/task:1" in str(caught.value)


def test_a_client_that_dies_leaves_no_step_behind(make_cluster):
    """A step waits in a queue; its client is killed; the value goes to the next client."""
    import subprocess
    import sys

    cluster = make_cluster(ps=1, worker=1, status_pages=True)
    code = """
import sys
import millstream as tf
with tf.device("/job:ps/task:0"):
    queue = tf.FIFOQueue(10, tf.float32, shared_name="q")
    begun = tf.FIFOQueue(1, tf.bool, shared_name="begun")
tf.Session(sys.argv[1]).run([queue.dequeue(), begun.enqueue(True)])
"""
    child = subprocess.Popen([sys.executable, "-c", code, cluster.target("worker")])
    with tf.device("/job:ps/task:0"):
        queue = tf.FIFOQueue(10, tf.float32, shared_name="q")
        begun = tf.FIFOQueue(1, tf.bool, shared_name="begun")
    with tf.Session(cluster.target("worker")) as session:
        assert session.run(begun.dequeue())
        _await_takers(cluster, 1)
        child.kill()
        child.wait()
        _await_takers(cluster, 0)  # the server finds out by itself; one value given too early would be lost with the client
        session.run(queue.enqueue(1.0))
        config = tf.RunOptions(timeout_in_ms=10000)
        assert session.run(queue.dequeue(), options=config) == 1.0


@pytest.mark.parametrize("http", [1, 2])
def test_another_server_at_the_address_of_a_ps_is_an_outage(make_cluster, http):
    """It answers 404 for some seconds while the ps is away: training waits and goes on."""
    cluster = make_cluster(ps=1, worker=1)
    with tf.device("/job:ps/task:0"):
        count = tf.get_variable("count", [], tf.int64, tf.zeros_initializer())
        step = tf.assign_add(count, 1, use_locking=True)
    with tf.train.MonitoredSession(tf.train.ChiefSessionCreator(master=cluster.target("worker"))) as session:
        assert session.run(step) == 1
        cluster.kill("ps", 0)
        not_found = strangers.NotFound(http)
        stranger = strangers.Listener(cluster.spec["ps"][0], answer=not_found)
        values = []
        training = threading.Thread(target=lambda: values.append(session.run(step)), daemon=True)
        training.start()
        deadline = time.monotonic() + 60
        while not_found.requests < 3:  # asked again and again
            assert time.monotonic() < deadline and training.is_alive(), values
            time.sleep(0.01)
        stranger.close()
        cluster.start("ps", 0)
        training.join(60)
        assert values == [1]  # there was no checkpoint
