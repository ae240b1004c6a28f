# SPDX-License-Identifier: Apache-2.0
"""tf.TensorSpec and its kin: what is known of a value without its graph."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.framework import dtypes, tensor_shape

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.type_aliases import DTypeLike, ShapeLike


class TypeSpec:
    """The kind of a value, with its static shape and type."""

    def _key(self):
        shape = self.shape
        return type(self), None if shape.rank is None else tuple(shape.as_list()), self.dtype

    def __eq__(self, other):
        return isinstance(other, TypeSpec) and self._key() == other._key()

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return hash(self._key())

    def is_compatible_with(self, spec_or_value):
        """Whether a value, or a value of that spec, may stand where this spec is."""
        return self.dtype == dtypes.as_dtype(spec_or_value.dtype).base_dtype and self.shape.is_compatible_with(spec_or_value.shape)

    def __repr__(self):
        return f"{type(self).__name__}({self.shape!r}, {self.dtype!r})"


class TensorSpec(TypeSpec):
    """Shape and type of a tensor."""

    def __init__(self, shape: ShapeLike, dtype: DTypeLike = dtypes.float32, name: Optional[str] = None) -> None:
        self.shape, self.dtype, self.name = tensor_shape.TensorShape(shape), dtypes.as_dtype(dtype).base_dtype, name

    @classmethod
    def from_tensor(cls, tensor: Any, name: Optional[str] = None) -> Any:
        return cls(tensor.shape, tensor.dtype, name or tensor.op.name)

    @classmethod
    def from_spec(cls, spec: Any, name: Optional[str] = None) -> Any:
        return cls(spec.shape, spec.dtype, name or getattr(spec, "name", None))

    def __repr__(self):
        return f"TensorSpec(shape={self.shape}, dtype={self.dtype!r}, name={self.name!r})"


class SparseTensorSpec(TypeSpec):
    """Shape and type of a sparse tensor."""

    def __init__(self, shape: ShapeLike = None, dtype: DTypeLike = dtypes.float32) -> None:
        self.shape, self.dtype = tensor_shape.TensorShape(shape), dtypes.as_dtype(dtype).base_dtype


class RaggedTensorSpec(TypeSpec):
    """Shape, type and ragged rank of a ragged tensor."""

    def __init__(self, shape: ShapeLike = None, dtype: DTypeLike = dtypes.float32, ragged_rank: Any = None,
                 row_splits_dtype: Any = dtypes.int64, flat_values_spec: Any = None) -> None:
        self.shape, self.dtype = tensor_shape.TensorShape(shape), dtypes.as_dtype(dtype).base_dtype
        rank = self.shape.rank
        self.ragged_rank = ragged_rank if ragged_rank is not None else max((rank or 1) - 1, 0)
        self.row_splits_dtype, self.flat_values_spec = dtypes.as_dtype(row_splits_dtype), flat_values_spec

    def _key(self):
        return super()._key() + (self.ragged_rank, self.row_splits_dtype)

    def __repr__(self):
        return f"RaggedTensorSpec({self.shape!r}, {self.dtype!r}, {self.ragged_rank}, {self.row_splits_dtype!r})"


class IndexedSlicesSpec(TypeSpec):
    """Shape and types of IndexedSlices."""

    def __init__(self, shape: ShapeLike = None, dtype: DTypeLike = dtypes.float32, indices_dtype: Any = dtypes.int64,
                 dense_shape_dtype: Any = None, indices_shape: Any = None) -> None:
        self.shape, self.dtype = tensor_shape.TensorShape(shape), dtypes.as_dtype(dtype).base_dtype
        self.indices_dtype, self.dense_shape_dtype = dtypes.as_dtype(indices_dtype), dense_shape_dtype
        self.indices_shape = tensor_shape.TensorShape(indices_shape)


def type_spec_from_value(value: Any) -> Any:
    """The spec of a tensor, sparse tensor, ragged tensor, or of what becomes a tensor."""
    from millstream.framework import ops, sparse_tensor
    if isinstance(value, sparse_tensor.SparseTensor):
        return SparseTensorSpec(value.get_shape(), value.dtype)
    if hasattr(value, "_type_spec"):
        return value._type_spec
    tensor = value if isinstance(value, ops.Tensor) else ops.convert_to_tensor(value)
    return TensorSpec(tensor.shape, tensor.dtype)
