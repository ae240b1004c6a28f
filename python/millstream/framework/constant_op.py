# SPDX-License-Identifier: Apache-2.0
"""Constants, placeholders and packing of lists that hold tensors."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from millstream.framework import conversion, dtypes, scopes, tensor_util
from millstream.framework.tensor import Tensor
from millstream.framework.tensor_shape import TensorShape

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.type_aliases import DTypeLike, ShapeLike


def _shaped(array, shape, verify_shape):
    sizes = [int(d) for d in TensorShape(shape).as_list()]
    if list(array.shape) == sizes:
        return array
    if verify_shape:
        raise TypeError(f"Expected Tensor's shape: {tuple(sizes)}, got {array.shape}.")
    count = int(np.prod(sizes, dtype=np.int64))
    if count == 0 and array.ndim == 0:
        return np.empty(sizes, array.dtype)  # as tf.zeros([0, 3]) asks
    if array.size > count:
        raise ValueError(f"Too many elements provided. Needed at most {count}, but received {array.size}")
    if array.size == count:
        return array.reshape(sizes)
    if array.size == 0:
        return np.zeros(sizes, array.dtype)
    full = np.full(count, array.ravel()[-1], array.dtype)  # fewer values than elements: the last one is repeated
    full[:array.size] = array.ravel()
    return full.reshape(sizes)


def constant(value: Any, dtype: Any = None, shape: Any = None, name: str = "Const", verify_shape: Any = False) -> Tensor:
    """A tensor with a fixed value; `shape` repeats a single value. Raises TypeError or ValueError if it does not fit."""
    graph = scopes.get_default_graph()
    array = tensor_util.to_array(value, dtype)
    dtype = dtypes.as_dtype(array.dtype) if dtype is None else dtypes.as_dtype(dtype).base_dtype
    if shape is not None:
        array = _shaped(array, shape, verify_shape)
    attrs = {"dtype": int(dtype), "value": array}
    if dtype.is_quantized:
        attrs["value"] = tensor_util.make_tensor_proto(array, dtype).SerializeToString()
    return graph._create_op_internal("Const", [], name or "Const", attrs).outputs[0]


constant_v1 = constant


def placeholder(dtype: DTypeLike, shape: ShapeLike = None, name: Optional[str] = None) -> Tensor:
    """A tensor whose value each step must feed. Dimensions of `shape` that are None may have any size."""
    dtype = dtypes.as_dtype(dtype).base_dtype
    attrs = {"dtype": int(dtype), "shape": TensorShape(shape)._to_core()}
    graph = scopes.get_default_graph()
    return graph._create_op_internal("Placeholder", [], name or "Placeholder", attrs).outputs[0]


def placeholder_with_default(input: Any, shape: ShapeLike, name: Optional[str] = None) -> Tensor:  # pylint: disable=redefined-builtin
    """A tensor that may be fed; without a feed it has the value of `input`."""
    from millstream import gen_ops
    return gen_ops.placeholder_with_default(input, TensorShape(shape), name=name)


def _element_dtype(values):
    if isinstance(values, (list, tuple)):
        for value in values:
            dtype = _element_dtype(value)
            if dtype is not None:
                return dtype
        return None
    if isinstance(values, Tensor) or hasattr(values, "_as_graph_element"):
        return values.dtype.base_dtype
    return None


def auto_pack(values, dtype=None, name="packed"):
    """A (nested) list that holds tensors, as one tensor."""
    if dtype is None:
        dtype = _element_dtype(values)
    graph = scopes.graph_of([v for v in _flat(values) if isinstance(v, Tensor)])
    with graph.name_scope(name) as scope:
        parts = []
        for i, value in enumerate(values):
            if isinstance(value, (list, tuple)) and conversion._contains_tensor(value):
                parts.append(auto_pack(value, dtype, str(i)))
                continue
            if conversion.is_dense_tensor_like(value):
                tensor = conversion.internal_convert_to_tensor(value)
                if tensor.dtype.base_dtype != dtype:
                    raise TypeError(f"Cannot convert a list containing a tensor of dtype {tensor.dtype} to {dtype} (Tensor "
                                    f"is: {tensor!r})")
                parts.append(tensor)
            else:
                parts.append(constant(value, dtype, name=str(i)))
        return graph._create_op_internal("Pack", parts, scope, {"axis": 0}).outputs[0]


def _flat(values):
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _flat(value)
        else:
            yield value
