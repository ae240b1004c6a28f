# SPDX-License-Identifier: Apache-2.0
"""The scopes of a graph: names, devices, control dependencies, colocation, containers, attributes of new nodes."""
from __future__ import annotations

import contextlib
import re
import threading
from typing import TYPE_CHECKING

from millstream.framework import device as device_lib
from millstream.framework import stacks
from millstream.framework.operation import Operation
from millstream.framework.tensor import Tensor

if TYPE_CHECKING:
    from typing import Any

VALID_OP_NAME = re.compile(r"^[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*$")
_VALID_SCOPE_NAME = re.compile(r"^[A-Za-z0-9_.\\/>-]*$")


class ThreadState(threading.local):
    """What `with` statements have set, in one thread: each thread begins with the empty state."""

    def __init__(self):
        super().__init__()
        self.scope = ""          # with a slash at its end, unless empty
        self.devices = ()        # outermost first: (function or None, string or None)
        self.control = ()        # _ControlScopes, outermost first
        self.colocation = ()     # operations


class _ControlScope:
    __slots__ = ("control_inputs", "seen", "reset")

    def __init__(self, control_inputs, reset=False):
        self.control_inputs = control_inputs
        self.seen = set()  # ids of the nodes made in it: what they feed need not wait again
        self.reset = reset


class GraphScopes:
    """What `with graph.something():` does. A part of Graph, which has the state."""

    def as_default(self) -> Any:
        return stacks.default_graph.get_controller(self)

    @contextlib.contextmanager
    def name_scope(self, name):
        if name:
            if not isinstance(name, str):
                raise TypeError(f"`name` must be a string, got '{type(name).__name__}'")
            pattern = _VALID_SCOPE_NAME if self._state.scope else VALID_OP_NAME
            if not pattern.match(name):
                kind = "scope name" if self._state.scope else "root scope name"
                raise ValueError(f"'{name}' is not a valid {kind}. A {kind} has to match the following pattern: "
                                 f"{pattern.pattern}")
        old = self._state.scope
        if not name:
            scope = ""
        elif name.endswith("/"):
            scope = name
        else:
            scope = self.unique_name(name) + "/"
        self._state.scope = scope
        try:
            yield scope
        finally:
            self._state.scope = old

    @property
    def _name_stack(self):
        return self._state.scope[:-1]

    def get_name_scope(self):
        return self._state.scope[:-1]

    def unique_name(self, name, mark_as_used=True):
        """`name` in the current scope, with a number if it is taken. Names that differ in case alone count as equal."""
        name = self._state.scope + name
        with self._lock:
            key = name.lower()
            count = self._names_in_use.get(key, 0)
            if mark_as_used:
                self._names_in_use[key] = count + 1
            if count > 0:
                base = key
                while key in self._names_in_use:
                    key = f"{base}_{count}"
                    count += 1
                if mark_as_used:
                    self._names_in_use[key] = 1
                name = f"{name}_{count - 1}"
            return name

    @contextlib.contextmanager
    def device(self, device_name_or_function):
        entry = device_name_or_function
        if entry is None:
            pair = (None, None)
        elif callable(entry) and not isinstance(entry, str):
            pair = (entry, None)
        else:
            pair = (None, device_lib.canonical_name(entry))
        old = self._state.devices
        self._state.devices = old + (pair,)
        try:
            yield
        finally:
            self._state.devices = old

    @property
    def _device_functions_outer_to_inner(self):
        return [f if f is not None else device_lib.merge_device(t) for f, t in self._state.devices]

    def control_dependencies(self, control_inputs):
        if control_inputs is None:
            return self._control_scope(None)
        ops = []
        for item in control_inputs:
            if not isinstance(item, (Tensor, Operation)) and hasattr(item, "values") and hasattr(item, "indices"):
                item = item.op
            element = self.as_graph_element(item._as_graph_element() if hasattr(item, "_as_graph_element") else item)
            op = element.op if isinstance(element, Tensor) else element
            if op not in ops:
                ops.append(op)
        return self._control_scope(ops)

    @contextlib.contextmanager
    def _control_scope(self, ops):
        old, leave = self._state.control, False
        self._state.control = () if ops is None else old + (_ControlScope(ops),)
        if ops is None and self._context_starts:  # also leaves branches and loops
            self._core.enter_root()
            self._context_starts, starts = [], self._context_starts
            leave = True
        try:
            yield
        finally:
            self._state.control = old
            if leave:
                self._core.leave_root()
                self._context_starts = starts

    def _current_control_dependencies(self):
        return {op for scope in self._state.control for op in scope.control_inputs}

    def colocate_with(self, op: Any, ignore_existing: bool = False) -> Any:
        return self._colocate(op, ignore_existing)

    @contextlib.contextmanager
    def _colocate(self, op, ignore_existing):
        if op is None and not ignore_existing:
            raise ValueError("Trying to reset colocation (op is None) but ignore_existing is not True")
        if op is not None and not isinstance(op, Operation):
            from millstream.framework import conversion
            op = conversion.to_operation(op, self)
        old, old_devices = self._state.colocation, self._state.devices
        base = () if ignore_existing else old
        self._state.colocation = base if op is None else base + (op,)
        self._state.devices = ()  # being with `op` is stronger than the devices outside of this scope
        try:
            yield
        finally:
            self._state.colocation, self._state.devices = old, old_devices

    @contextlib.contextmanager
    def container(self, container_name):
        old, self._container = self._container, container_name
        try:
            yield container_name
        finally:
            self._container = old

    @contextlib.contextmanager
    def _swapped(self, attribute, changes):
        old = dict(getattr(self, attribute))
        merged = {k: v for k, v in {**old, **changes}.items() if v is not None}
        setattr(self, attribute, merged)
        try:
            yield
        finally:
            setattr(self, attribute, old)

    def gradient_override_map(self, op_type_map: Any) -> Any:
        """Ops of the given types that are made inside get the gradient that is registered under the given name."""
        if not isinstance(op_type_map, dict) or not all(isinstance(s, str) for kv in op_type_map.items() for s in kv):
            raise TypeError("op_type_map must be a dictionary mapping strings to strings")
        return self._swapped("_gradient_override_map", op_type_map)

    def _attr_scope(self, attr_map):
        return self._swapped("_attr_scopes", attr_map)

    def _kernel_label_map_scope(self, op_to_kernel_label_map):
        return self._swapped("_kernel_label_map", op_to_kernel_label_map)

    def switch_to_thread_local(self) -> None:
        """Scopes are per thread already."""
