# SPDX-License-Identifier: Apache-2.0
"""Operation: a node of a graph."""
from __future__ import annotations

import linecache
import os
import sys
from typing import TYPE_CHECKING

from millstream import _core
from millstream.framework import dtypes, errors
from millstream.framework.tensor import _run_operation
from millstream.framework.tensor_shape import TensorShape

if TYPE_CHECKING:
    from typing import Any

    from millstream.framework.graph import Graph
    from millstream.framework.tensor import Tensor

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_MAX_FRAMES = 8


def _call_site():
    """Where the program was when it made a node: (file, line, function), outermost first, without our own frames."""
    frames = []
    frame = sys._getframe(2)
    while frame is not None and len(frames) < _MAX_FRAMES:
        code = frame.f_code
        if not code.co_filename.startswith(_PACKAGE):
            frames.append((code.co_filename, frame.f_lineno, code.co_name))
        frame = frame.f_back
    frames.reverse()
    return frames


class Operation:
    """A node of a graph, which computes its output tensors from its inputs.

    Graph.create_op() makes it, or C++ adds it; there is one object for each node.
    """

    def __init__(self, graph: Any, node_id: Any, name: str, op_type: Any, output_types: Any, site: Any = None) -> None:
        self._graph = graph
        self._id = node_id
        self._name = name
        self._type = op_type
        self._outputs = [graph._tensor_class(self, i, t) for i, t in enumerate(output_types)]
        self._site = site

    @property
    def graph(self) -> Graph:
        """The graph of the operation."""
        return self._graph

    @property
    def name(self) -> str:
        """The full name, with its scopes."""
        return self._name

    @property
    def type(self) -> str:
        """The type of the op, such as "MatMul"."""
        return self._type

    @property
    def outputs(self) -> list[Tensor]:
        """The tensors that the operation computes."""
        return self._outputs

    def values(self) -> Any:
        return tuple(self._outputs)

    @property
    def _id_value(self):
        return self._id

    @property
    def inputs(self) -> Any:
        """The tensors that it reads."""
        get = self._graph._output_by_id
        return tuple(get(i) for i in self._graph._core.inputs(self._id))

    @property
    def _inputs(self):
        return self.inputs

    @property
    def control_inputs(self) -> list[Operation]:
        """The operations that must run before it."""
        by_id = self._graph._op_by_id
        return [by_id(i) for i in self._graph._core.control_inputs(self._id)]

    @property
    def _output_types(self):
        return [int(t.dtype) for t in self._outputs]

    @property
    def _input_types(self):
        return [t.dtype for t in self.inputs]

    @property
    def device(self) -> str:
        """The device that was asked for, or an empty string."""
        return self._graph._core.device(self._id)

    def _set_device(self, device):
        from millstream.framework.device import canonical_name
        self._graph._core.set_device(self._id, canonical_name(device))

    _set_device_from_string = _set_device

    def _add_control_input(self, op):
        self._graph._core.add_control_input(self._id, op._id)

    def _add_control_inputs(self, ops):
        for op in ops:
            self._add_control_input(op)

    def _remove_all_control_inputs(self):
        self._graph._core.clear_control_inputs(self._id)

    def _update_input(self, index, tensor):
        self._graph._core.set_input(self._id, index, tensor._id_pair())
        self._graph._forget_consumers()

    def colocation_groups(self) -> list[bytes]:
        value = self._graph._core.attr(self._id, "_class")
        if value is not None:
            groups = [g for g in value[1] if g.startswith(b"loc:@")]
            if groups:
                return groups
        return [b"loc:@" + self._name.encode()]

    @property
    def node_def(self):
        """The operation as a NodeDef message."""
        from millstream.proto import node_def_pb2
        return node_def_pb2.NodeDef.FromString(self._graph._core.to_node_def(self._id))

    @property
    def _node_def(self):
        return self.node_def

    @property
    def op_def(self):
        from millstream.proto import op_def_pb2
        return op_def_pb2.OpDef.FromString(_core.op_def(self._type))

    def get_attr(self, name: str) -> Any:
        """The value of an attribute as Python has it: DType, TensorShape, number, bytes, message, or a list of those."""
        found = self._graph._core.attr(self._id, name)
        if found is None:
            raise ValueError(f"Operation '{self._name}' has no attr named '{name}'.")
        return attr_to_python(*found)

    def _set_attr(self, name, value):
        """`value` is an AttrValue message or a plain value."""
        if hasattr(value, "SerializeToString"):
            value = bytearray(value.SerializeToString())
        with errors.raise_as():
            self._graph._core.set_attr(self._id, name, value)

    def _clear_attr(self, name):
        self._graph._core.clear_attr(self._id, name)

    @property
    def traceback(self) -> list[Any]:
        return list(self._site or [])

    def _traceback_lines(self):
        lines = []
        for name, line, function in self._site or []:
            lines.append(f"  File \"{name}\", line {line}, in {function}")
            source = linecache.getline(name, line).strip()
            if source:
                lines.append("    " + source)
        return lines

    def run(self, feed_dict: Any = None, session: Any = None) -> Any:
        """Runs the operation in `session` or the default session."""
        _run_operation(self, feed_dict, self._graph, session)

    def __str__(self):
        return str(self.node_def)

    def __repr__(self):
        return f"<tf.Operation '{self._name}' type={self._type}>"

    def __reduce__(self):
        raise TypeError("An Operation cannot be pickled")


def attr_to_python(kind, value):
    if kind == "type":
        return dtypes.as_dtype(value)
    if kind == "list(type)":
        return [dtypes.as_dtype(v) for v in value]
    if kind == "shape":
        return TensorShape._of_core(value).as_proto()
    if kind == "list(shape)":
        return [TensorShape._of_core(v).as_proto() for v in value]
    if kind in ("tensor", "list(tensor)"):
        from millstream.proto import tensor_pb2
        parse = tensor_pb2.TensorProto.FromString
        return parse(value) if kind == "tensor" else [parse(v) for v in value]
    if kind in ("func", "list(func)"):
        return _func(value) if kind == "func" else [_func(v) for v in value]
    return value


def _func(value):
    from millstream.proto import attr_value_pb2
    return attr_value_pb2.NameAttrList(name=value[0])
