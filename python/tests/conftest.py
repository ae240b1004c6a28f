# SPDX-License-Identifier: Apache-2.0
import pytest


@pytest.fixture(autouse=True)
def fresh_graph():
    """Each test has a default graph of its own."""
    import millstream as tf
    with tf.Graph().as_default() as graph:
        yield graph
