# SPDX-License-Identifier: Apache-2.0
import pytest


def pytest_addoption(parser):
    parser.addoption("--kills", type=int, default=40, help="how many saves test_save_kills.py kills")


@pytest.fixture(autouse=True)
def fresh_graph():
    """Each test has a default graph of its own."""
    import millstream as tf
    with tf.Graph().as_default() as graph:
        yield graph
