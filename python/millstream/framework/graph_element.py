# SPDX-License-Identifier: Apache-2.0
"""Tensors and operations by name."""
from millstream.framework.operation import Operation
from millstream.framework.tensor import Tensor


def _kinds(allow_tensor, allow_operation):
    if allow_tensor and allow_operation:
        return "Tensor or Operation"
    if allow_tensor:
        return "Tensor"
    if allow_operation:
        return "Operation"
    raise ValueError("allow_tensor and allow_operation can't both be False.")


def find(graph, obj, allow_tensor=True, allow_operation=True):
    """The Tensor or Operation of `graph` that `obj` is, or names."""
    kinds = _kinds(allow_tensor, allow_operation)
    converter = getattr(obj, "_as_graph_element", None)
    if converter is not None:
        obj = converter()
    if isinstance(obj, str):
        return _by_name(graph, obj, allow_tensor, allow_operation)
    if isinstance(obj, Tensor) and allow_tensor:
        if obj.graph is not graph:
            raise ValueError(f"Tensor {obj} is not an element of this graph.")
        return obj
    if isinstance(obj, Operation) and allow_operation:
        if obj.graph is not graph:
            raise ValueError(f"Operation {obj!r} is not an element of this graph.")
        return obj
    raise TypeError(f"Can not convert a {type(obj).__name__} into a {kinds}.")


def _by_name(graph, name, allow_tensor, allow_operation):
    if ":" in name and allow_tensor:
        return _tensor_by_name(graph, name)
    if ":" in name:
        raise ValueError(f"Name {name!r} appears to refer to a Tensor, not a {_kinds(False, allow_operation)}.")
    if not allow_operation:
        if graph._core.find(name) >= 0:
            raise ValueError(f"The name {name!r} refers to an Operation, not a Tensor. Tensor names must be of the form "
                             '"<op_name>:<output_index>".')
        raise ValueError(f"The name {name!r} looks like an (invalid) Operation name, not a Tensor. Tensor names must be of "
                         'the form "<op_name>:<output_index>".')
    node_id = graph._core.find(name)
    if node_id < 0:
        raise KeyError(f"The name {name!r} refers to an Operation not in the graph.")
    return graph._op_by_id(node_id)


def _tensor_by_name(graph, name):
    try:
        op_name, index = name.split(":")
        index = int(index)
    except ValueError:
        raise ValueError(f"The name {name!r} looks a like a Tensor name, but is not a valid one. Tensor names must be of "
                         'the form "<op_name>:<output_index>".') from None
    node_id = graph._core.find(op_name)
    if node_id < 0:
        raise KeyError(f"The name {name!r} refers to a Tensor which does not exist. The operation, {op_name!r}, does not "
                       "exist in the graph.")
    outputs = graph._op_by_id(node_id).outputs
    if not 0 <= index < len(outputs):
        raise KeyError(f"The name {name!r} refers to a Tensor which does not exist. The operation, {op_name!r}, exists but "
                       f"only has {len(outputs)} outputs.")
    return outputs[index]
