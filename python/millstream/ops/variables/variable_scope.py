# SPDX-License-Identifier: Apache-2.0
"""get_variable() and variable_scope()."""
from __future__ import annotations

import contextlib
import copy
import enum
import functools
import threading
from typing import TYPE_CHECKING

from millstream.framework import dtypes, ops
from millstream.ops.variables import variables
from millstream.ops.variables.variable_store import VariableStore

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.type_aliases import DTypeLike, ShapeLike
    from millstream.ops.variables.variables import Variable


class _ReuseMode(enum.Enum):
    AUTO_REUSE = 1


AUTO_REUSE = _ReuseMode.AUTO_REUSE


class VariableScope:
    """Prefix of names and defaults for get_variable()."""

    def __init__(self, reuse: Any, name: str = "", initializer: Any = None, regularizer: Any = None, caching_device: Any = None,
                 partitioner: Any = None, custom_getter: Any = None, name_scope: str = "", dtype: DTypeLike = dtypes.float32,
                 use_resource: Any = None, constraint: Any = None) -> None:
        self._name, self._initializer, self._regularizer, self._reuse = name, initializer, regularizer, reuse
        self._caching_device, self._partitioner, self._custom_getter = caching_device, partitioner, custom_getter
        self._name_scope, self._dtype, self._use_resource, self._constraint = name_scope, dtype, use_resource, constraint

    name = property(lambda self: self._name)
    original_name_scope = property(lambda self: self._name_scope)
    reuse = property(lambda self: self._reuse)
    initializer = property(lambda self: self._initializer)
    dtype = property(lambda self: self._dtype)
    use_resource = property(lambda self: self._use_resource)
    regularizer = property(lambda self: self._regularizer)
    caching_device = property(lambda self: self._caching_device)
    partitioner = property(lambda self: self._partitioner)
    custom_getter = property(lambda self: self._custom_getter)
    constraint = property(lambda self: self._constraint)

    def reuse_variables(self) -> None:
        self._reuse = True

    def set_initializer(self, initializer: Any) -> None:
        self._initializer = initializer

    def set_dtype(self, dtype: DTypeLike) -> None:
        self._dtype = dtype

    def set_use_resource(self, use_resource: Any) -> None:
        self._use_resource = use_resource

    def set_regularizer(self, regularizer: Any) -> None:
        self._regularizer = regularizer

    def set_caching_device(self, caching_device: Any) -> None:
        self._caching_device = caching_device

    def set_partitioner(self, partitioner: Any) -> None:
        self._partitioner = partitioner

    def set_custom_getter(self, custom_getter: Any) -> None:
        self._custom_getter = custom_getter

    def get_collection(self, name: str) -> Any:
        return ops.get_collection(name, self._name + "/" if self._name else None)

    def trainable_variables(self) -> Any:
        return self.get_collection(ops.GraphKeys.TRAINABLE_VARIABLES)

    def global_variables(self) -> Any:
        return self.get_collection(ops.GraphKeys.GLOBAL_VARIABLES)

    def local_variables(self) -> Any:
        return self.get_collection(ops.GraphKeys.LOCAL_VARIABLES)

    def get_variable(self, var_store: Any, name: str, shape: ShapeLike = None, dtype: Optional[DTypeLike] = None,
                     initializer: Any = None, regularizer: Any = None, reuse: Any = None, trainable: Any = None,
                     collections: Any = None, caching_device: Any = None, partitioner: Any = None, validate_shape: bool = True,
                     use_resource: Any = None, custom_getter: Any = None, constraint: Any = None, synchronization: Any = None,
                     aggregation: Any = None) -> Any:
        regularizer = self._regularizer if regularizer is None else regularizer
        caching_device = self._caching_device if caching_device is None else caching_device
        partitioner = self._partitioner if partitioner is None else partitioner
        custom_getter = self._custom_getter if custom_getter is None else custom_getter
        reuse = self._reuse if reuse is None else reuse
        full_name = self._name + "/" + name if self._name else name
        with ops.name_scope(None):  # names of variables do not depend on name scopes
            if dtype is not None and initializer is not None and not callable(initializer):
                init_dtype = ops.convert_to_tensor(initializer).dtype.base_dtype
                if init_dtype != dtypes.as_dtype(dtype):
                    raise ValueError(f"Initializer type '{init_dtype}' and explicit dtype '{dtype}' don't match.")
            initializer = self._initializer if initializer is None else initializer
            constraint = self._constraint if constraint is None else constraint
            dtype = self._dtype if dtype is None else dtype
            use_resource = self._use_resource if use_resource is None else use_resource
            return var_store.get_variable(full_name, shape=shape, dtype=dtype, initializer=initializer,
                                          regularizer=regularizer, reuse=_plain_reuse(reuse), trainable=trainable,
                                          collections=collections, caching_device=caching_device, partitioner=partitioner,
                                          validate_shape=validate_shape, use_resource=use_resource,
                                          custom_getter=custom_getter, constraint=constraint,
                                          synchronization=synchronization, aggregation=aggregation)


