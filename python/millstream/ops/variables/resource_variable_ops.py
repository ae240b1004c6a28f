# SPDX-License-Identifier: Apache-2.0
"""ResourceVariable: a variable behind a handle, read by explicit nodes."""
from millstream import gen_ops
from millstream.framework import dtypes, ops, tensor_shape
from millstream.ops.variables import variables
from millstream.ops.variables.variable_guard import guarded_initial_value


class ResourceVariable(variables.Variable):
    _is_resource = True

    def __init__(self, initial_value=None, trainable=None, collections=None, validate_shape=True, caching_device=None,
                 name=None, variable_def=None, dtype=None, expected_shape=None, import_scope=None, constraint=None,
                 synchronization=None, aggregation=None, shape=None, distribute_strategy=None):
        del expected_shape, distribute_strategy

        def make(graph, scope, from_function, dtype):
            self._make(graph, scope, initial_value, from_function, dtype, validate_shape, shape, caching_device)

        self._build(make, initial_value, variable_def, import_scope, dtype, name, trainable, constraint, synchronization,
                    aggregation, collections)

    def _make(self, graph, scope, initial_value, from_function, dtype, validate_shape, shape, caching_device):
        handle_name = ops.name_from_scope_name(scope)
        with graph._attr_scope({"_class": ["loc:@" + handle_name]}):
            with ops.name_scope("Initializer"), ops.device(None):
                value = variables.initial_tensor(initial_value() if from_function else initial_value, "initial_value", dtype)
            if shape is None:
                shape = value.shape if validate_shape else tensor_shape.TensorShape(None)
            self._shape = tensor_shape.TensorShape(shape)
            self._dtype = value.dtype.base_dtype
            self._handle = gen_ops.var_handle_op(dtype=self._dtype, shape=self._shape, container=graph._container,
                                                 shared_name=handle_name, name=scope)
        self._handle_name = handle_name + ":0"
        self._initial_value = value
        with ops.name_scope("IsInitialized"):
            self._is_initialized_op = gen_ops.var_is_initialized_op(self._handle)
        with ops.name_scope("Assign") as assign_scope, ops.colocate_with(None, ignore_existing=True), \
                ops.device(self._handle.device):
            safe = guarded_initial_value(handle_name, value)
            self._initializer_op = gen_ops.assign_variable_op(self._handle, safe, name=assign_scope)
        self._caching_device = caching_device
        with ops.name_scope("Read"):
            with ops.device(self._handle.device):
                read = self._read()
            self._graph_element = read
            if caching_device is not None:
                with ops.device(caching_device):
                    self._cached_value = gen_ops.identity(read)

    def _from_proto(self, proto, import_scope, graph):
        find = lambda name: graph.as_graph_element(ops.prepend_name_scope(name, import_scope))
        self._handle = find(proto.variable_name)
        if isinstance(self._handle, ops.Operation):
            self._handle = self._handle.outputs[0]
        self._handle_name = self._handle.op.name + ":0"
        self._shape = tensor_shape.TensorShape(self._handle.op.get_attr("shape"))
        self._dtype = dtypes.as_dtype(self._handle.op.get_attr("dtype"))
        self._set_from_proto(proto, import_scope, graph)
        self._caching_device = None
        self._is_initialized_op = None
        snapshot = find(proto.snapshot_name) if proto.snapshot_name else None
        if isinstance(snapshot, ops.Operation):
            snapshot = snapshot.outputs[0]
        self._graph_element = snapshot if snapshot is not None and snapshot is not self._handle else self._read()

    def __repr__(self):
        return f"<tf.Variable '{self.name}' shape={self.shape} dtype={self.dtype.name}>"

    __str__ = __repr__

    def _proto_name(self):
        return self._handle.name

    def _snapshot_tensor(self):
        return self._graph_element

    @property
    def handle(self):
        return self._handle

    @property
    def name(self):
        return self._handle_name

    @property
    def op(self):
        return self._handle.op

    @property
    def device(self):
        return self._handle.device

    @property
    def dtype(self):
        return self._dtype

    @property
    def shape(self):
        return self._shape

    @property
    def create(self):
        return self._initializer_op

    def set_shape(self, shape):
        self._shape = self._shape.merge_with(shape)

    def _read(self):
        value = gen_ops.read_variable_op(self._handle, dtype=self._dtype)
        value.set_shape(self._shape)
        return value

    def value(self):
        if self._cached_value is not None:
            return self._cached_value
        with ops.colocate_with(None, ignore_existing=True), ops.device(self._handle.device):
            return self._read()

    def _ref(self):
        return self._graph_element

    def read_value(self):
        with ops.name_scope("Read"):
            value = self._read()
        return gen_ops.identity(value)

    def is_initialized(self, name=None):
        return gen_ops.var_is_initialized_op(self._handle, name=name)

    def _as_graph_element(self):
        return self._graph_element

    def _convert(self, dtype=None, as_ref=False):
        if dtype is not None and not dtypes.as_dtype(dtype).is_compatible_with(self.dtype):
            raise ValueError(f"Incompatible type conversion requested to type '{dtypes.as_dtype(dtype).name}' for variable of "
                             f"type '{self.dtype.name}'")
        return self.value()

    def _lazy_read(self, op):
        """The value after `op`, as a tensor."""
        with ops.control_dependencies([op]):
            return self._read()

    def _change(self, gen, value, name, read_value):
        op = gen(self._handle, ops.convert_to_tensor(value, dtype=self._dtype), name=name)
        return self._lazy_read(op) if read_value else op

    def assign(self, value, use_locking=None, name=None, read_value=True):
        value = ops.convert_to_tensor(value, dtype=self._dtype)
        if not self._shape.is_compatible_with(value.shape):
            raise ValueError(f"Cannot assign to variable {self.name} due to variable shape {self._shape} and value shape "
                             f"{value.shape} are incompatible")
        return self._change(gen_ops.assign_variable_op, value, name, read_value)

    def assign_add(self, delta, use_locking=None, name=None, read_value=True):
        return self._change(gen_ops.assign_add_variable_op, delta, name, read_value)

    def assign_sub(self, delta, use_locking=None, name=None, read_value=True):
        return self._change(gen_ops.assign_sub_variable_op, delta, name, read_value)

    def sparse_read(self, indices, name=None):
        with ops.name_scope("Gather" if name is None else name) as scope:
            value = gen_ops.resource_gather(self._handle, indices, dtype=self._dtype, name=scope)
        return gen_ops.identity(value)

    def _strided_slice_assign(self, begin, end, strides, value, name, begin_mask, end_mask, ellipsis_mask, new_axis_mask,
                              shrink_axis_mask):
        return self._lazy_read(gen_ops.resource_strided_slice_assign(
            ref=self._handle, begin=begin, end=end, strides=strides, value=ops.convert_to_tensor(value, dtype=self._dtype),
            name=name, begin_mask=begin_mask, end_mask=end_mask, ellipsis_mask=ellipsis_mask, new_axis_mask=new_axis_mask,
            shrink_axis_mask=shrink_axis_mask))


