# SPDX-License-Identifier: Apache-2.0
"""Elastic jobs (millstream launch --workers LEAST:MOST): workers that are killed, that come and that leave while the job trains."""
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import time

import pytest

PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"
EXAMPLES = PROGRAMS.parents[2] / "examples" / "horovod"
_SECS = 240
_CHOSEN_SEED = int(os.environ.get("MILLSTREAM_TEST_SEED") or 1)


class Job:
    """A running job of programs/horovod_elastic.py."""

    def __init__(self, program, folder, workers, epochs, *options, slots=None, **environment):
        self.folder, self._slots = folder, folder / "slots"
        if slots is not None:
            self.offer(slots)
            options = ("--discovery", f"cat {self._slots}", *options)
        kept = {k: v for k, v in os.environ.items() if k != "TF_CONFIG"}
        self._output = open(folder / "output", "w+", encoding="utf-8")
        self.process = subprocess.Popen(
            [program, "launch", "--workers", workers, *options, "--", sys.executable, str(PROGRAMS / "horovod_elastic.py"), str(folder), str(epochs)],
            stdout=self._output, stderr=subprocess.STDOUT, env={**kept, **environment})

    def offer(self, slots):
        new = self._slots.with_suffix(".new")
        new.write_text(f"localhost:{slots}\n")
        new.rename(self._slots)

    def output(self):
        return (self.folder / "output").read_text(encoding="utf-8")

    def wait_for(self, pattern, count=1):
        end = time.monotonic() + _SECS
        while len(found := re.findall(pattern, self.output())) < count:
            assert self.process.poll() is None and time.monotonic() < end, f"no {pattern}:\n{self.output()[-5000:]}"
            time.sleep(0.02)
        return found

    def wait_for_steps(self, size, steps):
        """Until a world of that size has made some steps."""
        first, end = None, time.monotonic() + _SECS
        while True:
            try:
                now = [int(n) for n in (self.folder / "steps-0").read_text().split()]
            except (OSError, ValueError):
                now = []
            if len(now) == 2 and now[0] == size:
                first = now[1] if first is None else min(first, now[1])
                if now[1] >= first + steps:
                    return
            assert self.process.poll() is None and time.monotonic() < end, f"no steps of {size}:\n{self.output()[-5000:]}"
            time.sleep(0.01)

    def wait_until(self, condition):
        end = time.monotonic() + _SECS
        while not condition():
            assert self.process.poll() is None and time.monotonic() < end, self.output()[-5000:]
            time.sleep(0.01)

    def signal(self, task, number=signal.SIGKILL):
        os.kill(int((self.folder / f"pid-{task}").read_text()), number)

    def end(self):
        code = self.process.wait(_SECS)
        return code, self.output()


@pytest.fixture
def start(program, tmp_path):
    jobs = []

    def make(*args, **kwargs):
        jobs.append(Job(program, tmp_path, *args, **kwargs))
        return jobs[-1]

    yield make
    for job in jobs:
        if job.process.poll() is None:
            job.process.terminate()
            try:
                job.process.wait(20)
            except subprocess.TimeoutExpired:
                job.process.kill()


def _check_end(job, size, epochs):
    code, output = job.end()
    assert code == 0, output[-6000:]
    done = re.findall(rf"rank (\d+) of {size} is done, every example was used {epochs} times", output)
    assert sorted(done) == [str(r) for r in range(size)], output[-6000:]
    return output


def test_nothing_happens(start):
    _check_end(start("1:2", 2), 2, 2)


@pytest.mark.parametrize("link", ["tcp", "grpc", "tls"])
def test_workers_come_and_go_over_every_link(start, links, link):
    job = start("1:3", 10, "--max_restarts", "1", **links(link))
    job.wait_for_steps(3, 4)
    job.signal(0)
    job.wait_for(r"rank \d of 3 begins", 6)
    _check_end(job, 3, 10)


@pytest.mark.parametrize("killed", [(0,), (1,), (2,), (0, 1), (0, 2)])
def test_workers_that_die_are_dropped(start, killed):
    job = start("1:3", 6)
    job.wait_for_steps(3, 4)
    for task in killed:
        job.signal(task)
    output = _check_end(job, 3 - len(killed), 6)
    for task in killed:
        assert f"worker:{task} ended: killed by signal 9 (Killed); it is dropped" in output, output[-3000:]


def test_a_worker_that_was_dropped_comes_back(start):
    job = start("1:2", 8, "--max_restarts", "1")
    job.wait_for_steps(2, 4)
    job.signal(0)
    job.wait_for("worker:0 ended: .* starting it again")
    job.wait_for(r"rank 1 of 2 begins", 2)
    _check_end(job, 2, 8)


def test_new_workers_join_at_a_commit(start):
    job = start("1:4", 10, slots=2)
    job.wait_for_steps(2, 4)
    job.offer(4)
    job.wait_for(r"rank \d of 4 begins", 4)
    output = _check_end(job, 4, 10)
    assert re.search(r"rank 0 of 4 is done.*resets \[(3, )?4\]", output), output[-3000:]


def test_workers_leave_when_there_are_fewer_slots(start):
    job = start("1:3", 8, slots=3)
    job.wait_for_steps(3, 4)
    job.offer(1)
    output = _check_end(job, 1, 8)
    assert "worker:1 leaves" in output and "worker:2 leaves" in output and "failed first" not in output


