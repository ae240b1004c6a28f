# SPDX-License-Identifier: Apache-2.0
"""Graph: nodes, their names, and the scopes that new nodes get their settings from."""
from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING

from millstream import _core
from millstream.framework import device as device_lib
from millstream.framework import errors
from millstream.framework.collections import Collections
from millstream.framework.graph_scopes import VALID_OP_NAME, GraphScopes, ThreadState
from millstream.framework.operation import Operation, _call_site
from millstream.framework.tensor import Tensor

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.type_aliases import TensorLike


class Graph(Collections, GraphScopes):
    """A dataflow graph: nodes that compute, and tensors that flow between them.

    Several threads may build one; the nodes themselves are in C++ (`_core`).
    """

    _tensor_class = Tensor  # what outputs of its nodes are
    _ops_without_seed: int  # random ops so far that have no seed of their own
    _last_loss_reduction: str  # that of the last loss function

    def __init__(self):
        super().__init__()
        from millstream.framework import ops  # noqa: F401  makes operators work on tensors
        self._core = _core.Graph()
        self._lock = threading.RLock()
        self._ops = []            # by node id; None where a node could not be made
        self._names_in_use = {}
        self._state = ThreadState()
        self._seed = None
        self._finalized = False
        self._container = ""
        self._attr_scopes = {}
        self._gradient_override_map = {}
        self._kernel_label_map = {}
        self._unfeedable = set()
        self._unfetchable = set()
        self._consumers = None
        self._context_starts = []  # first node id of each branch or loop that is being built
        self._graph_device_functions = ()
        self._functions = {}
        self._op_counter = 0

    # Nodes.

    def _sync(self, site=None, named_here=None):
        """Makes Operations for the nodes that were added in C++. unique_name() knows the name of `named_here` already."""
        limit = self._core.id_limit()
        made = []
        while len(self._ops) < limit:
            info = self._core.node_info(len(self._ops))
            if info is None:
                self._ops.append(None)
                continue
            name, op_type, types = info
            op = Operation(self, len(self._ops), name, op_type, types, site)
            self._ops.append(op)
            if op._id != named_here:
                self._mark_used(name)
            made.append(op)
        return made

    def _mark_used(self, name):
        key = name.lower()
        while key:
            self._names_in_use.setdefault(key, 1)
            key = key.rpartition("/")[0]

    def _op_by_id(self, node_id):
        if node_id >= len(self._ops):
            self._sync()
        return self._ops[node_id]

    def _output_by_id(self, pair):
        return None if pair is None else self._op_by_id(pair[0])._outputs[pair[1]]

    def create_op(self, op_type: Any, inputs: Any, dtypes: Any = None, input_types: Any = None, name: Optional[str] = None,
                  attrs: Any = None, op_def: Any = None, compute_shapes: bool = True, compute_device: bool = True) -> Operation:
        """Adds a node. `attrs` holds plain values or AttrValue messages; types and numbers of inputs are inferred."""
        del dtypes, input_types, op_def, compute_shapes
        name = op_type if name is None else name
        return self._create_op_internal(op_type, inputs, name, attrs or {}, compute_device)

    def _create_op_internal(self, op_type, inputs, name, attrs, compute_device=True):
        with self._lock:
            self._check_not_finalized()
            for tensor in inputs:
                if tensor.graph is not self:
                    raise ValueError(f"{tensor!r} must be from the same graph as the op '{name}' that uses it.")
            name = name[:-1] if name.endswith("/") else self.unique_name(name)
            if not VALID_OP_NAME.match(name):
                raise ValueError(f"'{name}' is not a valid node name. Accepted names conform to Regex "
                                 f"/{VALID_OP_NAME.pattern}/")
            control = self._control_for([t._op._id for t in inputs])
            attrs = self._scoped_attrs(op_type, attrs)
            with errors.raise_as():
                node_id = self._core.create_op(op_type, name, [t._id_pair() for t in inputs], control, attrs, "")
            made = self._sync(_call_site(), node_id)
            op = self._ops[node_id]
            for scope in self._state.control:
                scope.seen.add(node_id)
            if compute_device:
                self._place(op)
                if len(made) > 1:  # what brings values into a branch or loop
                    self._place_new([other for other in made if other is not op])
            return op

    def _scoped_attrs(self, op_type, attrs):
        out = {}
        for key, value in attrs.items():
            if hasattr(value, "SerializeToString"):  # an AttrValue (bytearray), or a message that is the value (bytes)
                text = value.SerializeToString()
                value = bytearray(text) if type(value).__name__ == "AttrValue" else text
            out[key] = value
        for key, value in self._attr_scopes.items():
            out.setdefault(key, value)
        if op_type in self._gradient_override_map:
            out.setdefault("_gradient_op_type", self._gradient_override_map[op_type])
        groups = sorted({g for op in self._state.colocation for g in op.colocation_groups()})
        if groups:
            out["_class"] = [g.decode() for g in groups]
        return out

    def _control_for(self, input_ids):
        ids = []
        inputs = set(input_ids)
        for scope in self._state.control:
            if inputs & scope.seen:
                continue
            for op in scope.control_inputs:
                if op._id not in inputs and op._id not in ids:
                    ids.append(op._id)
        if self._context_starts:  # what is outside of a branch or loop has run before it begins
            ids = [i for i in ids if i >= self._context_starts[-1]]
        return ids

    def _place(self, op):
        device = next((other.device for other in reversed(self._state.colocation) if other.device), None)
        if device:
            op._set_device(device)
        elif self._state.devices:
            self._apply_device_functions(op)

    def _apply_device_functions(self, op):
        device = op.device
        for function, text in reversed(self._state.devices):
            if function is None and text is None:
                break
            if text is not None:
                device = device_lib.merge_device(text)(device)
            else:
                if device:
                    op._set_device(device)
                device = device_lib.canonical_name(function(op))
            op._set_device(device)

    def _place_new(self, ops):
        """Devices of nodes that were added in C++: as if they had been made one by one in the scopes of now."""
        for op in ops:
            if op.device:
                continue
            if self._core.attr(op._id, "_class") is None:
                self._place(op)
            else:
                self._place_beside_others(op)

    def _place_beside_others(self, op):
        """The device of an operation that C++ colocated with others: that of the first of them that has one."""
        for group in op.colocation_groups():
            name = group.decode()[len("loc:@"):]
            device = "" if name == op.name else self.get_operation_by_name(name).device
            if device:
                op._set_device(device)
                return

    @contextlib.contextmanager
    def _inside(self, prefix):
        """The inside of a branch or loop, or of the gradient of a node, which C++ has begun to build."""
        self._place_new(self._sync())
        old = self._state.scope, self._state.control
        self._state.scope, self._state.control = prefix, ()
        self._context_starts.append(self._core.id_limit())
        try:
            yield
        finally:
            self._context_starts.pop()
            self._state.scope, self._state.control = old

    def get_operations(self) -> list[Operation]:
        """All operations, in the order in which they were made."""
        self._sync()
        return [op for op in self._ops if op is not None]

    def _get_operations_count(self):
        return self._core.num_nodes()

    def get_operation_by_name(self, name: str) -> Operation:
        """The operation with this name. Raises KeyError if there is none."""
        if not isinstance(name, str):
            raise TypeError(f"Operation names are strings (or similar), not {type(name).__name__}.")
        return self.as_graph_element(name, allow_tensor=False, allow_operation=True)

    def get_tensor_by_name(self, name: str) -> Tensor:
        """The tensor with a name such as "add:0". Raises KeyError if there is none."""
        if not isinstance(name, str):
            raise TypeError(f"Tensor names are strings (or similar), not {type(name).__name__}.")
        return self.as_graph_element(name, allow_tensor=True, allow_operation=False)

    def as_graph_element(self, obj: Any, allow_tensor: bool = True, allow_operation: bool = True) -> Any:
        from millstream.framework import graph_element
        return graph_element.find(self, obj, allow_tensor, allow_operation)

    _as_graph_element_locked = as_graph_element

    def _consumers_of(self, tensor):
        if self._consumers is None:
            self._consumers = ({}, 0)
        table, done = self._consumers
        limit = self._core.id_limit()
        for i in range(done, limit):
            op = self._op_by_id(i)
            if op is None:
                continue
            for pair in dict.fromkeys(self._core.inputs(i)):
                table.setdefault(pair, []).append(op)
        self._consumers = (table, limit)
        return list(table.get(tensor._id_pair(), ()))

    def _forget_consumers(self):
        self._consumers = None

    @property
    def version(self) -> int:
        return self._core.num_nodes()

    @property
    def _last_id(self):
        return self._core.num_nodes()

    # State of the whole graph.

    @property
    def seed(self) -> Optional[int]:
        return self._seed

    @seed.setter
    def seed(self, seed: Any) -> None:
        self._seed = seed

    @property
    def finalized(self) -> bool:
        """Whether the graph is read-only."""
        return self._finalized

    def finalize(self) -> None:
        """Makes the graph read-only: adding an operation raises RuntimeError."""
        self._finalized = True

    def _unsafe_unfinalize(self):
        self._finalized = False

    def _check_not_finalized(self):
        if self._finalized:
            raise RuntimeError("Graph is finalized and cannot be modified.")

    @property
    def building_function(self) -> bool:
        return False

    def is_feedable(self, tensor: TensorLike) -> bool:
        return tensor not in self._unfeedable

    def prevent_feeding(self, tensor: TensorLike) -> None:
        self._unfeedable.add(tensor)

    def is_fetchable(self, tensor_or_op: Any) -> bool:
        return tensor_or_op not in self._unfetchable

    def prevent_fetching(self, op: Any) -> None:
        self._unfetchable.add(op)

    def as_graph_def(self, from_version=None, add_shapes=False):
        """The graph as a GraphDef message."""
        from millstream.proto import graph_pb2
        start = 0
        if from_version:
            live = [i for i, op in enumerate(self.get_operations())]
            start = self.get_operations()[from_version]._id if from_version < len(live) else self._core.id_limit()
        graph_def = graph_pb2.GraphDef.FromString(self._core.to_graph_def(start))
        if add_shapes:
            for node in graph_def.node:
                shapes = node.attr["_output_shapes"].list
                for output in self.get_operation_by_name(node.name).outputs:
                    shapes.shape.add().CopyFrom(output.shape.as_proto())
        return graph_def

    def _as_graph_def(self, from_version=None, add_shapes=False):
        return self.as_graph_def(from_version, add_shapes), self.version

    @property
    def graph_def_versions(self) -> Any:
        return self.as_graph_def().versions
