# SPDX-License-Identifier: Apache-2.0
"""Accumulators of gradients: apply many, take their mean when there are enough."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import dtypes, ops, tensor_shape

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.operation import Operation
    from millstream.framework.type_aliases import DTypeLike, ShapeLike


def _int64(value):
    value = ops.convert_to_tensor(value)
    return value if value.dtype.base_dtype == dtypes.int64 else gen_ops.cast(value, DstT=dtypes.int64)


class ConditionalAccumulatorBase:
    def __init__(self, dtype: DTypeLike, shape: ShapeLike, accumulator_ref: Any) -> None:
        self._dtype = dtypes.as_dtype(dtype)
        self._shape = tensor_shape.TensorShape(shape) if shape is not None else tensor_shape.TensorShape(None)
        self._accumulator_ref = accumulator_ref
        self._name = accumulator_ref.op.name.split("/")[-1]

    accumulator_ref = property(lambda self: self._accumulator_ref)
    name = property(lambda self: self._name)
    dtype = property(lambda self: self._dtype)

    def num_accumulated(self, name: Optional[str] = None) -> Any:
        """How many gradients have come since the last take."""
        return gen_ops.accumulator_num_accumulated(self._accumulator_ref, name=name or f"{self._name}_NumAccumulated")

    def set_global_step(self, new_global_step: Any, name: Optional[str] = None) -> Operation:
        """Gradients of earlier steps are dropped from now on."""
        return gen_ops.accumulator_set_global_step(self._accumulator_ref, _int64(new_global_step), name=name)


class ConditionalAccumulator(ConditionalAccumulatorBase):
    """Sums up gradients of one dtype and drops those that are older than its global step.

    `take_grad(n)` waits for n of them and returns their mean (their sum with `reduction_type="SUM"`).
    """

    def __init__(self, dtype: DTypeLike, shape: ShapeLike = None, shared_name: Any = None,
                 name: str = "conditional_accumulator", reduction_type: str = "MEAN") -> None:
        ref = gen_ops.conditional_accumulator(dtype=dtype, shape=tensor_shape.TensorShape(shape),
                                              shared_name=shared_name or "", reduction_type=reduction_type, name=name)
        super().__init__(dtype, shape, ref)

    def apply_grad(self, grad: Any, local_step: Any = 0, name: Optional[str] = None) -> Any:
        grad = ops.convert_to_tensor(grad, self._dtype)
        grad.get_shape().assert_is_compatible_with(self._shape)
        return gen_ops.accumulator_apply_gradient(self._accumulator_ref, local_step=_int64(local_step), gradient=grad,
                                                  name=name)

    def take_grad(self, num_required: Any, name: Optional[str] = None) -> Any:
        result = gen_ops.accumulator_take_gradient(self._accumulator_ref, num_required, dtype=self._dtype, name=name)
        result.set_shape(self._shape)
        return result


class SparseConditionalAccumulator(ConditionalAccumulatorBase):
    def __init__(self, dtype: DTypeLike, shape: ShapeLike = None, shared_name: Any = None,
                 name: str = "sparse_conditional_accumulator", reduction_type: str = "MEAN") -> None:
        ref = gen_ops.sparse_conditional_accumulator(dtype=dtype, shape=tensor_shape.TensorShape(shape),
                                                     shared_name=shared_name or "", reduction_type=reduction_type, name=name)
        super().__init__(dtype, shape, ref)

    def apply_indexed_slices_grad(self, grad: Any, local_step: Any = 0, name: Optional[str] = None) -> Operation:
        return self.apply_grad(grad.indices, grad.values, grad.dense_shape, local_step, name)

    def apply_grad(self, grad_indices: Any, grad_values: Any, grad_shape: Any = None, local_step: Any = 0,
                   name: Optional[str] = None) -> Operation:
        shape = ops.convert_to_tensor([], dtype=dtypes.int64) if grad_shape is None else _int64(grad_shape)
        return gen_ops.sparse_accumulator_apply_gradient(self._accumulator_ref, local_step=_int64(local_step),
                                                         gradient_indices=_int64(grad_indices), gradient_values=grad_values,
                                                         gradient_shape=shape, has_known_shape=grad_shape is not None,
                                                         name=name)

    def take_grad(self, num_required: Any, name: Optional[str] = None) -> Any:
        return gen_ops.sparse_accumulator_take_gradient(self._accumulator_ref, num_required, dtype=self._dtype, name=name)

    def take_indexed_slices_grad(self, num_required: Any, name: Optional[str] = None) -> Any:
        taken = self.take_grad(num_required, name)
        return ops.IndexedSlices(indices=taken[0], values=taken[1], dense_shape=taken[2])

    def num_accumulated(self, name: Optional[str] = None) -> Any:
        return gen_ops.accumulator_num_accumulated(self._accumulator_ref, name=name or f"{self._name}_NumAccumulated")
