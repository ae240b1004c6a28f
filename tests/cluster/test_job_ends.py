# SPDX-License-Identifier: Apache-2.0
"""Jobs end by themselves: in-graph clusters with their only client, train_and_evaluate with workers that had nothing to do."""
import json
import os
import subprocess
import sys

import pytest

# Every task but one waits in join(); the client is the program of worker 0, or a process of its own.
IN_GRAPH = '''
import argparse, sys
import millstream as tf
parser = argparse.ArgumentParser()
for name in ("ps_hosts", "worker_hosts", "job_name", "style", "client"):
    parser.add_argument("--" + name)
parser.add_argument("--task_index", type=int)
parser.add_argument("--fails", action="store_true")
flags = parser.parse_args()
cluster = tf.train.ClusterSpec({"ps": flags.ps_hosts.split(","), "worker": flags.worker_hosts.split(",")})
target = "grpc://" + cluster.task_address("worker", 0)
if flags.job_name != "client":
    server = tf.train.Server(cluster, job_name=flags.job_name, task_index=flags.task_index)
    print("SERVES", flush=True)
    if flags.job_name == "ps" or flags.task_index > 0 or flags.client == "outside":
        server.join()
    target = server.target
with tf.device("/job:ps/task:0"):
    step = tf.train.get_or_create_global_step()
    total = tf.get_variable("total", [], initializer=tf.zeros_initializer())
parts = []
for i in range(cluster.num_tasks("worker")):
    with tf.device("/job:worker/task:%d" % i):
        parts.append(tf.square(total + i))
train = tf.group(tf.assign(total, tf.add_n(parts)), tf.assign_add(step, 1))
if flags.style == "plain":
    with tf.Session(target) as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
else:
    with tf.train.MonitoredTrainingSession(target, hooks=[tf.train.StopAtStepHook(last_step=5)]) as session:
        while not session.should_stop():
            session.run(train)
print("AFTER", flush=True)
if flags.fails:
    sys.exit(3)
'''


def _in_graph(make_tasks, style, client, *flags, links="shm,tcp,grpc"):
    command = [sys.executable, "-c", IN_GRAPH, f"--style={style}", f"--client={client}", *flags]
    tasks = make_tasks(lambda job, index: command, ps=1, worker=3)
    tasks.start_all(MILLSTREAM_LINKS=links)
    if client == "outside":
        for index in range(3):
            tasks.wait_for("worker", index, "SERVES")
        tasks.start("client", 0)
    return tasks


@pytest.mark.parametrize("links", ["shm,tcp,grpc", "tcp", "grpc"])
@pytest.mark.parametrize("style,client", [("monitored", "inside"), ("plain", "inside"), ("monitored", "outside")])
def test_the_only_client_ends_well(make_tasks, style, client, links):
    tasks = _in_graph(make_tasks, style, client, links=links)
    assert set(tasks.ends().values()) == {0}, tasks.everything()
    assert [task for task in tasks.processes if "AFTER" in tasks.text(*task)] == [("client" if client == "outside" else "worker", 0)]


def test_a_client_that_fails_leaves_the_others(make_tasks):
    tasks = _in_graph(make_tasks, "monitored", "inside", "--fails")
    assert tasks.end("worker", 0) == 3
    assert all(tasks.processes[task].poll() is None for task in tasks.processes if task != ("worker", 0)), tasks.everything()


def test_a_plain_session_from_outside_only_looks(make_tasks):
    tasks = _in_graph(make_tasks, "plain", "outside")
    assert tasks.end("client", 0) == 0
    assert all(tasks.processes[task].poll() is None for task in tasks.processes if task != ("client", 0)), tasks.everything()


ESTIMATOR = '''
import sys
import numpy as np
import millstream as tf
folder, steps = sys.argv[1], int(sys.argv[2])
config = tf.estimator.RunConfig(model_dir=folder, experimental_max_worker_delay_secs=0)
x, y = np.ones([8, 1], np.float32), np.ones([8, 1], np.float32)
input_fn = tf.estimator.inputs.numpy_input_fn({"x": x}, y, batch_size=4, shuffle=False, num_epochs=None)
estimator = tf.estimator.LinearRegressor([tf.feature_column.numeric_column("x")], config=config)
tf.estimator.train_and_evaluate(estimator, tf.estimator.TrainSpec(input_fn, max_steps=steps),
                                tf.estimator.EvalSpec(input_fn, steps=1))
'''


def test_train_and_evaluate_with_nothing_left_to_do(tmp_path):
    """The same program twice: the second time all steps are done, and ps tasks must not wait for a training."""
    from cluster_processes import _die_with_parent, free_ports

    for first in ("ps", "chief"):  # a ps that starts when the others have nothing left to do ends, too
        ports = free_ports(3)
        cluster = {"ps": [f"localhost:{ports[0]}"], "chief": [f"localhost:{ports[1]}"], "worker": [f"localhost:{ports[2]}"]}
        processes = []
        for job in sorted(cluster, key=lambda job: job != first):
            config = json.dumps({"cluster": cluster, "task": {"type": job, "index": 0}})
            processes.append(subprocess.Popen([sys.executable, "-c", ESTIMATOR, str(tmp_path), "20"], stderr=subprocess.PIPE,
                                              text=True, env={**os.environ, "TF_CONFIG": config}, preexec_fn=_die_with_parent))
        try:
            for process in processes:
                _, err = process.communicate(timeout=120)
                assert process.returncode == 0, err[-3000:]
        finally:
            for process in processes:
                process.kill()
