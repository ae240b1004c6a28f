# SPDX-License-Identifier: Apache-2.0
"""Signals and `millstream stop` end every task of `millstream train`, wherever it is, and the chief saves first."""
import json
import os
import signal
import subprocess

import pytest
from job_processes import FROZEN_END_SECS, wait_until


def _stop(program, tasks, **kwargs):
    return subprocess.run([program, "stop", "--cluster", tasks.cluster], capture_output=True, text=True, timeout=90, **kwargs)


def _end_all(program, tasks, how):
    if how == "stop":
        done = _stop(program, tasks)
        assert done.returncode == 0, done.stdout + done.stderr + tasks.everything()
    else:
        tasks.signal_all(how)


@pytest.fixture
def train(program, make_tasks):
    """Tasks of a training that would go on for hours."""
    def make(ps=1, workers=2, mode="async", **flags):
        command = [program, "train", "--json", f"--mode={mode}", "--train_steps=1000000000", "--threads=1", "--batch_size=16",
                   "--hidden_units=16", *[f"--{name}={value}" for name, value in flags.items()]]
        jobs = {"ps": ps, "worker": workers} if ps else {"worker": workers}
        tasks = make_tasks(lambda job, index: [*command, "--logdir", tasks.checkpoints], **jobs)
        return tasks
    return make


HOWS = [signal.SIGTERM, signal.SIGINT, "stop"]


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("ps", [1, 3])
def test_workers_that_wait_for_a_ps(program, train, how, ps):
    tasks = train(ps=ps)
    for index in (0, 1):
        tasks.start("worker", index)
        tasks.wait_for("worker", index, '"event":"started"')
    tasks.wait_for("worker", 0, '"event":"variables"')  # the graph is built; what follows needs the ps
    _end_all(program, tasks, how)
    assert set(tasks.ends().values()) == {0}, tasks.everything()
    assert "waited for /job:ps/replica:0/task:0 at " in tasks.text("worker", 0), tasks.everything()


def test_a_worker_that_waits_for_the_chief(train):
    tasks = train()
    tasks.start("ps", 0)
    tasks.start("worker", 1, MILLSTREAM_MIN_LOG_LEVEL="0")
    tasks.wait_for("worker", 1, "Waiting for model to be ready")
    tasks.signal("worker", 1, signal.SIGTERM)
    assert tasks.end("worker", 1) == 0


LINKS = ["shm,tcp,grpc", "tcp", "grpc"]


def _jobs():
    """All modes with 1 to 3 ps (none where the workers have the variables) and 1 to 3 workers. Ways to stop and links take turns, so that each
    meets each number of ps, each number of workers and each mode."""
    for m, mode in enumerate(["async", "sync", "dc-asgd", "ssp", "hierarchical"]):
        for ps in range(3):
            for workers in range(3):
                yield mode, ps + 1, workers + 1, HOWS[(ps + workers + m) % 3], LINKS[(ps + 2 * workers + m) % 3]
    for mode in ("allreduce", "local-sgd"):
        for workers in range(3):
            for h, how in enumerate(HOWS):
                yield mode, 0, workers + 1, how, LINKS[(workers + h) % 3]


def _flags(mode, workers):
    return {"group_size": min(workers, 2)} if mode == "hierarchical" else {}  # of 3 workers, one is a group by itself


@pytest.mark.parametrize("mode,ps,workers,how,links", list(_jobs()))
def test_training(program, train, mode, ps, workers, how, links):
    tasks = train(ps=ps, workers=workers, mode=mode, **_flags(mode, workers))
    tasks.start_all(MILLSTREAM_LINKS=links)
    for index in range(workers):
        tasks.wait_for("worker", index, '"event":"progress"')
    _end_all(program, tasks, how)
    assert set(tasks.ends().values()) == {0}, tasks.everything()
    assert tasks.saved_step() > 0, tasks.everything()