def _plain_reuse(reuse):
    """For the store: False = must be new, True = must exist, AUTO_REUSE = either."""
    return False if reuse is None else reuse


class _ScopeState(threading.local):
    def __init__(self):
        super().__init__()
        self.current = VariableScope(False)
        self.counts = {}

    def open(self, name):
        self.counts[name] = self.counts.get(name, 0) + 1

    def close_below(self, name):
        for key in self.counts:
            if name is None or key.startswith(name + "/"):
                self.counts[key] = 0


def _state():
    graph = ops.get_default_graph()
    found = getattr(graph, "_variable_scope_state", None)
    if found is None:
        found = graph._variable_scope_state = _ScopeState()
    return found


def _get_default_variable_store():
    graph = ops.get_default_graph()
    found = getattr(graph, "_variable_store", None)
    if found is None:
        found = graph._variable_store = VariableStore()
    return found


def get_variable_scope() -> VariableScope:
    """The current variable scope."""
    return _state().current


def get_variable(name: str, shape: ShapeLike = None, dtype: Optional[DTypeLike] = None, initializer: Any = None,
                 regularizer: Any = None, trainable: Any = None, collections: Any = None, caching_device: Any = None,
                 partitioner: Any = None, validate_shape: bool = True, use_resource: Any = None, custom_getter: Any = None,
                 constraint: Any = None, synchronization: Any = None, aggregation: Any = None) -> Variable:
    """The variable of this name in the current variable scope: a new one, or the existing one where the scope reuses."""
    return get_variable_scope().get_variable(_get_default_variable_store(), name, shape=shape, dtype=dtype,
                                             initializer=initializer, regularizer=regularizer, trainable=trainable,
                                             collections=collections, caching_device=caching_device,
                                             partitioner=partitioner, validate_shape=validate_shape,
                                             use_resource=use_resource, custom_getter=custom_getter, constraint=constraint,
                                             synchronization=synchronization, aggregation=aggregation)


def get_local_variable(name: str, shape: ShapeLike = None, dtype: Optional[DTypeLike] = None, initializer: Any = None,
                       regularizer: Any = None, trainable: Any = False, collections: Any = None, **kwargs: Any) -> Any:
    """As get_variable, for a variable that belongs to one worker and is not saved."""
    collections = list(collections or []) + [ops.GraphKeys.LOCAL_VARIABLES]
    return get_variable(name, shape=shape, dtype=dtype, initializer=initializer, regularizer=regularizer, trainable=False,
                        collections=collections, **kwargs)


def _wrapped_getter(custom_getter, old_getter):
    if old_getter is None:
        return custom_getter

    def wrapped(getter, *args, **kwargs):
        return custom_getter(functools.partial(old_getter, getter), *args, **kwargs)
    return wrapped


@contextlib.contextmanager
def _pure_variable_scope(name_or_scope, reuse=None, initializer=None, regularizer=None, caching_device=None, partitioner=None,
                         custom_getter=None, old_name_scope=None, dtype=dtypes.float32, use_resource=None, constraint=None):
    """The scope without a name scope."""
    _get_default_variable_store()
    state = _state()
    old = state.current
    saved_counts = None
    if isinstance(name_or_scope, VariableScope):
        new_name = name_or_scope.name
        name_scope = name_or_scope._name_scope if old_name_scope is None else old_name_scope
        scope = copy.copy(name_or_scope)
        scope._reuse = reuse if reuse else name_or_scope.reuse
        scope._name_scope = name_scope
        saved_counts = dict(state.counts)
        base_getter = name_or_scope.custom_getter
    else:
        new_name = f"{old.name}/{name_or_scope}" if old.name else name_or_scope
        scope = copy.copy(old)
        scope._name = new_name
        scope._reuse = reuse or old.reuse
        scope._name_scope = old_name_scope or name_or_scope
        base_getter = old.custom_getter
        if dtype is not None:
            scope._dtype = dtype if dtype != dtypes.float32 else old.dtype
    for field, value in (("_initializer", initializer), ("_regularizer", regularizer), ("_caching_device", caching_device),
                         ("_partitioner", partitioner), ("_use_resource", use_resource), ("_constraint", constraint)):
        if value is not None:
            setattr(scope, field, value)
    if isinstance(name_or_scope, VariableScope) and dtype is not None and dtype != dtypes.float32:
        scope._dtype = dtype
    if custom_getter is not None:
        scope._custom_getter = _wrapped_getter(custom_getter, base_getter)
    state.open(new_name)
    state.current = scope
    try:
        yield scope
    finally:
        state.close_below(new_name)
        if saved_counts is not None:
            state.counts = saved_counts
        state.current = old


