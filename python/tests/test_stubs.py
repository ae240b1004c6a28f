# SPDX-License-Identifier: Apache-2.0
"""The stubs that show editors the public names are those of the tables in millstream/exports."""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_stubs_are_up_to_date():
    done = subprocess.run([sys.executable, ROOT / "tools" / "api" / "stubs.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