def _add_scatter_methods():
    for kind in ("sub", "add", "update", "min", "max", "mul", "div"):
        def method(self, sparse_delta, use_locking=False, name=None, _kind=kind):
            if not isinstance(sparse_delta, ops.IndexedSlices):
                raise TypeError(f"sparse_delta is not IndexedSlices: {sparse_delta}")
            return self._lazy_read(getattr(gen_ops, f"resource_scatter_{_kind}")(
                self._handle, sparse_delta.indices, ops.convert_to_tensor(sparse_delta.values, self._dtype), name=name))
        setattr(ResourceVariable, f"scatter_{kind}", method)
    for kind in ("sub", "add", "update"):
        def method_nd(self, indices, updates, name=None, _kind=kind):
            return self._lazy_read(getattr(gen_ops, f"resource_scatter_nd_{_kind}")(
                self._handle, indices, ops.convert_to_tensor(updates, self._dtype), name=name))
        setattr(ResourceVariable, f"scatter_nd_{kind}", method_nd)


_add_scatter_methods()
BaseResourceVariable = ResourceVariable


def _to_tensor(value, dtype=None, name=None, as_ref=False):
    del name
    return value._convert(dtype, as_ref)


ops.register_tensor_conversion_function(ResourceVariable, _to_tensor)


def is_resource_variable(var):
    return isinstance(var, ResourceVariable) or hasattr(var, "_should_act_as_resource_variable")
