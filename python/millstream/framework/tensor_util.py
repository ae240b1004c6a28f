# SPDX-License-Identifier: Apache-2.0
"""Values of the program as NumPy arrays with TensorFlow's types, TensorProtos, and values that are known in a graph."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from millstream.framework import dtypes
from millstream.framework.tensor import Tensor
from millstream.framework.tensor_shape import Dimension, TensorShape

if TYPE_CHECKING:
    from typing import Any

    from millstream.framework.type_aliases import TensorLike

_KINDS = {  # what a Python value may be for a dtype
    "float": (float, int, np.floating, np.integer, np.bool_), "int": (int, np.integer, np.bool_),
    "string": (str, bytes, bytearray, np.str_, np.bytes_), "bool": (bool, np.bool_),
    "complex": (complex, float, int, np.number, np.bool_),
}


def _kind_of(dtype):
    if dtype.is_floating:
        return "float"
    if dtype.is_integer or dtype.is_quantized:
        return "int"
    if dtype.is_complex:
        return "complex"
    return {"string": "string", "bool": "bool"}.get(dtype.name)


def _first_misfit(values, kinds):
    """A tuple of the first value in nested lists that is of no such kind; None if all are. Arrays look after themselves."""
    if isinstance(values, (list, tuple)):
        for value in values:
            found = _first_misfit(value, kinds)
            if found is not None:
                return found
        return None
    if isinstance(values, kinds):
        return None
    if isinstance(values, (np.ndarray, Dimension)) or (
            hasattr(values, "__array__") and not isinstance(values, (np.generic, Tensor))):
        return None
    return (values,)


def _check_compatible(values, dtype):
    kind = _kind_of(dtype)
    found = None if kind is None else _first_misfit(values, _KINDS[kind])
    if found is None:
        return
    value = found[0]
    if value is None:
        raise ValueError("None values not supported.")
    if isinstance(value, Tensor):
        raise TypeError("Expected any non-tensor type, but got a tensor instead.")
    raise TypeError(f"Expected {dtype.name}, but got {value} of type '{type(value).__name__}'.")


def _unsupported(values):
    return TypeError(f"Failed to convert elements of {values!r} to Tensor. Consider casting elements to a supported type.")


def to_array(values, dtype=None):
    """`values` as an array of `dtype`, or of the type that TensorFlow gives them: Python floats are float32, ints int32."""
    dtype = None if dtype is None else dtypes.as_dtype(dtype).base_dtype
    if isinstance(values, (np.ndarray, np.generic)):
        array = np.asarray(values)
        if dtype is not None and dtype != dtypes.string:
            array = array.astype(dtype.as_numpy_dtype, copy=False)
        return _checked(array, values)
    if values is None:
        raise ValueError("None values not supported.")
    if dtype is None:
        return _untyped(values)
    _check_compatible(values, dtype)
    if dtype == dtypes.string:
        return np.array(values, dtype=object)
    try:
        return np.array(values, dtype=dtype.as_numpy_dtype)
    except OverflowError:  # wraps around, as TensorFlow has it
        return np.array(values).astype(dtype.as_numpy_dtype)


def _untyped(values):
    if isinstance(values, Tensor) or _holds_tensor(values):
        raise TypeError("Expected any non-tensor type, but got a tensor instead.")
    array = np.array(values)
    if array.dtype == np.float64:
        with np.errstate(over="ignore"):
            return array.astype(np.float32)
    if array.dtype == np.int64:
        small = array.astype(np.int32)
        return small if np.array_equal(small, array) else array
    if array.dtype.kind in "SU":  # NumPy drops zero bytes at the end of its own strings
        array = np.array(values, dtype=object)
    return _checked(array, values)


def _holds_tensor(values):
    return isinstance(values, Tensor) or (isinstance(values, (list, tuple)) and any(map(_holds_tensor, values)))


def _checked(array, values):
    if array.dtype == object and not all(isinstance(v, (bytes, str)) for v in array.flat):
        raise _unsupported(values)
    return array


def make_tensor_proto(values, dtype=None, shape=None, verify_shape=False, allow_broadcast=False):
    from millstream.proto import tensor_pb2
    if isinstance(values, tensor_pb2.TensorProto):
        return values
    array = to_array(values, dtype)
    if shape is not None:
        shape = [int(d) for d in TensorShape(shape).as_list()]
        if verify_shape and tuple(shape) != array.shape:
            raise TypeError(f"Expected Tensor's shape: {tuple(shape)}, got {array.shape}.")
    proto = tensor_pb2.TensorProto()
    proto.dtype = int(dtypes.as_dtype(array.dtype) if dtype is None else dtypes.as_dtype(dtype).base_dtype)
    proto.tensor_shape.CopyFrom(TensorShape(array.shape if shape is None else shape).as_proto())
    if array.dtype.kind in "OSU":
        proto.string_val.extend(_as_bytes(v) for v in array.ravel())
    else:
        proto.tensor_content = np.ascontiguousarray(array).tobytes()
        if shape is not None and array.size < int(np.prod(shape)):
            filled = np.full(int(np.prod(shape)), array.ravel()[-1], array.dtype)
            filled[:array.size] = array.ravel()
            proto.tensor_content = filled.tobytes()
    return proto


def _as_bytes(value):
    return value.encode() if isinstance(value, str) else bytes(value)


_VALUE_FIELDS = {1: "float_val", 2: "double_val", 3: "int_val", 4: "int_val", 5: "int_val", 6: "int_val", 9: "int64_val",
                 10: "bool_val", 17: "int_val", 22: "uint32_val", 23: "uint64_val", 11: "int_val", 12: "int_val",
                 13: "int_val", 15: "int_val", 16: "int_val", 29: "int_val", 30: "int_val", 31: "int_val", 32: "int_val"}


def MakeNdarray(tensor: Any) -> Any:
    """The array that a TensorProto holds."""
    shape = [d.size for d in tensor.tensor_shape.dim]
    count = int(np.prod(shape, dtype=np.int64))
    dtype = dtypes.as_dtype(tensor.dtype)
    if tensor.tensor_content:
        return np.frombuffer(tensor.tensor_content, dtype.as_numpy_dtype).copy().reshape(shape)
    if dtype == dtypes.string:
        values = np.array(list(tensor.string_val), dtype=object)
    elif dtype in (dtypes.float16, dtypes.bfloat16):
        values = np.array(list(tensor.half_val), np.uint16).view(dtype.as_numpy_dtype)
    elif tensor.dtype not in _VALUE_FIELDS and dtype.is_floating:
        values = np.frombuffer(tensor.float8_val, np.uint8).view(dtype.as_numpy_dtype)
    elif dtype.is_complex:
        parts = tensor.scomplex_val if dtype == dtypes.complex64 else tensor.dcomplex_val
        values = np.array(parts[0::2]) + 1j * np.array(parts[1::2])
        values = values.astype(dtype.as_numpy_dtype)
    else:
        values = np.array(getattr(tensor, _VALUE_FIELDS[tensor.dtype]), dtype.as_numpy_dtype)
    if len(values) == count:
        return values.reshape(shape)
    if len(values) == 0:
        return np.zeros(shape, dtype.as_numpy_dtype)
    full = np.full(count, values[-1], values.dtype)
    full[:len(values)] = values
    return full.reshape(shape)


def constant_value(tensor: TensorLike, partial: bool = False) -> Any:
    """The value of a tensor as an array if it is known before running, else None."""
    if not isinstance(tensor, Tensor):
        if hasattr(tensor, "_as_graph_element"):
            return None
        return np.asarray(tensor)
    value = tensor.graph._core.constant_value(tensor.op._id, tensor.value_index)
    return value


def constant_value_as_shape(tensor):
    """The value of a tensor of sizes as a TensorShape, unknown where it is not known."""
    if not isinstance(tensor, Tensor):
        return TensorShape([None if d == -1 else int(d) for d in np.asarray(tensor)])
    return TensorShape._of_core(tensor.graph._core.constant_value_as_shape(tensor.op._id, tensor.value_index))


def is_tensor(x: TensorLike) -> Any:
    from millstream.framework import sparse_tensor, indexed_slices
    return isinstance(x, (Tensor, sparse_tensor.SparseTensor, indexed_slices.IndexedSlices)) or hasattr(x, "_as_graph_element")


is_tf_type = is_tensor
