# SPDX-License-Identifier: Apache-2.0
"""`millstream train` as tests run it."""
import json
import subprocess


def events(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def train(program, *args, timeout=240, **kwargs):
    return subprocess.run([program, "train", "--json", *map(str, args)], capture_output=True, text=True, timeout=timeout, **kwargs)


def summary_of(done):
    """The last event of a run that must have gone well."""
    assert done.returncode == 0, done.stderr + done.stdout
    return events(done.stdout)[-1]