def _unique_variable_scope(prefix):
    state = _state()
    name = f"{state.current.name}/{prefix}" if state.current.name else prefix
    if state.counts.get(name, 0) == 0:
        return prefix
    i = 1
    while state.counts.get(f"{name}_{i}", 0) > 0:
        i += 1
    return f"{prefix}_{i}"


class variable_scope:
    """`with tf.variable_scope(name_or_scope, ...) as scope`: a prefix for variables and a name scope for nodes."""

    def __init__(self, name_or_scope: Any, default_name: Optional[str] = None, values: Any = None, initializer: Any = None,
                 regularizer: Any = None, caching_device: Any = None, partitioner: Any = None, custom_getter: Any = None,
                 reuse: Any = None, dtype: Optional[DTypeLike] = None, use_resource: Any = None, constraint: Any = None,
                 auxiliary_name_scope: bool = True) -> None:
        if default_name is None and name_or_scope is None:
            raise TypeError("If default_name is None then name_or_scope is required")
        if not (reuse is None or reuse is False or reuse is True or reuse is AUTO_REUSE):
            raise ValueError("The reuse parameter must be True or False or None.")
        if name_or_scope is not None and not isinstance(name_or_scope, (str, VariableScope)):
            raise TypeError("VariableScope: name_or_scope must be a string or VariableScope.")
        if reuse is False:
            reuse = None  # inherited: a scope inside a reusing one reuses
        self._name_or_scope, self._default_name, self._values, self._reuse = name_or_scope, default_name, values, reuse
        self._settings = dict(initializer=initializer, regularizer=regularizer, caching_device=caching_device,
                              partitioner=partitioner, custom_getter=custom_getter, dtype=dtype, use_resource=use_resource,
                              constraint=constraint)
        if not isinstance(auxiliary_name_scope, bool):
            raise TypeError(f"The auxiliary_name_scope must be `True` or `False`, while get {auxiliary_name_scope}")
        self._auxiliary = auxiliary_name_scope
        self._exits = None

    def __enter__(self):
        graph = ops.graph_of(self._values or []) if self._values else ops.get_default_graph()
        with contextlib.ExitStack() as stack:
            if graph is not ops.get_default_graph():
                stack.enter_context(graph.as_default())
            scope = stack.enter_context(self._pure(stack, graph))
            self._exits = stack.pop_all()
        return scope

    def _name_scope(self, stack, graph, name):
        """Enters the name scope; returns what the variable scope remembers of it."""
        if self._auxiliary:
            return stack.enter_context(ops.name_scope(name))
        current = graph.get_name_scope()
        return current + "/" if current else ""

    def _pure(self, stack, graph):
        given = self._name_or_scope
        if given is None:
            if self._reuse:
                raise ValueError("reuse=True cannot be used without a name_or_scope")
            name_scope = self._name_scope(stack, graph, self._default_name)
            return _pure_variable_scope(_unique_variable_scope(self._default_name), old_name_scope=name_scope,
                                        **self._settings)
        is_text = isinstance(given, str)
        name = given if is_text else given.name.split("/")[-1]
        name_scope = None
        if name or not self._auxiliary:
            entered = self._name_scope(stack, graph, name)
            name_scope = entered if is_text else given.original_name_scope
        elif self._auxiliary:
            name_scope = graph.get_name_scope() + "/" if graph.get_name_scope() else ""
            if not is_text:
                stack.enter_context(ops.name_scope(None) if not graph.get_name_scope() else contextlib.nullcontext())
        return _pure_variable_scope(given, reuse=self._reuse, old_name_scope=name_scope, **self._settings)

    def __exit__(self, *error):
        exits, self._exits = self._exits, None
        return exits.__exit__(*error)

    def __call__(self, function):
        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            s = self._settings
            with variable_scope(self._name_or_scope, self._default_name, self._values, reuse=self._reuse,
                                auxiliary_name_scope=self._auxiliary, **s):
                return function(*args, **kwargs)
        return wrapped


def variable_op_scope(values: Any, name_or_scope: Any, default_name: Optional[str] = None, **kwargs: Any) -> Any:
    return variable_scope(name_or_scope, default_name, values, **kwargs)


def no_regularizer(_: Any) -> None:
    """For a variable in a scope that has a regularizer."""
    return None


variable_creator_scope = variables.variable_creator_scope
default_variable_creator = variables.default_variable_creator
