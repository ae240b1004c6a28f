# SPDX-License-Identifier: Apache-2.0
"""Arguments that have had other names, and small questions about values that many functions ask."""
import numpy as np

from millstream.framework import dtypes, ops, tensor_util
from millstream.framework.tensor import Tensor


def renamed(new_name, new, old_name, old):
    """The value of an argument that may be given by its old name."""
    if old is not None:
        if new is not None:
            raise ValueError(f"Cannot specify both '{old_name}' and '{new_name}'.")
        return old
    return new


def static(value):
    """`value` as an array if it is known while the graph is built, else None."""
    if isinstance(value, (list, tuple)):
        if any(ops.is_dense_tensor_like(v) for v in value):
            return None
        return np.asarray(value)
    return tensor_util.constant_value(value) if isinstance(value,
                                                           Tensor) or ops.is_dense_tensor_like(value) else np.asarray(value)


def static_size(dimension):
    """A Dimension, number or None as a number or None."""
    return getattr(dimension, "value", dimension)


def is_sparse_like(x):
    from millstream.framework import sparse_tensor
    return isinstance(x, (sparse_tensor.SparseTensor, sparse_tensor.SparseTensorValue))


def int_constant(value, name=None):
    return ops.convert_to_tensor(value, dtype=dtypes.int32, name=name)


def smart_bool(value):
    """True, False, or None if it is not known while the graph is built."""
    if isinstance(value, (bool, np.bool_)) or value in (0, 1) and isinstance(value, int):
        return bool(value)
    if ops.is_dense_tensor_like(value):
        known = tensor_util.constant_value(value) if isinstance(value, Tensor) else None
        return None if known is None else bool(known)
    raise TypeError(f"`pred` must be a Tensor, or a Python bool, or 1 or 0. Found instead: {type(value)}")


def unsupported(function, **arguments):
    """Refuses arguments that are set (to anything but None and False) and that `function` would have to ignore."""
    for name, value in arguments.items():
        if value is not None and value is not False:
            raise NotImplementedError(f"{function}({name}={value!r}) is not supported.")


def check_callable(value, name):
    if not callable(value):
        raise TypeError(f"{name} must be callable.")
