# SPDX-License-Identifier: Apache-2.0
"""--token_file, without MILLSTREAM_TOKEN_FILE: it protects the jobs of train and launch, and opens them to check, trace and stop."""
import json
import os
import subprocess
import sys

import pytest
from job_processes import END_SECS
from strangers import NOBODY, TOKEN, as_another_user

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become another user")

SCRIPT = """
import argparse, json
import millstream as tf
parser = argparse.ArgumentParser()
for name in ("ps_hosts", "worker_hosts", "job_name"):
    parser.add_argument("--" + name)
parser.add_argument("--task_index", type=int)
flags = parser.parse_args()
cluster = {"ps": flags.ps_hosts.split(","), "worker": flags.worker_hosts.split(",")}
server = tf.train.Server(cluster, job_name=flags.job_name, task_index=flags.task_index)
if flags.job_name == "ps":
    server.join()
with tf.device(tf.train.replica_device_setter(cluster=cluster)):
    step = tf.train.get_or_create_global_step()
    train = tf.assign_add(step, 1)
with tf.train.MonitoredTrainingSession(server.target) as session:
    session.run(train)
    print("CLUSTER", json.dumps(cluster), flush=True)
    while not session.should_stop():
        session.run(train)
"""


def _cluster_of_train(job):
    """The tasks of `train --json` once it trains."""
    tasks = {}
    for line in job.stdout:
        event = json.loads(line) if line.startswith("{") else {}
        if event.get("event") == "started":
            tasks[event["task"].partition(":")[0]] = [event["target"].partition("//")[2]]
        if event.get("event") == "progress":
            return tasks
    raise AssertionError(job.stderr.read())


def _cluster_of_launch(job):
    for line in job.stdout:
        if "CLUSTER " in line:
            return json.loads(line.partition("CLUSTER ")[2])
    raise AssertionError(job.stderr.read())


JOBS = {
    "train": (["--json", "--workers=1", "--train_steps=1000000000", "--threads=1", "--hidden_units=16", "--batch_size=16", "--logdir", ""], _cluster_of_train),
    "launch": (["--ps=1", "--workers=1", "--", sys.executable, "-c", SCRIPT], _cluster_of_launch),
}


@pytest.fixture
def tokens(tmp_path_factory):
    """Files of another user: with the token of the job, and with a wrong one."""
    files = {}
    folder = tmp_path_factory.mktemp("tokens")
    for parent in (folder, *folder.parents[:2]):
        parent.chmod(0o755)
    for name, text in (("right", TOKEN), ("wrong", "wrong" + TOKEN)):
        files[name] = folder / name
        files[name].write_text(text + "\n")
        files[name].chmod(0o600)
        os.chown(files[name], NOBODY, NOBODY)
    return files


@pytest.mark.parametrize("command", list(JOBS))
def test_token_file_without_the_environment_variable(program, token_file, tokens, command, monkeypatch):
    monkeypatch.delenv("MILLSTREAM_TOKEN_FILE", raising=False)
    arguments, cluster_of = JOBS[command]
    job = subprocess.Popen([program, command, "--token_file", token_file, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        cluster = cluster_of(job)
        all_tasks = ["--cluster", json.dumps(cluster)]
        for asks in (["check", "--timeout=20", *all_tasks], ["trace", "-o", "/dev/null", f"grpc://{cluster['worker'][0]}"], ["stop", *all_tasks]):
            for unknown in ([], ["--token_file", tokens["wrong"]]):
                refused = as_another_user([program, *asks, *unknown])
                assert refused.returncode == 1 and "token" in refused.stdout + refused.stderr, (asks, refused)
            done = as_another_user([program, *asks, "--token_file", tokens["right"]])
            assert done.returncode == 0, (asks, done)
        job.communicate(timeout=END_SECS)
        assert job.returncode == 0
    finally:
        job.kill()
        job.wait()
