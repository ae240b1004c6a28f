# SPDX-License-Identifier: Apache-2.0
"""tf.import_graph_def()."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.framework import conversion, errors, scopes
from millstream.framework.operation import Operation
from millstream.framework.tensor import Tensor

if TYPE_CHECKING:
    from typing import Any, Optional


def _mapped(input_map):
    """The input map as names: "node:0" or "^node" -> "other:1" or "^other"."""
    names = {}
    for key, value in input_map.items():
        key = key.decode() if isinstance(key, bytes) else key
        if not isinstance(key, str):
            raise TypeError(f"Argument `input_map` must be a dictionary with string keys, got {key!r}")
        if key.startswith("^"):
            op = value if isinstance(value, Operation) else conversion.to_operation(value, scopes.get_default_graph())
            names[key] = "^" + op.name
            continue
        names[key if ":" in key else key + ":0"] = value.name
    return names


def _converted(input_map, scope):
    """The input map with every value an element of the graph; what was none is made under `scope`."""
    if all(isinstance(v, (Operation, Tensor)) for v in input_map.values()):
        return input_map
    if not scope:
        raise ValueError("import_graph_def() with values in `input_map` that are no Tensors needs a non-empty `name`: "
                         "convert them first with tf.convert_to_tensor()")
    with scopes.name_scope("_inputs"):
        return {k: v if isinstance(v, (Operation, Tensor)) else conversion.internal_convert_to_tensor(v)
                for k, v in input_map.items()}


def import_graph_def(graph_def: Any, input_map: Any = None, return_elements: Any = None, name: Optional[str] = None,
                     op_dict: Any = None, producer_op_list: Any = None) -> Optional[list[Tensor]]:
    """Adds the nodes of a GraphDef to the default graph, under a name scope ("import"). Returns the elements asked for."""
    del op_dict, producer_op_list
    if not hasattr(graph_def, "SerializeToString") or not hasattr(graph_def, "node"):
        raise TypeError("Argument `graph_def` must be a GraphDef proto.")
    if return_elements is not None:
        return_elements = tuple(return_elements)
        if not all(isinstance(e, (str, bytes)) for e in return_elements):
            raise TypeError("Argument `return_elements` must be a list of strings.")
    input_map = dict(input_map or {})
    graph = scopes.get_default_graph()
    with scopes.name_scope(name, "import", list(input_map.values())) as scope:
        input_map = _converted(input_map, scope)
        graph._check_not_finalized()
        with errors.raise_as(), graph._lock:
            graph._sync()
            renamed, unused = graph._core.import_graph_def(graph_def.SerializeToString(), scope, _mapped(input_map))
            made = graph._sync()
        if unused:
            raise ValueError(f"Attempted to map inputs that were not found in graph_def: [{', '.join(unused)}]")
        if graph._state.devices or graph._state.colocation:
            for op in made:
                if graph._core.attr(op._id, "_class") is None:
                    graph._apply_device_functions(op)
    if return_elements is None:
        return None
    return [_returned(graph, scope, renamed, e.decode() if isinstance(e, bytes) else e) for e in return_elements]


def _returned(graph, scope, renamed, name):
    node, colon, index = name.partition(":")
    full = renamed.get(node, scope + node)
    if graph._core.find(full) < 0:
        raise ValueError(f"Requested return {'tensor' if colon else 'node'} '{name}' not found in graph def")
    return graph.as_graph_element(full + colon + index)
