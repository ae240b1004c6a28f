# SPDX-License-Identifier: Apache-2.0
"""Functions on the default graph: scopes, devices, dependencies, collections."""
from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from millstream.framework import stacks
from millstream.framework.graph import Graph
from millstream.framework.operation import Operation
from millstream.framework.tensor import Tensor

if TYPE_CHECKING:
    from typing import Any, ContextManager, Optional

    from millstream.client.session import Session

_global_graph = None


def get_default_graph() -> Graph:
    """The graph of the innermost `with graph.as_default()` of this thread, or the process's own."""
    global _global_graph
    graph = stacks.default_graph.get_default()
    if graph is not None:
        return graph
    if _global_graph is None:
        _global_graph = Graph()
    return _global_graph


def reset_default_graph() -> None:
    """Replaces the default graph with a new, empty one. Raises AssertionError inside `with graph.as_default()`."""
    global _global_graph
    if not stacks.default_graph.is_cleared():
        raise AssertionError("Do not use tf.reset_default_graph() to clear nested graphs. If you need a cleared graph, exit "
                             "the nesting and create a new graph.")
    _global_graph = None


def has_default_graph():
    return not stacks.default_graph.is_cleared()


def get_default_session() -> Optional[Session]:
    """The innermost session of this thread's `with` statements, or None."""
    return stacks.default_session.get_default()


def graph_of(values, graph=None):
    """The graph that all graph elements among `values` are in; the default graph if there are none."""
    default = stacks.default_graph.get_default()
    if default is not None and default.building_function:  # takes tensors of the graphs around it
        return default
    found = None
    for value in values:
        if isinstance(value, (list, tuple)):
            value = next((v for v in value if isinstance(v, (Tensor, Operation))), None)
        own = getattr(value, "graph", None)
        if not isinstance(own, Graph):
            continue
        if found is None:
            found, first = own, value
        elif own is not found:
            raise ValueError(f"{value!r} must be from the same graph as {first!r} (graphs are {own} and {found}).")
    if graph is not None:
        if found is not None and found is not graph:
            raise ValueError(f"{first!r} is not from the passed-in graph.")
        return graph
    return found if found is not None else get_default_graph()


class name_scope:
    """`with tf.name_scope(name, default_name, values) as scope`: names of nodes made inside begin with `scope`."""

    def __init__(self, name: Optional[str] = None, default_name: Optional[str] = None, values: Any = None,
                 skip_on_eager: bool = True) -> None:
        if not (default_name is None or isinstance(default_name, str)):
            raise TypeError(f"`default_name` type ({type(default_name)}) is not a string type. You likely meant to pass "
                            "this into the `values` kwarg.")
        self._name = default_name if name is None else name
        self._given = name
        self._values = values
        self._exits = None

    @property
    def name(self) -> Any:
        return self._name

    def __enter__(self):
        if self._name is None and self._values is not None:
            raise ValueError(f"At least one of name ({self._given}) and default_name must be provided.")
        graph = get_default_graph() if self._values is None else graph_of(self._values)
        with contextlib.ExitStack() as stack:
            if graph is not get_default_graph():
                stack.enter_context(graph.as_default())
            scope = stack.enter_context(graph.name_scope(self._name))
            self._exits = stack.pop_all()
        return scope

    def __exit__(self, *error):
        exits, self._exits = self._exits, None
        return exits.__exit__(*error)

    def __call__(self, function):
        import functools

        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            with name_scope(self._given, self._name, self._values):
                return function(*args, **kwargs)
        return wrapped


class op_scope(name_scope):
    """The older order of arguments."""

    def __init__(self, values: Any, name: str, default_name: Optional[str] = None) -> None:
        super().__init__(name, default_name, values)


def device(device_name_or_function: Any) -> ContextManager[Any]:
    """A context that places new operations on a device, or where a function of the operation says."""
    return get_default_graph().device(device_name_or_function)


def container(container_name: Any) -> ContextManager[Any]:
    return get_default_graph().container(container_name)


def colocate_with(op: Any, ignore_existing: bool = False) -> ContextManager[Any]:
    """A context that places new operations where `op` is."""
    return get_default_graph().colocate_with(op, ignore_existing)


def control_dependencies(control_inputs: Any) -> ContextManager[Any]:
    """A context whose new operations run only after all of `control_inputs`."""
    return get_default_graph().control_dependencies(control_inputs)


@contextlib.contextmanager
def init_scope():
    """Outside of branches, loops and control dependencies; keeps the name scope."""
    graph = get_default_graph()
    scope = graph._state.scope
    with graph.control_dependencies(None), graph.name_scope(scope if scope else None):
        yield


def add_to_collection(name: str, value: Any) -> None:
    """Adds `value` to the collection `name` of the default graph."""
    get_default_graph().add_to_collection(name, value)


def add_to_collections(names: Any, value: Any) -> None:
    get_default_graph().add_to_collections(names, value)


def get_collection(key: Any, scope: Any = None) -> list[Any]:
    """The items of a collection of the default graph; `scope` is a regular expression for the start of their names."""
    return get_default_graph().get_collection(key, scope)


def get_collection_ref(key: Any) -> list[Any]:
    return get_default_graph().get_collection_ref(key)


def get_all_collection_keys():
    return get_default_graph().get_all_collection_keys()


def strip_name_scope(name, export_scope):
    if not export_scope:
        return name
    scope = export_scope if export_scope.endswith("/") else export_scope + "/"
    for before in ("^", "loc:@", ""):
        if name.startswith(before + scope):
            return before + name[len(before) + len(scope):]
    return name


def prepend_name_scope(name, import_scope):
    if not import_scope:
        return name
    scope = import_scope if import_scope.endswith("/") else import_scope + "/"
    for before in ("^", "loc:@"):
        if name.startswith(before):
            return before + scope + name[len(before):]
    return scope + name


def name_from_scope_name(name):
    return name[:-1] if name.endswith("/") else name


def NotDifferentiable(op_type: Any) -> None:
    from millstream.framework import gradients
    gradients.register(op_type, None)


NoGradient = NotDifferentiable


class RegisterGradient:
    """A decorator: the function (op, *grads) -> grads is the gradient of ops of this type, or of this name in
    gradient_override_map()."""

    def __init__(self, op_type: Any) -> None:
        if not isinstance(op_type, str):
            raise TypeError("op_type must be a string")
        self._op_type = op_type

    def __call__(self, f):
        from millstream.framework import gradients
        gradients.register(self._op_type, f)
        return f
