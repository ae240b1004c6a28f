# SPDX-License-Identifier: Apache-2.0
"""SparseTensor: indices, values and a dense shape."""
from __future__ import annotations

import collections
from typing import TYPE_CHECKING

import numpy as np

from millstream.framework import conversion, dtypes, scopes, tensor_shape, tensor_util
from millstream.framework.tensor import _eval

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.dtypes import DType
    from millstream.framework.graph import Graph
    from millstream.framework.tensor import Tensor
    from millstream.framework.tensor_shape import TensorShape
    from millstream.framework.type_aliases import ShapeLike

SparseTensorValue = collections.namedtuple("SparseTensorValue", ["indices", "values", "dense_shape"])
SparseTensorValue.__doc__ = "The value of a SparseTensor as NumPy arrays: what a session returns for one, and what may be fed for one."


class SparseTensor:
    """A tensor of which only some elements are stored: `values[i]` lies at `indices[i]`, all others are zero or missing.

    `indices` is an int64 matrix with one row per value, sorted in row-major order where an op demands it; `dense_shape` is the shape of the
    whole tensor. `tf.sparse_reorder` sorts, `tf.sparse_tensor_to_dense` fills in the rest.
    """

    @classmethod
    def from_value(cls, sparse_tensor_value: Any) -> Any:
        if not isinstance(sparse_tensor_value, (SparseTensor, SparseTensorValue)):
            raise TypeError(f"Neither a SparseTensor nor SparseTensorValue: {sparse_tensor_value}.")
        return cls(sparse_tensor_value.indices, sparse_tensor_value.values, sparse_tensor_value.dense_shape)

    def __init__(self, indices: Any, values: Any, dense_shape: Any) -> None:
        with scopes.name_scope(None, "SparseTensor", [indices, values, dense_shape]):
            self._indices = conversion.convert_to_tensor(indices, name="indices", dtype=dtypes.int64)
            self._values = conversion.internal_convert_to_tensor(values, name="values", as_ref=True)
            self._dense_shape = conversion.convert_to_tensor(dense_shape, name="dense_shape", dtype=dtypes.int64)
        indices_shape = self._indices.shape.with_rank(2)
        self._dense_shape.shape.with_rank(1)
        indices_shape[0].assert_is_compatible_with(self._values.shape.with_rank(1)[0])
        indices_shape[1].assert_is_compatible_with(self._dense_shape.shape[0])

    @property
    def indices(self) -> Tensor:
        return self._indices

    @property
    def values(self) -> Tensor:
        return self._values

    @property
    def dense_shape(self) -> Tensor:
        return self._dense_shape

    @property
    def shape(self) -> TensorShape:
        return tensor_util.constant_value_as_shape(self._dense_shape)

    def get_shape(self) -> TensorShape:
        return self.shape

    def set_shape(self, shape: ShapeLike) -> None:
        self.shape.assert_is_compatible_with(shape)

    @property
    def rank(self) -> Any:
        return self.shape.rank

    @property
    def op(self) -> Any:
        return self._values.op

    @property
    def dtype(self) -> DType:
        return self._values.dtype

    @property
    def graph(self) -> Graph:
        return self._indices.graph

    def with_values(self, new_values: Any) -> SparseTensor:
        return SparseTensor(self._indices, new_values, self._dense_shape)

    def consumers(self) -> Any:
        return sorted(set(self._values.consumers() + self._indices.consumers() + self._dense_shape.consumers()),
                      key=lambda op: op._id)

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        return _eval(self, feed_dict, self.graph, session)

    def __str__(self):
        return f"SparseTensor(indices={self._indices}, values={self._values}, dense_shape={self._dense_shape})"

    __repr__ = __str__

    @staticmethod
    def _override_operator(operator, func):
        setattr(SparseTensor, operator, func)


def convert_to_tensor_or_sparse_tensor(value: Any, dtype: Any = None, name: Optional[str] = None) -> Any:
    if dtype is not None:
        dtype = dtypes.as_dtype(dtype)
    if isinstance(value, SparseTensorValue):
        value = SparseTensor.from_value(value)
    if isinstance(value, SparseTensor):
        if dtype is not None and not dtype.is_compatible_with(value.dtype):
            raise RuntimeError(f"Sparse dtype mismatch. Requested: {dtype.name},  Actual: {value.dtype.name}")
        return value
    return conversion.internal_convert_to_tensor(value, dtype, name)


def is_sparse(x):
    return isinstance(x, (SparseTensor, SparseTensorValue))


def get_shape(value):
    if isinstance(value, SparseTensorValue):
        return tensor_shape.TensorShape(np.asarray(value.dense_shape))
    return value.get_shape()
