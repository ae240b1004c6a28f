# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.ops.variables import init_ops
from millstream.training.kernel_optimizer import KernelOptimizer

if TYPE_CHECKING:
    from typing import Any


class RMSPropOptimizer(KernelOptimizer):
    """RMSProp: divides gradients by the root of a running mean of their squares."""

    _before = ("_learning_rate_tensor", "_decay_tensor", "_momentum_tensor", "_epsilon_tensor")

    def __init__(self, learning_rate: Any, decay: Any = 0.9, momentum: Any = 0.0, epsilon: Any = 1e-10,
                 use_locking: bool = False, centered: bool = False, name: str = "RMSProp") -> None:
        super().__init__(use_locking, name)
        self._learning_rate, self._decay, self._momentum, self._epsilon = learning_rate, decay, momentum, epsilon
        self._centered = centered
        self._kernel = "centered_rms_prop" if centered else "rms_prop"

    def _create_slots(self, var_list):
        for v in var_list:
            dtype = v.dtype.base_dtype
            self._get_or_make_slot_with_initializer(v, init_ops.Ones(dtype=dtype), v.get_shape(), dtype, "rms", self._name)
            if self._centered:
                self._zeros_slot(v, "mg", self._name)
            self._zeros_slot(v, "momentum", self._name)

    def _prepare(self):
        self._tensor("_learning_rate_tensor", self._learning_rate, "learning_rate")
        self._tensor("_decay_tensor", self._decay, "decay")
        self._tensor("_momentum_tensor", self._momentum, "momentum")
        self._tensor("_epsilon_tensor", self._epsilon, "epsilon")

    def _slots_of(self, var):
        names = ("mg", "rms", "momentum") if self._centered else ("rms", "momentum")
        return [self.get_slot(var, n) for n in names]
