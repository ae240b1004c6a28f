# SPDX-License-Identifier: Apache-2.0
"""RefVariable: a VariableV2 node, as TF1 has them by default."""
from millstream import gen_ops
from millstream.framework import dtypes, ops, tensor_shape
from millstream.ops.variables import state_ops
from millstream.ops.variables import variables
from millstream.ops.variables.variable_guard import guarded_initial_value


class RefVariable(variables.Variable):
    _is_resource = False

    def __init__(self, initial_value=None, trainable=None, collections=None, validate_shape=True, caching_device=None,
                 name=None, variable_def=None, dtype=None, expected_shape=None, import_scope=None, constraint=None,
                 synchronization=None, aggregation=None, shape=None):
        def make(graph, scope, from_function, dtype):
            value = self._make(graph, scope, initial_value, from_function, dtype, validate_shape, shape or expected_shape)
            self._finish(scope, value, validate_shape, caching_device)

        self._build(make, initial_value, variable_def, import_scope, dtype, name, trainable, constraint, synchronization,
                    aggregation, collections)

    def _make(self, graph, scope, initial_value, from_function, dtype, validate_shape, shape):
        if from_function:
            true_name = ops.name_from_scope_name(scope)
            with graph._attr_scope({"_class": ["loc:@" + true_name]}):
                with ops.name_scope("Initializer"), ops.device(None):
                    value = variables.initial_tensor(initial_value(), "initial_value", dtype)
                self._variable = self._node(value, validate_shape, shape, scope)
        else:
            value = variables.initial_tensor(initial_value, "initial_value", dtype)
            self._variable = self._node(value, validate_shape, shape, scope)
        return value

    @staticmethod
    def _node(value, validate_shape, shape, scope):
        if validate_shape:
            shape = value.get_shape()
            if not shape.is_fully_defined():
                raise ValueError(f"initial_value must have a shape specified: {value}")
        return state_ops.variable_op_v2(tensor_shape.TensorShape(shape), value.dtype.base_dtype, name=scope)

    def _finish(self, scope, value, validate_shape, caching_device):
        self._initial_value = value
        safe = guarded_initial_value(ops.name_from_scope_name(scope), value)
        self._initializer_op = gen_ops.assign(self._variable, safe, validate_shape=validate_shape, name="Assign").op
        self._caching_device = caching_device
        if caching_device is not None:
            with ops.device(caching_device if not callable(caching_device) else caching_device(self._variable.op)):
                self._snapshot = gen_ops.identity(self._variable, name="read")
        else:
            with ops.colocate_with(self._variable.op):
                self._snapshot = gen_ops.identity(self._variable, name="read")

    def _from_proto(self, proto, import_scope, graph):
        self._variable = graph.as_graph_element(ops.prepend_name_scope(proto.variable_name, import_scope))
        self._snapshot = graph.as_graph_element(ops.prepend_name_scope(proto.snapshot_name, import_scope))
        self._caching_device = None
        self._set_from_proto(proto, import_scope, graph)

    def __repr__(self):
        return f"<tf.Variable '{self.name}' shape={self.shape} dtype={self.dtype.name}>"

    __str__ = __repr__

    def _proto_name(self):
        return self._variable.name

    def _snapshot_tensor(self):
        return self._snapshot

    @property
    def name(self):
        return self._variable.name

    @property
    def op(self):
        return self._variable.op

    @property
    def device(self):
        return self._variable.device

    @property
    def dtype(self):
        return self._variable.dtype

    @property
    def shape(self):
        return self._variable.get_shape()

    def set_shape(self, shape):
        self._variable.set_shape(shape)
        self._snapshot.set_shape(shape)

    def value(self):
        return self._snapshot

    def _ref(self):
        return self._variable

    def read_value(self):
        return gen_ops.identity(self._variable, name="read")

    def is_initialized(self, name=None):
        return gen_ops.is_variable_initialized(self._variable, name=name)

    def _as_graph_element(self):
        return self._variable

    def _convert(self, dtype=None, as_ref=False):
        if dtype is not None and not dtypes.as_dtype(dtype).is_compatible_with(self.dtype):
            raise ValueError(f"Incompatible type conversion requested to type '{dtypes.as_dtype(dtype).name}' for variable of "
                             f"type '{self.dtype.name}'")
        return self._variable if as_ref else self._snapshot

    def assign(self, value, use_locking=False, name=None, read_value=True):
        result = state_ops.assign(self._variable, value, use_locking=use_locking, name=name)
        return result if read_value else result.op

    def assign_add(self, delta, use_locking=False, name=None, read_value=True):
        result = state_ops.assign_add(self._variable, delta, use_locking=use_locking, name=name)
        return result if read_value else result.op

    def assign_sub(self, delta, use_locking=False, name=None, read_value=True):
        result = state_ops.assign_sub(self._variable, delta, use_locking=use_locking, name=name)
        return result if read_value else result.op

    def sparse_read(self, indices, name=None):
        return gen_ops.gather_v2(self, indices, 0, name=name)

    def __iadd__(self, other):
        return self + other

    def _strided_slice_assign(self, begin, end, strides, value, name, begin_mask, end_mask, ellipsis_mask, new_axis_mask,
                              shrink_axis_mask):
        return gen_ops.strided_slice_assign(ref=self._ref(), begin=begin, end=end, strides=strides, value=value, name=name,
                                            begin_mask=begin_mask, end_mask=end_mask, ellipsis_mask=ellipsis_mask,
                                            new_axis_mask=new_axis_mask, shrink_axis_mask=shrink_axis_mask)


def _add_scatter_methods():
    for kind in ("sub", "add", "update", "min", "max", "mul", "div"):
        def method(self, sparse_delta, use_locking=False, name=None, _kind=kind):
            if not isinstance(sparse_delta, ops.IndexedSlices):
                raise TypeError(f"sparse_delta is not IndexedSlices: {sparse_delta}")
            return getattr(gen_ops, f"scatter_{_kind}")(self._variable, sparse_delta.indices, sparse_delta.values,
                                                        use_locking=use_locking, name=name)
        method.__name__ = f"scatter_{kind}"
        setattr(RefVariable, f"scatter_{kind}", method)
    for kind in ("sub", "add", "update"):
        def method_nd(self, indices, updates, name=None, _kind=kind):
            return getattr(gen_ops, f"scatter_nd_{_kind}")(self._variable, indices, updates, use_locking=True, name=name)
        setattr(RefVariable, f"scatter_nd_{kind}", method_nd)


_add_scatter_methods()


def _to_tensor(value, dtype=None, name=None, as_ref=False):
    del name
    return value._convert(dtype, as_ref)


ops.register_tensor_conversion_function(RefVariable, _to_tensor)
