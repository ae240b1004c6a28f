# SPDX-License-Identifier: Apache-2.0
"""Strategies of tf.distribute whose workers are processes."""
import json
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS, EXAMPLES = HERE / "programs", HERE.parents[1] / "examples" / "distribute"
_SECS = 240


def _launch(program, tmp_path, command, *options):
    env = {k: v for k, v in os.environ.items() if k != "TF_CONFIG"}
    done = subprocess.run([program, "launch", *options, "--", sys.executable, *map(str, command)], cwd=tmp_path, env=env, text=True,
                          timeout=_SECS, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout[-5000:]
    return done.stdout


def _curves(program, tmp_path, workers, *arguments, options=()):
    output = _launch(program, tmp_path, [PROGRAMS / "strategy_curve.py", *arguments], "--workers", str(workers), *options)
    found = [[float.fromhex(word) for word in words.split()] for words in re.findall(r"losses (.*)", output)]
    assert len(found) == workers + ("--chief" in options) and all(curve == found[0] for curve in found), output[-2000:]
    return found[0]


@pytest.mark.parametrize("kind, session", [("multi_worker", "default"), ("collective", "server"), ("multi_worker", "monitored")])
def test_curves_of_1_2_and_4_workers_agree(program, tmp_path, kind, session):
    curves = []
    for workers in (1, 2, 4):
        (tmp_path / str(workers)).mkdir()
        curves.append(_curves(program, tmp_path / str(workers), workers, kind, session))
        assert (tmp_path / str(workers) / "checkpoints" / "checkpoint").exists() == (session == "monitored")
    assert curves[0][-2] < curves[0][0]
    for curve in curves[1:]:
        np.testing.assert_allclose(curve, curves[0], rtol=1e-4)


def test_the_same_start_gives_the_same_bits(program, tmp_path):
    assert _curves(program, tmp_path, 2, "multi_worker", "default") == _curves(program, tmp_path, 2, "multi_worker", "default")


def test_a_chief_is_the_first_worker(program, tmp_path):
    np.testing.assert_allclose(_curves(program, tmp_path, 1, "multi_worker", "default", options=["--chief", "--no_flags"]),
                               _curves(program, tmp_path, 1, "multi_worker", "default"), rtol=1e-4)


@pytest.mark.parametrize("strategy, workers", [("mirrored", 1), ("multi_worker", 1), ("multi_worker", 2), ("collective", 2)])
def test_estimator_mnist(program, tmp_path, strategy, workers):
    arguments = [EXAMPLES / "estimator_mnist.py", "--strategy", strategy, "--steps", "60", "--samples", "4000"]
    if strategy == "mirrored":
        done = subprocess.run([sys.executable, "-m", "millstream", *map(str, arguments)], cwd=tmp_path, capture_output=True, text=True, timeout=_SECS)
        assert done.returncode == 0, done.stderr[-3000:]
        output = done.stdout
    else:
        output = _launch(program, tmp_path, ["-m", "millstream", *arguments], "--workers", str(workers))
    found = re.findall(r"step 60: accuracy (\S+)", output)
    assert len(found) == 1 and float(found[0]) > 0.75, output[-2000:]


def test_mirrored_mnist(tmp_path):
    done = subprocess.run([sys.executable, "-m", "millstream", str(EXAMPLES / "mirrored_mnist.py"), "--steps", "80"], cwd=tmp_path, text=True,
                          capture_output=True, timeout=_SECS)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "Number of replicas: 2" in done.stdout and float(re.search(r"accuracy (\S+)", done.stdout).group(1)) > 0.85, done.stdout


def test_parameter_server_mnist(program, tmp_path):
    output = _launch(program, tmp_path, ["-m", "millstream", EXAMPLES / "parameter_server_mnist.py", "--steps", "150"], "--ps", "1", "--workers", "2",
                     "--no_flags")
    assert len(re.findall(r"variables on /job:ps/task:0", output)) == 2, output[-2000:]
    found = re.findall(r"worker (\d): accuracy (\S+)", output)
    assert sorted(f[0] for f in found) == ["0", "1"] and max(float(f[1]) for f in found) > 0.75, output[-2000:]


def test_a_worker_that_does_not_come_is_named(tmp_path):
    config = {"cluster": {"worker": ["localhost:1", "localhost:2"]}, "task": {"type": "worker", "index": 0}}
    from cluster_processes import free_ports
    config["cluster"]["worker"] = [f"localhost:{port}" for port in free_ports(2)]
    done = subprocess.run([sys.executable, str(PROGRAMS / "strategy_curve.py"), "multi_worker", "default"], cwd=tmp_path, text=True,
                          capture_output=True, timeout=_SECS, env={**os.environ, "TF_CONFIG": json.dumps(config), "HOROVOD_START_TIMEOUT": "2"})
    assert done.returncode == 1, done.stdout
    assert re.search(r"DeadlineExceededError: .*not all 2 members have joined within 2 s: /job:worker/replica:0/task:1", done.stderr), done.stderr[-2000:]
