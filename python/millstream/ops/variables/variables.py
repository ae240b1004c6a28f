# SPDX-License-Identifier: Apache-2.0
"""Variable: what ref and resource variables have in common, and which of the two `tf.Variable(...)` makes."""
from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any, Optional

from millstream.framework import dtypes, errors, operators, ops, tensor_shape

if TYPE_CHECKING:
    from millstream.framework.operator_types import TensorOperators
    from millstream.framework.operation import Operation
    from millstream.framework.dtypes import DType
    from millstream.framework.tensor import Tensor
else:
    TensorOperators = object

_resource_by_default = False


def enable_resource_variables() -> None:
    global _resource_by_default
    _resource_by_default = True


def disable_resource_variables() -> None:
    global _resource_by_default
    _resource_by_default = False


def resource_variables_enabled() -> Any:
    return _resource_by_default


class VariableSynchronization(enum.Enum):
    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


class VariableAggregation(enum.Enum):
    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3
    ONLY_FIRST_TOWER = 3

    def __hash__(self):
        return hash(self.value)


def default_variable_creator(next_creator=None, **kwargs):
    """The innermost creator: a ref variable, unless a resource variable is asked for or the scope's or process's default."""
    del next_creator
    use_resource = kwargs.pop("use_resource", None)
    if use_resource is None:
        from millstream.ops.variables import variable_scope
        use_resource = variable_scope.get_variable_scope().use_resource
    if use_resource is None:
        use_resource = _resource_by_default
    if use_resource or getattr(kwargs.get("variable_def"), "is_resource", False):
        from millstream.ops.variables import resource_variable_ops
        return resource_variable_ops.ResourceVariable(**kwargs)
    from millstream.ops.variables import ref_variable
    return ref_variable.RefVariable(**kwargs)


def _creators(graph):
    found = getattr(graph, "_variable_creators", None)
    if found is None:
        found = graph._variable_creators = []
    return found


class _CreatorScope:
    def __init__(self, creator):
        self._creator = creator

    def __enter__(self):
        self._graph = ops.get_default_graph()
        _creators(self._graph).append(self._creator)

    def __exit__(self, *error):
        _creators(self._graph).pop()


def variable_creator_scope(variable_creator: Any) -> Any:
    """Inside, variables are made by variable_creator(next_creator, **kwargs)."""
    return _CreatorScope(variable_creator)


def _bind(outer, inner):
    return lambda **kwargs: outer(inner, **kwargs)


def create_variable(**kwargs):
    make = lambda **kw: default_variable_creator(None, **kw)
    for creator in _creators(ops.get_default_graph()):
        make = _bind(creator, make)
    return make(**kwargs)


class _VariableMeta(type):
    def __call__(cls, *args, **kwargs):
        if cls is not Variable:
            return super().__call__(*args, **kwargs)
        names = ("initial_value", "trainable", "collections", "validate_shape", "caching_device", "name", "variable_def",
                 "dtype", "expected_shape", "import_scope", "constraint", "use_resource", "synchronization", "aggregation",
                 "shape")
        if len(args) > len(names):
            raise TypeError(f"Variable() takes at most {len(names)} positional arguments ({len(args)} given)")
        for name, value in zip(names, args):
            if name in kwargs:
                raise TypeError(f"Variable() got multiple values for argument '{name}'")
            kwargs[name] = value
        for name in kwargs:
            if name not in names:
                raise TypeError(f"Variable() got an unexpected keyword argument '{name}'")
        return create_variable(**kwargs)


