# SPDX-License-Identifier: Apache-2.0
"""The first difference of two GraphDefs, in words."""


import re

# The folder that sharded savers write to: a new one each time.
_TEMPORARY = re.compile(rb"_temp_[0-9a-f]{32}/part")


def _data_inputs(node):
    return [name[:-2] if name.endswith(":0") else name for name in node.input if not name.startswith("^")]


def _fields(node):
    """What must be equal, in the order in which it is shown. The order of control inputs has no meaning."""
    fields = {"op": node.op, "device": node.device, "inputs": _data_inputs(node),
              "control inputs": sorted(name for name in node.input if name.startswith("^"))}
    for key in sorted(node.attr):
        fields[f"attr {key}"] = _TEMPORARY.sub(b"_temp_/part", node.attr[key].SerializeToString(deterministic=True))
    return fields


def _shown(node, field):
    if field.startswith("attr "):
        key = field[len("attr "):]
        return " ".join(str(node.attr[key]).split()) if key in node.attr else "(none)"
    return str(_fields(node)[field])


def _node_difference(cpp, python):
    """Lines for each field that differs."""
    ours, theirs = _fields(cpp), _fields(python)
    return [f"  {field}:\n    C++:    {_shown(cpp, field)}\n    Python: {_shown(python, field)}"
            for field in dict.fromkeys([*theirs, *ours]) if ours.get(field) != theirs.get(field)]


def _only_in(nodes, others, side):
    names = [name for name in nodes if name not in others]
    if not names:
        return []
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return [f"only in {side}: " + ", ".join(f"{name} ({nodes[name].op})" for name in names[:12]) + more]


def difference(cpp, python):
    """'' if the graphs are equal; else the nodes that one side lacks, and the first node that differs, field by field."""
    ours, theirs = {n.name: n for n in cpp.node}, {n.name: n for n in python.node}
    lines = _only_in(ours, theirs, "C++") + _only_in(theirs, ours, "Python")
    differing = [name for name in theirs if name in ours and _node_difference(ours[name], theirs[name])]
    if differing:
        lines.append(f"{len(differing)} nodes differ; the first is {differing[0]}:")
        lines += _node_difference(ours[differing[0]], theirs[differing[0]])
    return "\n".join(lines)
