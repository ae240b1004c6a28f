# SPDX-License-Identifier: Apache-2.0
"""Signals and `millstream stop` end every rank of programs that train by all-reduce, in the middle of a collective too, and the first one saves."""
import signal
import subprocess
import sys

import pytest

SCRIPT = '''
import argparse, json, os
parser = argparse.ArgumentParser()
for name in ("worker_hosts", "job_name", "style", "checkpoints"):
    parser.add_argument("--" + name)
parser.add_argument("--task_index", type=int)
flags = parser.parse_args()
hosts = flags.worker_hosts.split(",")
os.environ["TF_CONFIG"] = json.dumps({"cluster": {"worker": hosts}, "task": {"type": "worker", "index": flags.task_index}})
import millstream as tf
chief, n = flags.task_index == 0, 0


def work(session, train):
    global n
    session.run(train)
    n += 1
    if n == 3:
        print("TRAINS", flush=True)


def loss():
    w = tf.get_variable("w", [4, 4])
    return tf.reduce_sum(w * w)


if flags.style == "horovod":
    import millstream.horovod as hvd
    hvd.init()
    step = tf.train.get_or_create_global_step()
    train = hvd.DistributedOptimizer(tf.train.GradientDescentOptimizer(1e-6)).minimize(loss(), global_step=step)
    with tf.train.MonitoredTrainingSession(checkpoint_dir=flags.checkpoints if hvd.rank() == 0 else None,
                                           hooks=[hvd.BroadcastGlobalVariablesHook(0)]) as session:
        while not session.should_stop():
            work(session, train)
elif flags.style in ("allreduce", "local-sgd"):
    server = tf.train.Server({"worker": hosts}, job_name="worker", task_index=flags.task_index)
    with tf.device("/job:worker/task:%d" % flags.task_index):
        step = tf.train.get_or_create_global_step()
        optimizer = tf.train.GradientDescentOptimizer(1e-6)
        optimizer = (tf.train.DistributedOptimizer(optimizer, len(hosts)) if flags.style == "allreduce"
                     else tf.train.LocalSGDOptimizer(optimizer, len(hosts), average_every=2))
        train = optimizer.minimize(loss(), global_step=step)
    config = tf.ConfigProto(device_filters=["/job:worker/task:%d" % flags.task_index])
    with tf.train.MonitoredTrainingSession(server.target, is_chief=True, checkpoint_dir=flags.checkpoints if chief else None,
                                           hooks=[optimizer.make_session_run_hook(chief)], config=config) as session:
        while not session.should_stop():
            work(session, train)
else:
    strategy = tf.distribute.experimental.MultiWorkerMirroredStrategy()
    with strategy.scope():
        step = tf.train.get_or_create_global_step()
        train = strategy.experimental_run_v2(lambda: tf.train.GradientDescentOptimizer(1e-6).minimize(loss(), global_step=step))
        with tf.train.MonitoredTrainingSession(is_chief=chief, checkpoint_dir=flags.checkpoints) as session:
            while not session.should_stop():
                work(session, train)
print("AFTER", flush=True)
'''

# Of a program that a signal or the command has ended; Python's own for Ctrl-C.
STATUS = {signal.SIGTERM: 128 + signal.SIGTERM, signal.SIGINT: -signal.SIGINT, "stop": 0}


LINKS = ["shm,tcp,grpc", "tcp", "grpc"]


def _jobs():
    """Every style with every way to stop; links and 2 or 3 workers take turns."""
    for s, style in enumerate(["horovod", "multi worker", "allreduce", "local-sgd"]):
        for h, how in enumerate(STATUS):
            yield style, how, 2 + (s + h) % 2, LINKS[(s + h) % 3]


@pytest.mark.parametrize("style,how,workers,links", list(_jobs()))
def test_training(program, make_tasks, style, how, workers, links):
    command = [sys.executable, "-c", SCRIPT, f"--style={style}"]
    tasks = make_tasks(lambda job, index: [*command, f"--checkpoints={tasks.checkpoints}"], worker=workers)
    tasks.start_all(MILLSTREAM_LINKS=links)
    for index in range(workers):
        tasks.wait_for("worker", index, "TRAINS")
    if how == "stop":
        done = subprocess.run([program, "stop", "--cluster", tasks.cluster], capture_output=True, text=True, timeout=90)
        assert done.returncode == 0, done.stdout + done.stderr + tasks.everything()
    else:
        tasks.signal_all(how)
    assert set(tasks.ends().values()) == {STATUS[how]}, tasks.everything()
    assert tasks.saved_step() > 0, tasks.everything()
