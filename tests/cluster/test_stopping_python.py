# SPDX-License-Identifier: Apache-2.0
"""Signals and `millstream stop` end every task of a Python program, wherever it is, and the chief saves first."""
import re
import signal
import subprocess
import sys

import pytest

SCRIPT = '''
import argparse
import millstream as tf
parser = argparse.ArgumentParser()
for name in ("ps_hosts", "worker_hosts", "job_name", "style", "checkpoints"):
    parser.add_argument("--" + name)
parser.add_argument("--task_index", type=int)
parser.add_argument("--mode")
flags = parser.parse_args()
tf.logging.set_verbosity(tf.logging.INFO)
cluster = tf.train.ClusterSpec({"ps": flags.ps_hosts.split(","), "worker": flags.worker_hosts.split(",")})
server = tf.train.Server(cluster, job_name=flags.job_name, task_index=flags.task_index)
print("SERVES", flush=True)
if flags.job_name == "ps":
    server.join()
chief, n = flags.task_index == 0, 0
with tf.device(tf.train.replica_device_setter(worker_device="/job:worker/task:%d" % flags.task_index, cluster=cluster)):
    step = tf.train.get_or_create_global_step()
    w = tf.get_variable("w", [4, 4])
    optimizer, workers = tf.train.GradientDescentOptimizer(1e-6), cluster.num_tasks("worker")
    if flags.mode == "sync":
        optimizer = tf.train.SyncReplicasOptimizer(optimizer, workers, workers)
    elif flags.mode == "ssp":
        optimizer = tf.train.StaleSynchronousOptimizer(optimizer, 2, workers, flags.task_index)
    elif flags.mode == "hierarchical":
        optimizer = tf.train.HierarchicalOptimizer(optimizer, workers, flags.task_index, group_size=2)
    train = optimizer.minimize(tf.reduce_sum(w * w), global_step=step)
    hooks = {"sync": lambda: [optimizer.make_session_run_hook(chief)], "async": list}.get(flags.mode, lambda: [optimizer.make_session_run_hook()])()
config = tf.ConfigProto(device_filters=["/job:ps", "/job:worker/task:%d" % flags.task_index])


def work(session):
    global n
    session.run(train)
    n += 1
    if n == 3 or n % 100 == 0:
        print("TRAINS", flush=True)


if flags.style == "monitored":
    with tf.train.MonitoredTrainingSession(server.target, is_chief=chief, checkpoint_dir=flags.checkpoints, hooks=hooks,
                                           config=config) as session:
        while not session.should_stop():
            work(session)
elif flags.style == "monitored without with":
    session = tf.train.MonitoredTrainingSession(server.target, is_chief=chief, checkpoint_dir=flags.checkpoints, hooks=hooks,
                                                config=config)
    while not session.should_stop():
        work(session)
    session.close()
elif flags.style == "managed":
    supervisor = tf.train.Supervisor(is_chief=chief, logdir=flags.checkpoints, recovery_wait_secs=1, global_step=step)
    with supervisor.managed_session(server.target, config=config) as session:
        while not supervisor.should_stop():
            work(session)
elif flags.style == "prepared":
    supervisor = tf.train.Supervisor(is_chief=chief, logdir=flags.checkpoints, recovery_wait_secs=1, global_step=step)
    session = supervisor.prepare_or_wait_for_session(server.target, config=config)
    while not supervisor.should_stop():
        work(session)
    supervisor.stop()
else:
    with tf.Session(server.target, config=config) as session:
        session.run(tf.global_variables_initializer())
        while True:
            work(session)
print("AFTER", flush=True)
'''

# Of a program that a signal or the command has ended; Python's own for Ctrl-C.
STATUS = {signal.SIGTERM: 128 + signal.SIGTERM, signal.SIGINT: -signal.SIGINT, "stop": 0}
HOWS = list(STATUS)
MANAGED = ["monitored", "monitored without with", "managed", "prepared"]


@pytest.fixture
def script(make_tasks):
    def make(style="monitored", ps=1, workers=2, mode="async"):
        command = [sys.executable, "-c", SCRIPT, f"--style={style}", f"--mode={mode}"]
        tasks = make_tasks(lambda job, index: [*command, f"--checkpoints={tasks.checkpoints}"], ps=ps, worker=workers)
        return tasks
    return make


