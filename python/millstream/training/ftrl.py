# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.ops.variables import init_ops
from millstream.training.kernel_optimizer import KernelOptimizer

if TYPE_CHECKING:
    from typing import Any


class FtrlOptimizer(KernelOptimizer):
    """Follow the regularized leader, with the shrinkage form of L2 as an option."""

    def __init__(self, learning_rate: Any, learning_rate_power: Any = -0.5, initial_accumulator_value: Any = 0.1,
                 l1_regularization_strength: Any = 0.0, l2_regularization_strength: Any = 0.0, use_locking: bool = False,
                 name: str = "Ftrl", accum_name: Any = None, linear_name: Any = None,
                 l2_shrinkage_regularization_strength: Any = 0.0, beta: Any = None) -> None:
        super().__init__(use_locking, name)
        if initial_accumulator_value < 0.0:
            raise ValueError(f"initial_accumulator_value {initial_accumulator_value} needs to be positive or zero")
        if learning_rate_power > 0.0:
            raise ValueError(f"learning_rate_power {learning_rate_power} needs to be negative or zero")
        for number, what in ((l1_regularization_strength, "l1_regularization_strength"),
                             (l2_regularization_strength, "l2_regularization_strength"),
                             (l2_shrinkage_regularization_strength, "l2_shrinkage_regularization_strength")):
            if number < 0.0:
                raise ValueError(f"{what} {number} needs to be positive or zero")
        self._learning_rate, self._learning_rate_power = learning_rate, learning_rate_power
        self._initial_accumulator_value = initial_accumulator_value
        self._l1 = l1_regularization_strength
        self._l2 = l2_regularization_strength + ((0.0 if beta is None else beta) / (2. * learning_rate) if beta else 0.0)
        self._l2_shrinkage = l2_shrinkage_regularization_strength
        self._accum_name, self._linear_name = accum_name, linear_name
        shrink = l2_shrinkage_regularization_strength > 0.0
        self._kernel = "ftrl_v2" if shrink else "ftrl"
        self._after = ("_lr_t", "_l1_t", "_l2_t") + (("_shrinkage_t",) if shrink else ()) + ("_power_t",)

    def _create_slots(self, var_list):
        for v in var_list:
            dtype = v.dtype.base_dtype
            initial = init_ops.Constant(self._initial_accumulator_value, dtype=dtype)
            self._get_or_make_slot_with_initializer(v, initial, v.get_shape(), dtype, "accum", self._accum_name or self._name)
            self._zeros_slot(v, "linear", self._linear_name or self._name)

    def _prepare(self):
        self._tensor("_lr_t", self._learning_rate, "learning_rate")
        self._tensor("_l1_t", self._l1, "l1_regularization_strength")
        self._tensor("_l2_t", self._l2, "l2_regularization_strength")
        self._tensor("_shrinkage_t", self._l2_shrinkage, "l2_shrinkage_regularization_strength")
        self._tensor("_power_t", self._learning_rate_power, "learning_rate_power")

    def _slots_of(self, var):
        return [self.get_slot(var, "accum"), self.get_slot(var, "linear")]
