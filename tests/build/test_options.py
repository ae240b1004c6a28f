# SPDX-License-Identifier: Apache-2.0
"""Whether sources are compiled in batches depends on the option alone, and a build tree keeps its choice."""

import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
OPTIONS = ("MILLSTREAM_BATCHES", "MILLSTREAM_PRECOMPILE")


@pytest.fixture
def configure(tmp_path):
    """Configures a build tree beside a compiler cache that claims to hold `cached_files`, and returns both options."""

    def run(*arguments, cached_files):
        programs = tmp_path / "bin"
        programs.mkdir(exist_ok=True)
        ccache = programs / "ccache"
        ccache.write_text(f"#!/bin/sh\nprintf 'files_in_cache\\t{cached_files}\\n'\n")
        ccache.chmod(0o755)
        command = ["cmake", "-S", ROOT, "-B", tmp_path / "build", "-G", "Ninja", f"-DCCACHE={ccache}", "-DMILLSTREAM_PYTHON=OFF", "-DMILLSTREAM_TESTS=OFF",
                   *arguments]
        subprocess.run(command, check=True, capture_output=True, env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"})
        cache = (tmp_path / "build" / "CMakeCache.txt").read_text()
        return tuple(re.search(rf"^{name}:\w+=(\w+)$", cache, re.M)[1] for name in OPTIONS)

    return run


@pytest.mark.parametrize("cached_files", [0, 100000])
def test_builds_are_batched_whatever_the_compiler_cache_holds(configure, cached_files):
    assert configure(cached_files=cached_files) == ("ON", "ON")


def test_a_tree_keeps_its_choice(configure):
    off = [f"-D{name}=OFF" for name in OPTIONS]
    assert configure(*off, cached_files=0) == ("OFF", "OFF")
    assert configure(cached_files=100000) == ("OFF", "OFF")
