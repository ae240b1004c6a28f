# SPDX-License-Identifier: Apache-2.0
"""Types, values and nodes of recorded graphs."""
import zlib

from tensorflow1 import tf

import numpy as np
from tensorflow.core.framework import types_pb2
from tensorflow.python.framework import kernels, op_def_library, op_def_registry

# Order of sweeps; the first type of a sweep also carries the checks of static shapes.
ALL_TYPES = [types_pb2.DT_FLOAT, types_pb2.DT_DOUBLE, types_pb2.DT_HALF, types_pb2.DT_BFLOAT16, types_pb2.DT_INT8,
             types_pb2.DT_INT16, types_pb2.DT_INT32, types_pb2.DT_INT64, types_pb2.DT_UINT8, types_pb2.DT_UINT16,
             types_pb2.DT_UINT32, types_pb2.DT_UINT64, types_pb2.DT_COMPLEX64, types_pb2.DT_COMPLEX128,
             types_pb2.DT_BOOL, types_pb2.DT_STRING]


def rng(*key):
  return np.random.RandomState(zlib.crc32(repr(key).encode()))


def type_name(dtype):
  return types_pb2.DataType.Name(tf.as_dtype(dtype).as_datatype_enum)[3:].lower()


def cpu_types(op, attr='T'):
  """The types for which TensorFlow has a CPU kernel and numpy has values."""
  found = set()
  for kernel in kernels.get_registered_kernels_for_op(op).kernel:
    if kernel.device_type not in ('CPU', 'DEFAULT') or kernel.label:
      continue
    for constraint in kernel.constraint:
      if constraint.name == attr:
        found.update(constraint.allowed_values.list.type)
  allowed = next((a for a in op_def_registry.get(op).attr if a.name == attr), None)
  if not found:
    found = set(ALL_TYPES)
  if allowed is not None and allowed.HasField('allowed_values'):
    found &= set(allowed.allowed_values.list.type)
  return [tf.as_dtype(t) for t in ALL_TYPES if t in found]


def convert(value, dtype):
  """`value` as an array of `dtype`, in a way that keeps it interesting for that type."""
  value = np.asarray(value)
  dtype = tf.as_dtype(dtype)
  if value.dtype == object or value.dtype.kind in 'SU':
    return value.astype(object)
  if dtype == tf.string:
    return np.array(['s%g' % v for v in value.ravel()], dtype=object).reshape(value.shape)
  if dtype == tf.bool:
    return value > 0
  if dtype.is_complex and value.dtype.kind != 'c':
    value = value + 0.5j * np.roll(value, 1)
  if value.dtype.kind == 'f' and dtype.is_integer:
    value = np.round(value)
  if dtype.is_unsigned:
    value = np.abs(value)
  return value.astype(dtype.as_numpy_dtype)


def differentiable(tensor):
  return tensor.dtype.is_floating or tensor.dtype.is_complex


def _python_value(value):
  kind = value.WhichOneof('value')
  if kind == 'list':
    return [v for field in ('s', 'i', 'f', 'b', 'type', 'shape', 'func') for v in getattr(value.list, field)]
  return tf.TensorShape(value.shape) if kind == 'shape' else getattr(value, kind)


class _Applied:
  """A new node and its outputs."""

  def __init__(self, op):
    self.op = op
    self.outputs = op.outputs

  def __getitem__(self, i):
    return self.outputs[i]


def apply(op, name=None, **kwargs):
  """Adds a node of any op; absent attributes get their defaults."""
  op_def = op_def_registry.get(op)
  inferred = {a for arg in op_def.input_arg for a in (arg.type_attr, arg.number_attr, arg.type_list_attr)}
  for attr in op_def.attr:
    if attr.HasField('default_value') and attr.name not in kwargs and attr.name not in inferred:
      kwargs[attr.name] = _python_value(attr.default_value)
  return _Applied(op_def_library._apply_op_helper(op, name=name, **kwargs)[2])
