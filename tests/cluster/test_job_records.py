# SPDX-License-Identifier: Apache-2.0
"""Commands find a job by its name or folder, and a folder belongs to one job at a time."""
import json
import os
import re
import signal
import subprocess
import sys

import pytest
from job_processes import END_SECS, wait_until

LONG = ["--train_steps=1000000000", "--workers=1", "--threads=1", "--hidden_units=16", "--batch_size=16"]


def _run(program, *args, **kwargs):
    return subprocess.run([program, *map(str, args)], capture_output=True, text=True, timeout=120, **kwargs)


@pytest.fixture
def start(program):
    """`millstream train` or `launch` in the background."""
    jobs = []

    def begin(*args, **kwargs):
        jobs.append(subprocess.Popen([program, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **kwargs))
        return jobs[-1]

    yield begin
    for job in jobs:
        if job.poll() is None:
            job.terminate()
            try:
                job.communicate(timeout=END_SECS)
            except subprocess.TimeoutExpired:
                job.kill()


def _until_progress(job):
    for line in job.stdout:
        if line.startswith("{") and json.loads(line)["event"] == "progress":
            return
    raise AssertionError(job.stderr.read())


def _traced(path):
    return {event["args"]["name"] for event in json.loads(path.read_text())["traceEvents"] if event["ph"] == "X"}


@pytest.mark.parametrize("by", ["name", "folder", "--logdir"])
def test_check_trace_and_stop_of_train(program, start, tmp_path, by):
    logdir = tmp_path / f"run-{os.getpid()}-{by.strip('-')}"
    job = start("train", "--json", *LONG, "--save_checkpoint_secs=0.2", "--logdir", logdir)
    _until_progress(job)
    which = {"name": [logdir.name], "folder": [str(logdir)], "--logdir": ["--logdir", str(logdir)]}[by]
    environment = {name: value for name, value in os.environ.items() if name != "MILLSTREAM_TOKEN_FILE"}
    done = _run(program, "check", *which, env=environment)
    assert done.returncode == 0 and done.stdout.count(": reachable") == 2, done.stdout + done.stderr
    out = tmp_path / "trace.json"
    done = _run(program, "trace", *which, "-o", str(out), env=environment)
    assert done.returncode == 0, done.stderr
    nodes = _traced(out)
    assert any("MatMul" in node for node in nodes) and any("gradients" in node for node in nodes), nodes
    done = _run(program, "stop", *which, env=environment)
    assert done.returncode == 0 and done.stdout.count(": ended") == 2, done.stdout + done.stderr
    assert job.wait(END_SECS) == 0
    with open(logdir / "checkpoint", encoding="utf-8") as f:
        assert int(re.search(r"ckpt-(\d+)", f.read())[1]) > 0
    assert not (logdir / ".millstream-job").exists()
    done = _run(program, "stop", *which, env=environment)
    assert done.returncode == 1 and re.search("no (running )?job", done.stderr), done.stderr


SCRIPT = """
import argparse, sys
import millstream as tf
parser = argparse.ArgumentParser()
for name in ("ps_hosts", "worker_hosts", "job_name", "style"):
    parser.add_argument("--" + name)
parser.add_argument("--task_index", type=int)
flags = parser.parse_args()
cluster = tf.train.ClusterSpec({"ps": flags.ps_hosts.split(","), "worker": flags.worker_hosts.split(",")})
server = tf.train.Server(cluster, job_name=flags.job_name, task_index=flags.task_index)
if flags.job_name == "ps":
    server.join()
with tf.device(tf.train.replica_device_setter(cluster=cluster, worker_device="/job:worker/task:%d" % flags.task_index)):
    w = tf.get_variable("w", [32, 32])
    step = tf.train.get_or_create_global_step()
    loss = tf.reduce_sum(tf.square(tf.matmul(w, w, name="product")))
    train = tf.train.GradientDescentOptimizer(1e-6).minimize(loss, global_step=step)
if flags.style == "monitored":
    with tf.train.MonitoredTrainingSession(server.target, is_chief=flags.task_index == 0) as session:
        print("begins", flush=True)
        while not session.should_stop():
            session.run(train)
            session.run(step)
else:
    with tf.Session(server.target) as session:
        session.run(tf.global_variables_initializer())
        print("begins", flush=True)
        while True:
            session.run(train)
            for _ in range(3):
                session.run(step)
"""


@pytest.mark.parametrize("style", ["monitored", "plain"])
def test_trace_and_stop_of_a_launched_script(program, start, tmp_path, style):
    script = tmp_path / "counts.py"
    script.write_text(SCRIPT)
    name = f"counts-{os.getpid()}-{style}"
    job = start("launch", "--name", name, "--ps", 1, "--workers", 1, "--", sys.executable, script, f"--style={style}")
    for line in job.stdout:
        if "begins" in line:
            break
    done = _run(program, "check", name)
    assert done.returncode == 0 and done.stdout.count(": reachable") == 2, done.stdout + done.stderr
    out = tmp_path / "trace.json"
    done = _run(program, "trace", name, "-o", str(out))
    assert done.returncode == 0, done.stderr
    assert any(node.startswith("product") for node in _traced(out)), _traced(out)
    done = _run(program, "stop", name)
    assert done.returncode == 0, done.stdout + done.stderr
    job.communicate(timeout=END_SECS)
    assert job.returncode == 0


def test_a_program_without_a_server_is_stopped_by_its_launcher(program, start):
    name = f"sleeps-{os.getpid()}"
    job = start("launch", "--name", name, "--workers", 1, "--", sys.executable, "-c",
                "import time; print('begins', flush=True); time.sleep(1000)")
    assert "begins" in job.stdout.readline()
    done = _run(program, "launch", "--name", name, "--workers", 1, "--", "true")
    assert done.returncode == 1 and f"--name {name} is in use by job {name} (pid {job.pid} " in done.stderr
    done = _run(program, "stop", name)
    assert done.returncode == 0 and str(job.pid) in done.stdout, done.stdout + done.stderr
    assert job.wait(END_SECS) == 128 + signal.SIGTERM


def test_a_folder_belongs_to_one_job(program, start, tmp_path):
    logdir = tmp_path / "logs"
    job = start("train", "--json", *LONG, "--logdir", logdir)
    _until_progress(job)
    done = _run(program, "train", *LONG, "--logdir", str(logdir))
    assert done.returncode == 1 and f"(pid {job.pid} on host " in done.stderr and str(logdir) in done.stderr, done.stderr
    hand_started = ["--ps_hosts=localhost:1", "--worker_hosts=localhost:2", "--job_name=worker", "--task_index=0"]
    done = _run(program, "train", *hand_started, "--logdir", str(logdir))
    assert done.returncode == 1 and f"(pid {job.pid} on host " in done.stderr, done.stderr
    job.kill()  # nobody is left to remove what it wrote
    job.communicate()
    record = logdir / ".millstream-job"
    assert record.exists()
    wait_until(lambda: "in use" not in (done := _run(program, "train", "--train_steps=1", "--workers=1", "--logdir", str(logdir))).stderr
               or done.returncode == 0)
    assert not record.exists()


def test_jobs_of_the_same_second_have_folders_of_their_own(program, start, tmp_path):
    jobs = [start("train", "--json", "--train_steps=20", "--workers=1", "--threads=1", "--hidden_units=8", cwd=tmp_path)
            for _ in range(4)]
    for job in jobs:
        _, err = job.communicate(timeout=240)
        assert job.returncode == 0, err
    folders = os.listdir(tmp_path / "millstream-logs")
    assert len(folders) == 4
    for folder in folders:
        assert len([name for name in os.listdir(tmp_path / "millstream-logs" / folder) if name.startswith("events.")]) == 1


def test_which_job(program, tmp_path):
    done = _run(program, "stop", "no-such-job")
    assert done.returncode == 1 and "no job 'no-such-job' runs" in done.stderr
    done = _run(program, "stop", str(tmp_path))
    assert done.returncode == 1 and str(tmp_path) in done.stderr
    done = _run(program, "stop", env={"PATH": os.environ["PATH"], "XDG_RUNTIME_DIR": str(tmp_path)})
    assert done.returncode == 2 and "which job?" in done.stderr
