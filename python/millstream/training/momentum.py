# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.training.kernel_optimizer import KernelOptimizer

if TYPE_CHECKING:
    from typing import Any


class MomentumOptimizer(KernelOptimizer):
    """Gradient descent with momentum: `accum = momentum * accum + gradient`, then `var -= learning_rate * accum`.

    With `use_nesterov` the step looks ahead along the momentum (Nesterov's form).
    """

    _kernel = "momentum"
    _before = ("_learning_rate_tensor",)
    _after = ("_momentum_tensor",)

    def __init__(self, learning_rate: Any, momentum: Any, use_locking: bool = False, name: str = "Momentum",
                 use_nesterov: bool = False) -> None:
        super().__init__(use_locking, name)
        self._learning_rate, self._momentum, self._use_nesterov = learning_rate, momentum, use_nesterov

    def _create_slots(self, var_list):
        for v in var_list:
            self._zeros_slot(v, "momentum", self._name)

    def _prepare(self):
        self._tensor("_learning_rate_tensor", self._learning_rate, "learning_rate")
        self._tensor("_momentum_tensor", self._momentum, "momentum")

    def _slots_of(self, var):
        return [self.get_slot(var, "momentum")]

    def _options(self):
        return {"use_nesterov": self._use_nesterov}
