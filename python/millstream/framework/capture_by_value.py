# SPDX-License-Identifier: Apache-2.0
"""Functions that take no tensors of the graph around them: what they use of it is copied into their body."""
from millstream.framework.function import FuncGraph, is_stateful

_NOT_COPIED = ("_class", "_output_shapes")  # name nodes of the other graph, or repeat what is inferred


class CopyingFuncGraph(FuncGraph):
    """Copies outer ops and all that they need. Stateful ops and placeholders cannot be copied: a ValueError."""

    def __init__(self, name, outer_graph=None):
        super().__init__(name, outer_graph)
        self._copies = {}  # outer op -> op of this graph

    def capture(self, tensor, name=None):
        if tensor.graph is self:
            return tensor
        return self._copy(tensor.op).outputs[tensor.value_index]

    def _copy(self, op):
        stack = [op]
        waiting = set()
        while stack:
            at = stack[-1]
            if at in self._copies:
                stack.pop()
                continue
            missing = [t.op for t in at.inputs if t.op not in self._copies]
            if not missing:
                self._copies[at] = self._copy_one(at)
                continue
            if at in waiting:
                raise ValueError(f"Cannot capture a loop (name:{at.name}, type:{at.type}) by value.")
            _check(at)
            waiting.add(at)
            stack.extend(missing)
        return self._copies[op]

    def _copy_one(self, op):
        _check(op)
        attrs = self._attrs_of(op)
        inputs = [self._copies[t.op].outputs[t.value_index] for t in op.inputs]
        with self.control_dependencies(None):
            return self._create_op_internal(op.type, inputs, op.name, attrs)

    def _attrs_of(self, op):
        if op.type == "Const":  # without loading protobuf
            return {"dtype": int(op.outputs[0].dtype), "value": op.graph._core.constant_value(op._id, 0)}
        attrs = {key: value for key, value in op.node_def.attr.items() if key not in _NOT_COPIED}
        if any(value.HasField("func") or value.list.func for value in attrs.values()):
            self._core.add_library(op.graph._core)
        return attrs


def _check(op):
    if is_stateful(op):
        raise ValueError(f"Cannot capture a stateful node (name:{op.name}, type:{op.type}) by value.")
    if op.type in ("Placeholder", "PlaceholderV2"):
        raise ValueError(f"Cannot capture a placeholder (name:{op.name}, type:{op.type}) by value.")
