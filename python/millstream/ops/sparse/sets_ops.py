# SPDX-License-Identifier: Apache-2.0
"""tf.sets: operations on the last axis, each row taken as a set."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework.sparse_tensor import SparseTensor, convert_to_tensor_or_sparse_tensor

if TYPE_CHECKING:
    from millstream.framework.tensor import Tensor
    from millstream.framework.type_aliases import TensorLike


def set_size(a: TensorLike, validate_indices: bool = True) -> Tensor:
    a = convert_to_tensor_or_sparse_tensor(a, name="a")
    if not isinstance(a, SparseTensor):
        raise TypeError(f"Expected `SparseTensor`, got {a}.")
    return gen_ops.set_size(a.indices, a.values, a.dense_shape, validate_indices=validate_indices)


def _operation(a, b, kind, validate_indices=True):
    a, b = convert_to_tensor_or_sparse_tensor(a, name="a"), convert_to_tensor_or_sparse_tensor(b, name="b")
    if a.dtype.base_dtype != b.dtype.base_dtype:
        raise TypeError(f"Types don't match, {a.dtype} vs {b.dtype}.")
    if isinstance(a, SparseTensor) and not isinstance(b, SparseTensor):  # the op takes the dense one first
        a, b, kind = b, a, {"a-b": "b-a", "b-a": "a-b"}.get(kind, kind)
    if isinstance(a, SparseTensor):
        parts = gen_ops.sparse_to_sparse_set_operation(a.indices, a.values, a.dense_shape, b.indices, b.values, b.dense_shape,
                                                       set_operation=kind, validate_indices=validate_indices)
    elif isinstance(b, SparseTensor):
        parts = gen_ops.dense_to_sparse_set_operation(a, b.indices, b.values, b.dense_shape, set_operation=kind,
                                                      validate_indices=validate_indices)
    else:
        parts = gen_ops.dense_to_dense_set_operation(a, b, set_operation=kind, validate_indices=validate_indices)
    return SparseTensor(*parts)


def set_intersection(a: TensorLike, b: TensorLike, validate_indices: bool = True) -> SparseTensor:
    return _operation(a, b, "intersection", validate_indices)


def set_union(a: TensorLike, b: TensorLike, validate_indices: bool = True) -> SparseTensor:
    return _operation(a, b, "union", validate_indices)


def set_difference(a: TensorLike, b: TensorLike, aminusb: bool = True, validate_indices: bool = True) -> SparseTensor:
    return _operation(a, b, "a-b" if aminusb else "b-a", validate_indices)
