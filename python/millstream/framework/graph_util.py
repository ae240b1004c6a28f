# SPDX-License-Identifier: Apache-2.0
"""tf.graph_util: parts of GraphDefs, and graphs with constants in place of variables."""
from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from millstream.framework import tensor_util

if TYPE_CHECKING:
    from typing import Any

_VARIABLES = ("Variable", "VariableV2", "VarHandleOp", "AutoReloadVariable", "ReadVariableOp")


def _node_name(name):
    return name[1:] if name.startswith("^") else name.split(":")[0]


def extract_sub_graph(graph_def: Any, dest_nodes: Any) -> Any:
    """The nodes that `dest_nodes` need, in their order."""
    if isinstance(dest_nodes, str):
        raise TypeError("dest_nodes must be a list.")
    by_name = {node.name: node for node in graph_def.node}
    for name in dest_nodes:
        if name not in by_name:
            raise AssertionError(f"{name} is not in graph")
    wanted, todo = set(), list(dest_nodes)
    while todo:
        name = todo.pop()
        if name in wanted:
            continue
        wanted.add(name)
        todo.extend(_node_name(i) for i in by_name[name].input)
    out = type(graph_def)()
    out.node.extend(node for node in graph_def.node if node.name in wanted)
    out.library.CopyFrom(graph_def.library)
    out.versions.CopyFrom(graph_def.versions)
    return out


def remove_training_nodes(input_graph: Any, protected_nodes: Any = None) -> Any:
    """The graph without Identity and CheckNumerics nodes that only hand on their input."""
    protected = set(protected_nodes or ())
    handed = {}
    controlled = {_node_name(i) for node in input_graph.node for i in node.input if i.startswith("^")}
    for node in input_graph.node:
        if node.op in ("Identity", "CheckNumerics") and node.name not in protected and node.name not in controlled:
            if len(node.input) == 1 and not node.input[0].startswith("^"):
                handed[node.name] = node.input[0]
    out = type(input_graph)()
    for node in input_graph.node:
        if node.name in handed:
            continue
        copy = out.node.add()
        copy.CopyFrom(node)
        for i, name in enumerate(copy.input):
            while _node_name(name) in handed and not name.startswith("^"):
                name = handed[_node_name(name)]
            copy.input[i] = name
    out.library.CopyFrom(input_graph.library)
    out.versions.CopyFrom(input_graph.versions)
    return out


def convert_variables_to_constants(sess: Any, input_graph_def: Any, output_node_names: Any,
                                   variable_names_whitelist: Any = None, variable_names_blacklist: Any = None) -> Any:
    """The part of a graph that computes the outputs, with the values of its variables in it."""
    graph_def = extract_sub_graph(input_graph_def, output_node_names)
    wanted = {}
    for node in graph_def.node:
        if node.op not in ("Variable", "VariableV2", "VarHandleOp"):
            continue
        if variable_names_whitelist is not None and node.name not in variable_names_whitelist:
            continue
        if variable_names_blacklist is not None and node.name in variable_names_blacklist:
            continue
        wanted[node.name] = f"{node.name}/Read/ReadVariableOp:0" if node.op == "VarHandleOp" else node.name + ":0"
    values = dict(zip(wanted, sess.run(list(wanted.values())) if wanted else []))
    out = type(graph_def)()
    for node in graph_def.node:
        copy = out.node.add()
        if node.name in values:
            dtype = node.attr["dtype"].type
            copy.name, copy.op, copy.device = node.name, "Const", node.device
            copy.attr["dtype"].type = dtype
            copy.attr["value"].tensor.ParseFromString(
                tensor_util.make_tensor_proto(np.asarray(values[node.name]), dtype).SerializeToString())
        elif node.op == "ReadVariableOp" and _node_name(node.input[0]) in values:
            copy.name, copy.op, copy.device = node.name, "Identity", node.device
            copy.input.extend(node.input)
            copy.attr["T"].CopyFrom(node.attr["dtype"])
        else:
            copy.CopyFrom(node)
    out.library.CopyFrom(graph_def.library)
    out.versions.CopyFrom(graph_def.versions)
    return out


def must_run_on_cpu(node: Any, pin_variables_on_cpu: bool = False) -> Any:
    op = node if not hasattr(node, "node_def") else node.node_def
    return pin_variables_on_cpu and op.op in _VARIABLES


def tensor_shape_from_node_def_name(graph: Any, input_name: Any) -> Any:
    name = input_name if ":" in input_name else input_name + ":0"
    return graph.get_tensor_by_name(re.sub(r"^\^", "", name)).get_shape()


def write_graph(graph_or_graph_def: Any, logdir: str, name: str, as_text: bool = True) -> str:
    """Writes a graph to a file; returns its path."""
    import os
    from millstream.framework.meta_graph import write_message
    graph_def = graph_or_graph_def.as_graph_def() if hasattr(graph_or_graph_def, "as_graph_def") else graph_or_graph_def
    return write_message(os.path.join(logdir, name), graph_def, as_text)
