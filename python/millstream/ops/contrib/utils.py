# SPDX-License-Identifier: Apache-2.0
"""tf.contrib.slim.utils: what networks of slim use to name their end points and to read shapes."""
from __future__ import annotations

import collections
from typing import TYPE_CHECKING

from millstream.framework import ops, tensor_shape, tensor_util
from millstream.ops.flow.control_flow_ops import smart_cond  # noqa: F401  exported

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.type_aliases import DTypeLike, ShapeLike, TensorLike


def collect_named_outputs(collections: Any, alias: Any, outputs: Any) -> Any:  # pylint: disable=redefined-outer-name
    """Adds `outputs` to the collections under a name of its own; gives it back."""
    if collections:
        append_tensor_alias(outputs, alias)
        ops.add_to_collections(collections, outputs)
    return outputs


def append_tensor_alias(tensor: Any, alias: Any) -> Any:
    """Gives a tensor one more name; gives it back."""
    alias = alias[:-1] if alias.endswith("/") else alias
    if hasattr(tensor, "aliases"):
        tensor.aliases.append(alias)
    else:
        tensor.aliases = [alias]
    return tensor


def get_tensor_aliases(tensor: Any) -> Any:
    """The names that append_tensor_alias() gave; the name of the operation if there are none."""
    if getattr(tensor, "aliases", None):
        return tensor.aliases
    return [tensor.op.name if tensor.name.endswith(":0") else tensor.name]


def gather_tensors_aliases(tensors: Any) -> Any:
    return [alias for tensor in tensors for alias in get_tensor_aliases(tensor)]


def convert_collection_to_dict(collection: Any, clear_collection: bool = False) -> Any:
    """{name: tensor} of what is in a collection."""
    result = collections.OrderedDict((alias, tensor) for tensor in ops.get_collection(collection)
                                     for alias in get_tensor_aliases(tensor))
    if clear_collection:
        ops.get_default_graph().clear_collection(collection)
    return result


def constant_value(value_or_tensor_or_var: Any, dtype: Optional[DTypeLike] = None) -> Any:
    """The value, if it is known while the graph is built; else None."""
    if value_or_tensor_or_var is None:
        raise ValueError("value_or_tensor_or_var cannot be None")
    if not ops.is_dense_tensor_like(value_or_tensor_or_var):
        return value_or_tensor_or_var
    if dtype is not None and value_or_tensor_or_var.dtype.base_dtype != dtype:
        raise ValueError(f"It has the wrong type {value_or_tensor_or_var.dtype} instead of {dtype}")
    return tensor_util.constant_value(ops.convert_to_tensor(value_or_tensor_or_var))


def static_cond(pred: TensorLike, fn1: Any, fn2: Any) -> Any:
    """fn1() or fn2(), by a condition that Python knows."""
    if not callable(fn1) or not callable(fn2):
        raise TypeError("fn1 and fn2 must be callable.")
    return fn1() if pred else fn2()


def get_variable_collections(variables_collections: Any, name: str) -> Any:
    return variables_collections.get(name) if isinstance(variables_collections, dict) else variables_collections


def _dimension(shape, axis, min_rank):
    shape = tensor_shape.as_shape(shape)
    if shape.rank is None:
        raise ValueError("dims of shape must be known but is None")
    if shape.rank < min_rank:
        raise ValueError(f"rank of shape must be at least {min_rank} not: {shape.rank}")
    value = shape.as_list()[axis]
    if value is None:
        raise ValueError(f"dimension {axis} of shape must be known but is None: {shape}")
    return value


def last_dimension(shape: ShapeLike, min_rank: Any = 1) -> Any:
    return _dimension(shape, -1, min_rank)


def channel_dimension(shape: ShapeLike, data_format: Any, min_rank: Any = 1) -> Any:
    return _dimension(shape, 1 if data_format == "channels_first" else -1, min_rank)


def two_element_tuple(int_or_tuple: Any) -> Any:
    """(height, width) of a number, of two, or of a shape of two."""
    if isinstance(int_or_tuple, (list, tuple)):
        if len(int_or_tuple) != 2:
            raise ValueError(f"Must be a list with 2 elements: {int_or_tuple}")
        return int(int_or_tuple[0]), int(int_or_tuple[1])
    if isinstance(int_or_tuple, int):
        return int_or_tuple, int_or_tuple
    if isinstance(int_or_tuple, tensor_shape.TensorShape) and len(int_or_tuple) == 2:
        return tuple(int_or_tuple.as_list())
    raise ValueError("Must be an int, a list with 2 elements or a TensorShape of length 2")


def n_positive_integers(n: Any, value: Any) -> Any:
    """`value` as a tuple of n positive integers; one number stands for all."""
    values = (value,) * n if isinstance(value, int) else tuple(int(v) for v in value)
    if len(values) == 1:
        values *= n
    if len(values) != n or any(v < 1 for v in values):
        raise ValueError(f"Expected sequence of {n} positive integers, but received {value}")
    return values
