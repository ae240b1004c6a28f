# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import dtypes, ops
from millstream.ops.variables import init_ops
from millstream.training import optimizer
from millstream.training.kernel_optimizer import KernelOptimizer

if TYPE_CHECKING:
    from typing import Any


class _WithAccumulator(KernelOptimizer):
    """A slot "accumulator" that begins with one number."""

    _initial_accumulator_value = 0.1

    def _create_slots(self, var_list):
        for v in var_list:
            initial = init_ops.Constant(self._initial_accumulator_value, dtype=v.dtype.base_dtype)
            self._get_or_make_slot_with_initializer(v, initial, v.get_shape(), v.dtype.base_dtype, "accumulator", self._name)

    def _slots_of(self, var):
        return [self.get_slot(var, "accumulator")]


class AdagradOptimizer(_WithAccumulator):
    """Adagrad: divides gradients by the root of the sum of their squares."""

    _kernel = "adagrad"
    _before = ("_learning_rate_tensor",)

    def __init__(self, learning_rate: Any, initial_accumulator_value: Any = 0.1, use_locking: bool = False,
                 name: str = "Adagrad") -> None:
        if initial_accumulator_value <= 0.0:
            raise ValueError(f"initial_accumulator_value must be positive: {initial_accumulator_value}")
        super().__init__(use_locking, name)
        self._learning_rate, self._initial_accumulator_value = learning_rate, initial_accumulator_value

    def _prepare(self):
        self._tensor("_learning_rate_tensor", self._learning_rate, "learning_rate")


class ProximalAdagradOptimizer(_WithAccumulator):
    """Adagrad with L1 and L2 regularization by proximal steps."""
    _kernel = "proximal_adagrad"
    _before = ("_learning_rate_tensor", "_l1_tensor", "_l2_tensor")

    def __init__(self, learning_rate: Any, initial_accumulator_value: Any = 0.1, l1_regularization_strength: Any = 0.0,
                 l2_regularization_strength: Any = 0.0, use_locking: bool = False, name: str = "ProximalAdagrad") -> None:
        if initial_accumulator_value <= 0.0:
            raise ValueError(f"initial_accumulator_value must be positive: {initial_accumulator_value}")
        super().__init__(use_locking, name)
        self._learning_rate, self._initial_accumulator_value = learning_rate, initial_accumulator_value
        self._l1, self._l2 = l1_regularization_strength, l2_regularization_strength

    def _prepare(self):
        self._tensor("_learning_rate_tensor", self._learning_rate, "learning_rate")
        self._tensor("_l1_tensor", self._l1, "l1_regularization_strength")
        self._tensor("_l2_tensor", self._l2, "l2_regularization_strength")


class AdagradDAOptimizer(KernelOptimizer):
    """Dual averaging; needs the step, which counts from 0."""

    _kernel = "adagrad_da"
    _after = ("_learning_rate_tensor", "_l1_tensor", "_l2_tensor")

    def __init__(self, learning_rate: Any, global_step: Any, initial_gradient_squared_accumulator_value: Any = 0.1,
                 l1_regularization_strength: Any = 0.0, l2_regularization_strength: Any = 0.0, use_locking: bool = False,
                 name: str = "AdagradDA") -> None:
        if initial_gradient_squared_accumulator_value <= 0.0:
            raise ValueError("initial_gradient_squared_accumulator_value must be positive: "
                             f"{initial_gradient_squared_accumulator_value}")
        super().__init__(use_locking, name)
        self._learning_rate, self._global_step = learning_rate, global_step
        self._initial = initial_gradient_squared_accumulator_value
        self._l1, self._l2 = l1_regularization_strength, l2_regularization_strength

    def _create_slots(self, var_list):
        for v in var_list:
            dtype = v.dtype.base_dtype
            sums, squares = init_ops.Constant(0.0, dtype=dtype), init_ops.Constant(self._initial, dtype=dtype)
            self._get_or_make_slot_with_initializer(v, sums, v.get_shape(), dtype, "gradient_accumulator", self._name)
            self._get_or_make_slot_with_initializer(v, squares, v.get_shape(), dtype, "gradient_squared_accumulator", self._name)

    def _prepare(self):
        self._tensor("_learning_rate_tensor", self._learning_rate, "learning_rate")
        self._tensor("_l1_tensor", self._l1, "l1_regularization_strength")
        self._tensor("_l2_tensor", self._l2, "l2_regularization_strength")
        with ops.colocate_with(self._learning_rate_tensor.op):  # the step is fetched once, not once for each variable
            self._step_on_worker = gen_ops.identity(self._step_value()) + 1

    def _slots_of(self, var):
        return [self.get_slot(var, "gradient_accumulator"), self.get_slot(var, "gradient_squared_accumulator")]

    def _run(self, prefix, var, grad, indices):
        with ops.device(var.device):
            step = gen_ops.identity(self._step_on_worker)
        gen = getattr(gen_ops, f"{prefix}apply_adagrad_da")
        inputs = optimizer.handles(var, *self._slots_of(var)) + [grad] + ([] if indices is None else [indices])
        inputs += self._numbers(self._after, var) + [step]
        result = gen(*inputs, use_locking=self._use_locking)
        return result.op if isinstance(result, ops.Tensor) else result

    def _step_value(self):
        step = ops.convert_to_tensor(self._global_step)
        return step if step.dtype.base_dtype == dtypes.int64 else gen_ops.cast(step, DstT=dtypes.int64)
