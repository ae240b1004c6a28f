# SPDX-License-Identifier: Apache-2.0
"""srun millstream launch, under a real Slurm on this machine."""
import os
import subprocess
import sys
import uuid

import pytest
from programs import SHOW, TRAIN, processes_with, wait_until
from slurm_cluster import SlurmCluster


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    if os.geteuid() != 0:
        pytest.skip("slurmd needs root")
    cluster = SlurmCluster(tmp_path_factory.mktemp("slurm"))
    yield cluster
    cluster.stop()


@pytest.fixture
def rendezvous(tmp_path):
    folder = tmp_path / "rendezvous"
    yield f"--rendezvous={folder}"
    assert not folder.exists() or not list(folder.iterdir()), "something is left there"


def test_each_rank_is_a_task(slurm, program, rendezvous):
    done = slurm.run("-n3", program, "launch", rendezvous, "--ps=1", "--", *SHOW)
    assert done.returncode == 0, done.stderr + slurm.logs()
    for task in ("ps:0", "worker:0", "worker:1"):
        job, index = task.split(":")
        assert f"[{task}] config {job} {index} 2" in done.stdout
    assert done.stdout.count("token 64") == 3 and "in 3 ranks of slurm" in done.stderr


def test_a_tf1_program(slurm, program, rendezvous, tmp_path):
    script = tmp_path / "train.py"
    script.write_text(TRAIN)
    # Two ranks share four tasks: each has a ps and a worker.
    done = slurm.run("-n2", program, "launch", rendezvous, "--ps=2", "--workers=2", "--", sys.executable, str(script))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("reached 20") == 2


def test_a_failure_ends_all_ranks(slurm, program, rendezvous):
    code = ("import json, os, sys, time\ntask = json.loads(os.environ['TF_CONFIG'])['task']\n"
            "if task == {'type': 'worker', 'index': 1}: print('broken'); sys.exit(6)\ntime.sleep(1000)")
    done = slurm.run("-n3", program, "launch", rendezvous, "--ps=1", "--no_flags", "--", sys.executable, "-c", code)
    assert done.returncode == 6, done.stderr
    assert "worker:1 failed first: exit code 6" in done.stderr and "| broken" in done.stderr


def test_scancel_leaves_nothing(slurm, program, rendezvous):
    mark = uuid.uuid4().hex
    process = subprocess.Popen(["srun", "-J", mark, "-n2", program, "launch", rendezvous, "--no_flags", "--", sys.executable, "-c",
                                "import time; print('ready', flush=True); time.sleep(1000)", mark], env=slurm.environment, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    for _ in range(2):
        assert "ready" in process.stdout.readline()
    subprocess.run(["scancel", "-n", mark], env=slurm.environment, check=True)
    process.communicate(timeout=60)
    assert process.returncode != 0
    wait_until(lambda: not processes_with(mark), 30)


def test_wrong_numbers_of_tasks(slurm, program, rendezvous):
    done = slurm.run("-n3", program, "launch", rendezvous, "--ps=1", "--workers=1", "--", "true")
    assert done.returncode != 0 and "slurm has started 3 processes, but the job has only 2 tasks" in done.stderr


def test_outside_of_srun(launch):
    done = launch("--in=slurm", "--", "true")
    assert done.returncode != 0 and "not started by srun" in done.stderr
