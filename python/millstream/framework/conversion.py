# SPDX-License-Identifier: Apache-2.0
"""Values of the program as tensors: convert_to_tensor() and the registry behind it."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from millstream.framework import dtypes, scopes
from millstream.framework.operation import Operation
from millstream.framework.tensor import Tensor

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.type_aliases import DTypeLike

_functions: dict = {}  # priority -> [(types, function)]
_cache: dict = {}      # type -> [function]


def register_tensor_conversion_function(base_type: Any, conversion_func: Any, priority: Any = 100) -> None:
    """conversion_func(value, dtype, name, as_ref) returns a tensor, or NotImplemented to leave it to the next one."""
    types = base_type if isinstance(base_type, tuple) else (base_type,)
    if not all(isinstance(t, type) for t in types):
        raise TypeError("Argument `base_type` must be a type or a tuple of types.")
    if not callable(conversion_func):
        raise TypeError("Argument `conversion_func` must be callable.")
    _functions.setdefault(priority, []).append((types, conversion_func))
    _cache.clear()


def _functions_for(kind):
    found = _cache.get(kind)
    if found is None:
        found = [f for priority in sorted(_functions) for types, f in _functions[priority] if issubclass(kind, types)]
        _cache[kind] = found
    return found


def is_dense_tensor_like(value):
    return isinstance(value, Tensor) or hasattr(value, "_as_graph_element")


def convert_to_tensor(value: Any, dtype: Optional[DTypeLike] = None, name: Optional[str] = None, preferred_dtype: Any = None,
                      dtype_hint: Any = None) -> Tensor:
    """`value` (tensor, variable, array, number or list) as a tensor of `dtype`. Raises TypeError or ValueError."""
    return internal_convert_to_tensor(value, dtype, name, preferred_dtype=preferred_dtype or dtype_hint)


convert_to_tensor_v1 = convert_to_tensor


def internal_convert_to_tensor(value, dtype=None, name=None, as_ref=False, preferred_dtype=None):
    if dtype is not None:
        dtype = dtypes.as_dtype(dtype)
    if isinstance(value, Tensor):
        return _check_tensor(value, dtype)
    if preferred_dtype is not None:
        preferred_dtype = dtypes.as_dtype(preferred_dtype)
    for function in _functions_for(type(value)):
        tensor = NotImplemented
        if dtype is None and preferred_dtype is not None:
            try:
                tensor = function(value, dtype=preferred_dtype, name=name, as_ref=as_ref)
            except (TypeError, ValueError):
                tensor = NotImplemented
            if tensor is not NotImplemented and tensor.dtype.base_dtype != preferred_dtype.base_dtype:
                raise TypeError(f"convert_to_tensor did not convert to the preferred dtype: {tensor.dtype.base_dtype} vs "
                                f"{preferred_dtype.base_dtype} ")
        if tensor is NotImplemented:
            tensor = function(value, dtype=dtype, name=name, as_ref=as_ref)
        if tensor is NotImplemented:
            continue
        if dtype is not None and not dtype.is_compatible_with(tensor.dtype):
            raise RuntimeError(f"Conversion function {function!r} returned incompatible dtype: requested = {dtype.name}, "
                               f"actual = {tensor.dtype.name}")
        return tensor
    raise TypeError(f"Cannot convert {value} with type {type(value)} to Tensor: no conversion function registered.")


def _check_tensor(value, dtype):
    if value.graph is not scopes.get_default_graph():
        capture = getattr(scopes.get_default_graph(), "capture", None)
        if capture is not None:
            value = capture(value)
        elif value.graph.building_function:
            raise RuntimeError(f"Attempting to use {value!r}, which is inside of a function, outside of it")
    if dtype is not None and not dtype.is_compatible_with(value.dtype):
        raise ValueError(f"Tensor conversion requested dtype {dtype.name} for Tensor with dtype {value.dtype.name}: {value!r}")
    return value


def convert_n_to_tensor(values, dtype=None, name=None, preferred_dtype=None, as_ref=False):
    if not isinstance(values, (list, tuple)):
        raise TypeError("`values` must be a sequence")
    return [internal_convert_to_tensor(v, dtype, None if name is None else f"{name}_{i}", as_ref, preferred_dtype)
            for i, v in enumerate(values)]


internal_convert_n_to_tensor = convert_n_to_tensor


def convert_to_tensor_or_indexed_slices(value: Any, dtype: Optional[DTypeLike] = None, name: Optional[str] = None) -> Any:
    from millstream.framework.indexed_slices import IndexedSlices
    if isinstance(value, IndexedSlices):
        if dtype is not None and not dtypes.as_dtype(dtype).is_compatible_with(value.dtype):
            raise ValueError(f"Tensor conversion requested dtype {dtypes.as_dtype(dtype).name} for Tensor with dtype "
                             f"{value.dtype.name}: {value}")
        return value
    return internal_convert_to_tensor(value, dtype, name)


def convert_n_to_tensor_or_indexed_slices(values, dtype=None, name=None):
    return [None if v is None else convert_to_tensor_or_indexed_slices(v, dtype, None if name is None else f"{name}_{i}")
            for i, v in enumerate(values)]


internal_convert_to_tensor_or_indexed_slices = convert_to_tensor_or_indexed_slices


def to_operation(value, graph):
    """The Operation behind an operation, tensor, variable, or anything that converts to a tensor."""
    if isinstance(value, Operation):
        return value
    if isinstance(value, Tensor):
        return value.op
    if hasattr(value, "_as_graph_element"):
        element = value._as_graph_element()
        return element.op if isinstance(element, Tensor) else element
    if isinstance(value, str):
        element = graph.as_graph_element(value)
        return element.op if isinstance(element, Tensor) else element
    return internal_convert_to_tensor(value, as_ref=True).op


# Conversions of plain values.


def _constant(value, dtype=None, name=None, as_ref=False):
    del as_ref
    from millstream.framework import constant_op
    return constant_op.constant(value, dtype, name=name or "Const")


def _contains_tensor(value):
    if isinstance(value, (list, tuple)):
        return any(_contains_tensor(v) for v in value)
    return is_dense_tensor_like(value)


def _sequence(value, dtype=None, name=None, as_ref=False):
    """A list with tensors in it is packed; one without is a constant."""
    if not _contains_tensor(value):
        return _constant(value, dtype, name)
    from millstream.framework import constant_op
    return constant_op.auto_pack(value, dtype, name or "packed")


def _shape(value, dtype=None, name=None, as_ref=False):
    if not value.is_fully_defined():
        raise ValueError(f"Cannot convert a partially known TensorShape {value} to a Tensor.")
    sizes = value.as_list()
    if dtype is None:
        dtype = dtypes.int32 if all(d < 2**31 for d in sizes) else dtypes.int64
    elif dtype not in (dtypes.int32, dtypes.int64):
        raise TypeError(f"Cannot convert a TensorShape to dtype: {dtype}")
    return _constant(np.array(sizes, dtype.as_numpy_dtype), dtype, name or "shape_as_tensor")


def _dimension(value, dtype=None, name=None, as_ref=False):
    if value.value is None:
        raise ValueError(f"Cannot convert unknown Dimension {value} to a Tensor.")
    if dtype is None:
        dtype = dtypes.int32 if value.value < 2**31 else dtypes.int64
    elif dtype not in (dtypes.int32, dtypes.int64):
        raise TypeError(f"Cannot convert Dimension to dtype: {dtype}")
    return _constant(value.value, dtype, name or "shape_as_tensor")


def _graph_element(value, dtype=None, name=None, as_ref=False):
    if not hasattr(value, "_as_graph_element"):
        return NotImplemented
    element = value._as_graph_element()
    return _check_tensor(element, dtype) if isinstance(element, Tensor) else NotImplemented


def _dtype(value, dtype=None, name=None, as_ref=False):
    return _constant(int(value), dtypes.int32 if dtype is None else dtype, name)


def _register_plain():
    from millstream.framework import tensor_shape
    register_tensor_conversion_function((list, tuple), _sequence, 100)
    register_tensor_conversion_function(tensor_shape.TensorShape, _shape, 100)
    register_tensor_conversion_function(tensor_shape.Dimension, _dimension, 100)
    register_tensor_conversion_function(dtypes.DType, _dtype, 100)
    register_tensor_conversion_function((np.ndarray, np.generic, int, float, bool, str, bytes, complex), _constant, 100)
    register_tensor_conversion_function(object, _graph_element, 190)
    register_tensor_conversion_function(object, _constant, 200)


_register_plain()
