# SPDX-License-Identifier: Apache-2.0
"""The comparison itself: what it must see, and what it must not mind."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from graph_difference import difference
from millstream.proto import graph_pb2


def _graph(change=lambda node: None):
    graph = graph_pb2.GraphDef()
    for name in ("a", "b", "c"):
        graph.node.add(name=name, op="NoOp")
    node = graph.node.add(name="sum", op="AddV2", device="/job:ps", input=["a", "b:1", "^a", "^c"])
    node.attr["T"].type = 1
    node.attr["_class"].list.s.append(b"loc:@a")
    change(node)
    return graph


def _differs(change, *words):
    found = difference(_graph(change), _graph())
    assert found
    for word in words:
        assert word in found, found


def test_equal_graphs():
    assert difference(_graph(), _graph()) == ""


def test_order_of_nodes_and_of_control_inputs_has_no_meaning():
    def change(node):
        del node.input[:]
        node.input.extend(["a:0", "b:1", "^c", "^a"])
    other = _graph(change)
    nodes = list(reversed(other.node))
    del other.node[:]
    other.node.extend(nodes)
    assert difference(other, _graph()) == ""


def test_every_field_counts():
    def with_inputs(*inputs):
        def change(node):
            del node.input[:]
            node.input.extend(inputs)
        return change
    _differs(lambda node: setattr(node, "op", "Add"), "sum", "op", "Add")
    _differs(lambda node: setattr(node, "device", "/job:worker"), "device", "/job:worker")
    _differs(with_inputs("b:1", "a", "^a", "^c"), "inputs")
    _differs(with_inputs("a", "b", "^a", "^c"), "inputs")
    _differs(with_inputs("a", "b:1", "^a"), "control inputs")
    _differs(lambda node: setattr(node.attr["T"], "type", 2), "attr T", "DT_DOUBLE")
    _differs(lambda node: node.attr.pop("_class"), "attr _class", "(none)")
    _differs(lambda node: node.attr["more"].CopyFrom(node.attr["T"]), "attr more")


def test_nodes_of_one_side():
    more = _graph()
    more.node.add(name="extra", op="Const")
    assert "only in C++: extra (Const)" in difference(more, _graph())
    assert "only in Python: extra (Const)" in difference(_graph(), more)