def test_workers_that_have_the_state_stay(start, tmp_path):
    """A worker that was started again, and does not train yet, leaves before those that do, whatever its number."""
    job = start("1:2", 12, "--max_restarts", "1", slots=2)
    job.wait_for_steps(2, 4)
    first = (tmp_path / "started-0").read_text()
    (tmp_path / "gate-0").touch()
    job.signal(0)
    job.wait_until(lambda: (tmp_path / "started-0").read_text() not in ("", first))
    job.offer(1)
    job.wait_for("worker:0 leaves")
    output = _check_end(job, 1, 12)
    assert "worker:1 leaves" not in output and "begins at epoch 0, 0" not in output.partition("of 1 begins")[2], output[-3000:]


def test_a_job_waits_for_enough_workers(start):
    job = start("2:3", 8, slots=2)
    job.wait_for_steps(2, 4)
    job.signal(1)
    job.wait_for("1 of at least 2 workers are there; waiting for more")
    job.offer(3)
    _check_end(job, 2, 8)


def test_a_job_with_too_few_workers_fails(start):
    job = start("2:2", 1000)
    job.wait_for_steps(2, 4)
    job.signal(1)
    code, output = job.end()
    assert code == 137 and "worker:1 failed first: only 1 of at least 2 workers are left" in output, output[-3000:]


def test_a_job_waits_for_workers_no_longer_than_it_was_told(start):
    job = start("2:3", 1000, "--elastic_timeout", "1", slots=2)
    job.wait_for_steps(2, 4)
    job.signal(0)
    code, output = job.end()
    assert code == 137 and "only 1 of at least 2 workers are left" in output, output[-3000:]


def test_a_worker_that_hangs_is_named(start):
    job = start("1:2", 1000, HOROVOD_STALL_SHUTDOWN_TIME_SECONDS="1", HOROVOD_ELASTIC_TIMEOUT="2")
    job.wait_for_steps(2, 4)
    job.signal(1, signal.SIGSTOP)
    job.wait_for(r"DeadlineExceededError.*waiting for worker:1")
    job.process.terminate()
    job.end()


@pytest.mark.parametrize("seed", [_CHOSEN_SEED])
def test_random_kills_and_arrivals(start, seed):
    """Whatever comes: the job ends, with every example used as often as every other one."""
    chance = random.Random(seed)
    job = start("1:4", 30, "--max_restarts", "100", slots=2)
    job.wait_for_steps(2, 2)
    for _ in range(8):
        if chance.random() < 0.5:
            job.offer(chance.randint(1, 4))
        else:
            try:
                job.signal(chance.randint(0, 3))
            except (OSError, ValueError):  # it does not run now
                pass
        time.sleep(chance.uniform(0, 1.5))
        if job.process.poll() is not None:
            break
    code, output = job.end()
    done = re.findall(r"is done, every example was used 30 times", output)
    assert code == 0 and done, (seed, output[-6000:])


def test_a_keras_model_goes_on_alone(program, tmp_path):
    done = subprocess.run([program, "launch", "--workers", "1:2", "--", sys.executable, str(PROGRAMS / "horovod_keras_elastic.py"), str(tmp_path / "died")],
                          text=True, capture_output=True, timeout=_SECS, cwd=tmp_path)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-5000:]
    one = [(0, n) for n in range(5)] + [(1, n) for n in range(4)] + [(1, 3), (1, 4)] + [(2, n) for n in range(5)]
    assert f"rank 0: {one}" in done.stdout, done.stdout[-3000:]


@pytest.mark.parametrize("who", [0, 1])
def test_the_example_goes_on_without_a_worker(program, tmp_path, who):
    done = subprocess.run([program, "launch", "--workers", "1:2", "--", sys.executable, "-m", "millstream", str(EXAMPLES / "elastic_mnist.py"),
                           "--batches", "60", "--die_at", "35", "--die_rank", str(who)],
                          text=True, capture_output=True, timeout=_SECS, cwd=tmp_path)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-5000:]
    assert "rank 0 goes on from batch 30" in done.stdout and re.search(r"rank 0 of 1: batch 60, accuracy 0\.[89]", done.stdout), done.stdout[-3000:]


@pytest.mark.parametrize("options, message", [
    (["--workers", "3:2"], "--workers 3:2"),
    (["--workers", "0:2"], "at least one worker"),
    (["--workers", "1:x"], "neither a number nor LEAST:MOST"),
    (["--workers", "1:2:3"], "neither a number nor LEAST:MOST"),
    (["--workers", "1:2", "--ps", "1"], "no --ps"),
    (["--workers", "1:2", "--hosts", "a"], "runs on this machine"),
    (["--workers", "2", "--discovery", "true"], "--discovery needs --workers LEAST:MOST"),
    (["--workers", "1:2", "--discovery", "echo no colon:x"], "is not HOST:SLOTS"),
    (["--workers", "1:2", "--discovery", "echo elsewhere:4"], "elsewhere is another host"),
    (["--workers", "1:2", "--discovery", "echo broken >&2; exit 3"], "exit code 3: broken"),
])
def test_wrong_flags(program, options, message):
    done = subprocess.run([program, "launch", *options, "--", "true"], text=True, capture_output=True, timeout=60)
    assert done.returncode == 2 and message in done.stderr, done.stderr
