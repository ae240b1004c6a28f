# SPDX-License-Identifier: Apache-2.0
"""Synchronous training: when the chief ends before the others, they end, too (TensorFlow's workers wait forever)."""
import threading

import numpy as np
import pytest

import millstream as tf
from test_seeds import free_ports

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


@pytest.mark.parametrize("worker", [_monitored, _supervised])
def test_workers_end_with_their_chief(worker):
    ports = free_ports(3)
    cluster = tf.train.ClusterSpec({"ps": [f"localhost:{ports[0]}"], "worker": [f"localhost:{p}" for p in ports[1:]]})
    ps = tf.train.Server(cluster, job_name="ps", task_index=0)
    servers = [tf.train.Server(cluster, job_name="worker", task_index=i) for i in range(2)]
    result, errors = {}, []

    def run(index):
        try:
            with tf.Graph().as_default():
                worker(index, cluster, servers[index].target, result)
        except Exception as e:  # noqa: BLE001
            errors.append(e)
    threads = [threading.Thread(target=run, args=(i,), daemon=True) for i in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert not errors and result.get(0) == STEPS_OF_CHIEF, (errors, result)
    assert not threads[1].is_alive() and result[1] >= 1
    assert np.all([s.target for s in [ps] + servers])
