# SPDX-License-Identifier: Apache-2.0
"""Synchronous training: when the chief ends before the others, they end, too (TensorFlow's workers wait forever)."""
import threading
import time

import pytest

import millstream as tf
from millstream.training import sync_end
from ports import free_ports

STEPS_OF_CHIEF = 5


def _model(index, cluster):
    with tf.device(tf.train.replica_device_setter(worker_device=f"/job:worker/task:{index}", cluster=cluster)):
        step = tf.train.get_or_create_global_step()
        w = tf.get_variable("w", [3], initializer=tf.zeros_initializer())
        optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.1), 2, total_num_replicas=2)
        return optimizer, optimizer.minimize(tf.reduce_sum(tf.square(w - 1)), global_step=step), step


def _monitored(index, cluster, target, result):
    optimizer, train, _ = _model(index, cluster)
    with tf.train.MonitoredTrainingSession(master=target, is_chief=index == 0,
                                           hooks=[optimizer.make_session_run_hook(index == 0)]) as sess:
        n = 0
        while not sess.should_stop() and not (index == 0 and n == STEPS_OF_CHIEF):
            sess.run(train)
            n += 1
    result[index] = n


def _supervised(index, cluster, target, result):
    optimizer, train, step = _model(index, cluster)
    chief = index == 0
    runner, tokens = optimizer.get_chief_queue_runner(), optimizer.get_init_tokens_op()
    supervisor = tf.train.Supervisor(
        is_chief=chief, global_step=step, recovery_wait_secs=1, ready_for_local_init_op=optimizer.ready_for_local_init_op,
        local_init_op=optimizer.chief_init_op if chief else optimizer.local_step_init_op)
    with supervisor.managed_session(target) as sess:
        if chief:
            supervisor.start_queue_runners(sess, [runner])
            sess.run(tokens)
        n = 0
        while not supervisor.should_stop() and not (chief and n == STEPS_OF_CHIEF):
            sess.run(train)
            n += 1
    result[index] = n


class _Job:
    """A ps and two workers in this process; workers run as threads."""

    def __init__(self, worker):
        ports = free_ports(3)
        self._worker = worker
        self.cluster = tf.train.ClusterSpec({"ps": [f"localhost:{ports[0]}"], "worker": [f"localhost:{p}" for p in ports[1:]]})
        self._ps = tf.train.Server(self.cluster, job_name="ps", task_index=0)
        self._servers = [tf.train.Server(self.cluster, job_name="worker", task_index=i) for i in range(2)]
        self.steps, self.errors = {}, []

    def target(self, index):
        return self._servers[index].target

    def _run(self, index):
        try:
            with tf.Graph().as_default():
                self._worker(index, self.cluster, self._servers[index].target, self.steps)
        except Exception as e:  # noqa: BLE001
            self.errors.append(e)

    def start(self, index):
        thread = threading.Thread(target=self._run, args=(index,), daemon=True)
        thread.start()
        return thread

    def end(self, thread, index):
        """How many steps it has made."""
        thread.join(120)
        assert not thread.is_alive() and not self.errors, (index, self.errors, self.steps)
        return self.steps[index]


@pytest.mark.parametrize("worker", [_monitored, _supervised])
def test_workers_end_with_their_chief(worker):
    job = _Job(worker)
    threads = [job.start(i) for i in range(2)]
    assert job.end(threads[0], 0) == STEPS_OF_CHIEF
    job.end(threads[1], 1)  # if it came late, it may have found nothing to do


@pytest.mark.parametrize("worker", [_monitored, _supervised])
def test_a_worker_that_comes_after_the_end(worker, monkeypatch):
    monkeypatch.setattr(sync_end, "_GRACE_SECS", 3.0)
    job = _Job(worker)
    assert job.end(job.start(0), 0) == STEPS_OF_CHIEF
    begin = time.monotonic()
    job.end(job.start(1), 1)
    assert time.monotonic() - begin >= 3  # a new chief might have come


def test_ps_tasks_that_are_kept_have_a_mark_of_the_last_run(monkeypatch):
    monkeypatch.setenv("MILLSTREAM_KEEP_PS", "1")
    monkeypatch.setattr(sync_end, "_GRACE_SECS", 0.0)
    job = _Job(_monitored)
    job.end(job.start(0), 0)
    second = job.start(1)
    second.join(4)
    assert second.is_alive()
    with tf.Session(job.target(0)) as sess:  # what the next chief does
        _model(0, job.cluster)
        for _ in range(10):  # looks come once a second
            sync_end.say_chief_begins(sess)
            second.join(3)
            assert second.is_alive()
            sync_end.say_chief_ends(sess)
            second.join(10)
            if not second.is_alive():
                break
    job.end(second, 1)


def test_when_a_worker_must_end():
    rule = sync_end.EndRule(grace_secs=10)
    assert not rule.must_end(0, now=0)
    assert not rule.must_end(0, now=100)
    assert rule.must_end(1, now=101)
    late = sync_end.EndRule(grace_secs=10)
    assert not late.must_end(1, now=0)
    assert not late.must_end(1, now=9)
    assert late.must_end(1, now=10)
    early = sync_end.EndRule(grace_secs=10)
    assert not early.must_end(1, now=0)
    assert not early.must_end(0, now=5)  # a new chief has begun
    assert not early.must_end(0, now=50)
    assert early.must_end(1, now=51)
    kept = sync_end.EndRule(grace_secs=None)
    assert not kept.must_end(1, now=0)
    assert not kept.must_end(1, now=1000)
    assert kept.must_end(2, now=1001)
