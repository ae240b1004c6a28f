# SPDX-License-Identifier: Apache-2.0
"""Variables that belong to another one: named below it, and kept on its device."""
import contextlib

from millstream import gen_ops
from millstream.framework import ops
from millstream.ops.variables import init_ops, resource_variable_ops, variable_scope, variables


def _slot_variable(primary, value, validate_shape, shape, dtype):
    scope = variable_scope.get_variable_scope()
    old_partitioner, use_resource = scope.partitioner, None
    scope.set_partitioner(None)
    if resource_variable_ops.is_resource_variable(primary):
        use_resource = True
    elif isinstance(primary, variables.Variable):
        use_resource = False
    try:
        slot = variable_scope.get_variable("", initializer=value, trainable=False, use_resource=use_resource, shape=shape,
                                           dtype=dtype, validate_shape=validate_shape)
    finally:
        scope.set_partitioner(old_partitioner)
    info = getattr(primary, "_save_slice_info", None)
    if info is not None:
        own_name = slot.name[len(primary.op.name + "/"):].split(":")[0]
        slot._set_save_slice_info(variables.Variable.SaveSliceInfo(
            f"{info.full_name}/{own_name}", list(info.full_shape), list(info.var_offset), list(info.var_shape)))
    return slot


def _named(primary, name, colocate, make):
    with variable_scope.variable_scope(None, primary.op.name + "/" + name):
        with ops.colocate_with(primary.op) if colocate else contextlib.nullcontext():
            return make()


def create_slot(primary, val, name, colocate_with_primary=True):
    """A variable with the initial value `val`."""
    defined = val.get_shape().is_fully_defined()
    return _named(primary, name, colocate_with_primary, lambda: _slot_variable(primary, val, defined, None, None))


def create_slot_with_initializer(primary, initializer, shape, dtype, name, colocate_with_primary=True):
    return _named(primary, name, colocate_with_primary,
                  lambda: _slot_variable(primary, initializer, shape.is_fully_defined(), shape, dtype))


def create_zeros_slot(primary, name, dtype=None, colocate_with_primary=True):
    dtype = primary.dtype.base_dtype if dtype is None else dtype
    shape = primary.get_shape()
    if shape.is_fully_defined():
        return create_slot_with_initializer(primary, init_ops.Zeros(), shape, dtype, name, colocate_with_primary)
    value = primary.initialized_value() if isinstance(primary, variables.Variable) else primary
    zeros = gen_ops.fill(gen_ops.shape(value), ops.convert_to_tensor(0, dtype))
    return create_slot(primary, zeros, name, colocate_with_primary)
