# SPDX-License-Identifier: Apache-2.0
"""A training program in C++, examples/cpp/mnist_replica.cc: a ps and two workers as processes, without any Python in them."""
import os
import re
import subprocess
import time

import pytest
from cluster_processes import _die_with_parent, free_ports


class Job:
    """The tasks of one training; their output is in files of `folder`."""

    def __init__(self, program, folder, *flags):
        ports = free_ports(3)
        self.folder, self.processes = folder, {}
        self.command = [program, f"--ps_hosts=localhost:{ports[0]}", f"--worker_hosts=localhost:{ports[1]},localhost:{ports[2]}",
                        *flags]
        for task in (("ps", 0), ("worker", 0), ("worker", 1)):
            self.start(*task)

    def start(self, job, index):
        with open(self.log(job, index), "a", encoding="utf-8") as log:
            self.processes[job, index] = subprocess.Popen(
                self.command + [f"--job_name={job}", f"--task_index={index}"], stdout=log, stderr=subprocess.STDOUT,
                preexec_fn=_die_with_parent, cwd=os.path.join(os.path.dirname(__file__), "../.."))

    def kill(self, job, index):
        process = self.processes.pop((job, index))
        assert process.poll() is None, "it ended before it could be killed"
        process.kill()
        process.wait()

    def log(self, job, index):
        return self.folder / f"{job}{index}.log"

    def text(self, job, index):
        return self.log(job, index).read_text(encoding="utf-8")

    def global_step(self):
        steps = [int(step) for index in (0, 1) for step in re.findall(r"\(global step:(\d+)\)", self.text("worker", index))]
        return max(steps, default=0)

    def wait_for_step(self, step, seconds=120):
        deadline = time.monotonic() + seconds
        while self.global_step() < step:
            assert time.monotonic() < deadline, self.text("worker", 0)[-2000:]
            time.sleep(0.02)

    def wait_for_end(self, seconds=180):
        """All tasks, the ps too, end by themselves and with success."""
        deadline = time.monotonic() + seconds
        for task, process in self.processes.items():
            try:
                assert process.wait(max(0.1, deadline - time.monotonic())) == 0, self.text(*task)[-2000:]
            except subprocess.TimeoutExpired:
                pytest.fail(f"{task} did not end: {self.text(*task)[-2000:]}")

    def accuracies(self):
        return [float(re.search(r"Validation accuracy = ([\d.]+)", self.text("worker", index))[1]) for index in (0, 1)]

    def stop(self):
        for process in self.processes.values():
            if process.poll() is None:
                process.kill()
            process.wait()


@pytest.fixture
def make_job(program, tmp_path):
    mnist_replica = os.path.join(os.path.dirname(os.path.dirname(program)), "examples", "mnist_replica")
    assert os.path.exists(mnist_replica), f"{mnist_replica} has not been built"
    jobs = []

    def make(*flags):
        jobs.append(Job(mnist_replica, tmp_path, *flags))
        return jobs[-1]

    yield make
    for job in jobs:
        job.stop()


def test_asynchronous(make_job):
    job = make_job("--train_steps=1000")
    job.wait_for_end()
    assert min(job.accuracies()) > 0.92
    for index in (0, 1):
        log = job.text("worker", index)
        assert re.search(rf"\d+\.\d+: Worker {index}: traing step \d+ dome \(global step:\d+\)", log)
        assert re.search(r"Training elapsed time:\d+\.\d+ s", log)
        assert "After 1000 training step(s), validation cross entropy = " in log


def test_synchronous(make_job):
    job = make_job("--train_steps=300", "--sync_replicas")
    job.wait_for_end()
    assert min(job.accuracies()) > 0.92
    steps = [len(re.findall(r"traing step", job.text("worker", i))) for i in range(2)]
    assert min(steps) > 0 and sum(steps) >= 2 * 295, steps  # two gradients for each update, not always one from each worker


@pytest.mark.parametrize("victim", [("ps", 0), ("worker", 0), ("worker", 1)])
@pytest.mark.parametrize("flags", [(), ("--sync_replicas",)], ids=["async", "sync"])
def test_a_task_is_killed_and_started_again(make_job, tmp_path, victim, flags):
    last = 8000 if not flags else 2000
    job = make_job(f"--train_steps={last}", f"--checkpoint_dir={tmp_path}/checkpoints", "--save_checkpoint_secs=0.3", *flags)
    job.wait_for_step(150)
    job.kill(*victim)
    job.start(*victim)
    job.wait_for_end()
    assert job.global_step() >= last
    assert f'model_checkpoint_path: "{tmp_path}/checkpoints/model.ckpt-' in (tmp_path / "checkpoints/checkpoint").read_text()
    assert max(job.accuracies()) > 0.9


def test_a_late_worker_ends_with_success(make_job, tmp_path):
    job = make_job("--train_steps=100", f"--checkpoint_dir={tmp_path}/checkpoints")
    job.wait_for_end()
    job.processes.clear()
    job.start("worker", 1)
    job.wait_for_end(30)
    assert "The job has ended at step" in job.text("worker", 1)
