# SPDX-License-Identifier: Apache-2.0
"""Each program of tests/twins builds the same graph in C++ and in Python: the same nodes, with the same types, inputs,
control inputs, attributes and devices. A name that only one side has is a failure too.

MILLSTREAM_TWIN_GRAPHS names the C++ program (build/dev/tests/twin_graphs by default).
"""
import os
import subprocess
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
CPP = os.path.abspath(os.environ.get("MILLSTREAM_TWIN_GRAPHS", os.path.join(HERE, "../../build/dev/tests/twin_graphs")))

import millstream as tf  # noqa: E402
import programs  # noqa: E402
from graph_difference import difference  # noqa: E402
from millstream.proto import graph_pb2  # noqa: E402

PROGRAMS = programs.load()


@pytest.fixture(scope="session")
def cpp_graphs(tmp_path_factory):
    """The graphs that C++ has built, by name; those that it could not build are left out, with its words."""
    folder = tmp_path_factory.mktemp("graphs")
    done = subprocess.run([CPP, str(folder)], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode in (0, 1), done.stderr
    graphs = {path.name[:-len(".pb")]: graph_pb2.GraphDef.FromString(path.read_bytes()) for path in folder.glob("*.pb")}
    return graphs, done.stderr


def test_both_sides_have_the_same_programs(cpp_graphs):
    graphs, errors = cpp_graphs
    assert not errors, errors
    assert sorted(graphs) == sorted(PROGRAMS)
    assert len(PROGRAMS) >= 40


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_graphs_are_equal(cpp_graphs, name):
    graphs, errors = cpp_graphs
    assert name in graphs, errors
    with tf.Graph().as_default() as graph:
        PROGRAMS[name]()
    found = difference(graphs[name], graph.as_graph_def())
    assert not found, found
