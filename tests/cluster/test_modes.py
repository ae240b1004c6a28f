# SPDX-License-Identifier: Apache-2.0
"""MNIST reaches the same accuracy in every training mode, with every number of ps tasks and workers, in C++ and in Python.

Every change runs sizes that cover each mode with each number of ps tasks and each number of workers, and each mode with each kind of link;
MILLSTREAM_ALL_MODES=1 (`make modes`) runs the whole products, also with every optimizer and compression."""
import concurrent.futures
import itertools
import os
import pathlib
import re
import subprocess
import sys

import pytest

from train_command import summary_of, train

PROGRAM = pathlib.Path(__file__).resolve().parent / "programs" / "train_modes.py"
ALL = os.environ.get("MILLSTREAM_ALL_MODES") == "1"
PS_MODES, OWN_VARIABLES = ["async", "sync", "dc-asgd", "ssp", "hierarchical"], ["allreduce", "local-sgd"]
WORKERS = [1, 2, 4]
STEPS, RATE = 500, 0.2
ALONE, TOLERANCE = 0.88, 0.025  # what one worker reaches with these steps on a tenth of MNIST
_SECS = 300
# Learning rates with which one worker reaches about the same accuracy.
OPTIMIZERS = {"momentum": 0.01, "adagrad": 0.1, "adam": 0.003, "rmsprop": 0.002, "ftrl": 0.15}
LINKS = ["shm", "tcp", "grpc", "tls"]


def _sizes(mode):
    """(ps tasks, workers)"""
    if mode in OWN_VARIABLES:
        return [(0, workers) for workers in WORKERS]
    if ALL:
        return [(ps, workers) for ps in (1, 2, 3) for workers in WORKERS]
    turn = PS_MODES.index(mode)  # every mode meets every number once, and the modes together most pairs
    return [(ps, WORKERS[(ps + turn) % 3]) for ps in (1, 2, 3)]


def _flags(mode, workers):
    return {"group_size": min(2, workers)} if mode == "hierarchical" else {}


def _train_in_cpp(program, folder, mode, ps, workers, environment=None, optimizer="sgd", **more):
    flags = [word for name, value in {**_flags(mode, workers), **more}.items() for word in (f"--{name}", value)]
    done = train(program, "--model", "softmax", "--mode", mode, "--ps", ps, "--workers", workers, "--data_dir", folder, "--train_steps", STEPS,
                 "--learning_rate", OPTIMIZERS.get(optimizer, RATE), "--batch_size", 50, "--threads", 1, "--status_port", -1, "--logdir", "",
                 "--optimizer", optimizer, *flags, timeout=_SECS, env={**os.environ, **(environment or {})})
    return summary_of(done)["accuracy"]


def _train_in_python(program, folder, mode, ps, workers, environment=None, optimizer="sgd", **more):
    flags = [f"{name}={value}" for name, value in {**_flags(mode, workers), "optimizer": optimizer, **more}.items()]
    command = [program, "launch", *(["--ps", str(ps)] if ps else []), "--workers", str(workers), "--", sys.executable, str(PROGRAM), mode, str(folder),
               str(STEPS), str(OPTIMIZERS.get(optimizer, RATE)), *flags]
    done = subprocess.run(command, text=True, timeout=_SECS, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                          env={**os.environ, **(environment or {})})
    found = re.findall(r"accuracy (\S+)", done.stdout)
    assert done.returncode == 0 and len(found) == 1, done.stdout[-3000:]
    return float(found[0])


# Two at a time keep two cores busy while tasks start and end.
@pytest.mark.parametrize("mode", PS_MODES + OWN_VARIABLES)
@pytest.mark.parametrize("language", [_train_in_cpp, _train_in_python], ids=["cpp", "python"])
def test_the_same_accuracy(program, small_mnist, language, mode):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = {size: pool.submit(language, program, small_mnist, mode, *size) for size in _sizes(mode)}
    wrong = {size: run.result() for size, run in found.items() if abs(run.result() - ALONE) > TOLERANCE}
    assert not wrong


@pytest.mark.parametrize("compression", ["fp16", "bf16", "topk"])
@pytest.mark.parametrize("language", [_train_in_cpp, _train_in_python], ids=["cpp", "python"])
def test_compressed_gradients_reach_the_same_accuracy(program, small_mnist, language, compression):
    accuracy = language(program, small_mnist, "allreduce", 0, 2, compression=compression, topk_ratio=0.05)
    assert abs(accuracy - ALONE) < TOLERANCE


@pytest.fixture(scope="module")
def alone(program, small_mnist):
    """What one worker reaches with an optimizer."""
    known = {}

    def accuracy(optimizer):
        if optimizer not in known:
            known[optimizer] = _train_in_cpp(program, small_mnist, "async", 1, 1, optimizer=optimizer)
            assert known[optimizer] > ALONE - 0.05, known
        return known[optimizer]
    return accuracy


def _crossed(modes, others):
    """All triples of mode, other and link; else every mode with every link, and every other with most of them."""
    return [pytest.param(mode, other, link, id=f"{mode}-{other}-{link}")
            for (m, mode), (o, other), (n, link) in itertools.product(enumerate(modes), enumerate(others), enumerate(LINKS))
            if ALL or (m + n) % len(others) == o]


@pytest.mark.parametrize("mode, optimizer, link", _crossed([m for m in PS_MODES + OWN_VARIABLES if m != "dc-asgd"], list(OPTIMIZERS)))
@pytest.mark.parametrize("language", [_train_in_cpp, _train_in_python], ids=["cpp", "python"])
def test_optimizers_and_links(program, small_mnist, alone, links, language, mode, optimizer, link):
    ps = 0 if mode in OWN_VARIABLES else 2
    accuracy = language(program, small_mnist, mode, ps, 2, links(link), optimizer)
    assert abs(accuracy - alone(optimizer)) < 0.04


@pytest.mark.parametrize("compression, optimizer, link", _crossed(["fp16", "bf16", "topk"], list(OPTIMIZERS)))
@pytest.mark.parametrize("language", [_train_in_cpp, _train_in_python], ids=["cpp", "python"])
def test_compression_with_optimizers_and_links(program, small_mnist, alone, links, language, compression, optimizer, link):
    accuracy = language(program, small_mnist, "allreduce", 0, 2, links(link), optimizer, compression=compression, topk_ratio=0.1)
    assert abs(accuracy - alone(optimizer)) < 0.04
