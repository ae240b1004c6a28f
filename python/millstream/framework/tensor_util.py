# SPDX-License-Identifier: Apache-2.0
"""Values of the program as NumPy arrays with TensorFlow's types, TensorProtos, and values that are known in a graph."""
import numbers

import numpy as np

from millstream.framework import dtypes
from millstream.framework.tensor import Tensor
from millstream.framework.tensor_shape import TensorShape

_KINDS = {  # what a Python value of a list may be for a dtype
    "float": (float, int, np.floating, np.integer), "int": (int, np.integer), "string": (str, bytes, bytearray, np.str_, np.bytes_),
    "bool": (bool, np.bool_), "complex": (complex, float, int, np.number),
}


def _kind_of(dtype):
    if dtype.is_floating:
        return "float"
    if dtype.is_integer or dtype.is_quantized:
        return "int"
    if dtype.is_complex:
        return "complex"
    return {"string": "string", "bool": "bool"}.get(dtype.name)


def _first_misfit(values, kinds, is_bool):
    if isinstance(values, (list, tuple)):
        for value in values:
            found = _first_misfit(value, kinds, is_bool)
            if found is not None:
                return found
        return None
    if isinstance(values, np.ndarray) or values is None and False:
        return None
    if hasattr(values, "__array__") and not isinstance(values, np.generic):
        return None
    if isinstance(values, (bool, np.bool_)) != is_bool and isinstance(values, (bool, np.bool_)):
        return (values,)
    from millstream.framework.tensor_shape import Dimension
    if isinstance(values, Dimension):
        return None
    return None if isinstance(values, kinds) else (values,)


def _check_compatible(values, dtype):
    kind = _kind_of(dtype)
    if kind is None:
        return
    found = _first_misfit(values, _KINDS[kind], kind == "bool")
    if found is None:
        return
    value = found[0]
    if value is None:
        raise ValueError("None values not supported.")
    if isinstance(value, Tensor):
        raise TypeError(f"Expected {dtype.name}, but got {value!r} of type 'Tensor'.")
    raise TypeError(f"Expected {dtype.name}, but got {value} of type '{type(value).__name__}'.")


def _has_none(values):
    if isinstance(values, (list, tuple)):
        return any(_has_none(v) for v in values)
    return values is None


def to_array(values, dtype=None):
    """`values` as an array of `dtype`, or of the type that TensorFlow gives them: Python floats are float32, ints int32."""
    dtype = None if dtype is None else dtypes.as_dtype(dtype).base_dtype
    if isinstance(values, (np.ndarray, np.generic)):
        array = np.asarray(values)
        if dtype is not None and dtype != dtypes.string:
            array = array.astype(dtype.as_numpy_dtype, copy=False)
        return _checked(array, values)
    if values is None or _has_none(values):
        raise ValueError("None values not supported.")
    if dtype is not None:
        _check_compatible(values, dtype)
        if dtype == dtypes.string:
            return _object_array(values)
        try:
            return np.array(values, dtype=dtype.as_numpy_dtype)
        except OverflowError:
            raise
        except ValueError as e:
            raise ValueError(f"Can't convert Python sequence with mixed or ragged values to Tensor: {e}") from None
    return _untyped(values)


def _object_array(values):
    array = np.array(values, dtype=object)
    return array


def _untyped(values):
    try:
        array = np.array(values)
    except ValueError as e:
        raise ValueError(f"Can't convert non-rectangular Python sequence to Tensor: {e}") from None
    if array.dtype == np.float64:
        return array.astype(np.float32)
    if array.dtype == np.int64:
        small = array.astype(np.int32)
        return small if np.array_equal(small, array) else array
    if array.dtype == np.uint64:
        raise ValueError("Attempt to convert a value outside of the range of int64 to a Tensor.")
    if array.dtype.kind in "SU":  # NumPy drops zero bytes at the end of its own strings
        return _object_array(values)
    if array.dtype == np.complex128:
        return array
    return _checked(array, values)


def _checked(array, values):
    if array.dtype == object:
        if array.size and not all(isinstance(v, (bytes, str, np.str_, np.bytes_)) for v in array.flat):
            bad = next(v for v in array.flat if not isinstance(v, (bytes, str)))
            if isinstance(bad, numbers.Number):
                raise ValueError("Attempt to convert a value with an unsupported type to a Tensor.")
            raise TypeError(f"Failed to convert elements of {values!r} to Tensor. Consider casting elements to a supported "
                            f"type.") if isinstance(values, (list, tuple)) else ValueError(
                f"Attempt to convert a value ({values!r}) with an unsupported type ({type(values)}) to a Tensor.")
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
                 13: "int_val", 15: "int_val", 16: "int_val"}


def MakeNdarray(tensor):
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


def constant_value(tensor, partial=False):
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


def is_tensor(x):
    from millstream.framework import sparse_tensor, indexed_slices
    return isinstance(x, (Tensor, sparse_tensor.SparseTensor, indexed_slices.IndexedSlices)) or hasattr(x, "_as_graph_element")


is_tf_type = is_tensor
