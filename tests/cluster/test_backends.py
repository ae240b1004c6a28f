# SPDX-License-Identifier: Apache-2.0
"""Collectives by Open MPI and Gloo (MILLSTREAM_COLLECTIVE_BACKEND), where their packages were installed when Millstream was built."""
import pathlib
import re
import shutil

import pytest
from test_horovod import _python, start

LAUNCHERS = {"mpi": "mpirun", "gloo": "launch"}


@pytest.fixture(params=LAUNCHERS)
def backend(request, program, monkeypatch):
    if not (pathlib.Path(program).parents[1] / f"libmillstream_{request.param}.so").exists():
        pytest.skip(f"built without {request.param}")
    if shutil.which(LAUNCHERS[request.param]) is None and request.param == "mpi":
        pytest.skip("needs Open MPI's mpirun")
    monkeypatch.setenv("MILLSTREAM_COLLECTIVE_BACKEND", request.param)
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo")
    return request.param


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_every_call(program, tmp_path, backend, ranks):
    codes, output = start(program, LAUNCHERS[backend], ranks, tmp_path, _python("horovod_calls.py", ranks))
    assert not any(codes), output[-6000:]
    assert sorted(re.findall(r"rank (\d+) of \d+ is fine", output)) == [str(r) for r in range(ranks)]


@pytest.mark.parametrize("who", [0, 1])
def test_a_rank_that_dies_is_named(program, tmp_path, monkeypatch, backend, who):
    if backend == "mpi":
        pytest.skip("mpirun ends all ranks when one dies")
    codes, output = start(program, "horovodrun", 3, tmp_path, _python("horovod_death.py", who, "die", "plain"))
    assert [codes[r] for r in range(3) if r != who] == [3, 3], output[-3000:]
    messages = [text for _, text in re.findall(r"rank \d+ got (\w+): (.*)", output)]
    assert len(messages) == 2 and any(f"worker:{who}" in text or f"task:{who}" in text for text in messages), messages


@pytest.mark.parametrize("name, message", [("mpi", "Open MPI has 1 processes, the group 2 ranks: start them by mpirun"),
                                           ("nonsense", "There is no back end 'nonsense' of collectives; there are mpi and gloo")])
def test_a_backend_that_cannot_be_used_is_refused(program, tmp_path, monkeypatch, name, message):
    if name == "mpi" and not (pathlib.Path(program).parents[1] / "libmillstream_mpi.so").exists():
        message = "libopenmpi-dev openmpi-bin"
    monkeypatch.setenv("MILLSTREAM_COLLECTIVE_BACKEND", name)
    codes, output = start(program, "horovodrun", 2, tmp_path, _python("horovod_calls.py", 2))
    assert all(codes) and message in output, output[-3000:]
