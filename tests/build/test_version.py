# SPDX-License-Identifier: Apache-2.0
"""The release is named in millstream/base/version.h alone; everything else takes it from there."""

import os
import pathlib
import re
import subprocess

import millstream
import pytest
from scikit_build_core import build as backend

ROOT = pathlib.Path(__file__).resolve().parents[2]
RELEASE = re.search(r'kVersion\[\] = "(\d+\.\d+\.\d+)"', (ROOT / "millstream/base/version.h").read_text())[1]


def test_the_command_line_tool():
    out = subprocess.run([os.environ["MILLSTREAM_PROGRAM"], "--version"], check=True, capture_output=True, text=True).stdout
    assert out.split()[-1] == RELEASE


def test_the_python_package():
    assert millstream.__millstream_version__ == RELEASE


def test_the_wheel(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    folder = backend.prepare_metadata_for_build_wheel(str(tmp_path))
    assert f"\nVersion: {RELEASE}\n" in (tmp_path / folder / "METADATA").read_text()


def test_the_build():
    package = (pathlib.Path(millstream.__path__[-1]).parents[1] / "millstream-config-version.cmake").read_text()
    assert f'set(PACKAGE_VERSION "{RELEASE}")' in package


@pytest.mark.parametrize("name", ["pyproject.toml", "CMakeLists.txt", "python/millstream/__init__.py"])
def test_it_is_written_nowhere_else(name):
    assert RELEASE not in (ROOT / name).read_text()
