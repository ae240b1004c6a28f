# SPDX-License-Identifier: Apache-2.0
"""RunMetadata.partition_graphs of a session without servers: the part of the graph that a step needs, all on one device."""
from millstream.framework import graph_util

_DEVICE = "/job:localhost/replica:0/task:0/device:CPU:0"


def _split(tensor_name):
    node, _, port = tensor_name.partition(":")
    return node, int(port or 0)


def add_to(run_metadata, graph, feeds, fetches, targets):
    """`feeds` and `fetches` are names of tensors, `targets` of nodes. Feeds come from _Arg nodes; fetches go to _Retval nodes."""
    whole = graph.as_graph_def()
    by_name = {node.name: node for node in whole.node}
    fed = {}
    part = run_metadata.partition_graphs.add()
    part.versions.CopyFrom(whole.versions)
    part.library.CopyFrom(whole.library)
    for index, name in enumerate(feeds):
        node, port = _split(name)
        arg = part.node.add(name=f"_arg_{node}_{port}_{index}", op="_Arg", device=_DEVICE)
        arg.attr["T"].type, arg.attr["index"].i = int(graph.get_tensor_by_name(name).dtype.base_dtype), index
        fed[node, port] = arg.name
    wanted, todo = set(), [node for node, port in map(_split, fetches) if (node, port) not in fed] + list(targets)
    while todo:
        name = todo.pop()
        if name in wanted:
            continue
        wanted.add(name)
        node = part.node.add()
        node.CopyFrom(by_name[name])
        node.device = _DEVICE
        for i, given in enumerate(node.input):
            source = None if given.startswith("^") else fed.get(_split(given))
            if source is None:
                todo.append(graph_util._node_name(given))
            else:
                node.input[i] = source
    for index, name in enumerate(fetches):
        node, port = _split(name)
        source = fed.get((node, port)) or (f"{node}:{port}" if port else node)
        retval = part.node.add(name=f"_retval_{node}_{port}_{index}", op="_Retval", input=[source], device=_DEVICE)
        retval.attr["T"].type, retval.attr["index"].i = int(graph.get_tensor_by_name(name).dtype.base_dtype), index
