# SPDX-License-Identifier: Apache-2.0
"""mpirun millstream launch."""
import os
import subprocess
import sys
import uuid

import pytest
from programs import SHOW, TRAIN, processes_with, wait_until


def _mpirun(*args, timeout=120):
    command = ["mpirun", "--oversubscribe"] + (["--allow-run-as-root"] if os.geteuid() == 0 else [])
    return subprocess.run([*command, *args], capture_output=True, text=True, timeout=timeout, check=False)


@pytest.fixture
def rendezvous(tmp_path):
    return f"--rendezvous={tmp_path}/rendezvous"


def test_each_rank_is_a_task(program, rendezvous, tmp_path):
    done = _mpirun("-n", "3", program, "launch", rendezvous, "--ps=1", "--", *SHOW)
    assert done.returncode == 0, done.stderr
    for task in ("ps:0", "worker:0", "worker:1"):
        job, index = task.split(":")
        assert f"[{task}] config {job} {index} 2" in done.stdout
    assert done.stdout.count("token 64") == 3 and "in 3 ranks of openmpi" in done.stderr
    assert not list((tmp_path / "rendezvous").iterdir())


def test_a_tf1_program(program, rendezvous, tmp_path):
    script = tmp_path / "train.py"
    script.write_text(TRAIN)
    done = _mpirun("-n", "3", program, "launch", rendezvous, "--ps=1", "--workers=2", "--", sys.executable, str(script))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("reached 20") == 2


def test_a_failure_ends_all_ranks(program, rendezvous):
    mark = uuid.uuid4().hex
    code = ("import json, os, sys, time\ntask = json.loads(os.environ['TF_CONFIG'])['task']\n"
            "if task == {'type': 'worker', 'index': 1}: sys.exit(6)\ntime.sleep(1000)")
    done = _mpirun("-n", "3", program, "launch", rendezvous, "--ps=1", "--no_flags", "--", sys.executable, "-c", code, mark)
    assert done.returncode == 6, done.stderr
    assert "worker:1 failed first: exit code 6" in done.stderr
    wait_until(lambda: not processes_with(mark))


def test_ranks_that_do_not_come_are_named(program, tmp_path):
    env = dict(os.environ, OMPI_COMM_WORLD_RANK="0", OMPI_COMM_WORLD_SIZE="3", PMIX_NAMESPACE="x")
    done = subprocess.run([program, "launch", f"--rendezvous={tmp_path}/r", "--rendezvous_timeout=0.5", "--", "true"], env=env, capture_output=True,
                          text=True, timeout=30, check=False)
    assert done.returncode != 0 and "these did not arrive at" in done.stderr and ": 1, 2." in done.stderr
