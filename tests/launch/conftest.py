# SPDX-License-Identifier: Apache-2.0
"""The launcher as a person uses it. MILLSTREAM_PROGRAM names the command line tool (build/dev/bin/millstream by default)."""
import os
import subprocess
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
PROGRAM = os.path.abspath(os.environ.get("MILLSTREAM_PROGRAM", os.path.join(HERE, "../../build/dev/bin/millstream")))


# Tests of other people's launchers run where `make launchers` has installed those.
if not os.environ.get("MILLSTREAM_LAUNCHERS"):
    collect_ignore = ["test_ssh.py", "test_slurm.py", "test_openmpi.py", "test_spark.py", "test_manifest.py"]


@pytest.fixture
def program():
    return PROGRAM


@pytest.fixture
def launch():
    """Runs `millstream launch` with arguments to its end."""
    def run(*args, timeout=60, **kwargs):
        return subprocess.run([PROGRAM, "launch", *args], capture_output=True, text=True, timeout=timeout, **kwargs)

    return run