def _end_all(program, tasks, how):
    if how == "stop":
        done = subprocess.run([program, "stop", "--cluster", tasks.cluster], capture_output=True, text=True, timeout=90)
        assert done.returncode == 0, done.stdout + done.stderr + tasks.everything()
    else:
        tasks.signal_all(how)


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("style", [*MANAGED, "plain"])
def test_workers_that_wait_for_a_ps(program, script, how, style):
    tasks = script(style)
    for index in (0, 1):
        tasks.start("worker", index)
    for index in (0, 1):
        tasks.wait_for("worker", index, "SERVES")
    _end_all(program, tasks, how)
    assert set(tasks.ends().values()) == {STATUS[how]}, tasks.everything()
    assert "AFTER" not in tasks.text("worker", 0)


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("style", ["monitored", "managed"])
def test_a_worker_that_waits_for_the_chief(program, script, how, style):
    tasks = script(style)
    tasks.start("ps", 0)
    tasks.start("worker", 1)
    tasks.wait_for("worker", 1, "Waiting for model to be ready")
    _end_all(program, tasks, how)
    assert tasks.end("worker", 1) == STATUS[how] and tasks.end("ps", 0) == STATUS[how], tasks.everything()


LINKS = ["shm,tcp,grpc", "tcp", "grpc"]


def _jobs():
    """Every style, and every mode with 1 to 3 ps and as many workers as make it wait. Links take turns with ways to stop."""
    jobs = [*[(style, 1, 2, "async") for style in MANAGED], ("plain", 1, 2, "async"), ("monitored", 3, 1, "async"), ("monitored", 2, 3, "async")]
    for mode in ("sync", "ssp", "hierarchical"):
        jobs += [("monitored", 1, 3, mode), ("monitored", 2, 2, mode), ("monitored", 3, 1, mode)]
    for j, job in enumerate(jobs):
        for h, how in enumerate(HOWS):
            yield *job, how, LINKS[(j + h) % 3]


@pytest.mark.parametrize("style,ps,workers,mode,how,links", list(_jobs()))
def test_training(program, script, style, ps, workers, mode, how, links):
    tasks = script(style, ps=ps, workers=workers, mode=mode)
    tasks.start_all(MILLSTREAM_LINKS=links)
    for index in range(workers):
        tasks.wait_for("worker", index, "TRAINS")
    _end_all(program, tasks, how)
    assert set(tasks.ends().values()) == {STATUS[how]}, tasks.everything()
    assert style == "plain" or tasks.saved_step() > 0, tasks.everything()


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_frozen_worker_of_a_sync_job(script, how):
    tasks = script(mode="sync")
    tasks.start_all()
    for index in (0, 1):
        tasks.wait_for("worker", index, "TRAINS")
    tasks.freeze_so_that_it_is_missed("worker", 1, watched=("worker", 0))
    tasks.wait_for("worker", 0, r"a step has been running for \d+ s; /job:worker/replica:0/task:1 at \S+ does not answer", seconds=30)
    tasks.signal("worker", 0, how)
    assert tasks.end("worker", 0) == STATUS[how], tasks.everything()
    assert tasks.saved_step() > 0
    tasks.signal("ps", 0, how)
    assert tasks.end("ps", 0) == STATUS[how]


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_frozen_ps(script, how):
    tasks = script(ps=2)
    tasks.start_all()
    for index in (0, 1):
        tasks.wait_for("worker", index, "TRAINS")
    tasks.freeze("ps", 1)
    tasks.signal("worker", 0, how)
    assert tasks.end("worker", 0) == STATUS[how], tasks.everything()
    assert "is not saved: " in tasks.text("worker", 0) and "/job:ps/replica:0/task:1 at " in tasks.text("worker", 0)


OWN_HANDLER = '''
import signal
def handler(number, frame):
    print("OWN HANDLER", flush=True)
    flags.style = "done"
signal.signal(signal.SIGTERM, handler)
'''


def test_a_program_with_its_own_handler_is_left_to_it(program, make_tasks):
    program_text = SCRIPT.replace("import argparse\n", "import argparse\n" + OWN_HANDLER, 1).replace(
        "while not session.should_stop():", "while flags.style != 'done':")
    command = [sys.executable, "-c", program_text, "--style=monitored", "--mode=async"]
    tasks = make_tasks(lambda job, index: [*command, f"--checkpoints={tasks.checkpoints}"], ps=1, worker=1)
    tasks.start_all()
    tasks.wait_for("worker", 0, "TRAINS")
    tasks.signal("worker", 0, signal.SIGTERM)
    assert tasks.end("worker", 0) == 0
    assert re.search("OWN HANDLER(.|\n)*AFTER", tasks.text("worker", 0)) and tasks.saved_step() > 0
