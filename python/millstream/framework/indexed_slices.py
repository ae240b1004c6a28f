# SPDX-License-Identifier: Apache-2.0
"""IndexedSlices: rows of a larger tensor, as gradients of lookups are."""
from __future__ import annotations

import collections
import warnings
from typing import TYPE_CHECKING

from millstream.framework import conversion
from millstream.framework.tensor_shape import TensorShape

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.dtypes import DType
    from millstream.framework.tensor import Tensor

IndexedSlicesValue = collections.namedtuple("IndexedSlicesValue", ["values", "indices", "dense_shape"])


class IndexedSlices:
    """Some rows of a tensor: `values[i]` is row `indices[i]` of a tensor of shape `dense_shape` (None if not known).

    Rows may repeat: they add up. Gradients of gather and embedding lookups have this form.
    """

    def __init__(self, values: Any, indices: Any, dense_shape: Any = None) -> None:
        self._values = values
        self._indices = indices
        self._dense_shape = dense_shape

    @property
    def values(self) -> Tensor:
        return self._values

    @property
    def indices(self) -> Tensor:
        return self._indices

    @property
    def dense_shape(self) -> Optional[Tensor]:
        return self._dense_shape

    @property
    def shape(self) -> TensorShape:
        from millstream.framework import tensor_util
        return TensorShape(None) if self._dense_shape is None else tensor_util.constant_value_as_shape(self._dense_shape)

    def get_shape(self) -> Any:
        return self.shape

    @property
    def name(self) -> Any:
        return self._values.name

    @property
    def device(self) -> Any:
        return self._values.device

    @property
    def op(self) -> Any:
        return self._values.op

    @property
    def dtype(self) -> DType:
        return self._values.dtype

    @property
    def graph(self) -> Any:
        return self._values.graph

    def __str__(self):
        shape = "" if self._dense_shape is None else f", dense_shape={self._dense_shape}"
        return f"IndexedSlices(indices={self._indices}, values={self._values}{shape})"

    __repr__ = __str__

    def __neg__(self):
        return IndexedSlices(-self._values, self._indices, self._dense_shape)

    def consumers(self) -> Any:
        return self._values.consumers()


def _to_tensor(value, dtype=None, name=None, as_ref=False):
    if dtype is not None and not dtype.is_compatible_with(value.dtype):
        raise ValueError(f"Tensor conversion requested dtype {dtype.name} for IndexedSlices with dtype {value.dtype.name}")
    if value.dense_shape is None:
        raise ValueError(f"Tensor conversion requested for IndexedSlices for argument without shape: {value}")
    size = value.shape.num_elements()
    if size is not None and size >= 100_000_000:
        warnings.warn(f"Converting sparse IndexedSlices to a dense Tensor with {size} elements. This may consume a large "
                      "amount of memory.", stacklevel=2)
    from millstream import gen_ops
    return gen_ops.unsorted_segment_sum(value.values, value.indices, value.dense_shape[0], name=name)


conversion.register_tensor_conversion_function(IndexedSlices, _to_tensor)
