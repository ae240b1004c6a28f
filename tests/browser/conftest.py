# SPDX-License-Identifier: Apache-2.0
"""The status page in a real browser, before a real cluster. Needs Chromium: `make browser`."""
import json
import os
import subprocess
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../cluster")]
PROGRAM = os.path.abspath(os.environ.get("MILLSTREAM_PROGRAM", os.path.join(HERE, "../../build/dev/bin/millstream")))

import devtools  # noqa: E402
from cluster_processes import Cluster  # noqa: E402
from training import Training  # noqa: E402


@pytest.fixture(scope="session")
def browser():
    if not devtools.program():
        pytest.fail("no Chromium: run tools/setup.sh browser, or set CHROMIUM")
    browser = devtools.Browser()
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def training():
    """Two workers train a small model synchronously, a third task is never started."""
    with Cluster(PROGRAM, start=False, status_pages=True, ps=1, worker=2, evaluator=1) as cluster:
        for job, task in (("ps", 0), ("worker", 0), ("worker", 1)):
            cluster.start(job, task)
        with Training(cluster) as training:
            yield training


@pytest.fixture(scope="session")
def larger():
    """Many tasks that do nothing."""
    with Cluster(PROGRAM, status_pages=True, ps=3, worker=15) as cluster:
        yield cluster


@pytest.fixture
def demo():
    """The address of the page that `millstream train` says."""
    command = [PROGRAM, "train", "--json", "--train_steps", "1000000", "--logdir", ""]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        events = (json.loads(line) for line in process.stdout if line.startswith("{"))
        yield next(event["status_page"] for event in events if "status_page" in event)
    finally:
        process.terminate()
        process.communicate()


@pytest.fixture
def make_local():
    """A cluster of one task: its page, and how to end it."""
    clusters = []

    def make():
        clusters.append(Cluster(PROGRAM, status_pages=True, worker=1))
        return clusters[-1].status_url("worker"), clusters[-1].stop

    yield make
    for cluster in clusters:
        cluster.stop()
