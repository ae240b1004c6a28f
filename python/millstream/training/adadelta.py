# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.training.kernel_optimizer import KernelOptimizer

if TYPE_CHECKING:
    from typing import Any


class AdadeltaOptimizer(KernelOptimizer):
    """Adadelta: steps from running means of squared gradients and squared updates."""

    _kernel = "adadelta"
    _before = ("_lr_t", "_rho_t", "_epsilon_t")

    def __init__(self, learning_rate: Any = 0.001, rho: Any = 0.95, epsilon: Any = 1e-8, use_locking: bool = False,
                 name: str = "Adadelta") -> None:
        super().__init__(use_locking, name)
        self._lr, self._rho, self._epsilon = learning_rate, rho, epsilon

    def _create_slots(self, var_list):
        for v in var_list:
            self._zeros_slot(v, "accum", self._name)
            self._zeros_slot(v, "accum_update", self._name)

    def _prepare(self):
        self._tensor("_lr_t", self._lr, "lr")
        self._tensor("_rho_t", self._rho, "rho")
        self._tensor("_epsilon_t", self._epsilon, "epsilon")

    def _slots_of(self, var):
        return [self.get_slot(var, "accum"), self.get_slot(var, "accum_update")]