@pytest.mark.parametrize("mode,how", [("async", signal.SIGTERM), ("sync", signal.SIGINT), ("sync", "stop")])
def test_a_save_is_finished(program, train, mode, how):
    tasks = train(mode=mode, save_checkpoint_secs=0.001)
    tasks.start_all()
    wait_until(lambda: tasks.saved_step() > 0)  # from now on it saves nearly always
    _end_all(program, tasks, how)
    assert set(tasks.ends().values()) == {0}, tasks.everything()
    left = [name for name in os.listdir(tasks.checkpoints) if "temp" in name]
    assert not left and os.path.exists(os.path.join(tasks.checkpoints, f"model.ckpt-{tasks.saved_step()}.index"))


def test_a_worker_that_was_frozen_is_named_and_keeps_nobody(train):
    tasks = train(mode="sync")
    tasks.start_all()
    tasks.wait_for("worker", 1, '"event":"progress"')
    before = tasks.saved_step()
    tasks.freeze_so_that_it_is_missed("worker", 1, watched=("worker", 0))
    tasks.wait_for("worker", 0, r"a step has been running for \d+ s; /job:worker/replica:0/task:1 at \S+ does not answer", seconds=30)
    tasks.signal("worker", 0, signal.SIGTERM)
    assert tasks.end("worker", 0) == 0, tasks.everything()
    assert tasks.saved_step() > max(before, 0)
    tasks.signal("ps", 0, signal.SIGTERM)
    assert tasks.end("ps", 0) == 0


def test_a_ps_that_was_frozen_keeps_nobody(train):
    tasks = train(ps=2)
    tasks.start_all()
    for index in (0, 1):
        tasks.wait_for("worker", index, '"event":"progress"')
    tasks.freeze("ps", 1)
    for index in (0, 1):
        tasks.signal("worker", index, signal.SIGTERM)
    assert tasks.end("worker", 0) != 0  # nothing could be saved
    assert "/job:ps/replica:0/task:1 at " in tasks.text("worker", 0) and "does not answer" in tasks.text("worker", 0)
    tasks.end("worker", 1)
    tasks.signal("ps", 0, signal.SIGTERM)
    assert tasks.end("ps", 0) == 0


def test_stop_says_who_does_not_answer(program, train):
    tasks = train(mode="sync")
    tasks.start_all()
    for index in (0, 1):  # one that has not begun to listen yet would count as not running
        tasks.wait_for("worker", index, '"event":"progress"')
    tasks.freeze("worker", 1)
    done = _stop(program, tasks)
    assert done.returncode == 1 and "/job:worker/replica:0/task:1 at " in done.stdout and "does not answer" in done.stdout
    assert tasks.end("worker", 0) == 0 and tasks.end("ps", 0) == 0, tasks.everything()
    assert tasks.saved_step() > 0


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_whole_job_with_a_frozen_worker(program, tmp_path, how):
    logdir = tmp_path / "logs"
    job = subprocess.Popen([program, "train", "--json", "--mode=sync", "--train_steps=1000000000", "--hidden_units=16", "--logdir",
                            str(logdir), "--threads=1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    pids, steps = {}, 0
    for line in job.stdout:
        event = json.loads(line) if line.startswith("{") else {}
        if event.get("event") == "started":
            pids[event["task"]] = event["pid"]
        if event.get("event") == "progress":
            steps += 1
        if steps == 3:
            os.kill(pids["worker:1"], signal.SIGSTOP)
            break
    line = ""
    while "worker:1 was stopped" not in line:
        line = job.stderr.readline()
        assert line
    job.send_signal(how)
    out, err = job.communicate(timeout=FROZEN_END_SECS)
    assert job.returncode == 128 + how, err
    assert "killed" not in err.lower(), err
    assert any(json.loads(line)["event"] == "saved" for line in out.splitlines() if line.startswith("{")), out
    for pid in pids.values():
        wait_until(lambda p=pid: not os.path.exists(f"/proc/{p}"), 20)
