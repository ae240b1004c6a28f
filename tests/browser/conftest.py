# SPDX-License-Identifier: Apache-2.0
"""The status page in a real browser, before a real cluster. Needs Chromium: `make browser`."""
import json
import os
import subprocess
import sys
import threading
import urllib.request

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../cluster")]
PROGRAM = os.path.abspath(os.environ.get("MILLSTREAM_PROGRAM", os.path.join(HERE, "../../build/dev/bin/millstream")))

import devtools  # noqa: E402
from cluster_processes import Cluster  # noqa: E402
from made_up_server import MadeUpServer  # noqa: E402
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
def train():
    """Starts `millstream train`; the address of its page, as it says it."""
    processes = []

    def start(*flags):
        command = [PROGRAM, "train", "--json", "--logdir", "", *flags]
        processes.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True))
        events = (json.loads(line) for line in processes[-1].stdout if line.startswith("{"))
        address = next(event["status_page"] for event in events if "status_page" in event)
        threading.Thread(target=processes[-1].stdout.read).start()  # or the pipe would be full one day
        return address

    yield start
    for process in processes:
        process.terminate()
        process.wait()


@pytest.fixture(scope="session")
def page_text():
    """The page as a server gives it."""
    with Cluster(PROGRAM, status_pages=True, worker=1) as cluster:
        with urllib.request.urlopen(cluster.status_url("worker")) as answer:
            return answer.read().decode()


@pytest.fixture
def make_up(browser, page_text):
    """Opens the page before made-up data: make_up(status, graph=..., width=...) gives the page and the server."""
    servers = []

    def make(status, graph=None, **kwargs):
        servers.append(MadeUpServer(page_text, status, graph))
        page = devtools.Page(browser, **kwargs)
        page.open(servers[-1].url)
        page.until("document.body.dataset.ready === 'yes'")
        return page, servers[-1]

    yield make
    for server in servers:
        server.stop()


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
