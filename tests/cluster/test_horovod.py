# SPDX-License-Identifier: Apache-2.0
"""Programs with Horovod's interface in several ranks: every call, every launcher, training curves, ranks that die."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import uuid

import numpy as np
import pytest

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS, EXAMPLES = HERE / "programs", HERE.parents[1] / "examples" / "horovod"
LAUNCHERS = ["launch", "mpirun", "horovodrun", "srun"]
_SECS = 240  # longer than any of them takes on a busy machine


def _environment(tmp_path, **more):
    names = ("TF_CONFIG", "HOROVOD_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS")
    kept = {k: v for k, v in os.environ.items() if k not in names}
    return {**kept, "MILLSTREAM_RENDEZVOUS": str(tmp_path / "rendezvous"), **more}


def _ranks_by_environment(kind, ranks, job):
    """What horovodrun and srun tell their processes."""
    for rank in range(ranks):
        if kind == "horovodrun":
            yield {"HOROVOD_RANK": rank, "HOROVOD_SIZE": ranks, "HOROVOD_LOCAL_RANK": rank, "HOROVOD_LOCAL_SIZE": ranks, "HOROVOD_CROSS_RANK": 0,
                   "HOROVOD_CROSS_SIZE": 1, "HOROVOD_GLOO_RENDEZVOUS_ADDR": "127.0.0.1", "HOROVOD_GLOO_RENDEZVOUS_PORT": job}
        else:
            yield {"SLURM_PROCID": rank, "SLURM_STEP_NUM_TASKS": ranks, "SLURM_LOCALID": rank, "SLURM_JOB_ID": job, "SLURM_STEP_ID": 0}


def start(program, launcher, ranks, tmp_path, command, *options):
    """(exit codes, all output) of a program in so many ranks."""
    if launcher in ("launch", "mpirun"):
        if launcher == "mpirun" and shutil.which("mpirun") is None:
            pytest.skip("needs Open MPI's mpirun")
        words = {"launch": [program, "launch", "--workers", str(ranks), *options, "--"],
                 "mpirun": ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(ranks)]}[launcher]
        done = subprocess.run([*words, *command], env=_environment(tmp_path), cwd=tmp_path, text=True, timeout=_SECS,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return [done.returncode], done.stdout
    processes = [subprocess.Popen(command, cwd=tmp_path, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  env=_environment(tmp_path, **{k: str(v) for k, v in own.items()}))
                 for own in _ranks_by_environment(launcher, ranks, uuid.uuid4().int % 10**9)]
    try:
        outputs = [p.communicate(timeout=_SECS)[0] for p in processes]
    finally:
        for p in processes:
            p.kill()
    return [p.returncode for p in processes], "".join(outputs)


def _python(name, *arguments):
    return [sys.executable, str(PROGRAMS / name), *map(str, arguments)]


@pytest.mark.parametrize("launcher, ranks", [("launch", 1), ("launch", 2), ("launch", 4), ("mpirun", 1), ("mpirun", 2), ("horovodrun", 2),
                                             ("horovodrun", 4), ("srun", 2), ("srun", 4)])
def test_every_call(program, tmp_path, launcher, ranks):
    codes, output = start(program, launcher, ranks, tmp_path, _python("horovod_calls.py", ranks))
    assert not any(codes), output[-6000:]
    assert sorted(re.findall(r"rank (\d+) of \d+ is fine", output)) == [str(r) for r in range(ranks)]


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("link", ["shm", "tcp", "grpc", "tls"])
def test_every_call_over_every_link(program, tmp_path, monkeypatch, links, link, ranks):
    for name, value in links(link).items():
        monkeypatch.setenv(name, value)
    codes, output = start(program, "launch", ranks, tmp_path, _python("horovod_calls.py", ranks))
    assert not any(codes), output[-6000:]
    assert sorted(re.findall(r"rank (\d+) of \d+ is fine", output)) == [str(r) for r in range(ranks)]


@pytest.mark.parametrize("who", [0, 1])
@pytest.mark.parametrize("link", ["tcp", "grpc", "tls"])
def test_a_rank_that_dies_is_named_over_every_link(tmp_path, program, monkeypatch, links, link, who):
    for name, value in links(link).items():
        monkeypatch.setenv(name, value)
    codes, output = start(program, "horovodrun", 3, tmp_path, _python("horovod_death.py", who, "die", "plain"))
    assert [codes[r] for r in range(3) if r != who] == [3, 3], output[-3000:]
    messages = [text for _, text in re.findall(r"rank \d+ got (\w+): (.*)", output)]
    assert len(messages) == 2 and any(f"worker:{who}" in text or f"task:{who}" in text for text in messages), messages


def test_a_program_alone_is_rank_0_of_1(tmp_path):
    done = subprocess.run(_python("horovod_calls.py", 1), env=_environment(tmp_path), cwd=tmp_path, text=True, capture_output=True, timeout=_SECS)
    assert done.returncode == 0 and "rank 0 of 1 is fine" in done.stdout, done.stderr[-3000:]


def _losses(program, tmp_path, ranks, kind, steps=8):
    codes, output = start(program, "launch", ranks, tmp_path, _python("horovod_curve.py", kind, steps))
    assert not any(codes), output[-4000:]
    return [float.fromhex(word) for word in re.search(r"losses (.*)", output).group(1).split()]


@pytest.mark.parametrize("kind", ["dense", "sparse_as_dense", "predivide", "passes", "tape", "fp16"])
def test_curves_of_1_2_and_4_ranks_agree(program, tmp_path, kind):
    curves = [_losses(program, tmp_path, ranks, kind) for ranks in (1, 2, 4)]
    assert curves[0][-2] < curves[0][0]
    for curve in curves[1:]:
        np.testing.assert_allclose(curve, curves[0], rtol=2e-3 if kind == "fp16" else 2e-5)


def test_the_same_seed_gives_the_same_bits(program, tmp_path):
    assert _losses(program, tmp_path, 2, "dense") == _losses(program, tmp_path, 2, "dense")


@pytest.mark.parametrize("session", ["plain", "monitored"])
@pytest.mark.parametrize("way", ["die", "raise", "leave"])
@pytest.mark.parametrize("who", [0, 1])
def test_a_rank_that_is_gone_is_named(tmp_path, program, who, way, session):
    codes, output = start(program, "horovodrun", 3, tmp_path, _python("horovod_death.py", who, way, session))
    assert codes[who] == {"die": -9, "raise": 1, "leave": 0}[way], output[-3000:]
    others = [r for r in range(3) if r != who]
    assert [codes[r] for r in others] == [3, 3], output[-3000:]
    messages = re.findall(r"rank \d+ got (\w+): (.*)", output)
    assert len(messages) == 2 and all(kind in ("UnavailableError", "AbortedError") for kind, _ in messages)
    assert any(f"worker:{who}" in text or f"task:{who}" in text for _, text in messages), messages


def test_a_rank_that_does_not_come_is_named(tmp_path):
    own = next(iter(_ranks_by_environment("horovodrun", 2, 77)))
    done = subprocess.run(_python("horovod_calls.py", 2), cwd=tmp_path, text=True, capture_output=True, timeout=_SECS,
                          env=_environment(tmp_path, HOROVOD_START_TIMEOUT="1", **{k: str(v) for k, v in own.items()}))
    assert done.returncode == 1 and re.search(r"DeadlineExceeded.*rank 1|rank.*1", done.stderr.splitlines()[-1]), done.stderr[-2000:]


def _example(program, ranks, tmp_path, name, *arguments, options=()):
    codes, output = start(program, "launch", ranks, tmp_path, [sys.executable, "-m", "millstream", str(EXAMPLES / name), *arguments], *options)
    assert codes == [0], output[-5000:]
    return output


@pytest.mark.parametrize("ranks", [1, 2])
def test_tensorflow_mnist(program, tmp_path, ranks):
    output = _example(program, ranks, tmp_path, "tensorflow_mnist.py", "--steps", str(60 * ranks), "--batch_size", "50")
    found = re.findall(r"rank (\d) of (\d): accuracy (\S+)", output)
    assert sorted(f[0] for f in found) == [str(r) for r in range(ranks)] and all(float(f[2]) > 0.6 for f in found), found
    assert (tmp_path / "checkpoints" / "checkpoint").exists()


@pytest.mark.parametrize("ranks", [1, 2])
def test_keras_mnist(program, tmp_path, ranks):
    output = _example(program, ranks, tmp_path, "keras_mnist.py", "--epochs", "4", "--samples", "10000")
    found = re.findall(r"rank (\d) of (\d): test loss (\S+), test accuracy (\S+)", output)
    assert len(found) == ranks and len({f[3] for f in found}) == 1 and float(found[0][3]) > 0.85, output[-2000:]


@pytest.mark.parametrize("who", [0, 1])
def test_elastic_mnist_goes_on_after_a_death(program, tmp_path, who):
    output = _example(program, 2, tmp_path, "elastic_mnist.py", "--batches", "60", "--die_at", "35", "--die_rank", str(who),
                      options=["--max_restarts", "2"])
    assert re.search(rf"rank {1 - who} goes on from batch 30", output), output[-3000:]
    found = re.findall(r"rank (\d) of 2: batch 60, accuracy (\S+)", output)
    assert sorted(f[0] for f in found) == ["0", "1"] and len({f[1] for f in found}) == 1 and float(found[0][1]) > 0.85, output[-3000:]


def test_elastic_keras_goes_on_in_the_epoch(program, tmp_path):
    codes, output = start(program, "launch", 2, tmp_path, _python("horovod_keras_elastic.py", tmp_path / "died"), "--max_restarts", "2")
    assert codes == [0], output[-4000:]
    batches = dict(re.findall(r"rank (\d): (\[.*\])", output))
    # Every second batch is committed, and the end of an epoch: the last commit before batch 3 of the second epoch was after its third batch.
    one = [(0, n) for n in range(5)] + [(1, n) for n in range(4)] + [(1, 3), (1, 4)] + [(2, n) for n in range(5)]
    assert batches["0"] == str(one) and batches["1"] == str(one[9:]), batches