class Variable(TensorOperators, metaclass=_VariableMeta):
    """State that lives as long as its session's or cluster's containers. `tf.Variable(initial_value, ...)` makes one."""

    __array_priority__ = 100
    _save_slice_info = None
    _cached_value = None

    if TYPE_CHECKING:  # _VariableMeta takes these, and chooses the class

        def __init__(self, initial_value: Any = None, trainable: Optional[bool] = None, collections: Any = None,
                     validate_shape: bool = True, caching_device: Any = None, name: Optional[str] = None, variable_def: Any = None,
                     dtype: Any = None, expected_shape: Any = None, import_scope: Optional[str] = None, constraint: Any = None,
                     use_resource: Optional[bool] = None, synchronization: Any = ..., aggregation: Any = ...,
                     shape: Any = None) -> None: ...

        # What both kinds of variables have.
        @property
        def name(self) -> str: ...
        @property
        def op(self) -> Operation: ...
        @property
        def device(self) -> str: ...
        @property
        def dtype(self) -> DType: ...
        def value(self) -> Tensor: ...
        def read_value(self) -> Tensor: ...
        def is_initialized(self, name: Optional[str] = None) -> Tensor: ...
        def assign(self, value: Any, use_locking: Any = ..., name: Optional[str] = None, read_value: bool = True) -> Any: ...
        def assign_add(self, delta: Any, use_locking: Any = ..., name: Optional[str] = None, read_value: bool = True) -> Any: ...
        def assign_sub(self, delta: Any, use_locking: Any = ..., name: Optional[str] = None, read_value: bool = True) -> Any: ...
        def sparse_read(self, indices: Any, name: Optional[str] = None) -> Tensor: ...

    class SaveSliceInfo:
        """Where a variable lies in the whole variable that checkpoints hold."""

        def __init__(self, full_name=None, full_shape=None, var_offset=None, var_shape=None, save_slice_info_def=None,
                     import_scope=None):
            if save_slice_info_def is not None:
                d = save_slice_info_def
                full_name = ops.prepend_name_scope(d.full_name, import_scope=import_scope)
                full_shape, var_offset, var_shape = list(d.full_shape), list(d.var_offset), list(d.var_shape)
            self.full_name, self.full_shape, self.var_offset, self.var_shape = full_name, full_shape, var_offset, var_shape

        @property
        def spec(self):
            """As SaveV2 wants it: "10 4 0,5:0,4"."""
            slices = ":".join(f"{o},{s}" for o, s in zip(self.var_offset, self.var_shape))
            return " ".join(str(d) for d in self.full_shape) + " " + slices

        def to_proto(self, export_scope=None):
            from millstream.proto import variable_pb2
            if export_scope is not None and not self.full_name.startswith(export_scope):
                return None
            return variable_pb2.SaveSliceInfoDef(full_name=ops.strip_name_scope(self.full_name, export_scope),
                                                 full_shape=[int(d) for d in self.full_shape],
                                                 var_offset=[int(d) for d in self.var_offset],
                                                 var_shape=[int(d) for d in self.var_shape])

    def _build(self, make, initial_value, variable_def, import_scope, dtype, name, trainable, constraint, synchronization,
               aggregation, collections):
        """What both kinds of variables do when they are made; `make(graph, scope, from_function, dtype)` adds their nodes."""
        graph = ops.get_default_graph()
        if variable_def is not None:
            if initial_value is not None:
                raise ValueError("variable_def and initial_value are mutually exclusive.")
            self._from_proto(variable_def, import_scope, graph)
            return
        dtype = check_initial(initial_value, dtype)
        from_function = callable(initial_value)
        if constraint is not None and not callable(constraint):
            raise ValueError("The `constraint` argument must be a callable.")
        self._set_common(graph, True if trainable is None else bool(trainable), constraint, synchronization, aggregation,
                         from_function)
        with ops.init_scope():
            with ops.name_scope(name, "Variable", [] if from_function else [initial_value]) as scope:
                make(graph, scope, from_function, dtype)
        self._add_to_collections(collections)

    def _set_common(self, graph, trainable, constraint, synchronization, aggregation, from_function):
        self._graph_object = graph
        self._trainable = trainable
        self._constraint = constraint
        self._synchronization = synchronization or VariableSynchronization.AUTO
        self._aggregation = aggregation or VariableAggregation.NONE
        self._initial_value_from_function = from_function

    def _add_to_collections(self, collections):
        if collections is None:
            collections = [ops.GraphKeys.GLOBAL_VARIABLES]
        if not isinstance(collections, (list, tuple, set)):
            raise ValueError(f"collections argument to Variable constructor must be a list, tuple, or set. Got {collections}.")
        if self._trainable and ops.GraphKeys.TRAINABLE_VARIABLES not in collections:
            collections = list(collections) + [ops.GraphKeys.TRAINABLE_VARIABLES]
        ops.add_to_collections(collections, self)

    @property
    def graph(self) -> Any:
        """The graph of the variable."""
        return self._graph_object

    @property
    def trainable(self) -> Any:
        """Whether optimizers change the variable by default."""
        return self._trainable

    @property
    def constraint(self) -> Any:
        return self._constraint

    @property
    def synchronization(self) -> Any:
        return self._synchronization

    @property
    def aggregation(self) -> Any:
        return self._aggregation

    @property
    def initializer(self) -> Any:
        """The operation that sets the initial value."""
        return self._initializer_op

    @property
    def initial_value(self) -> Any:
        """The tensor that the initializer assigns."""
        return self._initial_value

    @property
    def shape(self) -> Any:
        """The static shape."""
        raise NotImplementedError

    def get_shape(self) -> Any:
        """As the property `shape`."""
        return self.shape

    def set_shape(self, shape: Any) -> Any:
        raise NotImplementedError

    @property
    def _shared_name(self):
        return self.name[:self.name.index(":")]

    @property
    def _in_graph_mode(self):
        return True

    def eval(self, session=None):
        """The value, read by `session` or the default session."""
        return self._as_graph_element().eval(session=session)

    def load(self, value: Any, session: Any = None) -> None:
        """Sets the value in a session, without a new node."""
        session = session or ops.get_default_session()
        if session is None:
            raise ValueError("Either session argument should be provided or default session should be established")
        session.run(self.initializer, {self.initializer.inputs[1]: value})

    def initialized_value(self):
        """The value if it has been initialized, else the initial value."""
        from millstream.ops.flow import control_flow_ops
        from millstream.ops.variables import state_ops
        with ops.init_scope():
            return control_flow_ops.cond(state_ops.is_variable_initialized(self), self.read_value,
                                         lambda: self.initial_value)

    def count_up_to(self, limit: Any) -> Any:
        from millstream.ops.variables import state_ops
        return state_ops.count_up_to(self, limit)

    def _get_save_slice_info(self):
        return self._save_slice_info

    def _set_save_slice_info(self, info):
        self._save_slice_info = info

    def __iter__(self):
        raise TypeError("'Variable' object is not iterable.")

    def __hash__(self):
        return id(self)

    def __eq__(self, other):
        return self is other

    def __ne__(self, other):
        return self is not other

    def ref(self) -> Any:
        return _Reference(self)

    experimental_ref = ref

    @staticmethod
    def from_proto(variable_def: Any, import_scope: Any = None) -> Any:
        if variable_def.is_resource:
            from millstream.ops.variables import resource_variable_ops
            return resource_variable_ops.ResourceVariable(variable_def=variable_def, import_scope=import_scope)
        from millstream.ops.variables import ref_variable
        return ref_variable.RefVariable(variable_def=variable_def, import_scope=import_scope)

    def to_proto(self, export_scope=None):
        from millstream.proto import variable_pb2
        if export_scope is not None and not self.name.startswith(export_scope):
            return None
        strip = lambda t: ops.strip_name_scope(t.name, export_scope)
        proto = variable_pb2.VariableDef(variable_name=ops.strip_name_scope(self._proto_name(), export_scope),
                                         initializer_name=strip(self.initializer), trainable=bool(self.trainable),
                                         snapshot_name=strip(self._snapshot_tensor()), is_resource=self._is_resource,
                                         synchronization=self._synchronization.value, aggregation=self._aggregation.value)
        if self._initial_value is not None:
            proto.initial_value_name = strip(self._initial_value)
        if self._save_slice_info is not None:
            info = self._save_slice_info.to_proto(export_scope)
            if info is not None:
                proto.save_slice_info_def.MergeFrom(info)
        return proto

    def _set_from_proto(self, proto, import_scope, graph):
        find = lambda name: graph.as_graph_element(ops.prepend_name_scope(name, import_scope))
        self._initializer_op = find(proto.initializer_name)
        self._initial_value = find(proto.initial_value_name) if proto.initial_value_name else None
        self._set_common(graph, getattr(proto, "trainable", True), None, VariableSynchronization(proto.synchronization),
                         VariableAggregation(proto.aggregation), False)
        if proto.HasField("save_slice_info_def"):
            self._save_slice_info = Variable.SaveSliceInfo(save_slice_info_def=proto.save_slice_info_def,
                                                           import_scope=import_scope)


class _Reference:
    """A hashable stand-in for a variable."""

    def __init__(self, item):
        self._item = item

    def deref(self):
        return self._item

    def __eq__(self, other):
        return isinstance(other, _Reference) and self._item is other._item

    def __hash__(self):
        return id(self._item)


for _name, _method in operators.operator_methods().items():
    setattr(Variable, _name, _method)

VariableV1 = Variable


def initial_tensor(initial_value, name, dtype):
    """The tensor of an initial value that is not a function."""
    if isinstance(initial_value, Variable):
        initial_value = initial_value.initialized_value()
    return ops.convert_to_tensor(initial_value, name=name, dtype=dtype)


def check_initial(initial_value, dtype):
    if initial_value is None:
        raise ValueError("initial_value must be specified.")
    if dtype is not None:
        return dtypes.as_dtype(dtype)
    return None


def is_fully_defined(shape):
    return tensor_shape.TensorShape(shape).is_fully_defined()


def raise_if_in_control_flow(name, tensor, graph):
    """An initial value made inside a loop cannot be used outside of it."""
    if graph._core.id_limit() <= tensor.op._id:
        raise errors.InternalError(None, None, f"Initial value of {name} is not in the graph")
