# SPDX-License-Identifier: Apache-2.0
"""What annotations of public functions call their arguments. Imported only under TYPE_CHECKING."""
from __future__ import annotations

from typing import Any, Sequence, Union

from millstream.framework.dtypes import DType
from millstream.framework.tensor import Tensor
from millstream.framework.tensor_shape import Dimension, TensorShape

DTypeLike = Union[DType, type, str, int, Any]  # what tf.as_dtype takes; Any stands for NumPy's own types
ShapeLike = Union[TensorShape, Tensor, Sequence[Union[int, Dimension, Tensor, None]], int, Any, None]  # what tf.TensorShape takes; Any: arrays
TensorLike = Union[Tensor, Sequence[Any], bool, int, float, complex, str, bytes, Any]  # what tf.convert_to_tensor takes; Any: variables, arrays
