# SPDX-License-Identifier: Apache-2.0
"""Tests with several processes: tasks are `millstream server`, the client is the Python package.

MILLSTREAM_PROGRAM names the command line tool (build/dev/bin/millstream by default).
"""
import os
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
PROGRAM = os.path.abspath(os.environ.get("MILLSTREAM_PROGRAM", os.path.join(HERE, "../../build/dev/bin/millstream")))

import certificates as certificate_files  # noqa: E402
from cluster_processes import Cluster  # noqa: E402
from mnist_files import write_small  # noqa: E402
from strangers import TOKEN  # noqa: E402


@pytest.fixture(scope="session")
def program():
    return PROGRAM


@pytest.fixture(scope="session")
def small_mnist(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mnist")
    write_small(folder)
    return folder


@pytest.fixture
def certificates(tmp_path):
    """Variables that name certificates for this test's tasks."""
    return certificate_files.make(tmp_path)


@pytest.fixture(scope="session")
def links(tmp_path_factory):
    """Variables that make tasks use one kind of link: shm, tcp, grpc, or tls, which is gRPC with certificates."""
    made = {}

    def variables(kind):
        if kind == "tls" and not made:
            made.update(certificate_files.make(tmp_path_factory.mktemp("certificates")))
        return {"MILLSTREAM_LINKS": "grpc", **made} if kind == "tls" else {"MILLSTREAM_LINKS": kind}
    return variables


@pytest.fixture
def make_cluster():
    """Starts clusters that end with the test."""
    clusters = []

    def make(**kwargs):
        clusters.append(Cluster(PROGRAM, **kwargs))
        return clusters[-1]

    yield make
    for cluster in clusters:
        cluster.stop()


@pytest.fixture(autouse=True)
def fresh_graph():
    import millstream as tf

    tf.reset_default_graph()


@pytest.fixture
def make_tasks(tmp_path):
    """Tasks of jobs, which end with the test."""
    from job_processes import Tasks
    made = []

    def make(command, **jobs):
        made.append(Tasks(tmp_path, command, **jobs))
        return made[-1]

    yield make
    for tasks in made:
        tasks.close()


@pytest.fixture
def token_file(tmp_path):
    path = tmp_path / "token"
    path.write_text(TOKEN + "\n")
    path.chmod(0o600)
    return str(path)


@pytest.fixture
def with_token(token_file, monkeypatch):
    """This process and those it starts know the token."""
    monkeypatch.setenv("MILLSTREAM_TOKEN_FILE", token_file)
    return token_file
